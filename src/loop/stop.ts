// Ctrl-C while a loop runs: nothing more is begun, what is being worked on is awaited, everything is saved, and then the
// signal takes its default action. A second one takes it at once; what was acknowledged is saved then too.
//
// A program that listens to the signal itself decides: the loop goes on, unless the program stops it by its own
// AbortSignal. The hook that saves at exit (exit/hooks.ts) is there as long as a store is open, and is no such voice.

import { ExitHooks, signalExitListeners } from '../exit/hooks.js';

// Captured at import: a program's fake timers must not freeze a loop.
const { setImmediate, setTimeout } = globalThis;

const SIGNAL = 'SIGINT';
const EXIT_CODE = 130;
/** What comes after the loop must not run before the signal has arrived. */
const ARRIVAL_MS = 100;

interface Loop {
  stop(): void;
  /** The signal has come while it ran. */
  isStruck: boolean;
}

const running = new Set<Loop>();
let stopping = 0;
const stopped: (() => void)[] = [];

function onSignal(): void {
  if (process.listenerCount(SIGNAL) - ownListeners() > 0) return;
  stopping += running.size;
  for (const loop of running) {
    // Also one that was stopping already, for another reason: it holds the signal up, and owes it its way.
    loop.isStruck = true;
    loop.stop();
  }
  running.clear();
  // Not at once: the hook, if it is called after us, would take itself for the only listener and end the process.
  setImmediate(quieten);
}

/** Those that leave it to others what happens: this one, the hook's, and signal-exit's. */
function ownListeners(): number {
  return 1 + Number(ExitHooks.shared.listensTo(SIGNAL)) + signalExitListeners();
}

function quieten(): void {
  if (running.size === 0) process.off(SIGNAL, onSignal);
}

/** Calls `stop` on the next SIGINT. Returns what to await when all of the loop is saved: a signal that came has its way then. */
export function onInterrupt(stop: () => void): () => Promise<void> {
  if (!process.listeners(SIGNAL).includes(onSignal)) process.on(SIGNAL, onSignal);
  const loop: Loop = { stop, isStruck: false };
  running.add(loop);
  return async () => {
    running.delete(loop);
    quieten();
    if (loop.isStruck) await endBySignal();
  };
}

/** The last one of those that were stopped lets the signal have its way. */
async function endBySignal(): Promise<void> {
  stopping--;
  if (stopping > 0) return new Promise((resolve) => stopped.push(resolve));
  process.kill(process.pid, SIGNAL);
  await new Promise((resolve) => setTimeout(resolve, ARRIVAL_MS));
  // The first process of a container gets no signal that it does not listen to.
  if (process.pid === 1) process.exit(EXIT_CODE);
  for (const resolve of stopped.splice(0)) resolve();
}
