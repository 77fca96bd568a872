// The ways in which a process ends of which it still knows.

export type Way =
  | { name: string; kind: 'inside'; end(): void }
  /** Sent from outside, when the process has nothing left to do but wait. */
  | { name: string; kind: 'signal'; signal: NodeJS.Signals };

export const WAYS: readonly Way[] = [
  { name: 'end of the program', kind: 'inside', end: () => undefined },
  { name: 'process.exit()', kind: 'inside', end: () => process.exit(0) },
  {
    name: 'process.exit() in a promise',
    kind: 'inside',
    end: () => void Promise.resolve().then(() => process.exit(0)),
  },
  { name: 'uncaught exception', kind: 'inside', end: () => process.nextTick(() => fail('uncaught')) },
  { name: 'unhandled rejection', kind: 'inside', end: () => void Promise.reject(new Error('unhandled')) },
  ...(['SIGTERM', 'SIGINT', 'SIGHUP'] as const).map((signal) => ({ name: signal, kind: 'signal', signal }) as const),
];

export function wayOf(name: string): Way {
  const way = WAYS.find((one) => one.name === name);
  if (way === undefined)
    throw new TypeError(`Expected one of ${WAYS.map((one) => one.name).join(', ')}, got '${name}'`);
  return way;
}

function fail(message: string): never {
  throw new Error(message);
}
