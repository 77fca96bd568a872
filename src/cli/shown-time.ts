// Times as people read them, by the clock on their wall.

const pad = (value: number, digits = 2) => String(value).padStart(digits, '0');

/** `2026-11-18 20:14:03` */
export function shownTime(time: Date): string {
  const date = `${time.getFullYear()}-${pad(time.getMonth() + 1)}-${pad(time.getDate())}`;
  return `${date} ${pad(time.getHours())}:${pad(time.getMinutes())}:${pad(time.getSeconds())}`;
}

const UNITS: readonly (readonly [unit: string, seconds: number])[] = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
  ['second', 1],
];

/** `3 minutes ago` */
export function shownAgo(time: Date, now = new Date()): string {
  const seconds = Math.floor((now.getTime() - time.getTime()) / 1000);
  const found = UNITS.find(([, each]) => seconds >= each);
  if (found === undefined) return 'just now';
  const count = Math.floor(seconds / found[1]);
  return `${count} ${found[0]}${count === 1 ? '' : 's'} ago`;
}
