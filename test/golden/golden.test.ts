// Stores written by released versions stay readable. The files are never made again; a new format adds a folder.

import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { Truth } from '../../src/truth.js';
import { stateOf } from '../crash/script.js';

const copy = mkdtempSync(join(tmpdir(), 'holdfast-golden-'));
afterEach(() => rmSync(copy, { recursive: true }));

it.each(['format-1', 'format-1-form-1'])('a store of %s opens with its state', (name) => {
  cpSync(join(import.meta.dirname, name), copy, { recursive: true });
  const expected = readFileSync(join(import.meta.dirname, `${name}.json`), 'utf8');
  const truth = new Truth(copy);
  expect(stateOf(truth)).toBe(JSON.stringify(JSON.parse(expected)));
  expect(truth.notes).toEqual([]);
});
