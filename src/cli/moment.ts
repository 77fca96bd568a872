// A moment as it is typed: `812`, `14:30`, `2026-11-18T14:30`, `10m`, `bak1`.

import type { Moment } from '../inspect/moment.js';

const CLOCK = /^(\d{1,2}):(\d{2})(?::(\d{2}))?$/;
const AGO = /^(\d+)(s|m|h|d)$/;
const UNIT_MS = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

export function momentFrom(text: string, now = new Date()): Moment {
  if (/^\d+$/.test(text)) return Number(text);
  if (/^bak[1-9]$/.test(text)) return text as `bak${number}`;
  const ago = AGO.exec(text);
  if (ago !== null) return new Date(now.getTime() - Number(ago[1]) * UNIT_MS[ago[2] as keyof typeof UNIT_MS]);
  const clock = CLOCK.exec(text);
  const time = clock === null ? new Date(text) : today(now, clock);
  if (!Number.isNaN(time.getTime())) return time;
  throw new TypeError(
    `Expected a moment like 812 (a sequence number), 14:30, 2026-11-18T14:30, 10m (ago) or bak1, got '${text}'`,
  );
}

function today(now: Date, [, hour, minute, second = '0']: RegExpExecArray): Date {
  const time = new Date(now);
  // Without milliseconds: 14:30 is the whole of its first second's beginning.
  time.setHours(Number(hour), Number(minute), Number(second), 0);
  return time;
}
