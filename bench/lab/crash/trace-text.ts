// What strace printed, as calls: one for each, also when another thread's call was printed in the middle of it.
//
// T1. The tracer sees a call before the kernel begins it and after the kernel ended it, one event at a time. So the line
//     on which a call begins comes before its effect, and the line on which it ends after it.
// T2. Strings are printed in hexadecimal (-xx): no quote and no bracket in them is text.

/** A call that returned, or that was under way when its thread ended. */
export interface TracedCall {
  thread: number;
  name: string;
  args: string[];
  /** As printed: '3', '0x10', '-1 ENOENT (…)'; '?' of a call that never returned. */
  result: string;
  /** The lines on which it began and ended. */
  begin: number;
  end: number;
}

interface Begun {
  text: string;
  begin: number;
}

const UNFINISHED = ' <unfinished ...>';
const RESUMED = /^<\.\.\. (\w+) resumed>/;

/** In the order in which they began. */
export function parseTrace(text: string): TracedCall[] {
  const calls: TracedCall[] = [];
  const begun = new Map<number, Begun>();
  const lines = text.split('\n');
  for (const [at, line] of lines.entries()) {
    const [, threadText, rest] = /^(\d+)\s+(.*)$/s.exec(line) ?? [];
    // Signals and the ends of threads.
    if (rest === undefined || rest.startsWith('---') || rest.startsWith('+++')) continue;
    const thread = Number(threadText);
    const resumed = RESUMED.exec(rest)?.[0];
    const before = begun.get(thread);
    if (resumed !== undefined && before === undefined) throw new Error(`Nothing to resume on line ${at + 1}`);
    begun.delete(thread);
    const whole = resumed === undefined ? rest : `${before?.text}${rest.slice(resumed.length)}`;
    const begin = resumed === undefined ? at : (before?.begin ?? at);
    if (whole.endsWith(UNFINISHED)) begun.set(thread, { text: whole.slice(0, -UNFINISHED.length), begin });
    else calls.push(parseCall(whole, { thread, begin, end: at }));
  }
  for (const [thread, { text, begin }] of begun)
    calls.push(parseCall(`${text}) = ?`, { thread, begin, end: lines.length }));
  return calls.sort((a, b) => a.begin - b.begin);
}

function parseCall(text: string, where: Pick<TracedCall, 'thread' | 'begin' | 'end'>): TracedCall {
  const opens = text.indexOf('(');
  const equals = text.lastIndexOf(' = ');
  const closes = text.lastIndexOf(')', equals);
  const name = text.slice(0, opens);
  if (opens < 0 || equals < 0 || closes < opens || !/^\w+$/.test(name))
    throw new Error(`Expected a system call on line ${where.end + 1}, got '${text.slice(0, 200)}'`);
  return { ...where, name, args: split(text.slice(opens + 1, closes)), result: text.slice(equals + 3) };
}

/** At the commas that are in no bracket and in no string. */
export function split(list: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let start = 0;
  for (let at = 0; at < list.length; at++) {
    const char = list[at] ?? '';
    if (char === '"') at = list.indexOf('"', at + 1);
    else if ('([{'.includes(char)) depth++;
    else if (')]}'.includes(char)) depth--;
    else if (char === ',' && depth === 0) {
      parts.push(list.slice(start, at).trim());
      start = at + 1;
    }
    if (at < 0) throw new Error(`A string does not end in '${list.slice(0, 200)}'`);
  }
  const last = list.slice(start).trim();
  return last === '' ? parts : [...parts, last];
}

/** Of an argument that is a string, its bytes. */
export function bytesOf(arg: string): Buffer {
  const [, hex, rest] = /^"((?:\\x[0-9a-f]{2})*)"(.*)$/.exec(arg) ?? [];
  if (hex === undefined) throw new Error(`Expected a string in hexadecimal, got '${arg.slice(0, 100)}'`);
  if (rest !== '') throw new Error(`A string of ${hex.length / 4} bytes was cut short`);
  return Buffer.from(hex.replaceAll('\\x', ''), 'hex');
}

/** Of the argument of writev. */
export function vectorOf(arg: string): Buffer {
  const bases = [...arg.matchAll(/iov_base=("[^"]*"(?:\.\.\.)?)/g)].map(([, base]) => bytesOf(base ?? ''));
  return Buffer.concat(bases);
}

export function isString(arg: string): boolean {
  return arg.startsWith('"');
}

export function hasFailed({ result }: TracedCall): boolean {
  return result.startsWith('-1 ');
}

/** Of a call that did not fail and returned. */
export function numberOf(text: string): number {
  const number = Number(text.split(' ')[0]);
  if (!Number.isInteger(number)) throw new Error(`Expected a number, got '${text.slice(0, 100)}'`);
  return number;
}
