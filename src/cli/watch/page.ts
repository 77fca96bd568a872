// One look as a page, for people. Every line fits the window or is cut by it.

import type { Holder } from '../../disk/lock.js';
import type { LoopProgress } from '../../inspect/loop-watch.js';
import type { Commit } from '../../inspect/pulse.js';
import { pathOf } from '../../mend/home.js';
import { changesText } from '../change-text.js';
import { harmless, shownBytes, shownPath } from '../shown.js';
import type { Terminal } from '../terminal.js';
import type { Scene } from './scene.js';
import { bar, sparkline } from './sparkline.js';
import { clockText, lagText, loopText, number, onDiskText, rateText } from './texts.js';

const LABEL_WIDTH = 10;
const VALUE_WIDTH = 12;
const SPARK_WIDTH_MAX = 60;
const BAR_WIDTH = 24;
const IN_PROGRESS_MAX = 4;

export function pageOf(scene: Scene, terminal: Terminal): string[] {
  const head = [...headOf(scene, terminal), '', ...ratesOf(scene, terminal)];
  for (const loop of scene.loops) head.push('', ...loopLines(loop, terminal));
  head.push('', terminal.paint('bold', 'last changes'));
  const room = Math.max(1, terminal.rows - head.length);
  const changes = scene.recent.slice(0, room).map((commit) => changeLine(commit, terminal));
  return [...head, ...(changes.length === 0 ? [terminal.paint('dim', 'none that are kept')] : changes)];
}

/** What erases the rest of a line would take the letter in its last column along. */
function widthOf({ columns }: Terminal): number {
  return columns - 1;
}

function headOf({ home, beat, owner, documents }: Scene, terminal: Terminal): string[] {
  const { paint } = terminal;
  const left = `holdfast watch  ${shownPath(pathOf(home))}`;
  const right = `${clockText(beat.time)}  q quits`;
  const gap = ' '.repeat(Math.max(2, widthOf(terminal) - left.length - right.length));
  const lines = [paint('bold', left) + gap + paint('dim', right), ownerText(owner, terminal)];
  const documentCount = `${number(documents.length)} document${documents.length === 1 ? '' : 's'}`;
  lines.push(paint('dim', `${documentCount}, commit ${number(beat.lastSeq)}`));
  if (beat.gap !== null)
    lines.push(paint('red', `commits ${beat.gap.from} to ${beat.gap.to} cannot be read: see holdfast verify`));
  return lines;
}

function ownerText(owner: Holder, { paint }: Terminal): string {
  switch (owner.kind) {
    case 'nobody':
      return paint('yellow', 'no process has it open');
    case 'held':
      return `${paint('green', 'open')} in ${whoText(owner)}`;
    case 'unclear':
      return paint('yellow', `perhaps open in ${whoText(owner)}: ${owner.why}`);
    default:
      return owner satisfies never;
  }
}

function whoText({ pid, host, since }: Exclude<Holder, { kind: 'nobody' }>): string {
  const who = pid === null ? 'a process that cannot be named' : `process ${pid} on ${harmless(host ?? '?')}`;
  return since === null ? who : `${who}, since ${clockText(new Date(since))}`;
}

function ratesOf({ beat, trend }: Scene, terminal: Terminal): string[] {
  const { paint } = terminal;
  const width = Math.max(8, Math.min(SPARK_WIDTH_MAX, widthOf(terminal) - LABEL_WIDTH - VALUE_WIDTH - 2));
  const row = (label: string, value: string, values: readonly (number | null)[]) =>
    `${label.padEnd(LABEL_WIDTH)}${value.padEnd(VALUE_WIDTH)}  ${paint('cyan', sparkline(values, width))}`;
  const lag = lagText(beat);
  return [
    row('commits', rateText(beat.commitsPerSec), trend.commitsPerSec),
    row('bytes', `${shownBytes(Math.round(beat.bytesPerSec))}/s`, trend.bytesPerSec),
    row('on disk', onDiskText(beat), trend.onDiskWithinMs),
    paint('dim', `${' '.repeat(LABEL_WIDTH)}the quickest commit of each look, as the journal's times tell`),
    `${'lag'.padEnd(LABEL_WIDTH)}${lag === 'none' ? lag : `${lag} not known to be on disk`}`,
  ];
}

function loopLines(loop: LoopProgress, { paint }: Terminal): string[] {
  const text = loopText(loop);
  const { inProgress, total } = loop;
  const { done, rest } = bar(total === null ? 0 : (loop.completed + loop.failed) / total, BAR_WIDTH);
  const gauge = total === null ? '' : `${paint('green', done)}${paint('dim', rest)}  `;
  const more = inProgress.length > IN_PROGRESS_MAX ? ` and ${inProgress.length - IN_PROGRESS_MAX} more` : '';
  const now = inProgress.length === 0 ? 'idle' : `now ${inProgress.slice(0, IN_PROGRESS_MAX).join(', ')}${more}`;
  return [`${paint('bold', harmless(loop.name))}  ${gauge}${text}`, paint('dim', `  ${harmless(now)}`)];
}

function changeLine({ seq, time, documents }: Commit, terminal: Terminal): string {
  const place = `${clockText(time)}  ${String(seq).padStart(6)}  `;
  const text = documents.map((one) => `${one.name}: ${changesText(one)}`).join('; ');
  return terminal.paint('dim', place) + clipped(harmless(text), widthOf(terminal) - place.length);
}

function clipped(text: string, width: number): string {
  const letters = [...text];
  return letters.length <= width ? text : `${letters.slice(0, Math.max(0, width - 1)).join('')}…`;
}
