// What the main thread does itself at exit, without an exit.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { nodeDisk } from '../../src/disk/node-disk.js';
import { writeLastFiles } from '../../src/exit/last-files.js';
import { Chain } from '../../src/journal/chain.js';
import { planOpening } from '../../src/journal/open.js';
import { Places } from '../../src/journal/places.js';
import { Ledger } from '../../src/ledger.js';
import { Channel } from '../../src/queue/channel.js';
import { HandOver } from '../../src/queue/hand-over.js';
import type { JournalThread } from '../../src/threads/journal-thread.js';
import type { StationReport } from '../../src/threads/station.js';
import { Truth } from '../../src/truth.js';
import { stateOf } from '../crash/script.js';
import { refusal } from '../support/refusal.js';
import { folder, json } from './support.js';

/** A journal thread that takes everything and does nothing. */
const SILENT = {
  open: async () => ({ store: 1, notes: [] }),
  close: async () => undefined,
  abandon: () => undefined,
  send: () => undefined,
  ring: () => undefined,
  hold: () => undefined,
  letGo: () => undefined,
  takeMail: () => undefined,
} as unknown as JournalThread;

async function silentStore(thread: JournalThread = SILENT) {
  const directory = folder();
  const places = new Places(directory);
  mkdirSync(places.hidden, { recursive: true });
  writeFileSync(join(places.hidden, 'lock.1'), '');
  const { plan, replica } = planOpening({ disk: nodeDisk, places, owner: 1, onDamage: 'refuse', now: Date.now });
  const reports: StationReport[] = [];
  const start = { directory, owner: 1, plan, syncDelayMs: 10, ringBytes: 4096 };
  const channel = new Channel(start, thread, (report) => reports.push(report));
  await channel.open();
  const ledger = new Ledger(replica, new Chain(plan.base), () => handOver.onChange());
  const handOver: HandOver = new HandOver(ledger, channel, 0, { onCommit: () => undefined, lastFault: () => null });
  const doc = ledger.create('a', { n: 0, text: '' }, null);
  return { directory, channel, ledger, handOver, doc, reports, storeId: plan.storeId };
}

it('the ring of a silent thread is written here, large frames too', async () => {
  const { directory, channel, handOver, doc } = await silentStore();
  handOver.onChange();
  doc.update((s) => void (s.text = 'x'.repeat(5_000)));
  doc.update((s) => void (s.n = 1));
  expect(channel.pendingBytes).toBeGreaterThan(5_000);
  handOver.flushSync(40, true);
  expect(channel.pendingBytes).toBe(0);
  expect(JSON.parse(stateOf(new Truth(directory))).a.n).toBe(1);
});

it('a thread that is known to be dead is not waited for', async () => {
  const dead = { ...SILENT, isGone: true } as unknown as JournalThread;
  const { directory, handOver, doc } = await silentStore(dead);
  handOver.onChange();
  doc.update((s) => void (s.n = 1));
  const start = performance.now();
  handOver.flushSync(60_000, true);
  // A silent one has half of the time.
  expect(performance.now() - start).toBeLessThan(20_000);
  expect(JSON.parse(stateOf(new Truth(directory))).a.n).toBe(1);
});

it('before the end of the process a silent thread is an error, and nothing is dropped', async () => {
  const { channel, handOver, doc, reports } = await silentStore();
  doc.update((s) => void (s.n = 1));
  expect(refusal(() => handOver.flushSync(20)).code).toBe('HF_THREAD');
  expect(handOver.lagMs).toBeGreaterThan(0);
  const flushed = handOver.flush();
  channel.onReport({ kind: 'fault', code: 'HF_DISK_FULL', message: 'full' });
  await expect(flushed).rejects.toMatchObject({ code: 'HF_DISK_FULL' });
  expect(reports).toHaveLength(1);
  expect(channel.start().plan.base.seq).toBe(0);
  expect([...channel.apart()]).toEqual([]);
});

it('with no room in the ring paths stay dirty and merge, and are handed over when there is', async () => {
  const { channel, ledger, doc } = await silentStore();
  for (let n = 1; n <= 100; n++) doc.update((s) => void (s.n = n));
  expect(channel.isFull).toBe(true);
  expect(ledger.hasDirty).toBe(true);
  const { lastSeq } = ledger;
  // The thread makes everything durable.
  channel.shared.durable = { seq: lastSeq, crc: 0, position: channel.shared.head };
  channel.shared.written = channel.shared.head;
  await new Promise((resolve) => setImmediate(resolve));
  expect(ledger.lastSeq).toBe(lastSeq + 1);
  expect(ledger.hasDirty).toBe(false);
});

it('the files that still lag are written from memory, as far as the time goes; what is not ours stays', async () => {
  const { directory, handOver, doc, storeId } = await silentStore();
  handOver.onChange();
  handOver.flushSync(20, true);
  writeFileSync(join(directory, 'theirs.json'), '{"not":"ours"}');
  const file = (name: string) => ({ name, state: doc.raw, version: 1, backups: 1 });
  const common = { disk: nodeDisk, directory, storeId, seq: 1, logs: [], removed: [], assertOwner: () => undefined };
  const files = ['a', 'theirs', 'con'].map(file);
  const outcomes = writeLastFiles({ ...common, files, deadlineMs: performance.now() + 10_000 });
  expect(outcomes.map(({ outcome }) => (outcome instanceof Error ? 'error' : outcome.kind))).toEqual([
    'published',
    'drift',
    expect.any(String),
  ]);
  expect(json(directory, 'a')).toEqual(doc.raw);
  expect(readFileSync(join(directory, 'theirs.json'), 'utf8')).toBe('{"not":"ours"}');
  expect(writeLastFiles({ ...common, files: [file('late')], deadlineMs: 0 })).toEqual([]);
});

it('a disk that stays full does not keep the event loop busy', async () => {
  const { channel, handOver, doc } = await silentStore();
  handOver.onChange();
  for (let n = 1; n <= 100; n++) doc.update((s) => void (s.n = n));
  expect(channel.isFull).toBe(true);
  let asked = 0;
  Object.defineProperty(channel, 'isBehind', { get: () => ++asked > 0 });
  await new Promise((resolve) => setTimeout(resolve, 200));
  // Once per turn would be thousands.
  expect(asked).toBeLessThan(60);
  expect(asked).toBeGreaterThan(2);
});
