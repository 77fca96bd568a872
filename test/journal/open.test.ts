import { describe, expect, it } from 'vitest';
import type { Tracked } from '../../src/change/tracked.js';
import type { HoldfastError } from '../../src/errors.js';
import { encodeFileHeader } from '../../src/journal/file-header.js';
import { encodeFrame } from '../../src/journal/frame.js';
import { CODEC_JSON, crc32, FILE_TAIL, KIND_COMMIT } from '../../src/journal/layout.js';
import { Truth } from '../../src/truth.js';
import { Script, STORE, stateOf } from '../crash/script.js';
import { cutAt, edited, gone, HIDDEN, newest, outcome, pathsOf } from '../crash/surgery.js';
import { crashStates, killState } from '../support/crash-states.js';
import { RecordingDisk, Stopped } from '../support/recording-disk.js';

const set = (n: number) => (draft: Record<string, unknown>) => {
  draft.n = n;
};

/** Commits 1 to 6 in two tails: a and b are created, a is 1, b is 2, a is 3, both are 4. */
function sixCommits(): Script {
  const script = new Script(new RecordingDisk());
  script.open();
  script.create('a', { n: 0 });
  script.create('b', { n: 0 });
  script.change(['a'], set(1));
  script.durably((truth) => truth.rotate());
  script.change(['b'], set(2));
  script.change(['a'], set(3));
  script.change(['a', 'b'], set(4));
  return script;
}

function closedSix(): Script {
  const script = sixCommits();
  script.durably((truth) => truth.close());
  return script;
}

/** Where each frame of a file begins. */
function frameOffsets(bytes: Buffer): number[] {
  const offsets: number[] = [];
  for (let at = 80; at + 60 < bytes.length && bytes[at] === 0xff; at += bytes.readUInt32LE(at + 4)) offsets.push(at);
  return offsets;
}

/** Spoils a byte `into` the n-th frame. */
const spoil = (n: number, into: number) => (bytes: Buffer) => {
  const at = (frameOffsets(bytes)[n] as number) + into;
  bytes[at] = (bytes[at] as number) ^ 0x40;
  return bytes;
};

function refusal(disk: RecordingDisk): HoldfastError {
  try {
    new Truth(STORE, { disk });
  } catch (error) {
    return error as HoldfastError;
  }
  throw new Error('Expected the store to be refused');
}

describe('an ordinary crash', () => {
  it('cuts a torn last frame and keeps it in quarantine', () => {
    const { disk, states } = sixCommits();
    const tail = newest(disk, '.tail');
    const torn = edited(disk, { [tail]: (bytes) => bytes.fill(0, (frameOffsets(bytes)[2] as number) + 30) });
    const truth = new Truth(STORE, { disk: torn });
    expect(stateOf(truth)).toBe(states[5]);
    expect(truth.notes).toMatchObject([{ kind: 'cut', file: '0000000002.tail', bytes: expect.any(Number) }]);
    const [note] = truth.notes;
    const kept = torn.files().get(note?.kind === 'cut' ? note.kept : '');
    expect(Buffer.from(kept ?? []).toString('hex', 0, 4)).toBe('ff4846fe');
  });

  it('cuts at the first bad frame beyond the high-water mark even if later ones verify', () => {
    const { disk, states } = sixCommits();
    const torn = edited(disk, { [newest(disk, '.tail')]: spoil(1, 70) });
    const truth = new Truth(STORE, { disk: torn });
    expect(stateOf(truth)).toBe(states[4]);
    truth.close();
    // What was cut does not come back, and new commits may take its numbers.
    expect(stateOf(new Truth(STORE, { disk: torn }))).toBe(states[4]);
  });

  it('says nothing when nothing was there to cut', () => {
    const { disk } = sixCommits();
    expect(new Truth(STORE, { disk }).notes).toEqual([]);
    const { disk: closed } = closedSix();
    expect(new Truth(STORE, { disk: closed }).notes).toEqual([]);
  });

  it('keeps at most 64 things in quarantine, the newest ones', () => {
    let disk = sixCommits().disk;
    for (let round = 0; round < 70; round++) {
      disk = edited(disk, {
        [newest(disk, '.tail')]: (bytes) => Buffer.concat([bytes.subarray(0, 300), Buffer.from([round + 1])]),
      });
      new Truth(STORE, { disk, onDamage: 'salvage' }).abandon();
    }
    const kept = [...disk.files().keys()].filter((path) => path.includes('/quarantine/'));
    expect(kept).toHaveLength(64);
  });
});

describe('an older generation', () => {
  function twoBases(): Script {
    const script = sixCommits();
    script.durably((truth) => truth.compact());
    script.change(['a'], set(7));
    script.durably((truth) => truth.compact());
    script.change(['b'], set(8));
    script.durably((truth) => truth.close());
    return script;
  }

  it('stands in for a damaged newest base without loss; the damaged one is kept', () => {
    const { disk, states } = twoBases();
    const base = newest(disk, '.base');
    const rotten = edited(disk, { [base]: spoil(0, 60) });
    const truth = new Truth(STORE, { disk: rotten });
    expect(stateOf(truth)).toBe(states.at(-1));
    expect(truth.notes).toMatchObject([{ kind: 'base-damaged', file: base.split('/').at(-1) }]);
    expect(pathsOf(rotten, '.base')).toHaveLength(1);
    // And the store is as strong as before once it is compacted again.
    truth.compact();
    truth.close();
    const again = edited(rotten, { [newest(rotten, '.base')]: spoil(0, 60) });
    expect(outcome(again)).toBe(states.at(-1));
  });

  it('stands in for a deleted newest base too', () => {
    const { disk, states } = twoBases();
    expect(outcome(edited(disk, { [newest(disk, '.base')]: gone }))).toBe(states.at(-1));
  });

  it('does not stand in for a tail: with both bases gone the store is refused, not emptied', () => {
    const { disk } = twoBases();
    const edits = Object.fromEntries(pathsOf(disk, '.base').map((path) => [path, gone]));
    expect(outcome(edited(disk, edits))).toBe('HF_DAMAGED');
  });

  it('is kept for exactly two bases: what came before them is deleted', () => {
    const script = twoBases();
    script.open();
    for (let n = 10; n < 15; n++) {
      script.change(['a'], set(n));
      script.durably((truth) => truth.compact());
    }
    expect(pathsOf(script.disk, '.base')).toHaveLength(2);
    expect(pathsOf(script.disk, '.tail').length).toBeLessThanOrEqual(3);
    script.durably((truth) => truth.close());
    expect(outcome(script.disk)).toBe(script.states.at(-1));
  });
});

describe('damage', () => {
  it('at or below the high-water mark is refused with what is lost, from where, and what can be saved', () => {
    const { disk } = closedSix();
    const error = refusal(edited(disk, { [newest(disk, '.tail')]: spoil(1, -1) }));
    expect(error.code).toBe('HF_DAMAGED');
    expect(error.details).toMatchObject({
      directory: STORE,
      soundSeq: 3,
      lost: { from: 4, to: 6 },
      documents: [
        { name: 'a', savedVersion: 4, knownVersion: 4 },
        { name: 'b', savedVersion: 1, knownVersion: 3 },
      ],
    });
    expect(error.message).toContain('commit 4 is missing or damaged');
    expect(error.message).toContain('b at version 1 of 3');
    expect(error.message).toContain("onDamage: 'salvage'");
  });

  it('is salvaged by explicit choice: each document as far as its own history is whole', () => {
    const { disk } = closedSix();
    const rotten = edited(disk, { [newest(disk, '.tail')]: spoil(1, -1) });
    const truth = new Truth(STORE, { disk: rotten, onDamage: 'salvage' });
    expect(stateOf(truth)).toBe('{"a":{"n":4},"b":{"n":0}}');
    expect(truth.notes).toMatchObject([{ kind: 'salvaged', report: { soundSeq: 3 } }]);
    // Everything that was there is kept.
    const kept = [...rotten.files().keys()].filter((path) => path.includes('/quarantine/'));
    expect(kept.map((path) => path.slice(-15))).toEqual(['0000000001.tail', '0000000002.tail']);
    truth.doc('a', { initial: { n: 0 } }).update(set(9));
    truth.close();
    expect(outcome(rotten)).toBe('{"a":{"n":9},"b":{"n":0}}');
  });

  it('of one document in a base does not cost the others', () => {
    const script = sixCommits();
    script.durably((truth) => truth.compact());
    script.durably((truth) => truth.close());
    const { disk } = script;
    const first = Object.fromEntries(
      pathsOf(disk, '.tail')
        .slice(0, 1)
        .map((path) => [path, gone]),
    );
    const rotten = edited(disk, { [newest(disk, '.base')]: spoil(1, -5), ...first });
    expect(refusal(rotten).details).toMatchObject({ documents: [{ name: 'a', savedVersion: 0 }, { name: 'b' }] });
    expect(stateOf(new Truth(STORE, { disk: rotten, onDamage: 'salvage' }))).toBe('{"b":{"n":4}}');
  });

  it('of the header of a base costs none of its documents', () => {
    const script = sixCommits();
    script.durably((truth) => truth.compact());
    script.durably((truth) => truth.close());
    const { disk } = script;
    const edits = { [newest(disk, '.base')]: spoil(0, -30), [pathsOf(disk, '.tail')[0] as string]: gone };
    expect(outcome(edited(disk, edits))).toBe('HF_DAMAGED');
    const truth = new Truth(STORE, { disk: edited(disk, edits), onDamage: 'salvage' });
    expect(stateOf(truth)).toBe(script.states.at(-1));
  });

  it('to everything leaves nothing, and says so', () => {
    const { disk } = closedSix();
    const edits = Object.fromEntries(pathsOf(disk, '.tail').map((path) => [path, cutAt(0)]));
    const error = refusal(edited(disk, edits));
    expect(error.message).toContain('Nothing can be saved from it');
    const rotten = edited(disk, edits);
    expect(stateOf(new Truth(STORE, { disk: rotten, onDamage: 'salvage' }))).toBe('{}');
    expect([...rotten.files().keys()].filter((path) => path.includes('/quarantine/'))).toHaveLength(2);
  });

  it('is salvaged the same whenever salvage itself is stopped and begun again', () => {
    const { disk } = closedSix();
    const rotten = edited(disk, { [newest(disk, '.tail')]: spoil(1, -1) });
    const whole = rotten.clone();
    new Truth(STORE, { disk: whole, onDamage: 'salvage' });
    for (let steps = 0; steps <= whole.steps; steps++) {
      const stopped = rotten.clone();
      stopped.stopAfter(steps);
      try {
        new Truth(STORE, { disk: stopped, onDamage: 'salvage' });
      } catch (error) {
        if (!(error instanceof Stopped)) throw error;
      }
      for (const state of [killState(stopped), ...crashStates(stopped)]) {
        expect(['HF_DAMAGED', '{"a":{"n":4},"b":{"n":0}}']).toContain(outcome(state.clone()));
        const truth = new Truth(STORE, { disk: state, onDamage: 'salvage' });
        expect(stateOf(truth)).toBe('{"a":{"n":4},"b":{"n":0}}');
      }
    }
  });

  it('by files of another store is refused', () => {
    const { disk } = closedSix();
    const { disk: other } = closedSix();
    const tail = newest(disk, '.tail');
    const foreign = Buffer.from(other.files().get(tail) as Uint8Array);
    expect(refusal(edited(disk, { [tail]: () => foreign })).message).toContain('belongs to another store');
    const witness = `${HIDDEN}/high-water`;
    const strange = Buffer.from(other.files().get(witness) as Uint8Array);
    expect(refusal(edited(disk, { [witness]: () => strange })).message).toContain('belongs to another store');
  });
});

describe('two histories of one store', () => {
  it('are told apart where files of both are mixed, also when they come to the same last change', () => {
    const { disk } = closedSix();
    const lives = ['one', 'other'].map((by) => {
      const own = RecordingDisk.fromFiles(new Map(disk.files()));
      const truth = new Truth(STORE, { disk: own });
      const doc = truth.doc<Record<string, unknown>>('a', { initial: {} });
      const tail = newest(own, '.tail');
      doc.update((draft) => void (draft.by = by));
      doc.update((draft) => void (draft.isDone = true));
      truth.rotate();
      doc.update((draft) => void (draft.n = 9));
      truth.close();
      return { own, tail };
    });
    const [one, other] = lives as [(typeof lives)[0], (typeof lives)[0]];
    expect(JSON.parse(outcome(one.own)).a).toEqual({ n: 9, by: 'one', isDone: true });
    const strange = Buffer.from(other.own.files().get(one.tail) as Uint8Array);
    expect(outcome(edited(one.own, { [one.tail]: () => strange }))).toBe('HF_DAMAGED');
  });
});

describe('a process that lost the store while it was stalled', () => {
  it('cannot void what its successor wrote: its tail does not count and is kept aside', () => {
    const { disk, states } = closedSix();
    const storeId = Buffer.from(disk.files().get(newest(disk, '.tail')) as Uint8Array).subarray(16, 32);
    const owned = edited(disk, {
      [newest(disk, '.tail')]: (bytes) => {
        bytes.writeUInt32LE(2, 32);
        bytes.writeUInt32LE(crc32(bytes.subarray(0, 76)), 76);
        return bytes;
      },
    });
    const late = { storeId, owner: 1, number: 9, firstSeq: 3, prevSeq: 2, prevCrc: 0, pinned: 2, kind: FILE_TAIL };
    const files = new Map(owned.files()).set(`${HIDDEN}/0000000009.tail`, encodeFileHeader(late));
    const stale = RecordingDisk.fromFiles(files);
    const truth = new Truth(STORE, { disk: stale });
    expect(stateOf(truth)).toBe(states.at(-1));
    expect(truth.notes).toMatchObject([{ kind: 'fenced', file: '0000000009.tail' }]);
    truth.doc('a', { initial: { n: 0 } }).update(set(9));
    truth.close();
    expect(JSON.parse(outcome(stale)).a).toEqual({ n: 9 });
  });

  it('cannot replace a file of its successor: a name that is taken stays', () => {
    const { disk, truth } = sixCommits();
    const taken = `${HIDDEN}/0000000003.tail`;
    disk.close(disk.open(taken, 'create'));
    expect(() => truth.rotate()).toThrow(expect.objectContaining({ code: 'HF_IO' }));
    expect(disk.files().get(taken)).toHaveLength(0);
  });
});

describe('a file of a later version', () => {
  const reheader = (change: (header: Buffer) => void) => (bytes: Buffer) => {
    change(bytes);
    bytes.writeUInt32LE(crc32(bytes.subarray(0, 76)), 76);
    return bytes;
  };

  it.each([
    ['format version', reheader((header) => header.writeUInt16LE(2, 8)), 'format 2'],
    ['feature bit', reheader((header) => header.writeUInt32LE(8, 12)), 'features 8'],
  ])('%s: HF_VERSION, and nothing is touched', (_, edit, message) => {
    for (const onDamage of ['refuse', 'salvage'] as const) {
      const disk = edited(closedSix().disk, { [`${HIDDEN}/0000000001.tail`]: edit });
      const before = disk.hash();
      let refused: HoldfastError | undefined;
      try {
        new Truth(STORE, { disk, onDamage });
      } catch (error) {
        refused = error as HoldfastError;
      }
      expect(refused).toMatchObject({ code: 'HF_VERSION', message: expect.stringContaining(message) });
      expect(disk.hash()).toBe(before);
    }
  });

  function storeWithFrame(kind: number, codec: number, payload: string): RecordingDisk {
    const storeId = Buffer.alloc(16, 1);
    const header = { storeId, owner: 1, number: 1, firstSeq: 1, prevSeq: 0, prevCrc: 0, pinned: 0, kind: FILE_TAIL };
    const documents = [{ name: 'a', from: 0, version: 1 }];
    const frame = { kind, codec, seq: 1, timeMs: 0, prevCrc: 0, durableSeq: 1, documents };
    const bytes = Buffer.concat([encodeFileHeader(header), encodeFrame(frame, Buffer.from(payload))]);
    return RecordingDisk.fromFiles(new Map([[`${HIDDEN}/0000000001.tail`, bytes]]));
  }

  it.each([
    ['op', storeWithFrame(KIND_COMMIT, CODEC_JSON, '[[[77,[]]]]'), 'op 77'],
    ['codec', storeWithFrame(KIND_COMMIT, 9, '[]'), 'codec 9'],
    ['frame kind', storeWithFrame(9, CODEC_JSON, '[]'), 'a frame of kind 9'],
  ])('%s: HF_VERSION', (_, disk, message) => {
    expect(refusal(disk)).toMatchObject({ code: 'HF_VERSION', message: expect.stringContaining(message) });
    expect(disk.steps).toBe(0);
  });

  it.each([
    ['ops that are no list', '[7]'],
    ['an op that is no list', '[[7]]'],
    ['more lists than documents', '[[],[]]'],
    ['text that is no JSON', '{{'],
    ['a value that is no state', '[[[0,7]]]'],
    ['an op without a path', '[[[0,{}],[1,7]]]'],
    ['a path that leads nowhere', '[[[0,{}],[1,["x","y"],"k",1]]]'],
    ['a put beyond an array', '[[[0,[]],[1,[],3,1]]]'],
    ['a put without a key', '[[[0,{}],[1,[],3,1]]]'],
    ['a drop from an array', '[[[0,[1]],[2,[],"0"]]]'],
    ['a tail beyond an array', '[[[0,[1]],[3,[],2,[9]]]]'],
    ['a tail of an object', '[[[0,{}],[3,[],0,[9]]]]'],
    ['a head longer than the array', '[[[0,[1]],[4,[],2]]]'],
    ['a text beyond a string', '[[[0,{"s":"ab"}],[5,["s"],3,"c"]]]'],
    ['a text for a number', '[[[0,{"s":1}],[5,["s"],0,"c"]]]'],
  ])('%s, behind a checksum that holds, is damage', (_, payload) => {
    const error = refusal(storeWithFrame(KIND_COMMIT, CODEC_JSON, payload));
    expect(error.code).toBe('HF_DAMAGED');
    expect(error.message).toContain('commit 1 does not fit');
  });
});

describe('documents', () => {
  it.each(['', '/', 'a//b', '../x', 'a/./b', 'nul\0', 'x'.repeat(1025)])(
    'named %j are refused with HF_NAME',
    (name) => {
      const truth = new Truth(STORE, { disk: new RecordingDisk() });
      expect(() => truth.doc(name, { initial: {} })).toThrow(expect.objectContaining({ code: 'HF_NAME' }));
      expect(truth.names).toEqual([]);
    },
  );

  it('are the same object when asked for twice, and removed ones stay removed', () => {
    const disk = new RecordingDisk();
    const truth = new Truth(STORE, { disk });
    expect(truth.doc('a/b', { initial: { n: 1 } })).toBe(truth.doc('a/b', { initial: { n: 2 } }));
    truth.doc('c', { initial: {} });
    truth.remove('a/b');
    truth.remove('never there');
    truth.close();
    truth.close();
    expect(stateOf(new Truth(STORE, { disk }))).toBe('{"c":{}}');
  });

  it('made inside a transaction are part of it: committed with it, undone with it', () => {
    const disk = new RecordingDisk();
    const truth = new Truth(STORE, { disk });
    truth.transaction(() => void truth.doc('kept', { initial: { n: 1 } }));
    let lost: Tracked<{ n: number }> | undefined;
    expect(() =>
      truth.transaction(() => {
        lost = truth.doc('lost', { initial: { n: 1 } });
        lost.update((s) => void (s.n = 2));
        throw new Error('no');
      }),
    ).toThrow('no');
    expect(truth.lastSeq).toBe(1);
    expect(() => lost?.update((s) => void (s.n = 3))).toThrow(expect.objectContaining({ code: 'HF_CLOSED' }));
    truth.close();
    expect(stateOf(new Truth(STORE, { disk }))).toBe('{"kept":{"n":1}}');
  });

  it('that were removed accept no changes', () => {
    const truth = new Truth(STORE, { disk: new RecordingDisk() });
    const doc = truth.doc('a', { initial: { n: 1 } });
    truth.remove('a');
    expect(() => doc.update((s) => void (s.n = 2))).toThrow(/was removed/);
    expect(truth.doc('a', { initial: { n: 5 } }).state).toEqual({ n: 5 });
  });

  it('thousands of them in one transaction are one commit', () => {
    const disk = new RecordingDisk();
    const truth = new Truth(STORE, { disk });
    const docs = Array.from({ length: 3_000 }, (_, n) => truth.doc(`items/number-${n}`, { initial: { n } }));
    const before = truth.lastSeq;
    truth.transaction(() => {
      for (const doc of docs) doc.update((s) => void (s.n += 1));
    });
    expect(truth.lastSeq).toBe(before + 1);
    truth.close();
    expect(new Truth(STORE, { disk }).doc('items/number-2999', { initial: { n: 0 } }).state).toEqual({ n: 3000 });
  });

  it('cannot be reached after the store was closed, nor saved or removed inside an update', () => {
    const truth = new Truth(STORE, { disk: new RecordingDisk() });
    const doc = truth.doc('a', { initial: { n: 1 } });
    const closed = expect.objectContaining({ code: 'HF_CLOSED' });
    expect(() => doc.update(() => void truth.commit())).toThrow(closed);
    expect(() => doc.update(() => truth.remove('a'))).toThrow(closed);
    truth.close();
    expect(() => truth.doc('a', { initial: {} })).toThrow(closed);
    expect(() => truth.commit()).toThrow(closed);
  });

  it('with an initial state that is no object are refused, and nothing is created', () => {
    const truth = new Truth(STORE, { disk: new RecordingDisk() });
    for (const initial of [null, 7, 'text', undefined]) {
      expect(() => truth.doc('a', { initial })).toThrow(expect.objectContaining({ code: 'HF_VALUE' }));
    }
    expect(truth.lastSeq).toBe(0);
  });
});
