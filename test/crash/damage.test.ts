import { basename } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Places } from '../../src/journal/places.js';
import { recover } from '../../src/journal/recover.js';
import { MapDisk } from '../support/map-disk.js';
import { RecordingDisk } from '../support/recording-disk.js';
import { Script, STORE, show } from './script.js';
import { outcome } from './surgery.js';

const runs = Number(process.env.HOLDFAST_RUNS ?? 300);
const places = new Places(STORE);

/** Two generations, three tails, a witness: all kinds of files and frames, few bytes. */
function smallStore(end: (script: Script) => void): { script: Script; files: Map<string, Uint8Array>[] } {
  const script = new Script(new RecordingDisk());
  const files: Map<string, Uint8Array>[] = [];
  const keep = () => files.push(new Map(script.disk.files()));
  script.open();
  script.create('a', { n: 0 });
  script.create('b', { n: 0 });
  script.flush();
  keep();
  for (const n of [1, 2, 3, 4]) {
    script.change(n % 2 === 0 ? ['a', 'b'] : ['a'], (draft) => {
      draft.n = n;
    });
    script.durably((truth) => (n === 2 || n === 3 ? truth.compact() : truth.mark()));
    keep();
  }
  end(script);
  keep();
  return { script, files };
}

const closed = () => smallStore((script) => script.durably((truth) => truth.close()));

/** What recovery concludes; its state, or how it refuses. */
function conclude(disk: MapDisk): { outcome: string; seq: number } {
  try {
    const found = recover(disk, places);
    if (found.kind !== 'sound') return { outcome: found.kind === 'new' ? 'new' : 'HF_DAMAGED', seq: -1 };
    const documents = Object.fromEntries([...found.replica.documents].map(([name, { state }]) => [name, state]));
    return { outcome: show(documents), seq: found.last.seq };
  } catch (error) {
    const { code } = error as { code?: unknown };
    if (code !== 'HF_VERSION') throw error;
    return { outcome: code, seq: -1 };
  }
}

const truthPaths = (disk: MapDisk) => disk.paths.filter((path) => /\.(tail|base)$|high-water$/.test(path));

/** Calls back with every file changed in every way, one at a time; counts them. */
function forEachChange(disk: MapDisk, check: (what: string) => void): number {
  let count = 0;
  const attempt = (path: string, what: string, bytes: Buffer | null) => {
    const original = disk.bytes(path);
    disk.put(path, bytes);
    check(`${basename(path)}: ${what}`);
    disk.put(path, original);
    count++;
  };
  for (const path of truthPaths(disk)) {
    const bytes = disk.bytes(path);
    attempt(path, 'deleted', null);
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const at = bit >> 3;
      bytes[at] = (bytes[at] as number) ^ (1 << (bit & 7));
      check(`${basename(path)}: bit ${bit} flipped`);
      bytes[at] = (bytes[at] as number) ^ (1 << (bit & 7));
      count++;
    }
    for (let size = 0; size < bytes.length; size++) attempt(path, `cut at ${size}`, bytes.subarray(0, size));
    for (let at = 0; at < bytes.length; at += 512) {
      attempt(path, `sector at ${at} zeroed`, Buffer.from(bytes).fill(0, at, Math.min(at + 512, bytes.length)));
    }
  }
  return count;
}

describe('a cleanly closed store', () => {
  it('opens with the right state or is refused after any single flipped bit, cut, zeroed sector or deleted file', () => {
    const { script, files } = closed();
    const disk = new MapDisk(files.at(-1) as Map<string, Uint8Array>);
    const right = script.states.at(-1) as string;
    expect(conclude(disk).outcome).toBe(right);
    const wrong: string[] = [];
    const seen = { right: 0, refused: 0 };
    const count = forEachChange(disk, (what) => {
      const { outcome } = conclude(disk);
      if (outcome === right) seen.right++;
      else if (outcome === 'HF_DAMAGED') seen.refused++;
      else wrong.push(`${what}: ${outcome}`);
    });
    expect(wrong).toEqual([]);
    expect(count).toBeGreaterThan(10_000);
    expect(seen.refused).toBeGreaterThan(1_000);
    expect(seen.right).toBeGreaterThan(1_000);
    console.info(`${count} changes: ${seen.right} opened right, ${seen.refused} refused`);
  }, 300_000);

  it('opens with the right state or is refused when any file is replaced by an older self', () => {
    const { script, files } = closed();
    const last = files.at(-1) as Map<string, Uint8Array>;
    const right = script.states.at(-1) as string;
    let refused = 0;
    for (const older of files.slice(0, -1)) {
      for (const [path, bytes] of older) {
        if (Buffer.from(last.get(path) ?? bytes).equals(bytes)) continue;
        const disk = new MapDisk(last);
        disk.put(path, Buffer.from(bytes));
        const { outcome } = conclude(disk);
        expect([right, 'HF_DAMAGED'], path).toContain(outcome);
        if (outcome !== right) refused++;
      }
    }
    expect(refused).toBeGreaterThan(0);
  });

  it('brings back nothing that was deleted by retention when old files reappear beside the new ones', () => {
    const { script, files } = closed();
    const last = files.at(-1) as Map<string, Uint8Array>;
    for (const older of files.slice(0, -1)) {
      const disk = new MapDisk(new Map([...older, ...last]));
      expect([script.states.at(-1), 'HF_DAMAGED']).toContain(conclude(disk).outcome);
    }
  });
});

describe('a crashed store', () => {
  it('never opens below what was known to be durable, whatever single thing happens to it', () => {
    const { script, files } = smallStore((running) => {
      for (const n of [5, 6]) {
        running.change(['b'], (draft) => {
          draft.n = n;
        });
      }
    });
    const { states, acknowledged } = script;
    const disk = new MapDisk(files.at(-1) as Map<string, Uint8Array>);
    expect(conclude(disk)).toEqual({ outcome: states.at(-1), seq: script.issued });
    // The room set aside in the newest tail is one zero like another.
    for (const path of truthPaths(disk)) {
      const bytes = disk.bytes(path);
      let end = bytes.length;
      while (end > 0 && bytes[end - 1] === 0) end--;
      disk.put(path, bytes.subarray(0, Math.min(bytes.length, end + 64)));
    }
    const wrong: string[] = [];
    forEachChange(disk, (what) => {
      const { outcome, seq } = conclude(disk);
      const isSound = outcome === 'HF_DAMAGED' || (seq >= acknowledged && outcome === states[seq]);
      if (!isSound) wrong.push(`${what}: ${outcome}`);
    });
    expect(wrong).toEqual([]);
  }, 300_000);
});

describe('garbage', () => {
  const { files } = closed();
  const disk = new MapDisk(files.at(-1) as Map<string, Uint8Array>);
  const paths = truthPaths(disk);
  const edit = fc.record({
    path: fc.constantFrom(...paths),
    at: fc.nat(5_000),
    from: fc.nat(5_000),
    length: fc.nat(600),
    kind: fc.constantFrom('noise', 'copy', 'insert', 'remove', 'swap'),
    noise: fc.uint8Array({ maxLength: 300 }),
  });

  it('is refused or survived, in time and memory bounded by its size', () => {
    fc.assert(
      fc.property(fc.array(edit, { minLength: 1, maxLength: 8 }), (edits) => {
        const victim = new MapDisk(files.at(-1) as Map<string, Uint8Array>);
        for (const { path, at, from, length, kind, noise } of edits) {
          const bytes = victim.bytes(path);
          const part = bytes.subarray(from % bytes.length, (from % bytes.length) + length);
          const [head, tail] = [bytes.subarray(0, at), bytes.subarray(at)];
          if (kind === 'noise') victim.put(path, Buffer.concat([head, noise, tail.subarray(noise.length)]));
          if (kind === 'copy') victim.put(path, Buffer.concat([head, part, tail.subarray(part.length)]));
          if (kind === 'insert') victim.put(path, Buffer.concat([head, part, tail]));
          if (kind === 'remove') victim.put(path, Buffer.concat([head, tail.subarray(length)]));
          if (kind === 'swap') victim.put(path, Buffer.from(disk.bytes(paths[at % paths.length] as string)));
        }
        const size = victim.paths.reduce((sum, path) => sum + victim.bytes(path).length, 0);
        conclude(victim);
        // Tails and bases are read once to recover and once more to see what can be saved.
        expect(victim.bytesRead).toBeLessThan(size * 12 + 100_000);
      }),
      { numRuns: runs, seed: 7 },
    );
  });

  it('made of nothing but false beginnings takes time in proportion to its size', () => {
    const { files: store } = closed();
    const victim = new MapDisk(store.at(-1) as Map<string, Uint8Array>);
    const tail = victim.paths.filter((path) => path.endsWith('.tail')).at(-1) as string;
    const magic = Buffer.from([0xff, 0x48, 0x46, 0xfe]);
    const header = victim.bytes(tail).subarray(0, 80);
    victim.put(tail, Buffer.concat([header, ...new Array(2_000_000).fill(magic)]));
    expect(conclude(victim).outcome).toBe('HF_DAMAGED');
    expect(victim.bytesRead).toBeLessThan(8_000_000 * 8);
  }, 30_000);
});

it('a store that is refused is left exactly as it was found', () => {
  const { files } = closed();
  const disk = RecordingDisk.fromFiles(files.at(-1) as Map<string, Uint8Array>);
  const tail = [...disk.files().keys()].find((path) => path.endsWith('.tail')) as string;
  const damaged = new Map(disk.files());
  for (const path of damaged.keys()) if (path.endsWith('.base')) damaged.set(path, Buffer.alloc(10));
  damaged.delete(tail);
  const victim = RecordingDisk.fromFiles(damaged);
  const before = victim.hash();
  expect(outcome(victim)).toBe('HF_DAMAGED');
  expect(victim.hash()).toBe(before);
  expect(victim.steps).toBe(0);
});
