// `holdfast diff`: what became of a document between two moments.

import { showPath } from '../../errors.js';
import { at } from '../../inspect/at.js';
import { placesOf } from '../../inspect/home.js';
import { onlyFileOf } from '../../journal/places.js';
import { valueText } from '../change-text.js';
import { type Command, EXIT, type Words } from '../command.js';
import { type Difference, differences } from '../differences.js';
import { momentFrom } from '../moment.js';
import { harmless } from '../shown.js';
import type { Terminal } from '../terminal.js';

export const diff: Command = {
  name: 'diff',
  usage: 'DIR DOC A [B] | FILE A [B]',
  summary: 'What became of a document between two moments; without B, until now',
  options: { json: { type: 'boolean', help: 'For programs: one object per line, values whole' } },
  examples: [
    ['holdfast diff .agent loop 800 812', 'Between two commits.'],
    ['holdfast diff .agent loop 10m', 'In the last ten minutes.'],
    ['holdfast diff .agent loop bak1', 'Since the last backup of its file.'],
  ],
  run: async (words, terminal) => {
    const { path, name, from, to } = take(words);
    const before = await at(path, name, momentFrom(from));
    const after = await at(path, name, to === undefined ? undefined : momentFrom(to));
    let count = 0;
    for (const difference of differences(before.state, after.state)) {
      count++;
      if (words.values.json === true) terminal.line(JSON.stringify(difference));
      else showDifference(difference, terminal);
    }
    if (count === 0) terminal.note('No difference.');
    return EXIT.sound;
  },
};

/** A single document has no name to be given: what follows its path is a moment. */
function take({ positionals }: Words): {
  path: string;
  name: string | undefined;
  from: string;
  to: string | undefined;
} {
  const [path, ...rest] = positionals;
  if (path === undefined) throw new TypeError('Expected DIR DOC A [B] or FILE A [B]. See holdfast diff --help');
  const isSingle = onlyFileOf(placesOf(path).directory) !== null;
  const [name, ...moments] = isSingle && rest.length < 3 ? [undefined, ...rest] : rest;
  const [from, to] = moments;
  if (from === undefined || moments.length > 2)
    throw new TypeError('Expected DIR DOC A [B] or FILE A [B], with one or two moments. See holdfast diff --help');
  return { path, name, from, to };
}

function showDifference(difference: Difference, terminal: Terminal): void {
  const place = harmless(showPath(difference.path));
  switch (difference.kind) {
    case 'added':
      terminal.line(terminal.paint('green', `+ ${place} = ${shownValue(difference.after)}`));
      return;
    case 'removed':
      terminal.line(terminal.paint('red', `- ${place} = ${shownValue(difference.before)}`));
      return;
    case 'changed':
      terminal.line(terminal.paint('red', `- ${place} = ${shownValue(difference.before)}`));
      terminal.line(terminal.paint('green', `+ ${place} = ${shownValue(difference.after)}`));
      return;
    default:
      difference satisfies never;
  }
}

function shownValue(value: unknown): string {
  return harmless(valueText(value));
}
