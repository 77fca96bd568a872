// A moment as it is typed: `812`, `14:30`, `2026-11-18`, `2026-11-18T14:30`, `10m`, `bak1`.
//
// Strict: Date takes 'item-5' for a day in 2001 and 14:75 for a quarter past three, and a state of another time would be given
// for the one that was meant.
// A second that is named is all of it: a time as `log` shows it leads to the commit that it was shown for.

import type { Moment } from '../inspect/moment.js';

const CLOCK = /^(\d{1,2}):(\d{2})(?::(\d{2}))?$/;
const DAY = /^(\d{4})-(\d{2})-(\d{2})/;
const DAY_AND_CLOCK = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?(?:Z|[+-]\d{2}:\d{2})?))?$/;
const AGO = /^(\d+)(s|m|h|d)$/;
const UNIT_MS = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

export function momentFrom(text: string, now = new Date()): Moment {
  if (/^\d+$/.test(text)) return Number(text);
  if (/^bak[1-9]$/.test(text)) return text as `bak${number}`;
  const time = timeFrom(text, now);
  if (time !== null && !Number.isNaN(time.getTime())) return time;
  throw new TypeError(
    `Expected a moment like 812 (a sequence number), 14:30, 2026-11-18T14:30, 10m (ago) or bak1, got '${text}'`,
  );
}

function timeFrom(text: string, now: Date): Date | null {
  const ago = AGO.exec(text);
  if (ago !== null) return new Date(now.getTime() - Number(ago[1]) * UNIT_MS[ago[2] as keyof typeof UNIT_MS]);
  const clock = CLOCK.exec(text);
  if (clock !== null) return lastTime(now, clock);
  const [, day, time = '00:00'] = DAY_AND_CLOCK.exec(text) ?? [];
  if (day === undefined || !isInCalendar(day)) return null;
  // By the clock on the wall: a day alone would be one of UTC.
  return new Date(`${day}T${time.replace(/^(\d\d:\d\d:\d\d)(?!\.)/, '$1.999')}`);
}

/** At ten past midnight, 23:50 was twenty minutes ago. */
function lastTime(now: Date, [, hour, minute, second]: RegExpExecArray): Date | null {
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second ?? 0) > 59) return null;
  const time = new Date(now);
  time.setHours(Number(hour), Number(minute), Number(second ?? 0), second === undefined ? 0 : 999);
  if (time > now) time.setDate(time.getDate() - 1);
  return time;
}

/** Date takes February 31 for March 3. */
function isInCalendar(text: string): boolean {
  const [, year, month, day] = DAY.exec(text) ?? [];
  return Number(day) <= new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate();
}
