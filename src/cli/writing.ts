// What commands that write have in common: they say what they will do, ask, and say where the old things are.

import { basename, dirname } from 'node:path';
import type { Command, Words } from './command.js';
import { shownPath } from './shown.js';
import type { Terminal } from './terminal.js';

export const TAKEOVER: Command['options'] = {
  takeover: {
    type: 'boolean',
    help: 'Take the store from an owner that cannot be proved dead. Only if you are certain',
  },
};

export const YES: Command['options'] = {
  yes: { type: 'boolean', short: 'y', help: 'Do it without asking. Without a terminal nobody can be asked' },
};

export const NO_SCHEMA =
  'No schema was asked: this command has none. The program will ask its own when it opens the document.';

/** In a pipe only --yes counts. */
export async function isConfirmed(terminal: Terminal, { values }: Words): Promise<boolean> {
  if (values.yes === true) return true;
  const answer = await terminal.ask('Type yes to do it: ');
  if (answer?.trim().toLowerCase() === 'yes') return true;
  terminal.line(answer === null ? 'Nothing was done. To do it, run it again with --yes.' : 'Nothing was done.');
  return false;
}

/** `DIR` and what follows it; what is in brackets may be left out. */
export function takeWords({ positionals }: Words, ...names: string[]): (string | undefined)[] {
  const needed = names.filter((name) => !name.startsWith('['));
  const missing = needed[positionals.length];
  if (missing !== undefined) throw new TypeError(`Expected ${names.join(' ')}, got no ${missing}. See --help`);
  const surplus = positionals[names.length];
  if (surplus !== undefined)
    throw new TypeError(`Expected ${names.join(' ')}, got ${JSON.stringify(surplus)} as well. See --help`);
  return names.map((_, index) => positionals[index]);
}

/** Where what had to give way is. */
export function sayKept(terminal: Terminal, kept: readonly string[]): void {
  const [first] = kept;
  if (first === undefined) return;
  terminal.line(`Kept in ${shownPath(dirname(first))}:`);
  for (const path of kept) terminal.line(terminal.paint('dim', `  ${basename(path)}`));
}
