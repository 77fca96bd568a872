// What all pictures share: colours that are read on a light page and on a dark one, and text that is safe.

import { DRIVERS } from '../drivers/index.js';

const FONT = 'system-ui, -apple-system, Segoe UI, sans-serif';

/** The reader's own preference decides. Without a media query (old viewers) it is a light card. */
const STYLE = `<style>
  .page { fill: #ffffff; } .ink { fill: #1f2328; } .soft { fill: #59636e; } .grid { stroke: #d8dee4; }
  @media (prefers-color-scheme: dark) {
    .page { fill: #0d1117; } .ink { fill: #e6edf3; } .soft { fill: #9198a1; } .grid { stroke: #2f353d; }
  }
</style>`;

const OURS = ['#d9480f', '#f08c00', '#c2255c', '#e0a800', '#e64980', '#a63c06'];
/** Of middle lightness: neither paper swallows them. */
const OTHERS = [
  ...['#2f81c7', '#2b9348', '#8a63d2', '#0c9aa6', '#b8860b', '#6c7a89', '#c05fa5', '#4c6ef5', '#7a8b00', '#a0674b'],
  ...['#3e8e7e', '#9c5b5b', '#5b7083', '#946bc0', '#5f8d4e', '#8d7a5f', '#4a90a4', '#b0657b'],
];

/** The same one in every picture; who is no driver gets one that is free. */
export function coloursOf(subjects: readonly string[]): Map<string, string> {
  const drivers = DRIVERS.map(({ id }) => id);
  const known = [...drivers, ...subjects.filter((subject) => !drivers.includes(subject))];
  const ours = known.filter(isOurs);
  const others = known.filter((subject) => !isOurs(subject));
  const one = (palette: readonly string[], at: number) => palette[at % palette.length] as string;
  return new Map([
    ...ours.map((subject, at) => [subject, one(OURS, at)] as const),
    ...others.map((subject, at) => [subject, one(OTHERS, at)] as const),
  ]);
}

export function isOurs(subject: string): boolean {
  return subject.startsWith('holdfast');
}

/** About as wide as a text of this size is. */
export function widthOf(content: string): number {
  return content.length * 7;
}

export function text(x: number, y: number, content: string, more = 'class="ink"'): string {
  return `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" ${more}>${escaped(content)}</text>`;
}

export function escaped(content: string): string {
  return content.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}

export function picture(width: number, height: number, parts: readonly string[]): string {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="${FONT}" font-size="12">`,
    STYLE,
    `<rect width="${width}" height="${height}" rx="6" class="page"/>`,
    ...parts,
    '</svg>',
    '',
  ].join('\n');
}
