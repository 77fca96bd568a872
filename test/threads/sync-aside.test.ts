// Syncs on another thread: what they make durable, what a failed one leads to, and what a kill takes meanwhile.

import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { open } from 'holdfast';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Handle } from '../../src/disk/disk.js';
import { HoldfastError } from '../../src/errors.js';
import { Chain } from '../../src/journal/chain.js';
import { planOpening } from '../../src/journal/open.js';
import { encodePayload } from '../../src/journal/payload.js';
import { Places } from '../../src/journal/places.js';
import { distance, Ring } from '../../src/queue/ring.js';
import { Shared } from '../../src/queue/shared.js';
import { Station, type StationReport } from '../../src/threads/station.js';
import { NoAnswer, type SyncAside, SyncHelper, type SyncOutcome, serveSyncs } from '../../src/threads/sync-helper.js';
import { Truth } from '../../src/truth.js';
import { STORE } from '../crash/script.js';
import { newest, worstCase } from '../crash/surgery.js';
import { killState } from '../support/crash-states.js';
import { start } from '../support/process-child.js';
import { because, whyNoFaults } from '../support/process-means.js';
import { randomFrom } from '../support/random.js';
import { faultOf, RecordingDisk } from '../support/recording-disk.js';

/** Syncs at the moment it is asked, and answers when told to: what is written in between is not on the medium. */
class Aside implements SyncAside {
  asked: Handle[] = [];
  waits = 0;
  #outcome: SyncOutcome | null = null;
  #isTaken = false;
  #isDue = false;

  constructor(readonly disk: RecordingDisk) {}

  isFree(): boolean {
    return !this.#isTaken;
  }

  begin(handle: Handle): void {
    expect(this.#isTaken).toBe(false);
    this.#isTaken = true;
    this.asked.push(handle);
    try {
      this.disk.syncData(handle);
      this.#outcome = { error: null };
    } catch (error) {
      this.#outcome = { error: error as Error };
    }
  }

  answer(): void {
    this.#isDue = this.#isTaken;
  }

  outcome(): SyncOutcome | null {
    if (!this.#isDue) return null;
    this.#isDue = false;
    this.#isTaken = false;
    return this.#outcome;
  }

  wait(): SyncOutcome {
    this.waits++;
    this.answer();
    return this.outcome() as SyncOutcome;
  }
}

const RING_BYTES = 1024;

/** A station on a disk whose syncs take 5 ms, with a ring that is soon full and positions that wrap. */
function world(position = 0) {
  const disk = new RecordingDisk();
  const { plan } = planOpening({ disk, places: new Places(STORE), owner: 1, onDamage: 'refuse', now: () => 0 });
  const shared = new Shared();
  shared.nextNumber = plan.nextNumber;
  shared.head = position;
  shared.written = position;
  shared.durable = { ...plan.base, position };
  const ring = new Ring(new SharedArrayBuffer(RING_BYTES));
  const reports: StationReport[] = [];
  const clock = { now: 0 };
  const owner = { isLost: false };
  const aside = new Aside(disk);
  const common = { directory: STORE, owner: 1, shared: shared.memory, ring: ring.memory, syncDelayMs: 100 };
  const hooks = {
    report: (report: StationReport) => reports.push(report),
    apart: () => {
      throw new Error('Nothing travels apart here');
    },
    assertOwner: () => {
      if (owner.isLost) throw new HoldfastError('HF_FENCED', 'Another process has taken over.');
    },
    disk,
    aside,
    clock: () => clock.now,
  };
  const slow = () => {
    disk.inject = (call) => {
      if (call.name === 'syncData') clock.now += 5;
      return undefined;
    };
  };
  const chain = new Chain(plan.base);
  const pushed = { n: 0 };
  const push = (): boolean => {
    const used = distance(shared.durable.position, shared.head);
    if (!ring.hasRoom(used, RING_BYTES / 4)) return false;
    const n = ++pushed.n;
    const payload = encodePayload([[n === 1 ? [0, { n }] : [1, [], 'n', n]]], false);
    const frame = chain.encode([{ name: 'a', from: n - 1, version: n }], payload, shared.durableSeq, 0);
    shared.head = ring.put(shared.head, frame.bytes);
    return true;
  };
  const begin = () => {
    const { seq, crc } = shared.durable;
    return new Station({ ...common, plan: { ...plan, base: { seq, crc } } }, hooks);
  };
  /** With a first sync behind it that was slow. */
  const warm = () => {
    slow();
    const station = begin();
    push();
    shared.want();
    station.step();
    expect(shared.durableSeq).toBe(1);
    expect(aside.asked).toEqual([]);
    return station;
  };
  return { disk, shared, reports, clock, owner, aside, hooks, pushed, push, begin, warm, slow };
}

function foundAt(disk: RecordingDisk): number {
  const truth = new Truth(STORE, { disk });
  return truth.names.includes('a') ? (truth.doc('a', { initial: { n: 0 } }).state.n as number) : 0;
}

describe('a sync on another thread', () => {
  it('makes durable what was written before it began, and what comes meanwhile is written at once', () => {
    const { disk, shared, aside, push, warm, begin } = world();
    const station = warm();
    push();
    shared.want();
    station.step();
    expect(aside.asked).toHaveLength(1);
    push();
    expect(station.step()).toBeGreaterThan(0);
    expect(shared.written).toBe(shared.head);
    expect(shared.durableSeq).toBe(1);
    expect(foundAt(killState(disk))).toBe(3);

    aside.answer();
    station.step();
    expect(shared.durableSeq).toBe(2);
    expect(distance(shared.durable.position, shared.head)).toBeGreaterThan(0);
    expect(foundAt(worstCase(disk))).toBe(2);
    // A successor finds the third in the ring.
    station.abandon();
    begin();
    expect(shared.durableSeq).toBe(3);
    expect(foundAt(worstCase(disk))).toBe(3);
  });

  it('is asked for once: a wish that comes meanwhile leads to the next one', () => {
    const { shared, aside, clock, push, warm } = world();
    const station = warm();
    push();
    shared.want();
    station.step();
    push();
    shared.want();
    station.step();
    clock.now += 1_000;
    station.step();
    expect(aside.asked).toHaveLength(1);
    aside.answer();
    station.step();
    expect(aside.asked).toHaveLength(2);
    aside.answer();
    station.step();
    expect(shared.durableSeq).toBe(3);
  });

  it('that fails is never repeated: a new tail takes everything, also what was written meanwhile', () => {
    const { disk, shared, aside, reports, clock, push, warm } = world();
    const station = warm();
    let left = 1;
    disk.inject = (call) => {
      if (call.name !== 'syncData') return undefined;
      clock.now += 5;
      return left-- > 0 ? faultOf('EIO', call) : undefined;
    };
    push();
    shared.want();
    station.step();
    push();
    station.step();
    const failed = newest(disk, '.tail');
    const before = disk.steps;
    aside.answer();
    station.step();
    expect(shared.durableSeq).toBe(3);
    expect(foundAt(worstCase(disk))).toBe(3);
    expect(reports).toMatchObject([{ kind: 'fault', code: 'HF_IO', isPassing: false }, { kind: 'mended' }]);
    const again = disk.calls.slice(before).filter(({ name, path }) => name.startsWith('sync') && path === failed);
    expect(again).toEqual([]);
    station.close();
    expect(foundAt(worstCase(disk))).toBe(3);
  });

  it('that fails while no new tail can be made: nothing is acknowledged until one can', () => {
    const { disk, shared, aside, reports, clock, push, warm } = world();
    const station = warm();
    disk.inject = (call) => (/syncData|open/.test(call.name) ? faultOf('EIO', call) : undefined);
    push();
    shared.want();
    station.step();
    push();
    aside.answer();
    station.step();
    expect(shared.durableSeq).toBe(1);
    expect(reports.at(-1)).toMatchObject({ kind: 'fault', code: 'HF_IO' });
    disk.inject = undefined;
    clock.now += 2_000;
    expect(station.step()).toBeGreaterThan(0);
    expect(shared.durableSeq).toBe(3);
    expect(reports.at(-1)).toEqual({ kind: 'mended' });
    expect(foundAt(worstCase(disk))).toBe(3);
  });

  it('that fails when a rotation has waited for it: what it was to make durable is due again', () => {
    const { disk, shared, clock, push, warm } = world();
    const station = warm();
    disk.inject = (call) => (/syncData|open/.test(call.name) ? faultOf('EIO', call) : undefined);
    push();
    shared.want();
    station.step();
    expect(() => station.rotate()).toThrow(expect.objectContaining({ code: 'HF_IO' }));
    disk.inject = undefined;
    clock.now += 100;
    station.step();
    expect(shared.durableSeq).toBe(2);
    expect(foundAt(worstCase(disk))).toBe(2);
  });

  it('acknowledges nothing when another process has taken the store over meanwhile', () => {
    const { shared, aside, owner, reports, push, warm } = world();
    const station = warm();
    push();
    shared.want();
    station.step();
    owner.isLost = true;
    aside.answer();
    expect(station.step()).toBe(Number.POSITIVE_INFINITY);
    expect(shared.durableSeq).toBe(1);
    expect(reports).toMatchObject([{ kind: 'fault', code: 'HF_FENCED' }]);
  });

  it('is waited for by whatever closes the file', () => {
    for (const finish of ['close', 'rotate', 'abandon'] as const) {
      const { disk, shared, aside, push, warm } = world();
      const station = warm();
      push();
      shared.want();
      station.step();
      push();
      station.step();
      expect(aside.waits).toBe(0);
      station[finish]();
      expect(aside.waits).toBe(1);
      expect(foundAt(worstCase(disk))).toBe(finish === 'abandon' ? 2 : 3);
    }
  });

  it('is for disks that were slow, and not for somebody who waits on one that was fast the last time', () => {
    const { disk, shared, aside, clock, push, warm } = world();
    const station = warm();
    const isFast = () => {
      disk.inject = undefined;
    };
    isFast();
    push();
    shared.want();
    station.step();
    aside.answer();
    station.step();
    expect(aside.asked).toHaveLength(1);
    push();
    shared.want();
    station.step();
    expect(aside.asked).toHaveLength(1);
    expect(shared.durableSeq).toBe(3);
    push();
    station.step();
    clock.now += 100;
    station.step();
    expect(aside.asked).toHaveLength(2);
  });

  it('at any moment of any life: a kill keeps what is written, a power cut what is durable, a successor everything', () => {
    for (let seed = 1; seed <= 60; seed++) {
      const random = randomFrom(seed);
      // Near the end of the numbers, where positions begin anew.
      const { disk, shared, aside, clock, pushed, push, begin, warm, slow } = world(2 ** 32 - 700);
      let station = warm();
      for (let move = 0; move < 60; move++) {
        const dice = random();
        if (dice < 0.4) push();
        else if (dice < 0.5) shared.want();
        else if (dice < 0.6) aside.answer();
        else if (dice < 0.65) clock.now += 60;
        else if (dice < 0.68) {
          let left = 1;
          disk.inject = (call) => {
            if (call.name === 'syncData') clock.now += 5;
            const isHit = call.name === 'syncData' && left-- > 0;
            return isHit ? faultOf('EIO', call) : undefined;
          };
        } else if (dice < 0.7) {
          // As a thread that dies: its helper has ended before its successor begins.
          station.abandon();
          slow();
          station = begin();
          expect(shared.durableSeq, `seed ${seed}`).toBe(pushed.n);
        } else station.step();
        if (random() < 0.3) {
          const durable = shared.durableSeq;
          const found = foundAt(worstCase(disk));
          expect(found, `seed ${seed}, move ${move}`).toBeGreaterThanOrEqual(durable);
          expect(found).toBeLessThanOrEqual(pushed.n);
          if (shared.written === shared.head) expect(foundAt(killState(disk))).toBe(pushed.n);
        }
      }
      disk.inject = undefined;
      station.close();
      expect(foundAt(worstCase(disk)), `seed ${seed}`).toBe(pushed.n);
    }
  });
});

describe('the helper', () => {
  const folders: string[] = [];
  const workers: Worker[] = [];
  afterEach(async () => {
    vi.restoreAllMocks();
    await Promise.all(workers.splice(0).map((worker) => worker.terminate()));
    for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
  });

  function file(): { fd: number; path: string } {
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-aside-'));
    folders.push(folder);
    const path = join(folder, 'file');
    return { fd: openSync(path, 'w+'), path };
  }

  async function ready(): Promise<SyncHelper> {
    const helper = new SyncHelper((memory) => {
      const bell = new SharedArrayBuffer(8);
      workers.push(
        new Worker(new URL('../../dist/workers/sync.js', import.meta.url), { workerData: { memory, bell } }),
      );
    });
    await vi.waitFor(() => expect(helper.isFree()).toBe(true), { timeout: 20_000 });
    return helper;
  }

  it('syncs, one file at a time, and tells each answer once, to the one who asked', async () => {
    const helper = await ready();
    const { fd } = file();
    writeSync(fd, 'x');
    helper.begin(fd);
    expect(helper.isFree()).toBe(false);
    expect(() => helper.begin(fd)).toThrow('under way');
    expect(helper.wait()).toEqual({ error: null });
    expect(helper.isFree()).toBe(true);
    closeSync(fd);
    helper.begin(fd);
    // Answered, and not heard yet: the next one must not cover it.
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(helper.isFree()).toBe(false);
    expect(helper.outcome()).toMatchObject({ error: { code: 'EBADF', syscall: 'fdatasync' } });
    expect(helper.isFree()).toBe(true);
  });

  it('that never comes up is never asked', () => {
    const helper = new SyncHelper(() => undefined);
    expect(helper.isFree()).toBe(false);
    expect(() => helper.begin(3)).toThrow('under way');
  });

  it('that does not answer any more is given up, by a throw that ends the thread', async () => {
    const helper = await ready();
    await Promise.all(workers.splice(0).map((worker) => worker.terminate()));
    helper.begin(1);
    expect(helper.outcome()).toBeNull();
    const later = performance.now() + 31_000;
    vi.spyOn(performance, 'now').mockReturnValue(later);
    expect(() => helper.outcome()).toThrow(NoAnswer);
    expect(() => helper.wait()).toThrow(NoAnswer);
  });

  it('serves until it is told that all is over', () => {
    const memory = new SharedArrayBuffer(20);
    const words = new Int32Array(memory);
    const { fd } = file();
    words[3] = fd;
    words[1] = 1;
    let answers = 0;
    serveSyncs(
      memory,
      () => answers++,
      () => answers > 0,
    );
    expect([...words]).toEqual([1, 1, 1, fd, 0]);
    closeSync(fd);
  });
});

/** Whether the last sync that strace saw was made by another thread than the first one, which is the journal's. */
function wasAside(trace: string): boolean {
  const threads = [...readFileSync(trace, 'utf8').matchAll(/^(\d+) +fdatasync/gm)].map(([, thread]) => thread);
  return threads.length > 0 && threads.at(-1) !== threads[0];
}

/** Changes something until a sync is under way that follows so many others, and is killed during it. */
async function killDuringSync(directory: string, syncs: number): Promise<{ isAside: boolean; n: number }> {
  const program = `
    import { open } from 'holdfast';
    const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
    const store = await open(${JSON.stringify(join(directory, 'store'))}, { syncDelayMs: 5 });
    const doc = await store.doc('a', { initial: { n: 0 } });
    const step = () => doc.update((draft) => { draft.n++; });
    while (store.health().syncs.count < ${syncs}) { step(); await sleep(5); }
    // Something is always under way now. The last change has 150 ms until the kill, and no sync of it ends so soon.
    const { count } = store.health().syncs;
    while (store.health().syncs.count === count) { step(); await sleep(1); }
    for (let more = 0; more < 10; more++) { step(); await sleep(2); }
    const { n } = doc.state;
    await sleep(150);
    console.log('durable ' + doc.durableVersion + ' of ' + doc.version + ', n ' + n);
    process.kill(process.pid, 'SIGKILL');`;
  const trace = join(directory, 'trace');
  const inject = ['--seccomp-bpf', '-e', 'trace=fdatasync', '-e', 'inject=fdatasync:delay_enter=300000'];
  const child = start(program, { wrapper: ['strace', '-f', '-o', trace, ...inject] });
  const said = await child.line('durable');
  await child.ended;
  const [durable, version, n] = (/(\d+) of (\d+), n (\d+)/.exec(said ?? '') ?? []).slice(1).map(Number);
  // Else the kill would prove nothing.
  expect(durable).toBeLessThan(version as number);
  return { isAside: wasAside(trace), n: n as number };
}

describe(because('a disk that takes 300 ms to sync', whyNoFaults()), () => {
  it.skipIf(whyNoFaults() !== null)(
    'a kill during a sync takes nothing that was changed a moment before',
    async () => {
      const directory = mkdtempSync(join(tmpdir(), 'holdfast-aside-'));
      try {
        // On a busy machine it may take a while until the thread is there that syncs.
        for (let syncs = 4; ; syncs *= 2) {
          const { isAside, n } = await killDuringSync(directory, syncs);
          if (isAside) {
            const store = await open(join(directory, 'store'));
            expect((await store.doc('a', { initial: { n: 0 } })).state.n).toBe(n);
            await store.close();
            return;
          }
          expect(syncs, 'no sync on another thread').toBeLessThan(64);
        }
      } finally {
        rmSync(directory, { recursive: true });
      }
    },
    240_000,
  );
});
