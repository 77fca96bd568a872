// npm run bench -- --help

import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { help, parseArguments, type RunCommand } from './arguments.js';
import { compare, compareText } from './compare.js';
import { DRIVERS, driverOf } from './drivers/index.js';
import { endOnSignals } from './endings.js';
import { machine, versionsOf } from './lab/machine.js';
import { ProgressBar } from './lab/progress.js';
import type { Question } from './question.js';
import { QUESTIONS } from './questions/index.js';
import { fillReadme } from './readme.js';
import { readResults, writeReport, writeResult } from './report/files.js';
import { inTerminal } from './report/terminal.js';
import type { Result } from './results.js';

const RESULTS = new URL('../../bench/results/', import.meta.url).pathname;
const README = new URL('../../README.md', import.meta.url).pathname;

async function main(args: readonly string[]): Promise<void> {
  const ids = QUESTIONS.map(({ id }) => id);
  const command = parseArguments(args, ids, RESULTS);
  switch (command.kind) {
    case 'help':
      console.log(help(QUESTIONS));
      return;
    case 'compare': {
      const [before, after] = [readResults(command.before), readResults(command.after)];
      const comparisons = compare(before, after);
      console.log(command.isJson ? JSON.stringify(comparisons, null, 2) : compareText(comparisons, before, after));
      return;
    }
    case 'report':
      report(command.out, command.fillsReadme);
      return;
    case 'run':
      await run(command, args);
      return;
    default:
      command satisfies never;
  }
}

async function run(command: RunCommand, args: readonly string[]): Promise<void> {
  const scratch = mkdtempSync(join(tmpdir(), 'holdfast-bench-'));
  const cleanUp = () => rmSync(scratch, { recursive: true, force: true });
  // Gigabytes: nobody who stops a long run wants to find them later.
  process.once('exit', cleanUp);
  endOnSignals(cleanUp);
  const results: Result[] = [];
  try {
    const questions = QUESTIONS.filter(({ id }) => command.questions.includes(id));
    for (const [at, question] of questions.entries()) {
      const bar = new ProgressBar(`${question.id} (${at + 1}/${questions.length})`, process.stderr);
      const result = await ask(question, command, args, scratch, bar);
      results.push(result);
      if (!command.isJson) console.log(inTerminal(result, process.stdout.isTTY === true && !process.env.NO_COLOR));
      // At once: what a long run has found is not lost with what comes after.
      if (command.out !== null) writeResult(command.out, result);
    }
  } finally {
    cleanUp();
  }
  if (command.isJson) console.log(JSON.stringify(results, null, 2));
  if (command.out !== null) report(command.out, command.fillsReadme);
  else if (command.fillsReadme) fillReadme(README, results);
  const ours = results.flatMap(({ failures }) => failures).filter((failure) => failure.startsWith('holdfast'));
  if (ours.length > 0) throw new Error(`It failed: ${ours.join('; ')}`);
}

async function ask(
  question: Question,
  command: RunCommand,
  args: readonly string[],
  scratch: string,
  bar: ProgressBar,
): Promise<Result> {
  const startMs = performance.now();
  const { isQuick, soakS } = command;
  const answer = await question.run({
    isQuick,
    soakS,
    rivals: command.rivals.map(driverOf),
    scratch,
    onProgress: (...at) => bar.show(...at),
  });
  bar.end();
  return {
    question: question.id,
    title: question.title,
    date: new Date().toISOString().slice(0, 10),
    commit: commit(),
    command: ['npm run bench', ...(args.length > 0 ? ['--', ...args] : [])].join(' '),
    machine: machine(),
    versions: versionsOf(DRIVERS),
    isQuick,
    tookS: (performance.now() - startMs) / 1000,
    ...answer,
  };
}

function report(folder: string, fillsReadme: boolean): void {
  const results = readResults(folder);
  writeReport(folder, results);
  console.error(`Written to ${folder}`);
  if (fillsReadme) fillReadme(README, results);
}

/** What was measured: with a mark when the files are not those of the commit. */
function commit(): string {
  const git = (...args: string[]) => execFileSync('git', args, { encoding: 'utf8' }).trim();
  const isChanged = git('status', '--porcelain', '--', 'src', 'workers') !== '';
  return `${git('rev-parse', '--short', 'HEAD')}${isChanged ? ' and changes' : ''}`;
}

main(process.argv.slice(2)).catch((error: unknown) => {
  const isMisuse = error instanceof TypeError;
  console.error(isMisuse ? `${firstSentence(error.message)}. See --help.` : error);
  process.exitCode = isMisuse ? 2 : 1;
});

/** What Node adds about positional arguments helps nobody here. */
function firstSentence(message: string): string {
  return message.split(/\. |\n/)[0] as string;
}
