#!/usr/bin/env node
// `holdfast`: finds the command, parses its words, and turns what it throws into one line and an exit code.

import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { isCode } from '../disk/faults.js';
import type { LockHolder } from '../disk/lock-refusal.js';
import { HoldfastError } from '../errors.js';
import { type Command, EXIT, parseOptions } from './command.js';
import { COMMANDS } from './commands/index.js';
import { helpFor, helpForAll } from './help.js';
import { suggestion } from './suggest.js';
import { processTerminal, type Terminal } from './terminal.js';

const DEBUG = '--debug';

async function main(words: readonly string[], terminal: Terminal): Promise<number> {
  const [name, ...rest] = words;
  if (name === '--version' || name === '-v') return say(terminal, version());
  if (name === undefined || name === '--help' || name === '-h' || name === 'help') {
    const about = rest[0] === undefined ? undefined : commandOf(rest[0]);
    return say(terminal, about === undefined ? helpForAll(COMMANDS, terminal) : helpFor(about, terminal));
  }
  const command = commandOf(name);
  endsWithReader = command.endsWithReader === true;
  if (rest.includes('--help') || rest.includes('-h')) return say(terminal, helpFor(command, terminal));
  return command.run(parse(command, rest), terminal);
}

function say(terminal: Terminal, text: string): number {
  terminal.line(text);
  return EXIT.sound;
}

function commandOf(name: string): Command {
  const found = COMMANDS.find((command) => command.name === name);
  if (found !== undefined) return found;
  const meant = suggestion(
    name,
    COMMANDS.map((command) => command.name),
  );
  throw new TypeError(`There is no command '${name}'.${meant} See holdfast --help`);
}

function parse(command: Command, args: string[]) {
  try {
    return parseArgs({ args, options: parseOptions(command), allowPositionals: true });
  } catch (error) {
    const [what = ''] = (error as Error).message.split(/\.\s/);
    const unknown = /^Unknown option '--([^']+)'/.exec(what)?.[1];
    const meant = unknown === undefined ? '' : suggestion(unknown, Object.keys(command.options), '--');
    throw new TypeError(`${what}.${meant} See holdfast ${command.name} --help`);
  }
}

function version(): string {
  const manifest = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'));
  return String(manifest.version);
}

/** `2`: this command could not tell, whatever it was asked. */
function fail(error: unknown, terminal: Terminal, isDebug: boolean): number {
  if (isDebug) terminal.note(traceOf(error));
  else terminal.note(`${terminal.paintNote('red', 'holdfast:')} ${describe(error)}`);
  return error instanceof HoldfastError && error.code === 'HF_DAMAGED' ? EXIT.damaged : EXIT.unknown;
}

/** With what it came from: the message is written for the next step, its causes for finding out. */
function traceOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const trace = error.stack ?? String(error);
  return error.cause === undefined ? trace : `${trace}\nCaused by: ${traceOf(error.cause)}`;
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (!(error instanceof HoldfastError)) {
    const message = error.message.split('\n')[0] as string;
    return isCode(error, 'EACCES', 'EPERM') ? `${message}. Run it as the user whose program it is` : message;
  }
  // The message is for programs; here the same is a word on the command line.
  const canTakeOver = error.code === 'HF_LOCKED' && (error.details as LockHolder | undefined)?.canTakeOver === true;
  const code = canTakeOver ? ' Here: --takeover (HF_LOCKED)' : ` (${error.code})`;
  return `${error.message.split('\n')[0]}${code}`;
}

const isDebug = process.argv.includes(DEBUG);
const ending = new AbortController();
let isListening = false;
const terminal = processTerminal(listenForEnd);
let endsWithReader = false;
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // `holdfast log | head`: whoever read has seen enough.
  if (error.code === 'EPIPE' && endsWithReader) process.exit(EXIT.sound);
  // What writes is not left half done, and what checks still has its exit code to give.
  if (error.code === 'EPIPE') return;
  if (!process.exitCode) terminal.note(`holdfast: The answer could not be written: ${error.message}`);
  process.exitCode ||= EXIT.unknown;
  if (endsWithReader) process.exit();
});
// Nowhere is left to say so; the exit code still tells.
process.stderr.on('error', () => undefined);
// Node's own exit code for it would mean that the store is damaged.
process.on('uncaughtException', (error) => process.exit(fail(error, terminal, isDebug)));

/**
 * Ctrl-C: a command that asks for this ends by itself. Any other one ends as programs do: while it reads on this thread it
 * could not hear of it.
 */
function listenForEnd(): AbortSignal {
  if (!isListening) process.once('SIGINT', () => ending.abort());
  isListening = true;
  return ending.signal;
}

const words = process.argv.slice(2).filter((word) => word !== DEBUG);
main(words, terminal).then(
  (code) => {
    process.exitCode = code || process.exitCode;
  },
  (error: unknown) => {
    process.exitCode = fail(error, terminal, isDebug);
  },
);
