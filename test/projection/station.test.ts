import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { nodeDisk } from '../../src/disk/node-disk.js';
import { decodeFileHeader, encodeFileHeader } from '../../src/journal/file-header.js';
import { Places } from '../../src/journal/places.js';
import { durableWitness, readRecord } from '../../src/projection/record.js';
import type { ProjectReport, ProjectRequest, StationTools } from '../../src/projection/requests.js';
import { serialize } from '../../src/projection/serialize.js';
import { compact, forget, project } from '../../src/projection/station.js';
import { Truth } from '../../src/truth.js';
import { edited, newest, outcome, pathsOf, worstCase } from '../crash/surgery.js';
import { crashStates, killState } from '../support/crash-states.js';
import { faultOf, RecordingDisk, Stopped } from '../support/recording-disk.js';
import { MAIN, put, STORE, storeIdAt } from './support.js';

interface State {
  n: number;
}

const used: Buffer[] = [];
afterEach(() => {
  for (const id of used.splice(0)) forget(id);
});

/** A store with a station over it, as two threads would share a disk. */
function world(disk = new RecordingDisk(), owner = 1) {
  const truth = new Truth(STORE, { disk });
  const storeId = storeIdAt(disk);
  used.push(storeId);
  const set = (name: string, n: number) =>
    truth.doc<State>(name, { initial: { n: 0 } }).update((draft) => {
      draft.n = n;
    });
  const tools: StationTools = { disk, critical: (fn) => fn(), isNewest: () => true };
  const run = (names: string[], more: Partial<ProjectRequest> = {}): ProjectReport => {
    truth.flush();
    const documents = names.map((name) => ({ name, backups: 2 }));
    const request = { directory: STORE, storeId, owner, toSeq: truth.durableSeq, documents, ...more };
    // What crosses between threads is cloned.
    return structuredClone(project(structuredClone(request), tools));
  };
  let number = 500;
  const shrink = (toSeq = truth.durableSeq) => {
    const request = { directory: STORE, storeId, owner, number: number++, toSeq, timeMs: 7 };
    return structuredClone(compact(structuredClone(request), tools));
  };
  return { disk, truth, storeId, set, tools, run, shrink };
}

/** Also when its disk has stopped. */
function letGo(id: Buffer): void {
  try {
    forget(id);
  } catch (error) {
    if (!(error instanceof Stopped)) throw error;
  }
}

const kinds = ({ documents }: ProjectReport) => documents.map(({ outcome: { kind } }) => kind);
const textAt = (disk: RecordingDisk, path: string) => Buffer.from(disk.files().get(path) ?? 'MISSING').toString();

describe('project', () => {
  it('publishes the durable state of the documents asked for', () => {
    const { disk, set, run, storeId } = world();
    set('loop', 1);
    set('a/b', 2);
    set('other', 3);
    const report = run(['loop', 'a/b']);
    const text = serialize({ n: 1 });
    expect(report).toMatchObject({ seq: 6, problem: null, digests: [] });
    expect(report.documents[0]).toEqual({
      name: 'loop',
      version: 2,
      seq: 6,
      outcome: { kind: 'published', bytes: text.length, sha256: text.sha256, kept: null },
    });
    expect(textAt(disk, MAIN)).toBe('{\n  "n": 1\n}\n');
    expect(textAt(disk, `${STORE}/a/b.json`)).toBe('{\n  "n": 2\n}\n');
    expect(disk.files().has(`${STORE}/other.json`)).toBe(false);
    expect(durableWitness(disk, new Places(STORE), storeId)).toBe(6);
  });

  it('does not even serialize what has not changed', () => {
    const { disk, set, run } = world();
    set('loop', 1);
    set('side', 1);
    run(['loop', 'side']);
    set('side', 2);
    const { steps } = disk;
    expect(kinds(run(['loop']))).toEqual(['unchanged']);
    expect(disk.calls.slice(steps).filter(({ path }) => !path.includes('.tail'))).toEqual([]);
  });

  it('tells a document that was made anew from the one before, though their versions are the same', () => {
    const { disk, truth, set, run } = world();
    set('loop', 1);
    run(['loop']);
    truth.remove('loop');
    set('loop', 5);
    expect(kinds(run(['loop']))).toEqual(['published']);
    expect(textAt(disk, MAIN)).toBe('{\n  "n": 5\n}\n');
  });

  describe('after another opening', () => {
    it('believes the record and the file together, as long as the document has not changed since', () => {
      const { disk, storeId, set, run } = world();
      set('loop', 1);
      run(['loop']);
      set('side', 1);
      forget(storeId);
      expect(kinds(run(['loop']))).toEqual(['unchanged']);
      forget(storeId);
      // As long as what was published, and not that.
      put(disk, MAIN, '{\n  "n": 7\n}\n');
      expect(kinds(run(['loop']))).toEqual(['drift']);
      expect(textAt(disk, MAIN)).toBe('{\n  "n": 7\n}\n');
    });

    it('does not believe a record that is older than the base it starts from: there the file is compared with truth', () => {
      const { disk, storeId, set, run, shrink } = world();
      set('loop', 1);
      run(['loop']);
      set('side', 1);
      run(['side']);
      shrink();
      forget(storeId);
      const { steps } = disk;
      expect(kinds(run(['loop']))).toEqual(['unchanged']);
      expect(disk.calls.slice(steps).some(({ name }) => name === 'write')).toBe(false);
    });

    it('tells a document that was made anew from the one before, though their versions are the same', () => {
      for (const isCompacted of [false, true]) {
        const { disk, truth, storeId, set, run, shrink } = world();
        set('loop', 1);
        run(['loop']);
        truth.remove('loop');
        set('loop', 5);
        truth.flush();
        if (isCompacted) shrink();
        forget(storeId);
        expect(kinds(run(['loop']))).toEqual(['published']);
        expect(textAt(disk, MAIN)).toBe('{\n  "n": 5\n}\n');
      }
    });
  });

  it('reports drift of one document and publishes the others', () => {
    const { disk, set, run } = world();
    set('loop', 1);
    set('side', 1);
    run(['loop', 'side']);
    put(disk, MAIN, '{"mine":1}');
    set('loop', 2);
    set('side', 2);
    expect(kinds(run(['loop', 'side']))).toEqual(['drift', 'published']);
    const adopts = serialize({ mine: 1 }).sha256;
    expect(kinds(run([], { documents: [{ name: 'loop', backups: 2, adopts }] }))).toEqual(['drift']);
    expect(kinds(run([], { documents: [{ name: 'loop', backups: 2, onDrift: 'replace' }] }))).toEqual(['published']);
  });

  it('reports the trouble of one document and publishes the others', () => {
    const { disk, set, run } = world();
    set('loop', 1);
    set('side', 1);
    disk.inject = (call) => (call.name === 'rename' && call.to === MAIN ? faultOf('EACCES', call) : undefined);
    const report = run(['loop', 'side']);
    expect(kinds(report)).toEqual(['fault', 'published']);
    expect(report.documents[0]?.outcome).toMatchObject({ code: 'HF_IO', errno: 'EACCES' });
    expect(() => run([], { documents: [{ name: 'loop', backups: 10 }] })).toThrow(TypeError);
  });

  it('gives way to a newer state of the same document', () => {
    const { set, run, tools } = world();
    set('loop', 1);
    const asked: unknown[] = [];
    tools.isNewest = (name, seq) => {
      asked.push([name, seq]);
      return false;
    };
    expect(kinds(run(['loop', 'gone']))).toEqual(['superseded', 'superseded']);
    expect(asked).toEqual([
      ['loop', 2],
      ['gone', 2],
    ]);
  });

  it('publishes as far as it can read, and says why not further', () => {
    const { set, run, truth } = world();
    set('loop', 1);
    truth.flush();
    const report = run(['loop'], { toSeq: 99 });
    expect(report.seq).toBe(2);
    expect(report.problem).toContain('commit 3');
    expect(kinds(report)).toEqual(['published']);
  });

  it('never takes a file back, nor removes one, because of what it cannot read', () => {
    const { disk, set, run, storeId } = world();
    set('loop', 1);
    set('loop', 2);
    set('late', 3);
    run(['loop', 'late']);
    forget(storeId);
    const tail = newest(disk, '.tail');
    const bytes = Buffer.from(disk.files().get(tail) as Uint8Array);
    // Everything from the second half on, where the last commits are.
    const end = bytes.length - [...bytes].reverse().findIndex((byte) => byte !== 0);
    const rotten = edited(disk, { [tail]: (content) => content.fill(1, (80 + end) >> 1, end) });
    const before = textAt(rotten, MAIN);
    const request = { directory: STORE, storeId, owner: 1, toSeq: 6, sweep: true };
    const documents = ['loop', 'late'].map((name) => ({ name, backups: 2 }));
    const report = project({ ...request, documents }, { disk: rotten, critical: (fn) => fn(), isNewest: () => true });
    expect(report.problem).not.toBeNull();
    for (const { outcome } of report.documents) expect(outcome).toMatchObject({ kind: 'fault', code: 'HF_DAMAGED' });
    expect(textAt(rotten, MAIN)).toBe(before);
    expect(textAt(rotten, MAIN.replace('loop', 'late'))).toContain('3');
  });

  it('says so when the journal or the record cannot be read, in a form that can cross between threads', () => {
    const { disk, set, run, storeId } = world();
    set('loop', 1);
    const rotten = run(['loop'], { storeId: Buffer.alloc(16) });
    used.push(Buffer.alloc(16));
    expect(rotten).toMatchObject({ documents: [], fault: { kind: 'fault', code: 'HF_DAMAGED', errno: null } });
    disk.inject = (call) => (call.name === 'list' ? faultOf('EACCES', call) : undefined);
    expect(run(['loop']).fault).toMatchObject({ code: 'HF_IO', errno: 'EACCES' });
    disk.inject = undefined;
    run(['loop']);
    forget(storeId);
    disk.inject = (call) => (call.path.endsWith('projections') ? faultOf('EIO', call) : undefined);
    expect(run(['loop']).fault).toMatchObject({ code: 'HF_IO', errno: 'EIO' });
    disk.inject = undefined;
    expect(kinds(run(['loop']))).toEqual(['unchanged']);
  });

  it('gives digests of all documents for an audit', () => {
    const { set, run } = world();
    set('loop', 1);
    set('side', 2);
    expect(run([], { audit: true }).digests).toEqual([
      { name: 'loop', version: 2, sha256: serialize({ n: 1 }).sha256 },
      { name: 'side', version: 2, sha256: serialize({ n: 2 }).sha256 },
    ]);
  });

  it('works on the real disk by itself', () => {
    const directory = mkdtempSync(join(tmpdir(), 'holdfast-station-'));
    try {
      const truth = new Truth(directory);
      truth.doc('loop', { initial: { n: 1 } });
      truth.flush();
      const storeId = storeIdAt(nodeDisk, directory);
      used.push(storeId);
      const request = { directory, storeId, owner: 1, toSeq: 1 };
      expect(kinds(project({ ...request, documents: [{ name: 'loop', backups: 3 }] }))).toEqual(['published']);
      expect(readFileSync(join(directory, 'loop.json'), 'utf8')).toBe('{\n  "n": 1\n}\n');
      expect(compact({ ...request, number: 100, timeMs: 0 })).toMatchObject({ kind: 'compacted', seq: 1 });
      truth.close();
    } finally {
      rmSync(directory, { recursive: true });
    }
  });
});

describe('a removed document', () => {
  const filesOf = (disk: RecordingDisk) =>
    [...disk.files().keys()].filter((path) => !path.includes('.holdfast')).map((path) => path.slice(STORE.length + 1));

  it('loses its file and backups', () => {
    const { disk, truth, set, run, storeId } = world();
    for (let n = 1; n <= 5; n++) {
      set('loop', n);
      run(['loop']);
    }
    expect(filesOf(disk)).toHaveLength(3);
    truth.remove('loop');
    const [document] = run(['loop']).documents;
    expect(document).toMatchObject({ version: 0, outcome: { kind: 'removed', left: [], kept: null } });
    expect(filesOf(worstCase(disk))).toEqual([]);
    expect(readRecord(disk, new Places(STORE), storeId).editions.size).toBe(0);
    // Asked again, or never published: nothing to do.
    expect(kinds(run(['loop', 'never']))).toEqual(['removed', 'removed']);
  });

  it('keeps what is not ours, and says so', () => {
    const { disk, truth, set, run } = world();
    for (let n = 1; n <= 3; n++) {
      set('loop', n);
      run(['loop']);
    }
    put(disk, MAIN, '{"mine":1}');
    put(disk, `${MAIN}.bak2`, 'mine too');
    disk.makeDirectory(`${MAIN}.bak7`);
    truth.remove('loop');
    const [document] = run(['loop']).documents;
    expect(document?.outcome).toEqual({
      kind: 'removed',
      left: [MAIN, `${MAIN}.bak2`, `${MAIN}.bak7`],
      kept: null,
    });
    expect(filesOf(disk)).toEqual(['loop.json', 'loop.json.bak2']);
  });

  it('keeps a file that is changed in the last moment', () => {
    const { disk, truth, set, run, tools } = world();
    set('loop', 1);
    run(['loop']);
    truth.remove('loop');
    tools.critical = (fn) => {
      put(disk, MAIN, '{"mine":1}');
      return fn();
    };
    expect(run(['loop']).documents[0]?.outcome).toMatchObject({ kind: 'removed', left: [MAIN] });
    expect(textAt(disk, MAIN)).toBe('{"mine":1}');
  });

  it('that was killed before its files went is swept at the next open, into quarantine', () => {
    const first = world();
    for (const name of ['loop', 'side']) first.set(name, 1);
    first.run(['loop', 'side']);
    first.truth.remove('loop');
    first.truth.flush();
    const { disk, run } = world(killState(first.disk), 2);
    const temp = `${STORE}/.holdfast-0123456789abcdef.tmp`;
    put(disk, temp, 'x');
    const report = run([], { sweep: true });
    expect(report.documents).toEqual([
      { name: 'loop', version: 0, seq: 5, outcome: { kind: 'removed', left: [], kept: expect.any(String) } },
    ]);
    expect(filesOf(disk)).toEqual(['side.json']);
    expect(disk.files().has(temp)).toBe(false);
    expect([...disk.files().keys()].some((path) => /quarantine\/\d+-loop\.json/.test(path))).toBe(true);
    expect(run([], { sweep: true }).documents).toEqual([]);
  });

  it('is reported when it cannot be removed, and known until it is', () => {
    const { disk, truth, set, run } = world();
    set('loop', 1);
    run(['loop']);
    truth.remove('loop');
    disk.inject = (call) => (call.name === 'unlink' ? faultOf('EACCES', call) : undefined);
    expect(run(['loop']).documents[0]?.outcome).toMatchObject({ kind: 'fault', code: 'HF_IO', errno: 'EACCES' });
    disk.inject = undefined;
    expect(kinds(run(['loop']))).toEqual(['removed']);
    expect(filesOf(disk)).toEqual([]);
  });
});

describe('compact', () => {
  it('writes a base of the durable state, and deletes what two of them make superfluous', () => {
    const { disk, truth, set, shrink } = world();
    for (let n = 1; n <= 4; n++) {
      set('loop', n);
      truth.rotate();
      expect(shrink()).toMatchObject({ kind: 'compacted', seq: n + 1 });
    }
    expect(pathsOf(disk, '.base')).toHaveLength(2);
    expect(pathsOf(disk, '.tail').length).toBeLessThan(4);
    set('loop', 5);
    truth.flush();
    expect(outcome(worstCase(disk))).toBe('{"loop":{"n":5}}');
    const rotten = edited(worstCase(disk), { [newest(disk, '.base')]: (bytes) => bytes.fill(0x55, 100, 120) });
    expect(outcome(rotten)).toBe('{"loop":{"n":5}}');
  });

  it('holds a base to the tail that was the newest when it was written', () => {
    const { disk, truth, set, shrink } = world();
    set('loop', 1);
    truth.rotate();
    shrink();
    const lost = edited(worstCase(disk), {
      [newest(disk, '.tail')]: () => null,
      [`${STORE}/.holdfast/high-water`]: () => null,
    });
    expect(outcome(lost)).toBe('HF_DAMAGED');
  });

  it('deletes no live tail because of one of a process that had lost the store', () => {
    const { disk, truth, set, shrink } = world();
    for (let n = 1; n <= 3; n++) {
      set('loop', n);
      truth.rotate();
      if (n < 3) shrink();
    }
    const last = newest(disk, '.tail');
    const bytes = Buffer.from(disk.files().get(last) as Uint8Array);
    const header = decodeFileHeader(bytes, last);
    if (header === null) throw new Error('No header');
    const number = 400;
    const stray = encodeFileHeader({ ...header, owner: header.owner - 1, number, prevSeq: 1, pinned: 1 });
    put(disk, `${STORE}/.holdfast/0000000400.tail`, stray);
    expect(shrink()).toMatchObject({ kind: 'compacted', seq: 4 });
    expect(outcome(killState(disk))).toBe('{"loop":{"n":3}}');
  });

  it('writes nothing when it cannot read so far', () => {
    const { disk, set, shrink, truth } = world();
    set('loop', 1);
    truth.flush();
    expect(shrink(99)).toMatchObject({ kind: 'behind', seq: 2, problem: expect.stringContaining('commit 3') });
    expect(pathsOf(disk, '.base')).toEqual([]);
  });

  it('says why it failed, and leaves everything as it was', () => {
    const { disk, set, shrink, truth } = world();
    set('loop', 1);
    truth.flush();
    disk.inject = (call) => (call.name === 'write' ? faultOf('ENOSPC', call) : undefined);
    expect(shrink()).toMatchObject({ kind: 'fault', code: 'HF_DISK_FULL', errno: 'ENOSPC' });
    disk.inject = undefined;
    expect(pathsOf(disk, '.base')).toEqual([]);
    expect(outcome(worstCase(disk))).toBe('{"loop":{"n":1}}');
  });

  it('stopped after any call leaves a store that opens with everything', () => {
    const life = (stop: number | null) => {
      const disk = new RecordingDisk();
      if (stop !== null) disk.stopAfter(stop);
      // What was durable before the stop.
      let saved = 0;
      try {
        const { truth, set, shrink, run } = world(disk);
        for (let n = 1; n <= 3; n++) {
          set('loop', n);
          truth.rotate();
          saved = n;
          run(['loop']);
          shrink();
        }
      } catch (error) {
        if (!(error instanceof Stopped)) throw error;
      }
      return { disk, saved };
    };
    const total = life(null).disk.steps;
    for (let steps = 0; steps <= total; steps++) {
      const { disk, saved } = life(steps);
      for (const id of used.splice(0)) letGo(id);
      for (const cut of [killState(disk), ...crashStates(disk)]) {
        const found = outcome(cut);
        expect(found).toMatch(/^\{/);
        expect(JSON.parse(found).loop?.n ?? 0).toBeGreaterThanOrEqual(saved);
      }
    }
  });
});

describe('what is held for a store', () => {
  it('is let go of when asked, and begun anew for another opening', () => {
    const { disk, set, run, storeId } = world();
    set('loop', 1);
    run(['loop']);
    forget(storeId);
    const { steps } = disk;
    expect(kinds(run(['loop']))).toEqual(['unchanged']);
    expect(kinds(run(['loop'], { owner: 2 }))).toEqual(['unchanged']);
    expect(disk.steps).toBe(steps);
  });

  it('is bounded: the store that was unused for longest goes first', () => {
    const { disk, set, run } = world();
    set('loop', 1);
    let reads = 0;
    const count = () => {
      reads = 0;
      disk.inject = ({ name, path }) => {
        if (name === 'read' && path.endsWith('.tail')) reads++;
        return undefined;
      };
    };
    run(['loop'], { owner: 1 });
    for (let owner = 2; owner <= 32; owner++) run(['loop'], { owner });
    count();
    run(['loop'], { owner: 1 });
    expect(reads).toBe(0);
    run(['loop'], { owner: 33 });
    count();
    run(['loop'], { owner: 1 });
    expect(reads).toBe(0);
    run(['loop'], { owner: 2 });
    expect(reads).toBeGreaterThan(0);
  });
});
