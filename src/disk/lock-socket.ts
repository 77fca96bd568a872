// A listening socket is the one proof of life that the kernel keeps for us: it answers while the owner is blocked or
// stopped, and refuses from the moment the last thread of the owner is gone, however it went.
//
// Nothing is ever said over it. That the connection comes about is the whole answer.

import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import type { Handle } from './disk.js';
import { codeOf, isCode } from './faults.js';
import { nodeDisk } from './node-disk.js';

export interface Listener {
  /** The socket's name in the directory. */
  readonly name: string;
  /** Stops answering and removes the socket. */
  close(): Promise<void>;
}

/** 'unknown': it cannot be asked from here. */
export type Answer = 'answers' | 'refuses' | 'missing' | 'unknown';

/** What a file system without sockets says. */
const NO_SOCKETS = ['ENOTSUP', 'EOPNOTSUPP', 'EPERM', 'EINVAL'];

/** Null where there can be no socket. No `name` may be used twice. */
export async function listenIn(directory: string, name = randomName()): Promise<Listener | null> {
  const address = addressOf(directory, name);
  if (address === null) return null;
  const server = createServer(turnAway);
  try {
    // Exclusive: in a worker of `node:cluster` the primary would listen instead, and go on after the worker died.
    server.listen({ path: address.path, exclusive: true });
    await once(server, 'listening');
  } catch (error) {
    closeAddress(address);
    if (isCode(error, ...NO_SOCKETS)) return null;
    throw error;
  }
  server.on('error', ignoreFault);
  // A program with nothing left to do may end.
  server.unref();
  return { name, close: () => closeServer(server, address) };
}

function randomName(): string {
  return `owner-${randomBytes(8).toString('hex')}.sock`;
}

function turnAway(asker: Socket): void {
  asker.on('error', ignoreFault);
  asker.unref();
  asker.destroy();
}

/** Whoever asked has had its answer from the kernel; a connection that breaks, or cannot be accepted, changes nothing. */
function ignoreFault(): void {
  // See above.
}

async function closeServer(server: Server, address: Address): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  await closed;
  // Only now: closing removes the socket by its address.
  closeAddress(address);
}

export async function ask(directory: string, name: string): Promise<Answer> {
  const address = addressOf(directory, name);
  if (address === null) return 'unknown';
  try {
    for (let asked = 0; asked < ASKED_MAX; asked++) {
      const answer = await askOnce(address.path);
      if (answer !== 'ended') return answer;
    }
    return 'answers';
  } finally {
    closeAddress(address);
  }
}

/** Asked again when it ended with our connection still in its queue. Names are not used twice: it ends only once. */
const ASKED_MAX = 3;

async function askOnce(path: string): Promise<Answer | 'ended'> {
  const socket = connect({ path });
  socket.on('error', ignoreFault);
  try {
    // Never pending: the kernel connects, refuses or says that the queue is full, all at once. So there is no timeout.
    await once(socket, 'connect');
    return 'answers';
  } catch (error) {
    return answerIn(error);
  } finally {
    socket.destroy();
  }
}

/** Anything else, such as no free descriptor, says nothing about the owner: it is thrown. */
export function answerIn(error: unknown, platform = process.platform): Answer | 'ended' {
  switch (codeOf(error)) {
    case 'ECONNREFUSED':
      // Other kernels refuse when the owner's queue is full, too.
      return platform === 'linux' ? 'refuses' : 'unknown';
    case 'EAGAIN':
      // Only a listening socket has a queue that can be full.
      return 'answers';
    case 'ECONNRESET':
      return 'ended';
    case 'ENOENT':
      // A pipe has no file in the directory: this says only that nobody on this machine listens.
      return platform === 'win32' ? 'refuses' : 'missing';
    case 'EACCES':
    case 'EPERM':
    case 'EINVAL':
    case 'ENOTSUP':
    case 'EOPNOTSUPP':
      return 'unknown';
    default:
      throw error;
  }
}

interface Address {
  path: string;
  /** Kept open while the address is in use. */
  directory: Handle | null;
}

/** What fits into an address, without its closing zero. Node 20 cuts a longer path in silence, and binds the rest of it. */
const ADDRESS_BYTES_MAX = process.platform === 'linux' ? 107 : 103;

export function addressOf(directory: string, name: string, platform = process.platform): Address | null {
  if (platform === 'win32') return { path: `\\\\.\\pipe\\holdfast-${name}`, directory: null };
  const path = join(directory, name);
  if (Buffer.byteLength(path) <= ADDRESS_BYTES_MAX) return { path, directory: null };
  if (platform !== 'linux') return null;
  const handle = nodeDisk.open(directory, 'read');
  const short = `/proc/self/fd/${handle}`;
  if (existsSync(short)) return { path: join(short, name), directory: handle };
  // No /proc, or one of another pid namespace.
  nodeDisk.close(handle);
  return null;
}

function closeAddress(address: Address): void {
  if (address.directory !== null) nodeDisk.close(address.directory);
  address.directory = null;
}
