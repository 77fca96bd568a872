// One look in one line, for pipes and logs.

import { harmless, shownBytes } from '../shown.js';
import type { Scene } from './scene.js';
import { clockText, lagText, loopText, onDiskText, rateText } from './texts.js';

export function lineOf({ beat, loops, owner }: Scene): string {
  const { time, lastSeq, commitsPerSec, bytesPerSec, gap } = beat;
  const parts = [
    clockText(time),
    `commit ${lastSeq}`,
    rateText(commitsPerSec),
    `${shownBytes(Math.round(bytesPerSec))}/s`,
    `on disk ${onDiskText(beat)}`,
    `lag ${lagText(beat)}`,
    ...loops.map((loop) => `${harmless(loop.name)}: ${loopText(loop)}`),
    ...(owner.kind === 'nobody' ? ['nobody writes'] : []),
    ...(gap === null ? [] : [`commits ${gap.from} to ${gap.to} cannot be read`]),
  ];
  return parts.join('  ');
}
