import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { configure, writeFile } from '../../src/file/index.js';
import { run } from '../support/process-child.js';
import { behaves } from './behaviour.js';

configure({ workersUrl: pathToFileURL(join(import.meta.dirname, '../../dist/workers')) });

behaves('in threads');

describe('a program that writes files', () => {
  let directory = '';
  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), 'holdfast-file-'));
  });
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  it('ends by itself, and not before its writes are done', async () => {
    const path = JSON.stringify(join(directory, 'a'));
    const program = `
      import { writeFile, writeFiles } from 'holdfast/file';
      for (let n = 0; n < 10; n++) void writeFile(${path}, String(n).repeat(1000000));
      void writeFiles([{ path: ${path} + '2', data: 'two' }]);`;
    const started = performance.now();
    const { code, stderr, isHung } = await run(program);
    expect({ code, stderr, isHung }).toEqual({ code: 0, stderr: '', isHung: false });
    expect(performance.now() - started).toBeLessThan(30_000);
    expect(readFileSync(join(directory, 'a'), 'utf8')).toBe('9'.repeat(1_000_000));
    expect(readdirSync(directory)).toEqual(['a', 'a2']);
  });

  it('is not frozen by fake timers', async () => {
    vi.useFakeTimers();
    try {
      await writeFile(join(directory, 'timers'), 'x');
    } finally {
      vi.useRealTimers();
    }
    expect(readFileSync(join(directory, 'timers'), 'utf8')).toBe('x');
  });
});
