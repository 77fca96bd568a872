// Opening: recover, keep what is cut, start a new tail. An old tail is never appended to: after a kill the page cache
// shows frames that a later power cut takes away, so what was accepted is first made durable in a tail of its own.

import { randomBytes } from 'node:crypto';
import type { Disk } from '../disk/disk.js';
import type { HoldfastError } from '../errors.js';
import { writeBase } from './base.js';
import { type DamageReport, damageError } from './damage.js';
import { Journal, type JournalStart } from './journal.js';
import { makePlaces, type Places } from './places.js';
import { keepBytes, keepFile } from './quarantine.js';
import { type Damaged, recover, type Sound } from './recover.js';
import { Replica } from './replica.js';

export type RecoveryNote =
  | { kind: 'cut'; file: string; offset: number; bytes: number; kept: string }
  | { kind: 'base-damaged'; file: string; kept: string }
  | { kind: 'salvaged'; report: DamageReport; kept: string[] };

export interface OpenSettings {
  disk: Disk;
  places: Places;
  owner: number;
  onDamage: 'refuse' | 'salvage';
  now: () => number;
  onFault: (error: HoldfastError) => void;
}

export interface Opened {
  journal: Journal;
  replica: Replica;
  storeId: Buffer;
  notes: RecoveryNote[];
}

export function openJournal(settings: OpenSettings): Opened {
  const { disk, places, onDamage } = settings;
  // Reading first: a store that is refused is left exactly as it was found.
  const found = recover(disk, places);
  if (found.kind === 'damaged' && onDamage === 'refuse') throw damageError(found.report);
  makePlaces(disk, places);
  switch (found.kind) {
    case 'new':
      return openNew(settings);
    case 'sound':
      return openSound(settings, found);
    case 'damaged':
      return openSalvaged(settings, found);
    default:
      return found satisfies never;
  }
}

function openNew(settings: OpenSettings): Opened {
  const storeId = randomBytes(16);
  const journal = new Journal({
    ...startOf(settings),
    storeId,
    base: { seq: 0, crc: 0 },
    frames: [],
    nextNumber: 1,
    highWaterCounter: 0,
  });
  return { journal, replica: new Replica(), storeId, notes: [] };
}

function openSound(settings: OpenSettings, found: Sound): Opened {
  const { disk, places } = settings;
  const { storeId, nextNumber, highWaterCounter, replica, cut } = found;
  const notes: RecoveryNote[] = [];
  if (cut !== null) {
    const kept = keepBytes(disk, places, `${cut.file.name}.from-${cut.offset}`, cut.bytes);
    notes.push({ kind: 'cut', file: cut.file.name, offset: cut.offset, bytes: cut.bytes.length, kept });
  }
  const start = { ...startOf(settings), storeId, nextNumber, highWaterCounter };
  const journal = new Journal({ ...start, base: found.durable, frames: found.beyond });
  // After the new tail: its number is above this one's, so numbers are not used twice even if we stop here.
  for (const { path, name } of found.damagedBases) {
    notes.push({ kind: 'base-damaged', file: name, kept: keepFile(disk, places, path, name) });
  }
  return { journal, replica, storeId, notes };
}

/** A base of what could be saved, above every sequence ever seen; then the rest goes to quarantine. */
function openSalvaged(settings: OpenSettings, found: Damaged): Opened {
  const { disk, places, owner, now } = settings;
  const { salvaged: replica, report, files, freshSeq, nextNumber, highWaterCounter } = found;
  const storeId = found.storeId ?? randomBytes(16);
  const at = { seq: freshSeq, crc: 0 };
  const { documents } = replica;
  // A store of another id: the old witness and the old files must not speak for it.
  writeBase(disk, places, { storeId, owner, number: nextNumber, at, tailNumber: 0, timeMs: now(), documents });
  const kept = files.map(({ path, name }) => keepFile(disk, places, path, name));
  const start = { ...startOf(settings), storeId, nextNumber: nextNumber + 1, highWaterCounter };
  const journal = new Journal({ ...start, base: at, frames: [] });
  return { journal, replica, storeId, notes: [{ kind: 'salvaged', report, kept }] };
}

function startOf({
  disk,
  places,
  owner,
  now,
  onFault,
}: OpenSettings): Omit<JournalStart, 'storeId' | 'base' | 'frames' | 'nextNumber' | 'highWaterCounter'> {
  return { disk, places, owner, now, onFault };
}
