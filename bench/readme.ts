// The performance table of the project's README, made from results: nobody writes figures by hand.

import { readFileSync, writeFileSync } from 'node:fs';
import { type Grid, gridsOf } from './report/grid.js';
import { aboutOf, markdownOf } from './report/page.js';
import type { Result } from './results.js';

const PLACE = /(<!-- bench -->\n)[\s\S]*(<!-- end of bench -->)/;

export function fillReadme(path: string, results: readonly Result[]): void {
  writeFileSync(path, filled(readFileSync(path, 'utf8'), results));
}

export function filled(text: string, results: readonly Result[]): string {
  if (!PLACE.test(text)) throw new Error('It has no place for it: <!-- bench --> … <!-- end of bench -->');
  const block = blockOf(results).join('\n');
  return text.replace(PLACE, (_, begin: string, end: string) => `${begin}\n${block}\n${end}`);
}

/** What a reader wants to know first: a table of a question, and what it says in a few words. */
const SHOWN: readonly { question: string; table: string; title: string }[] = [
  { question: 'q1', table: 'micro-whole', title: 'handing over the whole state, main thread' },
  { question: 'q1', table: 'update', title: 'one update, main-thread CPU' },
  { question: 'q1', table: 'step', title: 'one durable step, main-thread CPU' },
  { question: 'q2', table: 'rate', title: 'durable steps a second' },
];

function blockOf(results: readonly Result[]): string[] {
  const shown = SHOWN.flatMap(({ question, table: id, title }) => {
    const table = results.find((one) => one.question === question)?.tables.find((one) => one.id === id);
    const [grid] = table === undefined ? [] : gridsOf(table);
    return grid === undefined ? [] : [...markdownOf(withTitle(grid, title)), ''];
  });
  const [first] = results;
  if (first === undefined || shown.length === 0) throw new Error('Expected results of q1 or q2 to make the table from');
  const about = `${aboutOf(first)}${first.isQuick ? '; a quick run, figures are rough' : ''}. Medians; made by \`${first.command}\`.`;
  return [...shown, about, ''];
}

function withTitle({ head, rows }: Grid, title: string): Pick<Grid, 'head' | 'rows'> {
  return { head: [title, ...head.slice(1)], rows };
}
