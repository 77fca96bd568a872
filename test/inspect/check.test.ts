// What `verify` concludes about the truth, beside what recovery concludes from the same files.

import { basename } from 'node:path';
import { describe, expect, it } from 'vitest';
import { checkTruth } from '../../src/journal/check-truth.js';
import type { Finding } from '../../src/journal/findings.js';
import { Places } from '../../src/journal/places.js';
import { recover } from '../../src/journal/recover.js';
import { Script, STORE } from '../crash/script.js';
import { MapDisk } from '../support/map-disk.js';
import { RecordingDisk } from '../support/recording-disk.js';

const places = new Places(STORE);

/** Two generations, three tails, a log with files of its own: all kinds of files and frames, few bytes. */
function smallStore(end: (script: Script) => void): MapDisk {
  const script = new Script(new RecordingDisk());
  script.open();
  script.create('a', { n: 0 });
  script.append('events', [{ n: 0 }]);
  for (const n of [1, 2, 3, 4]) {
    script.change(['a'], (draft) => {
      draft.n = n;
    });
    script.append('events', [{ n }], ['a'], (draft) => {
      draft.m = n;
    });
    script.durably((truth) => (n === 2 || n === 3 ? truth.compact() : truth.mark()));
  }
  end(script);
  return new MapDisk(new Map(script.disk.files()));
}

function findings(disk: MapDisk): Finding[] {
  const check = checkTruth(disk, places);
  for (;;) {
    const next = check.next();
    if (next.done) return next.value.findings;
  }
}

/** Each word says what one of them concludes: `sound`, `damaged`, or the code it is refused with. */
function conclude(disk: MapDisk): { recovery: string; check: string; found: Finding[] } {
  const codeOf = (error: unknown) => {
    const { code } = error as { code?: string };
    if (code !== 'HF_VERSION') throw error;
    return code;
  };
  let recovery: string;
  try {
    recovery = recover(disk, places).kind;
  } catch (error) {
    recovery = codeOf(error);
  }
  try {
    const found = findings(disk);
    return { recovery, check: found.some(({ effect }) => effect === 'refused') ? 'damaged' : 'sound', found };
  } catch (error) {
    return { recovery, check: codeOf(error), found: [] };
  }
}

type Change = (what: string, disk: MapDisk) => void;

function forEachChange(disk: MapDisk, check: Change): void {
  const attempt = (path: string, what: string, bytes: Buffer | null) => {
    const original = disk.bytes(path);
    disk.put(path, bytes);
    check(`${basename(path)}: ${what}`, disk);
    disk.put(path, original);
  };
  for (const path of disk.paths.filter((name) => /\.(tail|base|entries)$|high-water$/.test(name))) {
    const bytes = disk.bytes(path);
    attempt(path, 'deleted', null);
    // Most of it is room between two slots: the tests of recovery go through it.
    if (bytes.length > 4096) continue;
    for (let at = 0; at < bytes.length; at += 3) {
      const flipped = Buffer.from(bytes);
      flipped[at] = (flipped[at] as number) ^ (1 << (at % 8));
      attempt(path, `byte ${at} changed`, flipped);
    }
    for (let size = 0; size < bytes.length; size += 3) attempt(path, `cut at ${size}`, bytes.subarray(0, size));
    for (let at = 0; at < bytes.length; at += 256)
      attempt(path, `zeros at ${at}`, Buffer.from(bytes).fill(0, at, Math.min(at + 256, bytes.length)));
  }
}

const ENDS: Record<string, (script: Script) => void> = {
  closed: (script) => script.durably((truth) => truth.close()),
  'killed with commits that nobody acknowledged': (script) => {
    for (const n of [5, 6])
      script.change(['a'], (draft) => {
        draft.n = n;
      });
    script.truth.abandon();
  },
  'killed and opened again': (script) => {
    script.change(['a'], (draft) => {
      draft.n = 5;
    });
    script.truth.abandon();
    script.open();
    script.durably((truth) => truth.mark());
  },
};

describe.each(Object.entries(ENDS))('a store that was %s', (_, end) => {
  it('is sound, and without a finding but for its loose end', () => {
    const disk = smallStore(end);
    expect(findings(disk)).toEqual([]);
  });

  it('is refused by the check exactly where recovery refuses it, and no change goes unseen', () => {
    const disk = smallStore(end);
    const apart: string[] = [];
    const unseen: string[] = [];
    const seen = { sound: 0, damaged: 0, HF_VERSION: 0 } as Record<string, number>;
    forEachChange(disk, (what) => {
      const { recovery, check, found } = conclude(disk);
      seen[check] = (seen[check] ?? 0) + 1;
      if (recovery !== check) apart.push(`${what}: recovery ${recovery}, check ${check} ${JSON.stringify(found)}`);
      // A file that is only kept in case another one is damaged may be missing: a young store has none.
      if (check === 'sound' && found.length === 0 && !what.endsWith('deleted')) unseen.push(what);
    });
    expect(apart.slice(0, 10)).toEqual([]);
    expect(unseen.slice(0, 40)).toEqual([]);
    expect(seen.damaged).toBeGreaterThan(100);
    expect(seen.sound).toBeGreaterThan(100);
  });
});
