// Which system calls are recorded, and which of those that meet a subject's folder need no model.

/** Whatever takes a path or a descriptor, and what maps, starts threads or talks to the disk without either. */
export const TRACED = '%file,%desc,bind,msync,sync,io_uring_setup,clone,clone3,fork,vfork';

/** Their arguments are printed raw: only how much they read matters, for it moves the position. */
export const READS: ReadonlySet<string> = new Set(['read', 'readv', 'pread64', 'preadv', 'preadv2']);

/** They look, wait, or change what no crash state is judged by: locks, modes, owners, times, advice. */
export const HARMLESS: ReadonlySet<string> = new Set([
  ...['access', 'faccessat', 'faccessat2', 'stat', 'lstat', 'fstat', 'newfstatat', 'statx', 'statfs', 'fstatfs'],
  ...['readlink', 'readlinkat', 'getdents', 'getdents64', 'getcwd', 'getxattr', 'lgetxattr', 'fgetxattr'],
  ...['pread64', 'preadv', 'preadv2', 'readahead', 'fadvise64', 'flock', 'execve', 'poll', 'ppoll', 'connect'],
  ...['epoll_ctl', 'epoll_wait', 'epoll_pwait', 'inotify_add_watch', 'inotify_rm_watch'],
  ...['chmod', 'fchmod', 'fchmodat', 'chown', 'fchown', 'lchown', 'fchownat', 'utime', 'utimes', 'utimensat'],
  // Starts writing and promises nothing: neither the disk's cache nor the file's size is taken care of.
  'sync_file_range',
  // Only of mappings that cannot be written: others are refused when they are made.
  'msync',
]);

/** fcntl and ioctl that are as harmless. */
export const HARMLESS_COMMANDS =
  /^(F_GETFD|F_SETFD|F_GETFL|F_SETLK|F_SETLKW|F_GETLK|F_OFD_SETLK|F_OFD_SETLKW|F_OFD_GETLK|TCGETS|FIONBIO|FIOCLEX)\b/;
