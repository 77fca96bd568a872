import { describe, expect, it } from 'vitest';
import { contentOf, explore, type Story, TARGETS, write, writeAll } from './life.js';

describe('a power cut or a kill at any call of writeFiles', () => {
  for (const model of ['posix', 'journal'] as const) {
    it(`leaves all files old or all new (${model} model)`, async () => {
      const found = await explore(writeAll, { model, random: 100 });
      expect(found.violations.slice(0, 3)).toEqual([]);
      expect(found.states).toBeGreaterThan(300);
      console.log(`writeFiles, ${model}: ${found.stops} stops, ${found.states} states`);
    }, 300_000);
  }

  it('and another one at any call of the recovery, too', async () => {
    const found = await explore(writeAll, { interruptEvery: 17 });
    expect(found.violations.slice(0, 3)).toEqual([]);
    expect(found.interrupted).toBeGreaterThan(500);
    console.log(`writeFiles, recovery interrupted: ${found.interrupted} states`);
  }, 300_000);
});

describe('a power cut or a kill at any call of writeFile', () => {
  it('leaves one complete version, and the new one once it resolved', async () => {
    const target = TARGETS[0] as string;
    const next = contentOf(target, 'new') as string;
    const story: Story = async (life) => {
      write(life.disk, target, next);
      life.isAcknowledged = true;
    };
    const found = await explore(story, { random: 20 }, async (disk, { isAcknowledged }) => {
      const content = Buffer.from(disk.files().get(target) ?? 'MISSING').toString();
      if (content === next) return null;
      return content === contentOf(target, 'old') && !isAcknowledged ? null : `found ${content}`;
    });
    expect(found.violations).toEqual([]);
    expect(found.states).toBeGreaterThan(10);
  });
});
