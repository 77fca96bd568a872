// `holdfast gc`: what is kept for people and no longer needed.

import { basename, dirname } from 'node:path';
import { planSweep, sweep, type Waste } from '../../mend/sweep.js';
import { type Command, EXIT } from '../command.js';
import { counted, shownBytes, shownPath } from '../shown.js';
import { shownTime } from '../shown-time.js';
import type { Terminal } from '../terminal.js';
import { isConfirmed, TAKEOVER, takeWords, YES } from '../writing.js';

export const gc: Command = {
  name: 'gc',
  usage: 'DIR|FILE',
  summary: 'Says what is in quarantine and left over; then removes it',
  options: { ...YES, ...TAKEOVER },
  examples: [
    ['holdfast gc .agent', 'Lists what would go and asks. In a pipe it only lists it.'],
    ['holdfast gc .agent --yes', 'Removes it. What is saved, its JSON files and their backups are not touched.'],
  ],
  run: async (words, terminal) => {
    const [path = ''] = takeWords(words, 'DIR');
    const waste = await planSweep(path);
    if (waste.length === 0) {
      terminal.line(`${shownPath(path)}: there is nothing to remove.`);
      return EXIT.sound;
    }
    sayWaste(terminal, waste);
    terminal.line();
    if (!(await isConfirmed(terminal, words))) return EXIT.sound;
    const gone = await sweep(path, waste, { takeover: words.values.takeover === true });
    terminal.line(`${terminal.paint('green', 'removed')}  ${amountOf(gone)}.`);
    return EXIT.sound;
  },
};

function sayWaste(terminal: Terminal, waste: readonly Waste[]): void {
  const width = Math.max(...waste.map(({ bytes }) => shownBytes(bytes).length));
  for (const folder of new Set(waste.map(({ path }) => dirname(path)))) {
    terminal.line(terminal.paint('bold', shownPath(folder)));
    for (const { path, bytes, since } of waste.filter((one) => dirname(one.path) === folder))
      terminal.line(
        `  ${shownBytes(bytes).padStart(width)}  ${terminal.paint('dim', minuteOf(since))}  ${basename(path)}`,
      );
  }
  terminal.line(`Would be removed: ${amountOf(waste)}.`);
}

function amountOf(waste: readonly Waste[]): string {
  const bytes = waste.reduce((sum, one) => sum + one.bytes, 0);
  return `${counted(waste.length, 'file')}, ${shownBytes(bytes)}`;
}

function minuteOf(time: Date): string {
  return shownTime(time).slice(0, '2026-11-18 20:14'.length);
}
