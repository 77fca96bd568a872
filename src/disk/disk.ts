// The calls the protocol is made of, and nothing else: everything that touches a file goes through one of these, so a
// test can stop after any of them and decide what a power cut leaves behind.
//
// Errors are Node's own (`code`, `path`); `write` may write less than asked, as the kernel may.

/** An open file. */
export type Handle = number;

/** 'create' fails with EEXIST when the name is taken; 'write' opens what exists, for positional writes and reads. */
export type Access = 'create' | 'read' | 'write';

export interface Entry {
  kind: 'file' | 'directory' | 'link' | 'other';
  size: number;
}

/** What tells one state of a file from another without reading it, and who may read it. */
export interface Details extends Entry {
  ino: number;
  mtimeMs: number;
  /** Permission bits only. */
  mode: number;
}

export interface Disk {
  open(path: string, access: Access, mode?: number): Handle;
  close(handle: Handle): void;
  /** Reads at most `length` bytes at `position`; 0 at the end of the file. */
  read(handle: Handle, into: Uint8Array, offset: number, length: number, position: number): number;
  write(handle: Handle, from: Uint8Array, offset: number, length: number, position: number): number;
  size(handle: Handle): number;
  truncate(handle: Handle, size: number): void;
  /** Data, and what is needed to read it back (the size), are on the medium. */
  syncData(handle: Handle): void;
  /** The file is on the medium. Its name is not: that takes `syncDirectory`. */
  sync(handle: Handle): void;
  /** Names added to, removed from and renamed in this directory are on the medium. */
  syncDirectory(path: string): void;
  rename(from: string, to: string): void;
  /** A second name for a file; fails with EEXIST when it is taken. */
  link(existing: string, path: string): void;
  unlink(path: string): void;
  makeDirectory(path: string, mode?: number): void;
  /** The names in a directory, in no particular order. */
  list(path: string): string[];
  /** Null when nothing is there. Any other trouble throws. */
  entry(path: string): Entry | null;
}

/** What files that people see and touch take beyond the calls above: the journal's own files need none of it. */
export interface PublicDisk extends Disk {
  entry(path: string): Details | null;
  /** The file behind all symbolic links of a path; ENOENT when one of them leads nowhere. */
  realPath(path: string): string;
  /** Sets the permission bits, whatever the umask. */
  setMode(handle: Handle, mode: number): void;
}
