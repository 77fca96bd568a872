// What every command has, and all it may touch of the world: its words come parsed, its answer goes to a Terminal.

import type { ParseArgsConfig } from 'node:util';
import type { Terminal } from './terminal.js';

/** For scripts. On a command line nobody reads messages. */
export const EXIT = { sound: 0, damaged: 1, unknown: 2 } as const;

export interface Words {
  positionals: string[];
  values: Record<string, string | boolean | (string | boolean)[] | undefined>;
}

export interface Command {
  name: string;
  /** Behind the name: `DIR DOC --at SEQ|TIME`. */
  usage: string;
  /** One line, for the list of commands. */
  summary: string;
  /** Each with what it means, in the order in which --help shows them. */
  options: Record<string, { type: 'string' | 'boolean'; short?: string; value?: string; help: string }>;
  /** Whole command lines, each with what it does. */
  examples: readonly (readonly [line: string, meaning: string])[];
  /** There is no use in going on when nobody reads its answer any more. Anything else goes on to its end. */
  endsWithReader?: true;
  /** The exit code. What went wrong is thrown: a HoldfastError is shown as one line, a TypeError as misuse. */
  run(words: Words, terminal: Terminal): Promise<number>;
}

/** As parseArgs wants them. */
export function parseOptions(command: Command): NonNullable<ParseArgsConfig['options']> {
  return Object.fromEntries(
    Object.entries(command.options).map(([name, { type, short }]) => [name, short ? { type, short } : { type }]),
  );
}
