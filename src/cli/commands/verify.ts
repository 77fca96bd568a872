// `holdfast verify`: is every byte as it was written? The exit code is for scripts.

import { relative, sep } from 'node:path';
import { commandLine } from '../../command-line.js';
import { type Verdict, verify } from '../../inspect/verify.js';
import type { Effect, Finding } from '../../journal/findings.js';
import { type Command, EXIT } from '../command.js';
import { ProgressBar } from '../progress-bar.js';
import { counted, shownBytes, shownPath } from '../shown.js';
import type { Style, Terminal } from '../terminal.js';

export const verifyCommand: Command = {
  name: 'verify',
  usage: 'DIR…',
  summary: 'Checks every checksum and chain, JSON file and backup. Exit code: 0 sound, 1 damaged, 2 could not tell',
  options: { json: { type: 'boolean', help: 'For programs: one object per store, each on a line' } },
  examples: [
    ['holdfast verify .agent', 'Also while a program works on it.'],
    ['holdfast verify .agent || mail -s "look at this" me', 'For cron.'],
    ['holdfast verify backup/*/ --json', 'Many stores, for a program.'],
  ],
  run: async ({ positionals, values }, terminal) => {
    if (positionals.length === 0)
      throw new TypeError('Expected DIR… to be at least one store. See holdfast verify --help');
    const codes: number[] = [];
    for (const path of positionals)
      codes.push(await verifyOne(path, values.json === true, positionals.length === 1, terminal));
    // What is certain comes first.
    if (codes.includes(EXIT.damaged)) return EXIT.damaged;
    return codes.includes(EXIT.unknown) ? EXIT.unknown : EXIT.sound;
  },
};

async function verifyOne(path: string, isJson: boolean, isOnly: boolean, terminal: Terminal): Promise<number> {
  const bar = isJson ? null : new ProgressBar(terminal, shownPath(path));
  const startMs = performance.now();
  try {
    const onProgress = (progress: { bytes: number; bytesTotal: number }) => bar?.show(progress);
    const verdict = await verify(path, { onProgress, signal: terminal.signal });
    bar?.clear();
    if (isJson) terminal.line(JSON.stringify(verdict));
    else show(path, verdict, (performance.now() - startMs) / 1000, terminal);
    return verdict.verdict === 'sound' ? EXIT.sound : EXIT.damaged;
  } catch (error) {
    bar?.clear();
    if (terminal.signal.aborted) throw new Error('Stopped before the end: nothing can be said', { cause: error });
    if (isOnly && !isJson) throw error;
    // The others are still to be looked at.
    const { code, message } = error as { code?: string; message: string };
    if (isJson) terminal.line(JSON.stringify({ directory: path, verdict: 'unknown', error: { code, message } }));
    else terminal.note(`${shownPath(path)}  ${terminal.paintNote('yellow', 'could not tell')}: ${message}`);
    return EXIT.unknown;
  }
}

/** Below this it is the starting that takes the time. */
const RATED_BYTES = 4 * 1024 * 1024;

function show(path: string, verdict: Verdict, seconds: number, terminal: Terminal): void {
  const { directory, bytes, files, commits, findings, isOpenable } = verdict;
  const style: Style = verdict.verdict === 'sound' ? 'green' : 'red';
  terminal.line(`${terminal.paint('bold', shownPath(path))}  ${terminal.paint(style, verdict.verdict)}`);
  const rate = bytes > RATED_BYTES ? `, ${shownBytes(bytes / seconds)}/s` : '';
  terminal.line(
    terminal.paint(
      'dim',
      `  ${counted(commits, 'commit')}, ${counted(files.journal, 'file')} of the journal, ` +
        `${files.published} for people: ${shownBytes(bytes)} in ${seconds.toFixed(1)} s${rate}`,
    ),
  );
  for (const finding of findings) showFinding(finding, terminal);
  const next = nextStep(directory, findings, isOpenable);
  if (next !== null) terminal.line(`  next: ${next}`);
}

const STYLES: Record<Effect, Style> = {
  refused: 'red',
  lost: 'red',
  spare: 'yellow',
  file: 'yellow',
  choice: 'yellow',
  harmless: 'dim',
};

const MEANINGS: Record<Effect, string> = {
  refused: 'does not open',
  lost: 'lost',
  spare: 'nothing lost',
  file: 'file only',
  choice: 'edited?',
  harmless: 'ordinary',
};

const MEANING_WIDTH = 14;

function showFinding({ effect, file, what }: Finding, terminal: Terminal): void {
  terminal.line(
    `  ${terminal.paint(STYLES[effect], MEANINGS[effect].padEnd(MEANING_WIDTH))}${shownPath(file)} ${what}`,
  );
}

function nextStep(home: string, findings: readonly Finding[], isOpenable: boolean): string | null {
  const has = (effect: Effect) => findings.some((finding) => finding.effect === effect);
  const line = (command: string, ...words: string[]) => commandLine(command, shownPath(home), ...words);
  if (!isOpenable) return `restore the files from a backup, or see what can be saved: ${line('repair')}`;
  if (has('choice')) {
    const name = editedIn(home, findings);
    return `${line('adopt', name)} keeps the edit; ${line('restore', name, '--to saved')} undoes it`;
  }
  if (has('lost')) return 'restore the file from a backup; everything else can be read';
  if (has('spare') || has('file')) return `${line('repair')} mends what can be mended, and so does the next opening`;
  return null;
}

/** Of several, or where a link leads elsewhere, a person puts the name in. */
function editedIn(home: string, findings: readonly Finding[]): string {
  const [edited, another] = findings.filter(({ effect }) => effect === 'choice');
  const name = relative(home, edited?.file ?? '').replace(/\.json$/, '');
  return another !== undefined || name.startsWith('..') ? 'DOC' : name.split(sep).join('/');
}
