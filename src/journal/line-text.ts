// Entries as text, one line each: in the files of a log and in its JSON Lines the same.

const NEWLINE = 10;

/** Behind the line that this byte is in; the end when there are not so many bytes. */
export function lineEnd(bytes: Buffer, at: number): number {
  const end = at < bytes.length ? bytes.indexOf(NEWLINE, at) : -1;
  return end === -1 ? bytes.length : end + 1;
}

export function countLines(bytes: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(NEWLINE); at !== -1; at = bytes.indexOf(NEWLINE, at + 1)) count++;
  return count;
}

/** Without the first `skip` lines, and at most `count`. */
export function sliceLines(bytes: Buffer, skip: number, count: number): Buffer {
  let from = 0;
  for (let left = skip; left > 0; left--) from = bytes.indexOf(NEWLINE, from) + 1;
  let to = from;
  for (let left = count; left > 0; left--) {
    const end = bytes.indexOf(NEWLINE, to);
    if (end === -1) break;
    to = end + 1;
  }
  return bytes.subarray(from, to);
}

export function linesOf(entries: readonly unknown[]): Buffer {
  return Buffer.from(entries.map((entry) => `${JSON.stringify(entry)}\n`).join(''));
}

export function entriesOfLines(bytes: Buffer): unknown[] {
  const texts = bytes.toString().split('\n');
  texts.pop();
  return texts.map((text) => JSON.parse(text) as unknown);
}
