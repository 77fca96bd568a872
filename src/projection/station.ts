// What one task of the snapshot thread does: catch up with the journal, then publish files or write a base. Requests and
// reports are plain data, so that they can cross to a thread and back.
//
// S1. What is published is the state at a durable sequence, never ahead of it.
// S2. One station works on a store at a time: the snapshot thread, or at exit the main thread, which then holds the
//     publish lock for good.

import { dirname } from 'node:path';
import type { PublicDisk } from '../disk/disk.js';
import { codeOf, writeFault } from '../disk/faults.js';
import { nodeDisk } from '../disk/node-disk.js';
import { HoldfastError } from '../errors.js';
import { writeBase } from '../journal/base.js';
import { isLogKey, logNameOf } from '../journal/log-key.js';
import { moveEntries } from '../journal/move-entries.js';
import { onlyFileOf, Places } from '../journal/places.js';
import type { ReplicaDocument } from '../journal/replica.js';
import { retain } from '../journal/retain.js';
import { Follower } from './follower.js';
import { projectLines } from './lines.js';
import { assertDocumentName, BACKUPS_MAX, documentPaths, linesPath } from './names.js';
import { isUpToDate, newPress, type Outcome, type Press } from './press.js';
import { isPublished, publishDocument } from './publish.js';
import { removeDocument } from './remove.js';
import type {
  CompactReport,
  CompactRequest,
  DocumentOutcome,
  DocumentRequest,
  Fault,
  ProjectReport,
  ProjectRequest,
  StationRequest,
  StationTools,
} from './requests.js';
import { serialize } from './serialize.js';
import { Shelf } from './shelf.js';
import { sweepBeside } from './stage.js';

const ALONE: StationTools = { disk: nodeDisk, critical: (fn) => fn(), isNewest: () => true };

interface Desk {
  storeId: string;
  follower: Follower;
  press: Press;
}

/** Each holds the whole state of a store. */
const DESKS_MAX = 32;
const desks = new Map<string, Desk>();

/** Publishes these documents at the newest state that is durable. */
export function project(request: ProjectRequest, tools: StationTools = ALONE): ProjectReport {
  const { documents, sweep = false, audit = false, directory } = request;
  const report: ProjectReport = { seq: 0, problem: null, fault: null, documents: [], digests: [] };
  let desk: Desk;
  try {
    desk = caughtUp(request, tools);
  } catch (error) {
    return { ...report, fault: faultOf(error, directory) };
  }
  const { follower } = desk;
  report.seq = follower.at.seq;
  report.problem = follower.problem;
  if (sweep) sweepBeside(desk.press.disk, mainFiles(desk));
  for (const document of documents) report.documents.push(projectOne(desk, document, tools));
  if (sweep) report.documents.push(...sweepRemoved(desk, tools));
  if (audit) {
    for (const [name, { state, version }] of follower.documents)
      report.digests.push({ name, version, sha256: serialize(state).sha256 });
  }
  return report;
}

/** Writes a base of the newest durable state and deletes what two sound bases have made superfluous. */
export function compact(request: CompactRequest, tools: StationTools = ALONE): CompactReport {
  const { owner, number, timeMs, toSeq } = request;
  try {
    const { follower, press } = caughtUp(request, tools);
    const { disk, places } = press;
    const { seq } = follower.at;
    if (seq < toSeq) return { kind: 'behind', seq, problem: follower.problem as string };
    const shelf = new Shelf(disk, places);
    shelf.refresh();
    // The base will say that this tail must be there. The journal may have given it its name a moment ago: a power cut
    // that keeps the base and not the tail would look like damage.
    disk.syncDirectory(places.hidden);
    const { at, documents, logs } = follower;
    const common = { storeId: Buffer.from(request.storeId), owner, number, at, timeMs, logs };
    moveEntries(disk, places, common);
    writeBase(disk, places, { ...common, tailNumber: shelf.newestTail, documents });
    shelf.refresh();
    // A tail that does not count must not make one that does look superfluous. The next open puts it away.
    const baseBytes = disk.entry(places.truth(number, 'base'))?.size ?? 0;
    return { kind: 'compacted', seq, baseBytes, deleted: retain(disk, places) };
  } catch (error) {
    return faultOf(error, new Places(request.directory).truth(number, 'base'));
  }
}

/** Lets go of everything held for a store, in all its openings. */
export function forget(storeId: Uint8Array): void {
  const id = Buffer.from(storeId).toString('hex');
  for (const [key, desk] of desks) if (desk.storeId === id) drop(key, desk);
}

function caughtUp(request: StationRequest, tools: StationTools): Desk {
  const desk = deskFor(request, tools);
  desk.follower.catchUp(request.toSeq);
  return desk;
}

function deskFor({ directory, storeId, owner }: StationRequest, { disk, critical }: StationTools): Desk {
  const id = Buffer.from(storeId);
  const key = `${id.toString('hex')} ${owner} ${directory}`;
  const desk = desks.get(key) ?? newDesk(disk, new Places(directory), id);
  // The newest last: what has been unused for longest goes first.
  desks.delete(key);
  desks.set(key, desk);
  for (const [oldest, unused] of desks) {
    if (desks.size <= DESKS_MAX) break;
    drop(oldest, unused);
  }
  desk.press.critical = critical;
  return desk;
}

function newDesk(disk: PublicDisk, places: Places, id: Buffer): Desk {
  const press = newPress(disk, places, id);
  // Made durable with the store itself.
  press.folders.add(dirname(places.hidden));
  return { storeId: id.toString('hex'), follower: new Follower(disk, places, id), press };
}

function drop(key: string, { press }: Desk): void {
  desks.delete(key);
  press.record.close();
}

function projectOne(desk: Desk, request: DocumentRequest, tools: StationTools): DocumentOutcome {
  const { follower } = desk;
  const { name, backups } = request;
  const { seq } = follower.at;
  if (!Number.isInteger(backups) || backups < 0 || backups > BACKUPS_MAX)
    throw new TypeError(`Expected \`backups\` from 0 to ${BACKUPS_MAX}, got ${backups}`);
  if (isLogKey(name)) return projectLog(desk, name, tools);
  const document = follower.documents.get(name);
  if ((document?.version ?? 0) < (request.fromVersion ?? 0))
    return { name, version: document?.version ?? 0, seq, outcome: { kind: 'early' } };
  if (document === undefined) return removeOne(desk, name, false, tools);
  return {
    name,
    version: document.version,
    seq,
    outcome: attempt(desk, name, () => publishOne(desk, request, document, tools)),
  };
}

function projectLog(desk: Desk, key: string, { isNewest }: StationTools): DocumentOutcome {
  const { follower, press, storeId } = desk;
  const { seq } = follower.at;
  const extent = follower.logs.get(key);
  // Logs are not removed: its first entry is not durable yet.
  if (extent === undefined) return { name: key, version: 0, seq, outcome: { kind: 'superseded' } };
  const plan = { key, extent, seq, isNewest: () => isNewest(key, seq) };
  const outcome = attempt(desk, logNameOf(key), () => projectLines(press, Buffer.from(storeId, 'hex'), plan));
  return { name: key, version: extent.count, seq, outcome };
}

function publishOne(
  { follower, press }: Desk,
  { name, backups, onDrift, ...request }: DocumentRequest,
  { state, version, adopted }: ReplicaDocument,
  { isNewest }: StationTools,
): Outcome {
  assertDocumentName(name);
  const { seq } = follower.at;
  // A file may lag; it never goes back.
  if ((press.record.editions.get(name)?.seq ?? 0) > seq) throw unreadable(follower);
  const changedSeq = follower.changedSeq(name);
  const isWritten = isUpToDate(press, name, changedSeq) || isPublished(press, { name, version, changedSeq });
  const last = press.known.get(name);
  if (isWritten && last !== undefined) return { kind: 'unchanged', sha256: last.sha256 };
  const text = serialize(state);
  const adopts = request.adopts ?? adopted;
  // What was just read back whole, and asked to be durable, is durable.
  const plan = { name, text, version, seq, changedSeq, durableSeq: seq, backups, adopts, onDrift };
  return publishDocument(press, { ...plan, isNewest: () => isNewest(name, seq) });
}

function removeOne(desk: Desk, name: string, isKept: boolean, { isNewest }: StationTools): DocumentOutcome {
  const { seq } = desk.follower.at;
  const plan = { name, isKept, isNewest: () => isNewest(name, seq) };
  const remove = () => {
    // It may have been created in what could not be read.
    if (desk.follower.problem !== null) throw unreadable(desk.follower);
    return removeDocument(desk.press, plan);
  };
  return { name, version: 0, seq, outcome: attempt(desk, name, remove) };
}

/** Those that were removed by a process that did not get to remove their files. */
function sweepRemoved(desk: Desk, tools: StationTools): DocumentOutcome[] {
  const names = [...desk.press.record.editions.keys()].filter(
    (name) => !isLogKey(name) && !desk.follower.documents.has(name),
  );
  return names.map((name) => removeOne(desk, name, true, tools));
}

/** Files in folders that are the store's own: beside a single document others may be at work, with temps of theirs. */
function mainFiles({ follower, press }: Desk): string[] {
  if (onlyFileOf(press.places.directory) !== null) return [];
  const { directory } = press.places;
  const lines = [...follower.logs.keys()].map((key) => linesPath(directory, logNameOf(key)));
  return [...[...follower.documents.keys()].map((name) => documentPaths(directory, name).main), ...lines];
}

/** One document's trouble is not another's. */
function attempt<R>({ press }: Desk, name: string, run: () => R): R | Fault {
  try {
    return run();
  } catch (error) {
    return faultOf(error, `${press.places.directory}/${name}`);
  }
}

function unreadable({ at, problem }: Follower): HoldfastError {
  const why = problem ?? `the journal ends at commit ${at.seq}`;
  return new HoldfastError('HF_DAMAGED', `What is saved cannot be read back: ${why}. The file stays as it is.`);
}

function faultOf(error: unknown, path: string): Fault {
  const fault = writeFault(error, 'Writing', path);
  return { kind: 'fault', code: fault.code, message: fault.message, errno: codeOf(causeOf(fault)) ?? null };
}

function causeOf(error: HoldfastError): unknown {
  return error.cause instanceof HoldfastError ? causeOf(error.cause) : error.cause;
}
