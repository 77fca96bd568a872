// Ctrl-C while a loop runs: nothing more is begun, what is being worked on is awaited, everything is saved, and then the
// signal takes its default action. A second one takes it at once; what was acknowledged is saved then too.
//
// A program that listens to the signal itself decides: the loop goes on, unless the program stops it by its own
// AbortSignal. The hook that saves at exit (exit/hooks.ts) is there as long as a store is open, and is no such voice.

import { signalExitListeners } from '../exit/hooks.js';

// Captured at import: a program's fake timers must not freeze a loop.
const { setImmediate, setTimeout } = globalThis;

const SIGNAL = 'SIGINT';
const OURS_AND_HOOK = 2;
/** What comes after the loop must not run before the signal has arrived. */
const ARRIVAL_MS = 100;

const running = new Set<() => void>();
let stopping = 0;
const stopped: (() => void)[] = [];

function onSignal(): void {
  if (process.listenerCount(SIGNAL) - OURS_AND_HOOK - signalExitListeners() > 0) return;
  stopping += running.size;
  for (const stop of running) stop();
  running.clear();
  // Not at once: the hook, if it is called after us, would take itself for the only listener and end the process.
  setImmediate(quieten);
}

function quieten(): void {
  if (running.size === 0) process.off(SIGNAL, onSignal);
}

/** Calls `stop` on the next SIGINT; `endBySignal` is then owed. Returns how to end that. */
export function onInterrupt(stop: () => void): () => void {
  if (!process.listeners(SIGNAL).includes(onSignal)) process.on(SIGNAL, onSignal);
  running.add(stop);
  return () => {
    running.delete(stop);
    quieten();
  };
}

/** Now that everything of this loop is saved. The last one of those that were stopped lets the signal have its way. */
export async function endBySignal(): Promise<void> {
  stopping--;
  if (stopping > 0) return new Promise((resolve) => stopped.push(resolve));
  process.kill(process.pid, SIGNAL);
  await new Promise((resolve) => setTimeout(resolve, ARRIVAL_MS));
  for (const resolve of stopped.splice(0)) resolve();
}
