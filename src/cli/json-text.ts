// A document as JSON: in a pipe exactly that, for a person with colours.

import type { Terminal } from './terminal.js';

/** A key, another string, or a number, true, false and null. */
const TOKEN = /("(?:[^"\\]|\\.)*")(:)?|-?\d[\d.eE+-]*|true|false|null/g;
// JSON leaves these as they are, and a terminal obeys them.
const CONTROL = /[\u007f-\u009f]/g;

export function jsonText(value: unknown, { isLive, paint }: Terminal): string {
  const text = JSON.stringify(value, null, 2);
  if (!isLive) return text;
  return text
    .replace(CONTROL, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .replace(TOKEN, (token: string, quoted?: string, colon?: string) => {
      if (quoted === undefined) return paint('yellow', token);
      return colon === undefined ? paint('green', quoted) : `${paint('cyan', quoted)}:`;
    });
}
