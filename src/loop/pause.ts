// Waiting that can be cut short.

// Captured at import: a program's fake timers must not freeze a loop.
const { setTimeout, clearTimeout } = globalThis;

/** Before the n-th retry: twice as long each time, and by chance less, so that items that failed together come apart. */
export function retryDelay(
  retry: number,
  { retryDelayMs, retryDelayMaxMs }: { retryDelayMs: number; retryDelayMaxMs: number },
  random: () => number = Math.random,
): number {
  const longest = Math.min(retryDelayMs * 2 ** (retry - 1), retryDelayMaxMs);
  return longest * (1 - random() / 2);
}

/** Resolves after this long, or at once when `signal` is aborted. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end);
  });
}

/** What `promise` gives, or null as soon as `signal` is aborted; whatever becomes of it then is nobody's concern. */
export function untilAborted<R>(promise: Promise<R>, signal: AbortSignal): Promise<R | null> {
  return new Promise((resolve, reject) => {
    const onAbort = () => resolve(null);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
