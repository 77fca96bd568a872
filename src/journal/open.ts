// Opening: recover, keep what is cut, start a new tail. An old tail is never appended to: after a kill the page cache
// shows frames that a later power cut takes away, so what was accepted is first made durable in a tail of its own.
//
// Three steps, so that reading and writing can be done by different threads: `recover` only reads, `planOpening` decides
// (and for a salvage writes the base), `begin` writes.

import { randomBytes } from 'node:crypto';
import { basename } from 'node:path';
import type { Disk } from '../disk/disk.js';
import { readFrom } from '../disk/files.js';
import type { HoldfastError } from '../errors.js';
import { recordPath } from '../projection/record.js';
import { writeBase } from './base.js';
import type { Link } from './chain.js';
import { type DamageReport, damageError } from './damage.js';
import { readHighWater } from './high-water.js';
import { Journal } from './journal.js';
import { writeSegment } from './move-entries.js';
import { makePlaces, type Places } from './places.js';
import { keepBytes, keepFiles } from './quarantine.js';
import { recover } from './recover.js';
import type { Damaged, Recovery, Sound } from './recovery.js';
import { Replica } from './replica.js';

export type RecoveryNote =
  | { kind: 'cut'; file: string; offset: number; bytes: number; kept: string }
  | { kind: 'base-damaged' | 'fenced'; file: string; kept: string }
  | { kind: 'salvaged'; report: DamageReport; kept: string[] };

/** What `begin` needs to know. Plain data: it may cross to another thread. */
export interface Plan {
  storeId: Uint8Array;
  /** Where the chain is known to be durable. */
  base: Link;
  /** Accepted frames beyond it. */
  frames: Uint8Array[];
  nextNumber: number;
  /** The highest owner number in any file. A tail of a lower owner would not count. */
  ownerMax: number;
  cut: { path: string; name: string; offset: number } | null;
  /** Files that no longer count once the new tail is there. */
  replaced: { path: string; name: string }[];
  /** Why they do not. */
  salvaged: DamageReport | null;
}

export interface Opening {
  plan: Plan;
  replica: Replica;
}

export interface OpenSettings {
  disk: Disk;
  places: Places;
  owner: number;
  onDamage: 'refuse' | 'salvage';
  now: () => number;
}

export interface BeginSettings {
  disk: Disk;
  places: Places;
  owner: number;
  takeNumber: () => number;
  now: () => number;
  assertOwner: () => void;
  onFault: (error: HoldfastError, isPassing: boolean) => void;
}

/** Recovers and decides. Throws HF_DAMAGED for a damaged store unless salvage was chosen; it is then left as it was. */
export function planOpening(settings: OpenSettings): Opening {
  const { disk, places, onDamage } = settings;
  // Reading first: a store that is refused is left exactly as it was found.
  const found = recover(disk, places);
  if (found.kind === 'damaged' && onDamage === 'refuse') throw damageError(found.report);
  makePlaces(disk, places, found.kind === 'new');
  return planFor(settings, found);
}

function planFor(settings: OpenSettings, found: Recovery): Opening {
  switch (found.kind) {
    case 'new':
      return { plan: planNew(), replica: new Replica() };
    case 'sound':
      return { plan: planSound(found), replica: found.replica };
    case 'damaged':
      return { plan: planSalvage(settings, found), replica: found.salvaged };
    default:
      return found satisfies never;
  }
}

function planNew(): Plan {
  return {
    storeId: randomBytes(16),
    base: { seq: 0, crc: 0 },
    frames: [],
    nextNumber: 1,
    ownerMax: 0,
    cut: null,
    replaced: [],
    salvaged: null,
  };
}

function planSound(found: Sound): Plan {
  const { storeId, durable, beyond, nextNumber, ownerMax, cut, damagedBases, fenced } = found;
  return {
    storeId,
    base: durable,
    frames: beyond,
    nextNumber,
    ownerMax,
    cut: cut === null ? null : { path: cut.file.path, name: cut.file.name, offset: cut.offset },
    replaced: [...damagedBases, ...fenced].map(({ path, name }) => ({ path, name })),
    salvaged: null,
  };
}

/**
 * A base of what could be saved, at a sequence above every one ever seen. Once a tail follows it nothing of the old
 * files counts. Stopped before that, the store is damaged as before, or salvaged already.
 */
function planSalvage({ disk, places, owner, now }: OpenSettings, found: Damaged): Plan {
  const storeId = found.storeId ?? randomBytes(16);
  const base = { seq: found.freshSeq, crc: 0 };
  const { documents, logs } = found.salvaged;
  const number = found.nextNumber;
  const common = { storeId, owner, number, at: base, timeMs: now() };
  for (const { lines, ...run } of found.runs) writeSegment(disk, places, { ...common, ...run }, lines);
  writeBase(disk, places, { ...common, tailNumber: 0, documents, logs });
  return {
    storeId,
    base,
    frames: [],
    nextNumber: number + 1,
    ownerMax: found.ownerMax,
    cut: null,
    // With the record of what was published: files that are ahead of what was saved are then not taken for ours.
    replaced: [...found.files, ...recordOf(disk, places)].map(({ path, name }) => ({ path, name })),
    salvaged: found.report,
  };
}

function recordOf(disk: Disk, places: Places): { path: string; name: string }[] {
  const path = recordPath(places);
  return disk.entry(path) === null ? [] : [{ path, name: basename(path) }];
}

/** Starts the new tail. When this returns, every accepted frame is durable. */
export function begin(settings: BeginSettings, plan: Plan): { journal: Journal; notes: RecoveryNote[] } {
  const { disk, places, owner } = settings;
  if (owner < plan.ownerMax) throw new Error(`Owner ${owner} is below ${plan.ownerMax}: its tail would not count`);
  const notes: RecoveryNote[] = [];
  if (plan.cut !== null) {
    const { path, name: file, offset } = plan.cut;
    const bytes = readFrom(disk, path, offset);
    // Before the new tail: once that one is there, nothing points at these bytes any more.
    const kept = keepBytes(disk, places, `${file}.from-${offset}`, bytes);
    notes.push({ kind: 'cut', file, offset, bytes: bytes.length, kept });
  }
  const journal = new Journal({
    ...settings,
    storeId: Buffer.from(plan.storeId),
    base: plan.base,
    frames: plan.frames.map((bytes) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)),
    highWaterCounter: readHighWater(disk, places)?.counter ?? 0,
  });
  // After the new tail: its number is above these, so numbers are not used twice even if we stop here.
  const kept = keepFiles(
    disk,
    places,
    plan.replaced.map(({ path }) => path),
  );
  if (plan.salvaged !== null) notes.push({ kind: 'salvaged', report: plan.salvaged, kept });
  else {
    plan.replaced.forEach(({ name }, index) => {
      const kind = name.endsWith('.base') ? 'base-damaged' : 'fenced';
      notes.push({ kind, file: name, kept: kept[index] as string });
    });
  }
  return { journal, notes };
}
