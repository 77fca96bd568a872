// The right to recover one interrupted `writeFiles`: `.holdfast-<id>.claim.<n>` in its home. See V2 in recover.ts.

import { join } from 'node:path';
import { isCode } from '../disk/faults.js';
import { readFrom, writeFully } from '../disk/files.js';
import type { LockRecord } from '../disk/lock-record.js';
import type { FileDisk } from './disk.js';
import { removeTemp, tempName } from './temps.js';

export class Claim {
  readonly #disk: FileDisk;
  readonly #home: string;
  readonly #id: string;
  #number = 0;
  /** Sockets of those who died over it. */
  readonly #sockets: string[] = [];

  constructor(disk: FileDisk, home: string, id: string) {
    this.#disk = disk;
    this.#home = home;
    this.#id = id;
  }

  /** False when somebody alive has it, or was faster. */
  async take(record: LockRecord, isDead: (owner: LockRecord) => Promise<boolean>): Promise<boolean> {
    let n = 1;
    while (this.#disk.entry(this.#path(n)) !== null) {
      const owner = this.#read(n++);
      if (owner === null) continue;
      if (!(await isDead(owner))) return false;
      if (owner.socket !== null) this.#sockets.push(owner.socket);
    }
    if (!this.#link(n, record)) return false;
    this.#number = n;
    return true;
  }

  /** Once every pointer is gone. From below: while one is there, so are all above it. */
  release(): void {
    for (const socket of this.#sockets) removeTemp(this.#disk, join(this.#home, socket));
    for (let n = 1; n <= this.#number; n++) removeTemp(this.#disk, this.#path(n));
  }

  #path(n: number): string {
    return join(this.#home, `.holdfast-${this.#id}.claim.${n}`);
  }

  #link(n: number, record: LockRecord): boolean {
    const temp = join(this.#home, tempName());
    const handle = this.#disk.open(temp, 'create', 0o644);
    try {
      writeFully(this.#disk, handle, Buffer.from(JSON.stringify(record)), 0);
      this.#disk.link(temp, this.#path(n));
      return true;
    } catch (error) {
      if (isCode(error, 'EEXIST')) return false;
      throw error;
    } finally {
      this.#disk.close(handle);
      removeTemp(this.#disk, temp);
    }
  }

  /** Null for one that a power cut left without its content: after a power cut every owner is dead. */
  #read(n: number): LockRecord | null {
    try {
      return JSON.parse(readFrom(this.#disk, this.#path(n)).toString('utf8')) as LockRecord;
    } catch (error) {
      if (error instanceof SyntaxError || isCode(error, 'ENOENT')) return null;
      throw error;
    }
  }
}
