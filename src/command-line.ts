// The command that helps, for messages: to be copied as it stands.

import { onlyFileOf } from './journal/places.js';

/** `npx holdfast repair .agent`. `home`: a store of a single document is named by its file, and needs no document. */
export function commandLine(command: string, home: string, document?: string, ...rest: string[]): string {
  const file = onlyFileOf(home);
  const what = file === null ? [home, ...(document === undefined ? [] : [document])] : [file];
  return ['npx holdfast', command, ...what.map(quoted), ...rest].join(' ');
}

/** For shells, where it needs to be. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
