// The journal thread's work, one step at a time on this thread.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { MessageChannel, receiveMessageOnPort } from 'node:worker_threads';
import { beforeEach, describe, expect, it } from 'vitest';
import { nodeDisk } from '../../src/disk/node-disk.js';
import { HoldfastError } from '../../src/errors.js';
import { Chain } from '../../src/journal/chain.js';
import { planOpening } from '../../src/journal/open.js';
import { encodePayload } from '../../src/journal/payload.js';
import { Places } from '../../src/journal/places.js';
import { Ring } from '../../src/queue/ring.js';
import { Shared } from '../../src/queue/shared.js';
import { Bell } from '../../src/threads/bell.js';
import { type FromJournal, JournalLoop } from '../../src/threads/journal-loop.js';
import { Station, type StationReport, type StationStart } from '../../src/threads/station.js';
import { Truth } from '../../src/truth.js';
import { STORE, stateOf } from '../crash/script.js';
import { worstCase } from '../crash/surgery.js';
import { faultOf, RecordingDisk } from '../support/recording-disk.js';
import { folder } from './support.js';

function world(disk = new RecordingDisk()) {
  const { plan } = planOpening({ disk, places: new Places(STORE), owner: 1, onDamage: 'refuse', now: () => 0 });
  const shared = new Shared();
  shared.nextNumber = plan.nextNumber;
  shared.durable = { ...plan.base, position: 0 };
  const ring = new Ring(new SharedArrayBuffer(64 * 1024));
  const reports: StationReport[] = [];
  const clock = { now: 0 };
  const owner = { isLost: false };
  const apart = new Map<number, SharedArrayBuffer>();
  const start: StationStart = {
    directory: STORE,
    owner: 1,
    plan,
    shared: shared.memory,
    ring: ring.memory,
    syncDelayMs: 100,
  };
  const hooks = {
    report: (report: StationReport) => reports.push(report),
    apart: (id: number) => apart.get(id) as SharedArrayBuffer,
    assertOwner: () => {
      if (owner.isLost) throw new HoldfastError('HF_FENCED', 'Another process has taken over.');
    },
    disk,
    clock: () => clock.now,
  };
  const chain = new Chain(plan.base);
  let version = 0;
  const push = (n: number) => {
    const ops = [[version === 0 ? [0, { n }] : [1, [], 'n', n]]];
    const frame = chain.encode(
      [{ name: 'a', from: version, version: version + 1 }],
      encodePayload(ops, false),
      shared.durableSeq,
      0,
    );
    version++;
    shared.head = ring.put(shared.head, frame.bytes);
  };
  const successor = () => ({ ...start, plan: { ...plan, base: { seq: shared.durable.seq, crc: shared.durable.crc } } });
  return { disk, shared, ring, reports, clock, owner, apart, start, hooks, chain, push, successor };
}

const recovered = (disk: RecordingDisk) => stateOf(new Truth(STORE, { disk: worstCase(disk) }));

describe('a station', () => {
  it('writes at once, syncs when asked to or when the time has come, and marks after a quiet moment', () => {
    const { disk, shared, clock, start, hooks, push } = world();
    const station = new Station(start, hooks);
    push(1);
    expect(station.step()).toBe(100);
    expect(shared.written).toBe(shared.head);
    expect(shared.durableSeq).toBe(0);
    clock.now = 99;
    push(2);
    expect(station.step()).toBe(1);
    clock.now = 100;
    expect(station.step()).toBe(100);
    expect(shared.durableSeq).toBe(2);
    push(3);
    shared.want();
    station.step();
    expect(shared.durableSeq).toBe(3);
    expect(recovered(disk)).toBe('{"a":{"n":3}}');
    const before = disk.steps;
    clock.now = 199;
    expect(station.step()).toBe(1);
    expect(disk.steps).toBe(before);
    clock.now = 200;
    expect(station.step()).toBe(Number.POSITIVE_INFINITY);
    expect(disk.steps).toBeGreaterThan(before);
    station.close();
  });

  it('reports a full disk, retries with back-off, at once when asked, and says when it is mended', () => {
    const { disk, shared, clock, reports, start, hooks, push } = world();
    const station = new Station(start, hooks);
    disk.inject = (call) => (call.name === 'write' && (call.length ?? 0) < 4096 ? faultOf('ENOSPC', call) : undefined);
    push(1);
    expect(station.step()).toBe(20);
    clock.now = 10;
    expect(station.step()).toBe(10);
    shared.want();
    expect(station.step()).toBe(40);
    clock.now = 50;
    expect(station.step()).toBe(80);
    expect(shared.faults).toBe(3);
    expect(reports.map((report) => report.kind === 'fault' && report.code)).toEqual(new Array(3).fill('HF_DISK_FULL'));
    disk.inject = undefined;
    shared.want();
    station.step();
    expect(reports.at(-1)).toEqual({ kind: 'mended' });
    expect(shared.durableSeq).toBe(1);
    expect(recovered(disk)).toBe('{"a":{"n":1}}');
  });

  it('says what a new tail has made durable, also of frames that came while none could be made', () => {
    const { disk, shared, clock, reports, start, hooks, push } = world();
    const station = new Station(start, hooks);
    disk.inject = (call) => (/syncData|open/.test(call.name) ? faultOf('EIO', call) : undefined);
    push(1);
    shared.want();
    station.step();
    push(2);
    disk.inject = undefined;
    clock.now = 1000;
    expect(station.step()).toBeGreaterThan(0);
    expect(shared.durableSeq).toBe(2);
    expect(reports.at(-1)).toEqual({ kind: 'mended' });
    expect(recovered(disk)).toBe('{"a":{"n":2}}');
  });

  it('goes on without its witness: told, and no reason to refuse anybody', () => {
    const { disk, shared, clock, reports, start, hooks, push } = world();
    const station = new Station(start, hooks);
    disk.inject = (call) => (call.path?.endsWith('high-water') ? faultOf('ENOSPC', call) : undefined);
    push(1);
    shared.want();
    station.step();
    clock.now = 1_000;
    station.step();
    expect(reports).toMatchObject([{ kind: 'fault', code: 'HF_DISK_FULL', isPassing: true }]);
    expect(shared.durableSeq).toBe(1);
    expect(shared.faults).toBe(0);
  });

  it('acknowledges nothing once another process owns the store, and never writes again', () => {
    const { disk, shared, owner, reports, start, hooks, push } = world();
    const station = new Station(start, hooks);
    owner.isLost = true;
    push(1);
    shared.want();
    expect(station.step()).toBe(Number.POSITIVE_INFINITY);
    expect(shared.durableSeq).toBe(0);
    expect(reports).toMatchObject([{ kind: 'fault', code: 'HF_FENCED' }]);
    const before = disk.steps;
    push(2);
    shared.want();
    expect(station.step()).toBe(Number.POSITIVE_INFINITY);
    expect(disk.steps).toBe(before);
  });

  it('is followed by another that begins with everything that is not durable', () => {
    const { disk, shared, start, hooks, push, successor } = world();
    const first = new Station(start, hooks);
    push(1);
    shared.want();
    first.step();
    push(2);
    first.step();
    push(3);
    first.abandon();
    const second = new Station(successor(), hooks);
    expect(shared.durableSeq).toBe(3);
    expect(recovered(disk)).toBe('{"a":{"n":3}}');
    push(4);
    second.close();
    expect(recovered(disk)).toBe('{"a":{"n":4}}');
  });

  it('takes frames that travel apart, and rotates when asked to', () => {
    const { disk, shared, ring, apart, chain, reports, start, hooks } = world();
    const station = new Station(start, hooks);
    const ops = encodePayload([[[0, { text: 'x'.repeat(100_000) }]]], false);
    const { bytes } = chain.encode([{ name: 'a', from: 0, version: 1 }], ops, 0, 0);
    const memory = new SharedArrayBuffer(bytes.length);
    new Uint8Array(memory).set(bytes);
    apart.set(7, memory);
    shared.head = ring.putApart(shared.head, 7);
    shared.want();
    station.step();
    station.rotate();
    expect(reports).toMatchObject([{ kind: 'rotated' }]);
    expect(recovered(disk)).toHaveLength(100_000 + '{"a":{"text":""}}'.length);
  });

  it('rotates by itself when its tail has grown', () => {
    const { shared, ring, apart, chain, reports, start, hooks } = world();
    const station = new Station(start, hooks);
    for (let id = 1; id <= 3; id++) {
      const ops = encodePayload([[[0, { text: 'x'.repeat(4_000_000) }]]], false);
      const { bytes } = chain.encode([{ name: 'a', from: id - 1, version: id }], ops, 0, 0);
      const memory = new SharedArrayBuffer(bytes.length);
      new Uint8Array(memory).set(bytes);
      apart.set(id, memory);
      shared.head = ring.putApart(shared.head, id);
      shared.want();
      station.step();
    }
    expect(reports.filter(({ kind }) => kind === 'rotated')).toHaveLength(1);
  });
});

describe('the loop of the journal thread', () => {
  let directory: string;
  beforeEach(() => {
    directory = folder();
    mkdirSync(join(directory, '.holdfast'));
    writeFileSync(join(directory, '.holdfast', 'lock.1'), '');
  });

  function mail(port: import('node:worker_threads').MessagePort): FromJournal[] {
    const messages: FromJournal[] = [];
    for (let found = receiveMessageOnPort(port); found !== undefined; found = receiveMessageOnPort(port))
      messages.push(found.message);
    return messages;
  }

  it('opens, saves, rotates, closes and stops by mail', () => {
    const { plan } = planOpening({
      disk: nodeDisk,
      places: new Places(directory),
      owner: 1,
      onDamage: 'refuse',
      now: () => 0,
    });
    const shared = new Shared();
    shared.nextNumber = plan.nextNumber;
    const ring = new Ring(new SharedArrayBuffer(1024));
    const chain = new Chain(plan.base);
    const { port1, port2 } = new MessageChannel();
    const start: StationStart = { directory, owner: 1, plan, shared: shared.memory, ring: ring.memory, syncDelayMs: 0 };
    const ops = encodePayload([[[0, { text: 'y'.repeat(5_000) }]]], false);
    const { bytes } = chain.encode([{ name: 'a', from: 0, version: 1 }], ops, 0, 0);
    const memory = new SharedArrayBuffer(bytes.length);
    new Uint8Array(memory).set(bytes);
    port1.postMessage({ kind: 'apart', store: 1, id: 5, memory });
    shared.head = ring.putApart(0, 5);
    port1.postMessage({ kind: 'open', store: 1, start });
    port1.postMessage({ kind: 'rotate', store: 1 });
    port1.postMessage({ kind: 'close', store: 1 });
    port1.postMessage({ kind: 'close', store: 99 });
    port1.postMessage({ kind: 'open', store: 2, start: { ...start, directory: '/proc/nowhere' } });
    port1.postMessage({ kind: 'stop' });
    new JournalLoop(port2, new Bell()).run();
    expect(mail(port1)).toMatchObject([
      { kind: 'opened', store: 1, notes: [] },
      { kind: 'report', store: 1, report: { kind: 'rotated' } },
      { kind: 'closed', store: 1, fault: null },
      { kind: 'closed', store: 99, fault: null },
      { kind: 'refused', store: 2 },
    ]);
    expect(shared.durableSeq).toBe(1);
    port1.close();
    expect(JSON.parse(stateOf(new Truth(directory))).a.text).toHaveLength(5_000);
  });

  it('a bell that has rung is not slept through', () => {
    const bell = new Bell();
    const { count } = bell;
    bell.ring();
    bell.sleep(count, 60_000);
    bell.sleep(bell.count, 1);
    expect(bell.count).toBe(count + 1);
  });
});
