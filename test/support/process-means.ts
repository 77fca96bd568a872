// What this machine allows. Tests that need more are skipped, with the reason in their name.

import { spawnSync } from 'node:child_process';

function has(command: string, ...args: string[]): boolean {
  return spawnSync(command, args, { stdio: 'ignore' }).error === undefined;
}

const isRoot = process.platform === 'linux' && process.getuid?.() === 0;

/** Null when system calls of another process can be made to fail. */
export function whyNoFaults(): string | null {
  if (process.platform !== 'linux') return 'no strace here';
  const { status } = spawnSync('strace', ['-f', '-o', '/dev/null', '-e', 'inject=fsync:error=EIO', 'true']);
  return status === 0 ? null : 'no strace that may trace';
}

/** Null when file systems can be mounted. */
export function whyNoMounts(): string | null {
  if (!isRoot) return 'not root';
  const { status } = spawnSync('unshare', ['-m', 'mount', '-t', 'tmpfs', 'none', '/mnt'], { stdio: 'ignore' });
  return status === 0 ? null : 'no mounts here';
}

/** Null when a file system in a file can be cut off from its disk. */
export function whyNoCuts(): string | null {
  const why = whyNoMounts();
  if (why !== null) return why;
  if (!has('xfs_io', '-V') || !has('mkfs.xfs', '-V') || !has('mkfs.ext4', '-V')) return 'no xfsprogs or e2fsprogs';
  const { status } = spawnSync('losetup', ['-f'], { stdio: 'ignore' });
  return status === 0 ? null : 'no loop devices';
}

/** `describe.skipIf` wants a condition; its name should say why. */
export function because(name: string, why: string | null): string {
  return why === null ? name : `${name} (skipped: ${why})`;
}
