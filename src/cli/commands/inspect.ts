// `holdfast inspect`: what there is, or a document of it.

import { commandLine } from '../../command-line.js';
import type { Holder } from '../../disk/lock.js';
import { at } from '../../inspect/at.js';
import { inspect, type Summary } from '../../inspect/summary.js';
import { onlyFileOf } from '../../journal/places.js';
import { type Command, EXIT } from '../command.js';
import { jsonText } from '../json-text.js';
import { counted, shownBytes, shownPath } from '../shown.js';
import { shownAgo, shownTime } from '../shown-time.js';
import { table } from '../table.js';
import type { Style, Terminal } from '../terminal.js';
import { parsePath, valueAt } from '../value-path.js';
import { takeWords } from '../writing.js';

export const inspectCommand: Command = {
  name: 'inspect',
  usage: 'DIR | FILE',
  summary: 'What is in a store: documents, history, who has it open, whether it is sound',
  options: {
    doc: { type: 'string', value: 'NAME', help: 'Print this document as JSON' },
    path: { type: 'string', value: 'PATH', help: 'Only this part of it: outputs.item[3], outputs["item 7"]' },
    json: { type: 'boolean', help: 'For programs' },
  },
  examples: [
    ['holdfast inspect .agent', 'Also while a program works on it.'],
    ['holdfast inspect .agent --doc loop', 'One document, as it is saved now.'],
    ['holdfast inspect .agent/loop.json --path completed', 'A document that has a store of its own, and a part of it.'],
  ],
  run: async (words, terminal) => {
    const [path = ''] = takeWords(words, 'DIR');
    const { doc, path: part, json } = words.values;
    if (typeof doc === 'string' || typeof part === 'string') {
      const { state } = await at(path, typeof doc === 'string' ? doc : undefined);
      const value = valueAt(state, parsePath(typeof part === 'string' ? part : ''));
      terminal.line(json === true ? JSON.stringify(value, null, 2) : jsonText(value, terminal));
      return EXIT.sound;
    }
    const summary = await inspect(path);
    if (json === true) terminal.line(JSON.stringify(summary, null, 2));
    else show(summary, terminal);
    return summary.health.kind === 'sound' ? EXIT.sound : EXIT.damaged;
  },
};

function show(summary: Summary, terminal: Terminal): void {
  const { directory, documents, logs } = summary;
  terminal.line(terminal.paint('bold', shownPath(onlyFileOf(directory) ?? directory)));
  showHealth(summary, terminal);
  const facts: [string, string][] = [
    ['open in', ownerText(summary.owner)],
    ['last commit', lastText(summary)],
    ['history', historyText(summary)],
  ];
  if (summary.quarantine.length > 0) facts.push(['quarantine', counted(summary.quarantine.length, 'thing')]);
  for (const [name, text] of facts) terminal.line(`  ${name.padEnd(13)}${text}`);
  if (documents.length > 0) {
    terminal.line();
    const rows = documents.map(({ name, version, bytes, file, backups }) => [
      name,
      String(version),
      shownBytes(bytes),
      file,
      String(backups.length),
    ]);
    const paint = (row: number, column: number, text: string) =>
      column === 3 ? terminal.paint(STYLES[documents[row]?.file ?? 'current'], text) : text;
    for (const line of table(['DOCUMENT', 'VERSION', 'JSON', 'FILE', 'BACKUPS'], rows, [1, 2, 4], paint))
      terminal.line(line);
  }
  if (logs.length === 0) return;
  terminal.line();
  const rows = logs.map(({ name, entries }) => [name, String(entries)]);
  for (const line of table(['LOG', 'ENTRIES'], rows, [1])) terminal.line(line);
}

const STYLES: Record<Summary['documents'][number]['file'], Style> = {
  current: 'green',
  behind: 'dim',
  ahead: 'yellow',
  missing: 'yellow',
  changed: 'red',
};

function showHealth({ health, directory }: Summary, terminal: Terminal): void {
  if (health.kind === 'sound') {
    terminal.line(`  ${'health'.padEnd(13)}${terminal.paint('green', 'sound')}`);
    return;
  }
  const { problems, lost, soundSeq } = health.report;
  const count = lost === null ? '' : `, ${counted(lost.to - lost.from + 1, 'commit')} lost`;
  terminal.line(`  ${'health'.padEnd(13)}${terminal.paint('red', 'damaged')}: whole up to commit ${soundSeq}${count}`);
  for (const problem of problems) terminal.line(`  ${''.padEnd(13)}${problem}`);
  terminal.line(`  ${''.padEnd(13)}next: ${commandLine('repair', shownPath(directory))} shows what can be saved`);
}

function ownerText(owner: Holder): string {
  switch (owner.kind) {
    case 'nobody':
      return 'no process';
    case 'held':
      return whoText(owner);
    case 'unclear':
      return `perhaps ${whoText(owner)}: ${owner.why}`;
    default:
      return owner satisfies never;
  }
}

function whoText({ pid, host, since }: Exclude<Holder, { kind: 'nobody' }>): string {
  const who = pid === null ? 'a process that cannot be named' : `process ${pid} on ${host}`;
  return since === null ? who : `${who}, since ${shownTime(new Date(since))}`;
}

function lastText({ last, durableSeq, health }: Summary): string {
  if (last === null) return health.kind === 'sound' ? 'none that is still kept' : 'unknown';
  const durable = durableSeq >= last.seq ? 'durable' : `durable up to ${durableSeq}`;
  return `${last.seq}, ${shownTime(last.time)} (${shownAgo(last.time)}), ${durable}`;
}

function historyText({ generations }: Summary): string {
  const bases = generations.filter(({ kind }) => kind === 'base');
  const tails = generations.filter(({ kind }) => kind === 'tail');
  const bytes = generations.reduce((sum, generation) => sum + generation.bytes, 0);
  const oldest = tails[0]?.seq === 0 ? 1 : Math.min(...bases.map(({ seq }) => seq ?? Number.POSITIVE_INFINITY));
  const from = Number.isFinite(oldest) ? `from commit ${oldest} on, ` : '';
  return `${from}in ${counted(bases.length, 'base')} and ${counted(tails.length, 'tail')}, ${shownBytes(bytes)}`;
}
