// `holdfast log`: what happened, newest first; with --follow, what happens.

import { follow } from '../../inspect/follow.js';
import { type HistoryOptions, type HistoryStep, history } from '../../inspect/history.js';
import type { ChangedDocument } from '../../journal/frame-changes.js';
import { changeText } from '../change-text.js';
import { type Command, EXIT, type Words } from '../command.js';
import { momentFrom } from '../moment.js';
import { harmless } from '../shown.js';
import { shownTime } from '../shown-time.js';
import type { Terminal } from '../terminal.js';
import { takeWords } from '../writing.js';

/** Before what is to come: enough to see where one is. */
const FOLLOWED_LIMIT = 10;
const BATCH_CHARS = 16 * 1024;

export const log: Command = {
  name: 'log',
  usage: 'DIR | FILE',
  summary: 'What was changed, newest first: commit, time, document, each change in a line',
  options: {
    doc: { type: 'string', short: 'd', value: 'NAME', help: 'Only this document or log' },
    since: { type: 'string', value: 'SEQ|TIME', help: 'Down to this: 800, 14:30, 2026-11-18T14:30, 10m (ago)' },
    limit: { type: 'string', short: 'n', value: 'N', help: 'At most so many commits' },
    follow: { type: 'boolean', short: 'f', help: 'The last 10, then each new one as it comes, until Ctrl-C' },
    json: { type: 'boolean', help: 'For programs: one object per line, values whole' },
  },
  examples: [
    ['holdfast log .agent -n 20', 'The last 20 commits.'],
    ['holdfast log .agent --doc loop --since 14:30', 'What became of a document since half past two.'],
    ['holdfast log .agent --follow', 'What a running program saves, as it does.'],
    ["holdfast log .agent --json | jq -r '.documents[].name' | sort | uniq -c", 'Which document changes most.'],
  ],
  endsWithReader: true,
  run: async (words, terminal) => {
    const [path = ''] = takeWords(words, 'DIR');
    const options = optionsFrom(words);
    const textOf = words.values.json === true ? JSON.stringify : textFor(terminal);
    let isWhole = true;
    const take = (step: HistoryStep) => {
      isWhole &&= step.kind === 'commit';
      return `${textOf(step)}\n`;
    };
    if (words.values.follow === true) {
      for await (const step of followed(path, options, terminal.signal)) {
        terminal.write(take(step));
        await terminal.drained();
      }
      return isWhole ? EXIT.sound : EXIT.damaged;
    }
    // A million commits are not a million calls; in a terminal each is shown as it is found.
    let waiting = '';
    let isNothing = options.limit !== 0;
    for await (const step of untilStopped(path, options, terminal.signal)) {
      isNothing = false;
      waiting += take(step);
      if (waiting.length < BATCH_CHARS && !terminal.isLive) continue;
      terminal.write(waiting);
      await terminal.drained();
      waiting = '';
    }
    terminal.write(waiting);
    if (isNothing && !terminal.signal.aborted) terminal.note(nothingText(options));
    return isWhole ? EXIT.sound : EXIT.damaged;
  },
};

function optionsFrom({ values: { doc, since, limit } }: Words): HistoryOptions {
  const options: HistoryOptions = {};
  if (typeof doc === 'string') options.doc = doc;
  if (typeof since === 'string') {
    const moment = momentFrom(since);
    if (typeof moment === 'string') throw new TypeError(`Expected --since to be a commit or a time, got '${since}'`);
    // From the beginning of the second that is named.
    if (moment instanceof Date) moment.setMilliseconds(0);
    options.since = moment;
  }
  if (typeof limit === 'string') {
    if (!/^\d+$/.test(limit)) throw new TypeError(`Expected --limit to be a number, got '${limit}'`);
    options.limit = Number(limit);
  }
  return options;
}

function nothingText({ doc, since }: HistoryOptions): string {
  const where = since === undefined ? 'that is kept' : 'since then';
  const what = doc === undefined ? '' : ` changed '${doc}'`;
  return `No commit ${where}${what}. See holdfast inspect for what there is.`;
}

/** In order: what is to come cannot be above what was. So the first to be shown is looked for, and followed from there. */
async function* followed(path: string, options: HistoryOptions, signal: AbortSignal): AsyncGenerator<HistoryStep> {
  const limit = options.limit ?? (options.since === undefined ? FOLLOWED_LIMIT : Number.POSITIVE_INFINITY);
  const { doc } = options;
  let since = 0;
  for await (const step of history(path, { limit: 1 })) since = step.kind === 'commit' ? step.seq : step.to;
  for await (const step of untilStopped(path, { ...options, limit }, signal))
    since = Math.min(since, (step.kind === 'commit' ? step.seq : step.from) - 1);
  yield* follow(path, { since, signal, ...(doc !== undefined && { doc }) });
}

/** Ctrl-C: what was shown is shown, and that is that. */
async function* untilStopped(
  path: string,
  options: HistoryOptions,
  signal: AbortSignal,
): AsyncGenerator<HistoryStep, void, void> {
  try {
    yield* history(path, { ...options, signal });
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

const SEQ_WIDTH = 8;

function textFor(terminal: Terminal): (step: HistoryStep) => string {
  return (step) => {
    if (step.kind === 'gap') {
      const range = step.from === step.to ? `${step.from}` : `${step.from} to ${step.to}`;
      return terminal.paint('red', `${range} cannot be read. See holdfast verify`);
    }
    const seq = String(step.seq).padStart(SEQ_WIDTH);
    const first = `${seq}  ${shownTime(step.time)}`;
    const lines: string[] = [];
    for (const document of step.documents) {
      for (const text of linesOf(document)) {
        const lead = lines.length === 0 ? first : ' '.repeat(first.length);
        lines.push(lineFor(terminal, lead, document.name, text));
      }
    }
    return lines.join('\n');
  };
}

function linesOf({ kind, changes }: ChangedDocument): string[] {
  const lines = changes.map(changeText);
  // Only its schema was checked anew: nothing that a person could see.
  if (lines.length === 0) return ['nothing that shows'];
  return kind === 'log' ? lines.map((text) => `(log) ${text}`) : lines;
}

/** Cut where the window ends: one change is one line. */
function lineFor(terminal: Terminal, lead: string, name: string, text: string): string {
  const room = terminal.isLive ? terminal.columns - lead.length - name.length - 4 : Number.POSITIVE_INFINITY;
  const shown = text.length > room && room > 8 ? `${text.slice(0, room - 1)}…` : text;
  return `${terminal.paint('dim', lead)}  ${terminal.paint('cyan', harmless(name))}  ${harmless(shown)}`;
}
