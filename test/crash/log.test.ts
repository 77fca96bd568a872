// Logs through a life with growth, compaction, kills and clean ends, stopped after any call.

import { describe, expect, it } from 'vitest';
import { moveEntries, writeSegment } from '../../src/journal/move-entries.js';
import { Places } from '../../src/journal/places.js';
import { compact, forget } from '../../src/projection/station.js';
import { Truth } from '../../src/truth.js';
import { storeIdAt } from '../projection/support.js';
import { killState } from '../support/crash-states.js';
import { RecordingDisk } from '../support/recording-disk.js';
import { explore } from './explore.js';
import { Script, STORE, stateOf } from './script.js';
import { edited, gone, newest, outcome, worstCase } from './surgery.js';

const isCampaign = Number(process.env.HOLDFAST_RUNS ?? 0) >= 1000;

/** Every entry says which one it is, and the document how many there are: a mixed state shows. */
function entry(script: Script, log: string, n: number): void {
  if (n === 1 && !script.truth.names.includes('loop')) script.create('loop', { events: 0 });
  script.append(log, [{ n, text: `entry ${n} `.repeat(9) }], ['loop'], (draft) => {
    draft[log] = n;
  });
}

function logLife(script: Script): void {
  script.open();
  script.create('loop', { events: 0 });
  entry(script, 'events', 1);
  script.append('a/b', ['first', null, ['third']]);
  script.flush();
  entry(script, 'events', 2);
  script.durably((truth) => truth.compact());
  entry(script, 'events', 3);
  entry(script, 'events', 4);
  script.kill();
  script.open();
  entry(script, 'events', 5);
  script.durably((truth) => truth.compact());
  script.append('a/b', ['fourth']);
  entry(script, 'events', 6);
  script.durably((truth) => truth.compact());
  entry(script, 'events', 7);
  script.durably((truth) => truth.close());
  script.open();
  entry(script, 'events', 8);
  script.durably((truth) => truth.compact());
  entry(script, 'events', 9);
  script.flush();
}

function lived(): Script {
  const script = new Script(new RecordingDisk());
  logLife(script);
  return script;
}

describe('a log', () => {
  it('loses no acknowledged entry, gives none twice and none out of order, whatever a power cut keeps', () => {
    const found = explore(logLife, { random: isCampaign ? 200 : 0, interruptEvery: isCampaign ? 3 : 397 });
    console.info(`${found.stops} stops, ${found.states} states, ${found.interrupted} after interrupted recoveries`);
    expect(found.violations.map((text) => text.slice(0, 600)).slice(0, 3)).toEqual([]);
    expect(found.interrupted).toBeGreaterThan(50);
  }, 600_000);

  // What such a file system leaves is among what any may leave; the campaign looks at more of it.
  it.runIf(isCampaign)(
    'does so on a file system that keeps directory entries in order',
    () => {
      const found = explore(logLife, { model: 'journal', random: 200 });
      expect(found.violations.map((text) => text.slice(0, 600)).slice(0, 3)).toEqual([]);
    },
    600_000,
  );
});

const segments = (disk: RecordingDisk) => [...disk.files().keys()].filter((path) => path.endsWith('.entries')).sort();

describe('the files of a log', () => {
  it('are few: small ones are taken over into the next', () => {
    expect(segments(lived().disk)).toHaveLength(2);
  });

  it('that are gone or damaged at an end are noticed at open, and heal from the tails where these still hold the entries', () => {
    const { disk, states } = lived();
    const whole = killState(disk);
    const right = states.at(-1);
    expect(outcome(whole.clone())).toBe(right);
    for (const path of segments(whole)) {
      const { length } = whole.files().get(path) as Uint8Array;
      for (const edit of [
        gone,
        (bytes: Buffer) => bytes.subarray(0, length - 1),
        (bytes: Buffer) => bytes.fill(0, 0, 80),
      ]) {
        expect(outcome(edited(whole, { [path]: edit }))).toBe('HF_DAMAGED');
      }
    }
  });

  it('are not needed for entries that the tails still hold', () => {
    const script = new Script(new RecordingDisk());
    script.open();
    script.create('loop', { events: 0 });
    entry(script, 'events', 1);
    script.durably((truth) => truth.compact());
    const worst = worstCase(script.disk);
    const [only] = segments(worst) as [string];
    const disk = edited(worst, { [only]: gone });
    const truth = new Truth(STORE, { disk });
    expect(stateOf(truth)).toBe(script.states.at(-1));
    expect(truth.notes).toMatchObject([{ kind: 'base-damaged' }]);
    truth.compact();
    expect(segments(disk)).toHaveLength(1);
    expect(outcome(worstCase(disk))).toBe(script.states.at(-1));
  });

  it('never give an entry that is not the one that was appended, whichever byte of them rots', () => {
    const { disk, states } = lived();
    const whole = killState(disk);
    const right = states.at(-1);
    let refused = 0;
    for (const path of segments(whole)) {
      const { length } = whole.files().get(path) as Uint8Array;
      for (let at = 0; at < length; at += isCampaign ? 1 : 3) {
        const rotten = edited(whole, {
          [path]: (bytes) => {
            bytes[at] = (bytes[at] as number) ^ (1 << (at % 8));
            return bytes;
          },
        });
        const found = outcome(rotten);
        if (found === 'HF_DAMAGED' || found === 'HF_VERSION') refused++;
        else expect(found).toBe(right);
      }
    }
    expect(refused).toBeGreaterThan(300);
  });

  it('damaged in the middle still give what lies before and behind, and name what is lost', () => {
    const script = new Script(new RecordingDisk());
    script.open();
    const entries = Array.from({ length: 30 }, (_, n) => ({ n, text: 'x'.repeat(20_000) }));
    script.append('events', entries);
    script.durably((truth) => truth.compact());
    script.append('events', [{ n: 30 }]);
    script.durably((truth) => truth.compact());
    script.append('events', [{ n: 31 }]);
    script.durably((truth) => truth.compact());
    const worst = killState(script.disk);
    const [path] = segments(worst) as [string];
    const disk = edited(worst, { [path]: (bytes) => bytes.fill(0x20, 300_000, 300_100) });
    const truth = new Truth(STORE, { disk });
    let error: { code?: string; details?: { from: number; to: number }; message?: string } = {};
    try {
      truth.readLog('events');
    } catch (caught) {
      error = caught as typeof error;
    }
    expect(error.code).toBe('HF_DAMAGED');
    const { from, to } = error.details as { from: number; to: number };
    expect(from).toBe(12);
    expect(to).toBe(16);
    expect(error.message).toContain('Entries 12 to 15');
    expect(truth.readLog('events', to)).toEqual([...entries.slice(to), { n: 30 }, { n: 31 }]);
  });

  it('after a salvage hold every entry that could be read, at its own index', () => {
    const { disk, states } = lived();
    const worst = killState(disk);
    const last = segments(worst).find((path) => worst.files().get(path)?.includes(0) !== undefined) as string;
    const model = JSON.parse(states.at(-1) as string) as Record<string, unknown[]>;
    for (const path of segments(worst)) {
      const broken = edited(worst, { [path]: gone });
      expect(outcome(broken.clone())).toBe('HF_DAMAGED');
      const truth = new Truth(STORE, { disk: broken, onDamage: 'salvage' });
      for (const name of truth.logNames) {
        const all = model[`log:${name}`] as unknown[];
        const found = truth.readLog(name);
        expect(all.slice(all.length - found.length)).toEqual(found);
        expect(truth.log(name).length).toBe(all.length);
      }
      truth.log('events').append('after');
      truth.compact();
      truth.close();
      const again = new Truth(STORE, { disk: worstCase(broken) });
      expect(again.readLog('events').at(-1)).toBe('after');
      expect(again.log('events').length).toBe((model['log:events'] as unknown[]).length + 1);
    }
    expect(last).toBeDefined();
  });

  it('of a process that had lost the store, written late, do no harm: they agree with those of its successor', () => {
    const script = new Script(new RecordingDisk());
    script.open();
    for (let n = 0; n < 4; n++) script.append('events', [{ n }]);
    script.flush();
    const stale = { directory: STORE, storeId: storeIdAt(script.disk), owner: 0, toSeq: 4, timeMs: 0 };
    const tools = { disk: script.disk, critical: <R>(fn: () => R) => fn(), isNewest: () => true };
    for (let n = 4; n < 8; n++) script.append('events', [{ n }]);
    script.durably((truth) => truth.compact());
    // It has read up to commit 4, and goes on only now.
    const logs = new Map([['log:events', { count: 4, lost: [] }]]);
    const at = { seq: 4, crc: 0 };
    const move = { storeId: stale.storeId, owner: 0, number: 900, at, timeMs: 0, key: 'log:events', from: 0, to: 4 };
    const lines = [0, 1, 2, 3].map((n) => Buffer.from(`{"n":${n}}\n`));
    writeSegment(script.disk, new Places(STORE), move, lines);
    moveEntries(script.disk, new Places(STORE), { ...move, logs });
    expect(segments(script.disk)).toHaveLength(2);
    expect(stateOf(script.truth)).toBe(script.states.at(-1));
    expect(compact({ ...stale, number: 901 }, tools)).toMatchObject({ kind: 'compacted' });
    forget(stale.storeId);
    script.append('events', [{ n: 8 }]);
    script.durably((truth) => truth.compact());
    expect(segments(script.disk)).toHaveLength(1);
    script.kill();
    expect(outcome(worstCase(script.disk))).toBe(script.states.at(-1));
  });

  it('are witnesses: the commits whose entries they hold are not cut off as if they had never been durable', () => {
    const script = new Script(new RecordingDisk());
    script.open();
    script.append('events', ['first']);
    script.flush();
    script.append('events', ['second']);
    script.flush();
    const tail = newest(script.disk, '.tail');
    const zeroLast = (bytes: Buffer) => {
      const start = bytes.lastIndexOf(Buffer.from([0xff, 0x48, 0x46, 0xfe]));
      return bytes.fill(0, start, start + bytes.readUInt32LE(start + 4));
    };
    // Nothing on disk says yet that it was durable.
    expect(outcome(edited(killState(script.disk), { [tail]: zeroLast }))).toBe('{"log:events":["first"]}');
    const logs = new Map([['log:events', { count: 2, lost: [] }]]);
    const move = { storeId: storeIdAt(script.disk), owner: 1, number: 50, at: { seq: 2, crc: 0 }, timeMs: 0, logs };
    moveEntries(script.disk, new Places(STORE), move);
    expect(outcome(edited(killState(script.disk), { [tail]: zeroLast }))).toBe('HF_DAMAGED');
    expect(outcome(killState(script.disk))).toBe('{"log:events":["first","second"]}');
  });

  it('that have rotted are noticed before the tails with the same entries go', () => {
    const script = new Script(new RecordingDisk());
    script.open();
    entry(script, 'events', 1);
    script.durably((truth) => truth.compact());
    const { disk } = script;
    const [path] = segments(disk) as [string];
    const handle = disk.open(path, 'write');
    disk.write(handle, Buffer.from('?'), 0, 1, Buffer.from(disk.files().get(path) as Uint8Array).indexOf('entry 1'));
    disk.close(handle);
    for (let n = 2; n < 6; n++) {
      entry(script, 'events', n);
      script.durably((truth) => truth.compact());
    }
    expect(stateOf(script.truth)).toBe(script.states.at(-1));
    script.kill();
    expect(outcome(killState(disk))).toBe(script.states.at(-1));
  });

  it('are found again when the newest base is damaged: the files know more than the older one, and nothing is given twice', () => {
    const { disk, states } = lived();
    const rotten = edited(worstCase(disk), { [newest(disk, '.base')]: (bytes) => bytes.fill(0x55, 100, 120) });
    const truth = new Truth(STORE, { disk: rotten });
    expect(stateOf(truth)).toBe(states.at(-1));
    truth.compact();
    truth.close();
    expect(outcome(worstCase(rotten))).toBe(states.at(-1));
  });
});
