// When the journal is compacted: once what an opening would have to read has outgrown the newest base, or is spread over
// too many tails. Decided on the main thread, done by the snapshot thread.

import { HoldfastError } from '../errors.js';
import type { SnapshotKeeper } from '../ground.js';
import type { History } from '../journal/history.js';
import type { PublishLock } from '../threads/publish-lock.js';
import type { StationRequest } from './requests.js';

export interface CompactorHost {
  request(): StationRequest;
  takeNumber(): number;
  onFault(error: HoldfastError): void;
}

const COMPACT_BYTES_MIN = 4 * 1024 * 1024;
/** Each opening begins a tail: a program that is started often must not collect them. */
const TAILS_MAX = 8;

export class Compactor {
  readonly #host: CompactorHost;
  readonly #thread: SnapshotKeeper;
  readonly #lock: PublishLock;
  #bytesSinceBase = 0;
  #baseBytes = 0;
  #isCompacting = false;
  #compacting: Promise<void> | null = null;
  #isStopped = false;

  constructor(host: CompactorHost, thread: SnapshotKeeper, lock: PublishLock) {
    this.#host = host;
    this.#thread = thread;
    this.#lock = lock;
  }

  /** What the next opening would have to read, if nothing were done. */
  noteHistory({ tails, tailBytes, baseBytes }: History): void {
    this.#bytesSinceBase = tailBytes;
    this.#baseBytes = baseBytes;
    if (tails > TAILS_MAX || this.#isLong) this.#compactSoon();
  }

  noteRotated(bytes: number): void {
    this.#bytesSinceBase += bytes;
    if (this.#isLong) this.#compactSoon();
  }

  /** Writes a base, and deletes what two bases have made superfluous. */
  async compact(): Promise<void> {
    this.#isCompacting = true;
    const covered = this.#bytesSinceBase;
    try {
      const request = { ...this.#host.request(), number: this.#host.takeNumber(), timeMs: Date.now() };
      const report = await this.#thread.compact(request, this.#lock);
      if (report.kind === 'fault') throw new HoldfastError(report.code, report.message);
      if (report.kind === 'behind') return;
      this.#bytesSinceBase -= covered;
      this.#baseBytes = report.baseBytes;
    } finally {
      this.#isCompacting = false;
    }
  }

  /** Nothing more is begun. Resolves when what runs is over. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#compacting;
  }

  get #isLong(): boolean {
    return this.#bytesSinceBase >= Math.max(COMPACT_BYTES_MIN, this.#baseBytes);
  }

  #compactSoon(): void {
    if (this.#isCompacting || this.#isStopped) return;
    this.#compacting = this.compact().catch((error: unknown) => this.#host.onFault(error as HoldfastError));
  }
}
