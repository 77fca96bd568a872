// One store on the journal thread: takes frames out of the ring, writes, syncs, and says what is durable. Plain
// synchronous code: the thread calls `step` in a loop, a test calls it by hand, and at exit the main thread may run a
// station of its own when the journal thread is dead or silent.
//
// T1. `durable` moves only after the sync of every byte before it returned, and only while this process owns the store.
//     What is taken from the ring while a sync is under way aside is not in it: it waits for the next one.
// T2. A failed attempt changes nothing: the frames stay in the ring and in the journal, and the next attempt repeats it.
// T3. A successor begins a new tail with every frame of the ring that is not durable. Its number is above that of its
//     predecessor's tail, so whatever that one still does there no longer counts.

import type { Disk } from '../disk/disk.js';
import { writeFault } from '../disk/faults.js';
import { nodeDisk } from '../disk/node-disk.js';
import type { ErrorCode, HoldfastError } from '../errors.js';
import type { Link } from '../journal/chain.js';
import { frameCrc } from '../journal/frame.js';
import type { Journal } from '../journal/journal.js';
import { begin, type Plan, type RecoveryNote } from '../journal/open.js';
import { Places } from '../journal/places.js';
import { distance, Ring } from '../queue/ring.js';
import { Shared } from '../queue/shared.js';
import { NoAnswer, type SyncAside, type SyncOutcome } from './sync-helper.js';

export interface StationStart {
  directory: string;
  owner: number;
  plan: Plan;
  shared: SharedArrayBuffer;
  ring: SharedArrayBuffer;
  syncDelayMs: number;
}

export type StationReport =
  /** `isPassing`: saving goes on by itself, and nobody who waits is refused. */
  | { kind: 'fault'; code: ErrorCode; message: string; isPassing?: boolean }
  /** Writing works again after faults. */
  | { kind: 'mended' }
  /** A tail was finished; `bytes` long. */
  | { kind: 'rotated'; bytes: number };

export interface StationHooks {
  report: (report: StationReport) => void;
  /** A frame that travels apart from the ring. */
  apart: (id: number) => SharedArrayBuffer;
  /** Throws HF_FENCED when another process has taken the store over. */
  assertOwner: () => void;
  disk?: Disk;
  /** Another thread that syncs. Without it nothing is written while a sync is under way. */
  aside?: SyncAside;
  /** Monotonic. */
  clock?: () => number;
}

/** After a quiet moment what is durable is made known on disk. */
const MARK_DELAY_MS = 100;
const ROTATE_BYTES = 8 * 1024 * 1024;
/** What a kill may take that nobody flushed. A disk that syncs faster is not worth the way over another thread. */
const SLOW_SYNC_MS = 1;
/** An answer that never comes is noticed all the same. */
const ASIDE_POLL_MS = 1000;
const RETRY_MS = { first: 20, most: 1000 } as const;

export class Station {
  readonly notes: readonly RecoveryNote[];
  readonly #start: StationStart;
  readonly #hooks: StationHooks;
  readonly #shared: Shared;
  readonly #ring: Ring;
  readonly #journal: Journal;
  readonly #clock: () => number;
  /** The position behind the last frame taken from the ring. */
  #taken: number;
  #last: Link;
  /** Frames taken and not durable, with the positions behind them. */
  readonly #pending: { seq: number; behind: number }[] = [];
  /** The position up to which frames are durable. */
  #settled: number;
  /** Somebody waits for what was taken since the last sync began. */
  #isWished = false;
  #syncBegan = 0;
  #lastSyncMs = 0;
  #slowestSyncMs = 0;
  #pendingSince = Number.POSITIVE_INFINITY;
  #quietSince = Number.POSITIVE_INFINITY;
  #retry: { at: number; delayMs: number } | null = null;
  /** A fault was reported and 'mended' was not. */
  #isFaulty = false;
  #fence: HoldfastError | null = null;

  constructor(start: StationStart, hooks: StationHooks) {
    const { directory, owner, plan } = start;
    this.#start = start;
    this.#hooks = hooks;
    this.#clock = hooks.clock ?? (() => performance.now());
    this.#shared = new Shared(start.shared);
    this.#ring = new Ring(start.ring);
    this.#taken = this.#shared.durable.position;
    this.#settled = this.#taken;
    this.#last = plan.base;
    // Before anything is written: after a takeover a tail of ours would only be in the way of its new owner.
    hooks.assertOwner();
    const frames = [...plan.frames, ...this.#takeAll()];
    const { journal, notes } = begin(
      {
        disk: hooks.disk ?? nodeDisk,
        places: new Places(directory),
        owner,
        takeNumber: () => this.#shared.takeNumber(),
        now: Date.now,
        assertOwner: hooks.assertOwner,
        onFault: (error, isPassing) => this.#report(error, isPassing),
      },
      { ...plan, frames },
    );
    this.#journal = journal;
    this.#last = journal.last;
    this.notes = notes;
    this.#pending.length = 0;
    this.#settled = this.#taken;
    this.#publish();
  }

  /** Does what is due. Returns how many milliseconds until something is due again if nothing new arrives. */
  step(): number {
    const isWanted = this.#shared.takeWish();
    if (this.#fence !== null) {
      // Nothing will be saved any more: whoever asks is told, every time.
      if (isWanted) this.#fail(this.#fence, this.#clock());
      return Number.POSITIVE_INFINITY;
    }
    this.#append();
    const now = this.#clock();
    if (this.#retry !== null && now < this.#retry.at && !isWanted) return this.#retry.at - now;
    try {
      // What failed may have been wanted: it is attempted again in any case, else it would pass for mended.
      this.#work(isWanted || this.#retry !== null, now);
      this.#noteMended();
    } catch (error) {
      if (error instanceof NoAnswer) throw error;
      this.#fail(error, now);
    }
    return this.#dueIn(now);
  }

  /** Finishes the tail. Throws when something could not be made durable; the frames are then still in the ring. */
  close(): void {
    this.#awaitAside();
    this.#append();
    this.#journal.sync();
    this.#publish();
    this.#journal.close();
  }

  /** Lets go of the file without finishing it. */
  abandon(): void {
    this.#awaitAside();
    this.#journal.abandon();
  }

  rotate(): void {
    this.#awaitAside();
    const bytes = this.#journal.tailBytes;
    this.#journal.rotate();
    this.#publish();
    this.#hooks.report({ kind: 'rotated', bytes });
  }

  #work(isWanted: boolean, now: number): void {
    const journal = this.#journal;
    this.#isWished ||= isWanted;
    // Before writing: a disk that takes nothing more has kept what was synced, and whoever waits for that is told so.
    const isFree = this.#hasAsideEnded(now);
    if (journal.hasUnwritten) journal.write();
    this.#shared.written = this.#taken;
    // Where the tail had to be begun anew, all of it is durable with that, and nothing is left to sync.
    if (!journal.hasPending && this.#pending.length > 0) this.#noteDurable(now);
    if (!isFree) return;
    if (journal.hasPending && (this.#isWished || now >= this.#pendingSince + this.#start.syncDelayMs)) this.#sync(now);
    if (journal.hasPending) return;
    this.#isWished = false;
    if (journal.tailBytes > ROTATE_BYTES) this.rotate();
    else if (now >= this.#quietSince + MARK_DELAY_MS) {
      this.#quietSince = Number.POSITIVE_INFINITY;
      journal.mark();
    }
  }

  #sync(now: number): void {
    this.#syncBegan = this.#clock();
    if (this.#isForAside) this.#beginAside();
    else this.#journal.sync();
    this.#isWished = false;
    this.#pendingSince = Number.POSITIVE_INFINITY;
    if (!this.#journal.isSyncing) this.#noteSynced(now);
  }

  /** Where somebody waits, a disk that was fast the last time gives the sooner answer here. */
  get #isForAside(): boolean {
    const { aside } = this.#hooks;
    const lastMs = this.#isWished ? this.#lastSyncMs : this.#slowestSyncMs;
    // 'mended' is said when something was synced again, not when that was begun.
    if (aside === undefined || lastMs < SLOW_SYNC_MS || this.#isFaulty) return false;
    // A long tail is synced here: with always something under way aside it would never end.
    return this.#journal.tailBytes <= ROTATE_BYTES && aside.isFree();
  }

  #beginAside(): void {
    const handle = this.#journal.beginSync();
    if (handle !== null) this.#hooks.aside?.begin(handle);
  }

  /** True also when nothing was under way. */
  #hasAsideEnded(now: number): boolean {
    if (!this.#journal.isSyncing) return true;
    const outcome = (this.#hooks.aside as SyncAside).outcome();
    if (outcome !== null) this.#endAside(outcome, now);
    return outcome !== null;
  }

  /** Whatever closes the file, or must not be overtaken, comes after it. */
  #awaitAside(): void {
    if (this.#journal.isSyncing) this.#endAside((this.#hooks.aside as SyncAside).wait(), this.#clock());
  }

  #endAside({ error }: SyncOutcome, now: number): void {
    const since = this.#pendingSince;
    // Should this throw, what was under way is as pending as the rest.
    this.#pendingSince = this.#syncBegan;
    this.#journal.endSync(error);
    this.#pendingSince = since;
    this.#noteSynced(now);
  }

  #noteSynced(now: number): void {
    this.#lastSyncMs = this.#clock() - this.#syncBegan;
    this.#slowestSyncMs = Math.max(this.#slowestSyncMs, this.#lastSyncMs);
    this.#shared.noteSync(this.#lastSyncMs * 1000);
    this.#noteDurable(now);
  }

  #noteDurable(now: number): void {
    this.#publish();
    this.#quietSince = now;
  }

  #append(): void {
    for (const bytes of this.#takeAll()) {
      this.#journal.append({ seq: this.#last.seq, crc: this.#last.crc, bytes });
      if (this.#pendingSince === Number.POSITIVE_INFINITY) this.#pendingSince = this.#clock();
    }
  }

  /** Every frame that has been handed over; `#last` is the link of the one given out last. */
  *#takeAll(): Generator<Buffer> {
    const { head } = this.#shared;
    while (distance(this.#taken, head) > 0) {
      const { item, next } = this.#ring.take(this.#taken);
      const bytes = item.kind === 'inline' ? item.bytes : Buffer.from(this.#hooks.apart(item.id));
      this.#taken = next;
      this.#last = { seq: this.#last.seq + 1, crc: frameCrc(bytes) };
      this.#pending.push({ seq: this.#last.seq, behind: next });
      yield bytes;
    }
  }

  #publish(): void {
    const { seq, crc } = this.#journal.durable;
    let done = 0;
    for (const frame of this.#pending) {
      if (frame.seq > seq) break;
      this.#settled = frame.behind;
      done++;
    }
    this.#pending.splice(0, done);
    if (!this.#journal.hasPending) this.#pendingSince = Number.POSITIVE_INFINITY;
    if (!this.#journal.hasUnwritten) this.#shared.written = this.#taken;
    this.#shared.durable = { seq, crc, position: this.#settled };
  }

  #fail(error: unknown, now: number): void {
    const fault = writeFault(error, 'Saving to', this.#start.directory);
    if (fault.code === 'HF_FENCED') this.#fence = fault;
    const delayMs = Math.min((this.#retry?.delayMs ?? RETRY_MS.first / 2) * 2, RETRY_MS.most);
    this.#retry = { at: now + delayMs, delayMs };
    this.#report(fault);
    this.#shared.noteFault();
  }

  #noteMended(): void {
    this.#retry = null;
    // Also after a fault that was got over at once, as when a tail was replaced.
    if (!this.#isFaulty) return;
    this.#isFaulty = false;
    this.#hooks.report({ kind: 'mended' });
  }

  #report({ code, message }: HoldfastError, isPassing = false): void {
    if (!isPassing) this.#isFaulty = true;
    this.#hooks.report({ kind: 'fault', code, message, isPassing });
  }

  #dueIn(now: number): number {
    if (this.#fence !== null) return Number.POSITIVE_INFINITY;
    if (this.#retry !== null) return Math.max(0, this.#retry.at - now);
    // Its answer rings the bell.
    if (this.#journal.isSyncing) return ASIDE_POLL_MS;
    const sync = this.#pendingSince + this.#start.syncDelayMs;
    const mark = this.#journal.hasPending ? Number.POSITIVE_INFINITY : this.#quietSince + MARK_DELAY_MS;
    return Math.max(0, Math.min(sync, mark) - now);
  }
}
