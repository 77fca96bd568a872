import { basename } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { HoldfastError } from '../../src/errors.js';
import { Truth } from '../../src/truth.js';
import { STORE, stateOf } from '../crash/script.js';
import { edited, gone, HIDDEN, newest, outcome, pathsOf, worstCase } from '../crash/surgery.js';
import { crashStates } from '../support/crash-states.js';
import { type Call, faultOf, RecordingDisk, type Verdict } from '../support/recording-disk.js';

interface State {
  n: number;
  text: string;
}

function openStore(disk = new RecordingDisk()) {
  const faults: HoldfastError[] = [];
  const truth = new Truth(STORE, { disk, onFault: (error) => faults.push(error) });
  const doc = truth.doc<State>('loop', { initial: { n: 0, text: '' } });
  const set = (n: number) =>
    doc.update((s) => {
      s.n = n;
      s.text = `text ${n} `.repeat(10);
    });
  return { disk, truth, doc, set, faults };
}

/** Fails the first call that matches, or all of them. */
function failing(matches: (call: Call) => boolean, code: string, times = 1): (call: Call) => Verdict {
  let left = times;
  return (call) => {
    if (left === 0 || !matches(call)) return undefined;
    left--;
    return faultOf(code, call);
  };
}

const isTailSync = (call: Call) => call.name === 'syncData';

function caught(fn: () => unknown): HoldfastError {
  try {
    fn();
  } catch (error) {
    return error as HoldfastError;
  }
  throw new Error('Expected an error');
}

const recovered = (disk: RecordingDisk) => JSON.parse(stateOf(new Truth(STORE, { disk: disk.clone() }))).loop.n;

describe('a failed fsync', () => {
  it('is never repeated on its descriptor: everything unacknowledged goes to a new tail', () => {
    const { disk, truth, set, faults } = openStore();
    set(1);
    truth.flush();
    const failed = newest(disk, '.tail');
    set(2);
    disk.inject = failing(isTailSync, 'EIO');
    const before = disk.steps;
    truth.flush();
    expect(faults.map(({ code }) => code)).toEqual(['HF_IO']);
    expect(faults[0]?.message).toContain(failed);
    expect(newest(disk, '.tail')).not.toBe(failed);
    const syncs = disk.calls
      .slice(before)
      .filter(({ name, path }) => name === 'syncData' && path.includes(basename(failed)));
    expect(syncs).toHaveLength(1);
    for (const state of crashStates(disk, { random: 50 })) expect(recovered(state)).toBe(2);
  });

  it('may take the page before it along: frames that share it are in the new tail too', () => {
    const { disk, truth, set } = openStore();
    set(1);
    truth.flush();
    const failed = newest(disk, '.tail');
    set(2);
    disk.inject = failing(isTailSync, 'EIO');
    truth.flush();
    // The page with commits 1 and 2 came back as zeros.
    const torn = edited(worstCase(disk), { [failed]: (bytes) => bytes.fill(0, 80) });
    expect(recovered(torn)).toBe(2);
  });

  it('goes on saving afterwards, and survives failing again and again', () => {
    const { disk, truth, set, faults } = openStore();
    for (let n = 1; n <= 20; n++) {
      set(n);
      disk.inject = failing(isTailSync, 'EIO');
      truth.flush();
      expect(recovered(worstCase(disk))).toBe(n);
    }
    expect(faults).toHaveLength(20);
    truth.close();
    expect(recovered(worstCase(disk))).toBe(20);
  });

  it('of a mark or an end frame loses nothing either', () => {
    for (const finish of [(truth: Truth) => truth.mark(), (truth: Truth) => truth.close(), (t: Truth) => t.rotate()]) {
      const { disk, truth, set, faults } = openStore();
      set(1);
      truth.flush();
      disk.inject = failing(isTailSync, 'EIO');
      finish(truth);
      expect(faults).toHaveLength(1);
      for (const state of crashStates(disk, { random: 20 })) expect(recovered(state)).toBe(1);
    }
  });

  it('and a disk that then refuses everything: flush says so, memory goes on, nothing is dropped', () => {
    const { disk, truth, doc, set } = openStore();
    set(1);
    truth.flush();
    set(2);
    disk.inject = ({ name, ...call }) =>
      /^(sync|write|rename|open$)/.test(name) ? faultOf('EIO', { name, ...call }) : undefined;
    expect(caught(() => truth.flush()).code).toBe('HF_IO');
    expect(caught(() => set(3)).code).toBe('HF_IO');
    expect(doc.state.n).toBe(3);
    expect(caught(() => truth.flush()).code).toBe('HF_IO');
    disk.inject = undefined;
    truth.flush();
    expect(recovered(worstCase(disk))).toBe(3);
  });
});

describe('a full disk', () => {
  const isFrameWrite = ({ name, length }: Call) => name === 'write' && length !== undefined && length < 4096;

  it('refuses with HF_DISK_FULL and what to do, keeps everything, and catches up', () => {
    const { disk, truth, doc, set } = openStore();
    disk.inject = (call) => (isFrameWrite(call) ? faultOf('ENOSPC', call) : undefined);
    const error = caught(() => set(1));
    expect(error.code).toBe('HF_DISK_FULL');
    expect(error.message).toMatch(/Free some space/);
    expect(doc.state.n).toBe(1);
    disk.inject = undefined;
    truth.flush();
    expect(recovered(worstCase(disk))).toBe(1);
  });

  it('that writes half of what it is asked to is asked again', () => {
    const { disk, truth, set } = openStore();
    disk.inject = ({ name }) => (name === 'write' || name === 'read' ? 'short' : undefined);
    set(1);
    truth.compact();
    set(2);
    truth.close();
    expect(recovered(worstCase(disk))).toBe(2);
  });

  it('has no room to set aside: frames are written all the same', () => {
    const { disk, truth, set } = openStore();
    disk.inject = (call) =>
      call.name === 'write' && (call.length ?? 0) > 100_000 ? faultOf('ENOSPC', call) : undefined;
    set(1);
    truth.rotate();
    set(2);
    truth.flush();
    expect(recovered(worstCase(disk))).toBe(2);
  });

  it('while a base is written leaves the store as it was, with no temporary file', () => {
    const { disk, truth, set } = openStore();
    set(1);
    truth.flush();
    truth.rotate();
    disk.inject = (call) =>
      call.name === 'write' && call.path.includes('.base.') ? faultOf('ENOSPC', call) : undefined;
    expect(caught(() => truth.compact()).code).toBe('HF_DISK_FULL');
    disk.inject = undefined;
    expect(pathsOf(disk, '.base')).toEqual([]);
    expect([...disk.files().keys()].filter((path) => path.startsWith(`${HIDDEN}/tmp/`))).toEqual([]);
    set(2);
    truth.flush();
    expect(recovered(worstCase(disk))).toBe(2);
    truth.compact();
    truth.close();
    expect(recovered(worstCase(disk))).toBe(2);
  });
});

describe('a file that does not read back as it was written', () => {
  it('is not relied on: a base is refused, a tail too', () => {
    for (const kind of ['.base.', '.tail.']) {
      const { disk, truth, set } = openStore();
      set(1);
      truth.flush();
      const real = disk.read.bind(disk);
      let isLying = false;
      disk.inject = (call) => {
        isLying = call.name === 'read' && call.path.includes(kind);
        return undefined;
      };
      disk.read = (handle, into, offset, length, position) => {
        const read = real(handle, into, offset, length, position);
        if (isLying && read > 100) into[offset + 90] = (into[offset + 90] as number) ^ 1;
        return read;
      };
      if (kind === '.tail.') {
        set(2);
        const fail = disk.inject;
        disk.inject = (call) => (isTailSync(call) ? faultOf('EIO', call) : fail(call));
      }
      const error = caught(() => (kind === '.base.' ? truth.compact() : truth.flush()));
      expect(error.code).toBe('HF_IO');
      expect(error.message).toMatch(/does not read back/);
    }
  });
});

describe('the witness', () => {
  it('cannot be written: that is reported, and what was saved is saved', () => {
    const { disk, truth, set, faults } = openStore();
    disk.inject = (call) =>
      call.path === `${HIDDEN}/high-water` && call.name === 'write' ? faultOf('EIO', call) : undefined;
    set(1);
    truth.mark();
    truth.close();
    expect(faults.length).toBeGreaterThan(0);
    expect(recovered(worstCase(disk))).toBe(1);
  });

  it('has its room from the start: a full disk does not silence it', () => {
    const disk = new RecordingDisk();
    const writes: (number | undefined)[] = [];
    disk.inject = ({ name, path, length }) => {
      if (name === 'write' && path === `${HIDDEN}/high-water`) writes.push(length);
      return undefined;
    };
    openStore(disk);
    // Zeros for both slots, then the first of them.
    expect(writes).toEqual([4096 + 64, 64]);
  });

  it('is torn: the other slot still holds', () => {
    const { disk, truth, set } = openStore();
    set(1);
    truth.mark();
    set(2);
    truth.mark();
    truth.close();
    for (const at of [0, 4096]) {
      const torn = edited(disk, { [`${HIDDEN}/high-water`]: (bytes) => bytes.fill(0x77, at + 8, at + 40) });
      expect(recovered(torn)).toBe(2);
      const cut = edited(torn, { [newest(torn, '.tail')]: (bytes) => bytes.subarray(0, 80) });
      expect(outcome(cut)).toBe('HF_DAMAGED');
    }
  });

  it('is missing: the store opens as strictly as its tails allow', () => {
    const { disk, truth, set } = openStore();
    set(1);
    truth.close();
    expect(recovered(edited(disk, { [`${HIDDEN}/high-water`]: gone }))).toBe(1);
  });
});

describe('trouble while opening', () => {
  it.each(['EACCES', 'EIO', 'EMFILE'])('%s is that error, and never an empty store', (code) => {
    const { disk, truth, set } = openStore();
    set(1);
    truth.close();
    for (const name of ['open', 'read', 'list', 'entry', 'size'] as const) {
      const victim = edited(disk, {});
      victim.inject = (call) => (call.name === name ? faultOf(code, call) : undefined);
      expect(caught(() => new Truth(STORE, { disk: victim }))).toMatchObject({ code });
      expect(victim.steps).toBe(0);
    }
  });

  it('leaves nothing behind that a second attempt could not take up', () => {
    const { disk, truth, set } = openStore();
    set(1);
    truth.close();
    const whole = edited(disk, {});
    new Truth(STORE, { disk: whole });
    for (let step = 1; step <= whole.steps; step++) {
      for (const code of ['ENOSPC', 'EIO', 'EROFS']) {
        const victim = edited(disk, {});
        victim.inject = (call) => (call.step === step && victim.steps === step ? faultOf(code, call) : undefined);
        try {
          new Truth(STORE, { disk: victim });
        } catch (error) {
          expect(error).toHaveProperty('code');
        }
        victim.inject = undefined;
        expect(recovered(victim)).toBe(1);
      }
    }
  });
});

it('every call failing once, at any point of a life: an error with a code or nothing at all, and never a wrong state', () => {
  const life = (disk: RecordingDisk, note: (n: number) => void) => {
    const { truth, set } = openStore(disk);
    const step = (n: number, finish: () => void) => {
      try {
        set(n);
        finish();
        note(n);
      } catch (error) {
        expect(error).toHaveProperty('code');
      }
    };
    step(1, () => truth.flush());
    step(2, () => truth.mark());
    step(3, () => truth.rotate());
    step(4, () => truth.compact());
    step(5, () => truth.compact());
    step(6, () => truth.close());
  };
  const whole = new RecordingDisk();
  life(whole, () => undefined);
  for (let step = 1; step <= whole.steps; step++) {
    for (const code of ['EIO', 'ENOSPC']) {
      const disk = new RecordingDisk();
      let acknowledged = 0;
      disk.inject = (call) => (call.step === step && disk.steps === step ? faultOf(code, call) : undefined);
      try {
        life(disk, (n) => {
          acknowledged = n;
        });
      } catch (error) {
        // The store could not be opened or its document not created.
        expect(error).toHaveProperty('code');
      }
      disk.inject = undefined;
      if (acknowledged > 0) expect(recovered(worstCase(disk))).toBeGreaterThanOrEqual(acknowledged);
    }
  }
});
