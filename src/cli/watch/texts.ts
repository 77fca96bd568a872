// The same words for the live page and for the lines in a pipe.

import type { LoopProgress } from '../../inspect/loop-watch.js';
import type { Beat } from '../../inspect/pulse.js';

/** `12 s`, `28 min`, `3 h 05 min`, `2 d 4 h`. */
function durationText(ms: number): string {
  const seconds = Math.round(ms / 1000);
  if (seconds < 100) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 100) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours} h ${String(minutes % 60).padStart(2, '0')} min`;
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

export function rateText(perSec: number): string {
  if (perSec === 0) return '0/s';
  if (perSec >= 10) return `${Math.round(perSec).toLocaleString('en')}/s`;
  if (perSec >= 0.5) return `${perSec.toFixed(1)}/s`;
  const perMin = perSec * 60;
  return perMin >= 1 ? `${perMin.toFixed(1)}/min` : `${(perMin * 60).toFixed(1)}/h`;
}

export function onDiskText({ onDiskWithinMs }: Beat): string {
  return onDiskWithinMs === null ? '–' : `≤ ${onDiskWithinMs} ms`;
}

export function lagText({ lastSeq, durableSeq, lagMs }: Beat): string {
  const behind = lastSeq - durableSeq;
  if (behind === 0) return 'none';
  return `${behind.toLocaleString('en')} commit${behind === 1 ? '' : 's'}, ${lagMs.toLocaleString('en')} ms`;
}

/** `812 of 2,000, 3 failed, 41.2/min, 28 min left` */
export function loopText(loop: LoopProgress): string {
  const { completed, failed, perSec, total } = loop;
  const ended = completed + failed;
  const parts = [total === null ? `${number(ended)} done` : `${number(ended)} of ${number(total)}`];
  if (failed > 0) parts.push(`${number(failed)} failed`);
  if (perSec !== null) parts.push(rateText(perSec));
  const leftMs = leftOf(loop);
  if (leftMs !== null) parts.push(leftMs === 0 ? 'complete' : `${durationText(leftMs)} left`);
  return parts.join(', ');
}

/** Null as long as it cannot be told. */
function leftOf({ completed, failed, perSec, total }: LoopProgress): number | null {
  if (total === null) return null;
  const left = Math.max(0, total - completed - failed);
  if (left === 0) return 0;
  return perSec === null ? null : (left / perSec) * 1000;
}

export function clockText(time: Date): string {
  return time.toTimeString().slice(0, 8);
}

export function number(n: number): string {
  return n.toLocaleString('en');
}
