import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encodeFileHeader, readFileHeader } from '../../src/journal/file-header.js';
import { encodeFrame } from '../../src/journal/frame.js';
import { KIND_COMMIT } from '../../src/journal/layout.js';
import { Places } from '../../src/journal/places.js';
import { Follower } from '../../src/projection/follower.js';
import { Shelf } from '../../src/projection/shelf.js';
import { Truth } from '../../src/truth.js';
import { show, stateOf } from '../crash/script.js';
import { edited, gone, newest, outcome, pathsOf } from '../crash/surgery.js';
import { crashStates } from '../support/crash-states.js';
import { faultOf, RecordingDisk } from '../support/recording-disk.js';
import { put, STORE, storeIdAt } from './support.js';

const places = new Places(STORE);

/** A store, everything that was ever committed to it, and a replica that reads along. */
class World {
  disk = new RecordingDisk();
  states: string[] = [];
  truth!: Truth;
  follower!: Follower;
  compactions = 0;

  constructor() {
    this.open();
    this.follow();
  }

  open(): void {
    this.truth = new Truth(STORE, { disk: this.disk });
    // What a crash took is gone, and its numbers are given out again.
    this.states.length = Math.min(this.states.length, this.truth.lastSeq + 1);
    this.note();
  }

  follow(): void {
    this.follower = new Follower(this.disk, places);
  }

  readonly note = (): void => {
    this.states[this.truth.lastSeq] = stateOf(this.truth);
  };

  /** What the follower sees at a durable sequence is what was committed there. */
  check(toSeq: number): void {
    const before = this.follower.at.seq;
    const seq = this.follower.catchUp(toSeq);
    expect(this.follower.problem).toBeNull();
    // After a compaction the files may begin beyond it, with a base: that is durable too.
    if (this.compactions === 0) expect(seq).toBe(Math.max(before, toSeq));
    expect(seq).toBeGreaterThanOrEqual(toSeq);
    expect(seq).toBeLessThanOrEqual(Math.max(before, this.truth.durableSeq));
    expect(this.shown()).toBe(this.states[seq] ?? show({}));
  }

  shown(): string {
    return show(Object.fromEntries([...this.follower.documents].map(([name, { state }]) => [name, state])));
  }
}

type Action = (world: World) => void;

const named = (name: string, run: Action): Action => Object.assign(run, { [fc.toStringMethod]: () => name });

const commit = fc.tuple(fc.constantFrom('a', 'b', 'c/d'), fc.nat(2000)).map(([name, size]) =>
  named(`commit ${name} ${size}`, ({ truth, note }) => {
    const doc = truth.doc<{ items: unknown[]; text: string }>(name, { initial: { items: [], text: '' } });
    // Creating it was a commit of its own.
    note();
    doc.update((draft) => {
      draft.items.push({ size });
      draft.text = 'x'.repeat(size);
      if (draft.items.length > 4) draft.items.shift();
    });
  }),
);

const actions: fc.Arbitrary<Action> = fc.oneof(
  { weight: 8, arbitrary: commit },
  {
    weight: 1,
    arbitrary: fc.constantFrom('a', 'b').map((name) => named(`remove ${name}`, ({ truth }) => truth.remove(name))),
  },
  { weight: 4, arbitrary: fc.constant(named('flush', ({ truth }) => truth.flush())) },
  { weight: 1, arbitrary: fc.constant(named('mark', ({ truth }) => truth.mark())) },
  { weight: 2, arbitrary: fc.constant(named('rotate', ({ truth }) => truth.rotate())) },
  {
    weight: 2,
    arbitrary: fc.constant(
      named('compact', (world) => {
        world.truth.compact();
        world.compactions++;
      }),
    ),
  },
  {
    weight: 3,
    arbitrary: fc.constant(
      named('failed sync', ({ disk, truth }) => {
        let left = 1;
        disk.inject = (call) => (call.name === 'syncData' && left-- > 0 ? faultOf('EIO', call) : undefined);
        truth.flush();
        disk.inject = undefined;
      }),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.boolean().map((isClean) =>
      named(isClean ? 'close, open' : 'let go, open', (world) => {
        if (isClean) world.truth.close();
        else world.truth.abandon();
        world.open();
      }),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.nat(1000).map((seed) =>
      named(`power cut ${seed}`, (world) => {
        const states = [...crashStates(world.disk, { random: 3, seed })];
        world.disk = states[seed % states.length] as RecordingDisk;
        world.open();
        world.follow();
      }),
    ),
  },
  { weight: 1, arbitrary: fc.constant(named('follow anew', (world) => world.follow())) },
  {
    weight: 6,
    arbitrary: fc.constantFrom(0.2, 0.5, 0.8, 1, 1, 1).map((part) =>
      named(`catch up to ${part}`, (world) => {
        const { seq } = world.follower.at;
        world.check(seq + Math.round((world.truth.durableSeq - seq) * part));
      }),
    ),
  },
);

describe('a replica that reads along', () => {
  it('is at every durable sequence what was committed, through rotation, compaction, failed syncs and crashes', () => {
    const runs = Number(process.env.HOLDFAST_RUNS ?? 0) >= 1000 ? 3000 : 250;
    fc.assert(
      fc.property(fc.array(actions, { minLength: 5, maxLength: 60, size: 'max' }), (steps) => {
        const world = new World();
        for (const step of steps) {
          step(world);
          world.note();
        }
        world.check(world.truth.durableSeq);
        world.truth.flush();
        world.check(world.truth.durableSeq);
      }),
      { numRuns: runs },
    );
  }, 300_000);
});

interface Loop {
  n: number;
}

function store(count: number) {
  const disk = new RecordingDisk();
  const truth = new Truth(STORE, { disk });
  const doc = truth.doc<Loop>('loop', { initial: { n: 1 } });
  const set = (n: number) =>
    doc.update((draft) => {
      draft.n = n;
    });
  for (let n = 2; n <= count; n++) set(n);
  truth.flush();
  return { disk, truth, set };
}

const valueIn = (follower: Follower) => (follower.documents.get('loop')?.state as unknown as Loop | undefined)?.n;

function flipped(bytes: Buffer, at: number): Buffer {
  bytes[at] = (bytes[at] as number) ^ 4;
  return bytes;
}

describe('catching up', () => {
  it('applies nothing that may not be durable, though it is there', () => {
    const { disk, set } = store(3);
    set(4);
    const follower = new Follower(disk, places);
    expect(follower.catchUp(2)).toBe(2);
    expect(valueIn(follower)).toBe(2);
    expect(follower.catchUp(1)).toBe(2);
    expect(follower.catchUp(3)).toBe(3);
    expect(valueIn(follower)).toBe(3);
    expect(follower.changedSeq('loop')).toBe(3);
    expect(follower.changedSeq('other')).toBe(0);
  });

  it('stops where frames are not there yet, and goes on when they are', () => {
    const { disk, set, truth } = store(2);
    const follower = new Follower(disk, places, storeIdAt(disk));
    expect(follower.catchUp(3)).toBe(2);
    expect(follower.problem).toContain('commit 3 is not in');
    set(3);
    truth.flush();
    expect(follower.catchUp(3)).toBe(3);
    expect(follower.problem).toBeNull();
  });

  it('reads a copy in a lower tail when the one that took it over cannot be read, as recovery does', () => {
    const { disk, truth } = store(4);
    // Ends without saying what is durable: the next tail begins with copies.
    truth.abandon();
    const next = new Truth(STORE, { disk });
    next.doc<Loop>('loop', { initial: { n: 0 } }).update((draft) => {
      draft.n = 5;
    });
    next.flush();
    const tail = newest(disk, '.tail');
    const starts = frameStarts(disk, tail);
    expect(starts.length).toBeGreaterThan(3);
    const rotten = edited(disk, { [tail]: (bytes) => flipped(bytes, (starts[1] as number) + 70) });
    const follower = new Follower(rotten, places);
    expect(follower.catchUp(next.durableSeq)).toBe(next.durableSeq);
    expect(follower.problem).toBeNull();
    expect(valueIn(follower)).toBe(5);
    expect(outcome(rotten)).toBe(stateOf(next));
    // A commit of which there is no copy is not got round.
    const last = starts[4] as number;
    const lost = new Follower(edited(disk, { [tail]: (bytes) => flipped(bytes, last + 70) }), places);
    expect(lost.catchUp(next.durableSeq)).toBe(next.durableSeq - 1);
    expect(lost.problem).toContain('cannot be read at byte');
  });

  it('stops at a frame that is being written, and before one behind a gap', () => {
    const { disk } = store(3);
    const tail = newest(disk, '.tail');
    const starts = frameStarts(disk, tail);
    const torn = edited(disk, { [tail]: (bytes) => bytes.fill(0, (starts[2] as number) + 70) });
    const follower = new Follower(torn, places);
    expect(follower.catchUp(3)).toBe(2);
    expect(follower.problem).toContain('cannot be read at byte');
    const gap = edited(disk, { [tail]: (bytes) => bytes.fill(0, starts[1], starts[2]) });
    expect(new Follower(gap, places).catchUp(3)).toBe(1);
  });

  it('applies nothing twice when a tail begins with copies, after a failed sync', () => {
    const { disk, set, truth } = store(5);
    const followers = [3, 5].map((seq) => {
      const follower = new Follower(disk, places);
      follower.catchUp(seq);
      return follower;
    });
    set(6);
    let left = 1;
    disk.inject = (call) => (call.name === 'syncData' && left-- > 0 ? faultOf('EIO', call) : undefined);
    truth.flush();
    const before = pathsOf(disk, '.tail')[0] as string;
    // The kernel has dropped the pages: only the new tail can be trusted from its first commit on.
    const rest = edited(disk, { [before]: (bytes) => bytes.fill(0, 80) });
    for (const follower of [...followers, new Follower(rest, places)]) {
      expect(follower.catchUp(6)).toBe(6);
      expect(valueIn(follower)).toBe(6);
      expect(follower.documents.get('loop')?.version).toBe(6);
    }
  });

  it('reads only what is new', () => {
    const { disk, set, truth } = store(50);
    const follower = new Follower(disk, places);
    follower.catchUp(50);
    set(51);
    truth.flush();
    const lengths: number[] = [];
    disk.inject = (call) => {
      if (call.name === 'read') lengths.push(call.position ?? 0);
      return undefined;
    };
    follower.catchUp(51);
    expect(Math.min(...lengths)).toBeGreaterThan(4000);
  });

  it('begins again from a base when its files were deleted behind it', () => {
    const { disk, set, truth } = store(3);
    const follower = new Follower(disk, places);
    follower.catchUp(3);
    for (let n = 4; n <= 8; n++) {
      set(n);
      truth.compact();
    }
    expect(pathsOf(disk, '.tail').length).toBeLessThan(4);
    expect(follower.catchUp(8)).toBe(8);
    expect(valueIn(follower)).toBe(8);
    expect(follower.changedSeq('loop')).toBeGreaterThan(3);
  });

  it('passes over a deleted base that a power cut brought back without its tails', () => {
    const { disk, truth, set } = store(1);
    truth.compact();
    const old = newest(disk, '.base');
    const bytes = disk.files().get(old) as Uint8Array;
    for (let n = 2; n <= 4; n++) {
      set(n);
      truth.compact();
    }
    truth.close();
    expect(disk.files().has(old)).toBe(false);
    const files = new Map([...disk.files(), [old, bytes] as const]);
    const follower = new Follower(RecordingDisk.fromFiles(files), places);
    expect(follower.catchUp(2)).toBeGreaterThan(2);
    expect(follower.problem).toBeNull();
    expect(valueIn(follower)).toBeGreaterThan(2);
  });

  it('takes the older base when the newest is damaged, and a later one when there is no other', () => {
    const { disk, set, truth } = store(3);
    truth.compact();
    set(4);
    truth.compact();
    set(5);
    truth.compact();
    const rotten = edited(disk, { [newest(disk, '.base')]: (bytes) => bytes.fill(0x55, 100, 140) });
    const follower = new Follower(rotten, places);
    expect(follower.catchUp(5)).toBe(5);
    expect(valueIn(follower)).toBe(5);
    const late = new Follower(disk, places);
    expect(late.catchUp(1)).toBe(4);
    expect(valueIn(late)).toBe(4);
  });

  it('survives a file that goes away between listing and reading', () => {
    const { disk, set, truth } = store(2);
    truth.compact();
    set(3);
    truth.compact();
    set(4);
    truth.flush();
    const follower = new Follower(disk, places);
    let left = 2;
    disk.inject = (call) => {
      const isTruth = call.name === 'open' && /\.(tail|base)$/.test(call.path);
      return isTruth && left-- > 0 ? faultOf('ENOENT', call) : undefined;
    };
    expect(follower.catchUp(4)).toBe(4);
    disk.inject = (call) => (call.name === 'open' ? faultOf('EIO', call) : undefined);
    expect(() => new Follower(disk, places).catchUp(4)).toThrow(/EIO/);
    let opens = 0;
    disk.inject = (call) => (call.name === 'open' && opens++ >= 5 ? faultOf('ENOENT', call) : undefined);
    expect(() => new Follower(disk, places).catchUp(4)).toThrow(expect.objectContaining({ code: 'HF_DAMAGED' }));
  });

  it('refuses a chain that does not hold together', () => {
    const { disk } = store(3);
    const tail = newest(disk, '.tail');
    const other = store(3);
    const otherTail = other.disk.files().get(newest(other.disk, '.tail')) as Uint8Array;
    const starts = frameStarts(disk, tail);
    const otherStarts = frameStarts(other.disk, newest(other.disk, '.tail'));
    // The third commit of another store: the number fits, the checksum before it does not.
    const mixed = edited(disk, {
      [tail]: (bytes) => Buffer.concat([bytes.subarray(0, starts[1]), Buffer.from(otherTail).subarray(otherStarts[2])]),
    });
    expect(() => new Follower(mixed, places).catchUp(3)).toThrow(expect.objectContaining({ code: 'HF_DAMAGED' }));
    expect(() => new Follower(edited(disk, { [tail]: gone }), places).catchUp(3)).toThrow(/no tail holds commit 1/);
    expect(() => new Follower(disk, places, Buffer.alloc(16)).catchUp(3)).toThrow(/no tail holds commit 1/);
  });

  it('reads everything again when the history is another one than it has seen', () => {
    const { disk, truth } = store(3);
    const follower = new Follower(disk, places);
    follower.catchUp(3);
    truth.abandon();
    // The same numbers with other content: put back from a copy, and gone on from there.
    const theirs = new RecordingDisk();
    const other = new Truth(STORE, { disk: theirs });
    const doc = other.doc<Loop>('loop', { initial: { n: 100 } });
    for (const n of [101, 102, 103]) {
      doc.update((draft) => {
        draft.n = n;
      });
    }
    other.flush();
    for (const path of [...pathsOf(disk, '.tail')]) disk.unlink(path);
    for (const path of pathsOf(theirs, '.tail')) put(disk, path, theirs.files().get(path) as Uint8Array);
    expect(follower.catchUp(4)).toBe(4);
    expect(valueIn(follower)).toBe(103);
  });

  it('refuses a later tail that holds another commit under a number it has applied', () => {
    const { disk, truth } = store(3);
    const follower = new Follower(disk, places);
    follower.catchUp(3);
    truth.rotate();
    const tail = newest(disk, '.tail');
    const handle = disk.open(tail, 'read');
    const header = readFileHeader(disk, handle, tail);
    if (header === null) throw new Error('No header');
    const documents = [{ name: 'loop', from: 2, version: 3 }];
    const other = encodeFrame(
      { kind: KIND_COMMIT, codec: 2, seq: 3, timeMs: 0, prevCrc: 1, durableSeq: 2, documents },
      Buffer.from('[[]]'),
    );
    disk.unlink(tail);
    put(disk, tail, Buffer.concat([encodeFileHeader({ ...header, prevSeq: 2, pinned: 3 }), other]));
    expect(() => follower.catchUp(4)).toThrow(/does not follow/);
  });

  it('refuses what only a later version can have written', () => {
    const { disk } = store(1);
    const tail = newest(disk, '.tail');
    const end = frameStarts(disk, tail).at(-1) as number;
    const crc = Buffer.from(disk.files().get(tail) as Uint8Array).subarray(0, end);
    const header = {
      kind: KIND_COMMIT,
      codec: 2,
      seq: 2,
      timeMs: 0,
      prevCrc: crc.readUInt32LE(crc.length - 4),
      durableSeq: 1,
      documents: [{ name: 'loop', from: 1, version: 2 }],
    };
    const append = (frame: Buffer) =>
      edited(disk, { [tail]: (bytes) => Buffer.concat([bytes.subarray(0, end), frame]) });
    const later = [
      encodeFrame({ ...header, kind: 9 }, Buffer.alloc(0)),
      encodeFrame(header, Buffer.from('[[[99]]]')),
      encodeFrame({ ...header, codec: 7 }, Buffer.from('[[]]')),
    ];
    for (const frame of later) {
      const run = () => new Follower(append(frame), places).catchUp(2);
      expect(run).toThrow(expect.objectContaining({ code: 'HF_VERSION' }));
    }
    const misfit = encodeFrame(header, Buffer.from('[[[4,[],3]]]'));
    const run = () => new Follower(append(misfit), places).catchUp(2);
    expect(run).toThrow(expect.objectContaining({ code: 'HF_DAMAGED' }));
  });

  it('does not count a tail of a process that had lost the store', () => {
    const { disk, truth, set } = store(3);
    truth.rotate();
    set(4);
    truth.flush();
    const last = newest(disk, '.tail');
    const handle = disk.open(last, 'read');
    const header = readFileHeader(disk, handle, last);
    if (header === null) throw new Error('No header');
    // What the successor wrote has owner 2; then the stalled process wakes up.
    const raised = edited(disk, {
      [last]: (bytes) => Buffer.concat([encodeFileHeader({ ...header, owner: 2 }), bytes.subarray(80)]),
    });
    const number = header.number + 1;
    put(raised, places.truth(number, 'tail'), encodeFileHeader({ ...header, owner: 1, number, prevSeq: 2, pinned: 2 }));
    const follower = new Follower(raised, places);
    expect(follower.catchUp(4)).toBe(4);
    const shelf = new Shelf(raised, places);
    shelf.refresh();
    expect(shelf.newestTail).toBe(header.number);
    expect(new Shelf(raised, places).newestTail).toBe(0);
  });
});

/** Where each frame of a tail begins, and where the last one ends. */
function frameStarts(disk: RecordingDisk, path: string): number[] {
  const bytes = Buffer.from(disk.files().get(path) as Uint8Array);
  const starts: number[] = [];
  let at = 80;
  while (at + 8 < bytes.length && bytes[at] === 0xff) {
    starts.push(at);
    at += bytes.readUInt32LE(at + 4);
  }
  return [...starts, at];
}
