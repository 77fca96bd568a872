// Is the owner that a lock file names still there? "Dead" is said only of what is proven: a store that stays shut for a
// minute costs less than two writers.

import { statfsSync } from 'node:fs';
import { isCode } from './faults.js';
import { type Identity, type LockRecord, ownIdentity, startTimeOf } from './lock-record.js';
import { ask } from './lock-socket.js';

export type Verdict = { kind: 'alive' } | { kind: 'dead' } | { kind: 'unprovable'; why: string };

const ALIVE: Verdict = { kind: 'alive' };
const DEAD: Verdict = { kind: 'dead' };

export async function judge(directory: string, record: LockRecord): Promise<Verdict> {
  if (record.state === 'released') return DEAD;
  const answer = record.socket === null ? 'unknown' : await ask(directory, record.socket);
  switch (answer) {
    case 'answers':
      return ALIVE;
    case 'missing':
      // The owner removes it when it lets go; a copy of the directory does not have it.
      return DEAD;
    case 'refuses':
      return judgeRefusal(record, ownIdentity(), isLocalDisk(directory));
    case 'unknown':
      return judgeProcess(record, ownIdentity(), seek(record));
    default:
      return answer satisfies never;
  }
}

/**
 * A lock file without content, of which a power cut is the usual cause. Its owner is dead if none of the sockets in the
 * directory answers, on a disk where every owner has one.
 */
export async function judgeUnnamed(directory: string, sockets: readonly string[]): Promise<Verdict> {
  const answers = await Promise.all(sockets.map((name) => ask(directory, name)));
  if (answers.includes('answers')) return ALIVE;
  if (answers.includes('unknown')) return { kind: 'unprovable', why: 'not every socket there can be asked from here' };
  return isLocalDisk(directory) ? DEAD : { kind: 'unprovable', why: 'its owner may be on another machine' };
}

/** A kernel refuses for sockets of its own processes, and just as well for those of another machine on a shared disk. */
export function judgeRefusal(
  record: LockRecord,
  here: Identity,
  isLocal: boolean,
  platform = process.platform,
): Verdict {
  // A local disk has one kernel at a time: the owner is a process of this one that ended, or of one before it.
  if (isLocal || isSameKernel(record, here, platform) || isRebooted(record, here)) return DEAD;
  return { kind: 'unprovable', why: 'it may run on another machine that shares this disk' };
}

/** What could be found of the process by its pid, from here. */
type Sighting = 'gone' | 'running' | 'unclear';

/** The fallback without sockets. */
export function judgeProcess(
  record: Identity,
  here: Identity,
  sighting: Sighting,
  platform = process.platform,
): Verdict {
  if (isRebooted(record, here)) return DEAD;
  if (!isSamePids(record, here, platform)) {
    return { kind: 'unprovable', why: 'it may run in another container or on another machine' };
  }
  switch (sighting) {
    case 'gone':
      return DEAD;
    case 'running':
      return ALIVE;
    case 'unclear':
      return { kind: 'unprovable', why: `process ${record.pid} may be that one or a later one with the same pid` };
    default:
      return sighting satisfies never;
  }
}

/** The same pid means the same process. */
function isSamePids(record: Identity, here: Identity, platform: NodeJS.Platform): boolean {
  // Only Linux has pid namespaces.
  const isSameNamespace = platform !== 'linux' || isSame(record.pidNamespace, here.pidNamespace);
  return isSameNamespace && isSameKernel(record, here, platform);
}

function isSameKernel(record: Identity, here: Identity, platform: NodeJS.Platform): boolean {
  return platform === 'linux' ? isSame(record.bootId, here.bootId) : isSame(record.host, here.host);
}

/** The same machine, started anew. */
function isRebooted(record: Identity, here: Identity): boolean {
  const isOtherBoot = record.bootId !== '' && here.bootId !== '' && record.bootId !== here.bootId;
  return isOtherBoot && isSame(record.machineId, here.machineId) && record.host === here.host;
}

function isSame(one: string, other: string): boolean {
  return one !== '' && one === other;
}

/** Looks among the pids of this namespace. */
export function seek({ pid, startTime }: { pid: number; startTime: string }): Sighting {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (isCode(error, 'ESRCH')) return 'gone';
    // It is there, and belongs to another user.
    if (!isCode(error, 'EPERM')) throw error;
  }
  const found = startTimeOf(pid);
  if (found === '' || startTime === '') return 'unclear';
  return found === startTime ? 'running' : 'gone';
}

/** File systems with sockets that one kernel has to itself, by the numbers of statfs(2). */
const LOCAL_DISKS = new Set([
  0xef53, // ext2, ext3, ext4
  0x58465342, // XFS
  0x9123683e, // Btrfs
  0xca451a4e, // bcachefs
  0x2fc12fc1, // ZFS
  0xf2f52010, // F2FS
  0x794c7630, // overlay: its upper layer has to be local
  0x01021994, // tmpfs
  0x858458f6, // ramfs
]);

function isLocalDisk(directory: string): boolean {
  return process.platform === 'linux' && LOCAL_DISKS.has(statfsSync(directory).type);
}
