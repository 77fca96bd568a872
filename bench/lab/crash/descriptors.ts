// What the paths and descriptors of a traced process mean in the model. All of its threads share one table.

import { resolve } from 'node:path';
import type { Node } from '../../../test/support/recording-nodes.js';
import { bytesOf, isString } from './trace-text.js';

/** What `open` made, and all duplicates of it share. */
export interface Description {
  node: Node;
  /** In the model, when it was opened. */
  path: string;
  position: number;
  isAppending: boolean;
  /** O_SYNC or O_DSYNC: each write is durable when it returns. */
  isSynchronous: boolean;
}

// -shm is SQLite's, -lock and lock.mdb are LMDB's: shared memory that has a name, made anew by whoever comes first after a
// crash. A socket that nobody listens to says as much as none.
const TRANSIENT = /(-shm|-lock|\/lock\.mdb|\.sock)$/;

export function isTransient(path: string): boolean {
  return TRANSIENT.test(path);
}

export class Descriptors {
  readonly #base: string;
  readonly #open = new Map<number, Description>();

  /** `base` is the folder that is the root of the model. */
  constructor(base: string) {
    this.#base = base;
  }

  get(fd: string): Description | undefined {
    return this.#open.get(Number(fd));
  }

  set(fd: number, description: Description): void {
    this.#open.set(fd, description);
  }

  delete(fd: string): void {
    this.#open.delete(Number(fd));
  }

  /** A printed path as one of the model; null when it lies elsewhere or is not on any disk. */
  path(arg: string, directory = 'AT_FDCWD'): string | null {
    if (!isString(arg)) return null;
    const text = bytesOf(arg).toString();
    const opened = /^\/proc\/self\/fd\/(\d+)(.*)$/.exec(text);
    if (opened !== null) return this.#below(opened[1] ?? '', `.${opened[2]}`);
    if (text.startsWith('/') || directory === 'AT_FDCWD') return this.#inModel(resolve(text));
    return this.#below(directory, text);
  }

  #below(fd: string, rest: string): string | null {
    const folder = this.get(fd);
    return folder === undefined ? null : this.#inModel(resolve(`${this.#base}${folder.path}`, rest));
  }

  #inModel(path: string): string | null {
    if (path === this.#base) return '/';
    return path.startsWith(`${this.#base}/`) && !isTransient(path) ? path.slice(this.#base.length) : null;
  }
}
