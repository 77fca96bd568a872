// What goes wrong at the very end is said at once: `process.emitWarning` waits for a tick that does not come any more.

export function warnAtExit(message: string): void {
  process.emit('warning', Object.assign(new Error(message), { name: 'HoldfastWarning' }));
}
