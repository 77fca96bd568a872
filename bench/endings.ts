// A long run that somebody ends leaves nothing behind.

/** What a shell expects of a process that was told to end. */
const ENDINGS = [
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGHUP', 129],
] as const;

export function endOnSignals(cleanUp: () => void): void {
  for (const [signal, code] of ENDINGS) {
    process.once(signal, () => {
      cleanUp();
      process.exit(code);
    });
  }
}
