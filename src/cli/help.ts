// `--help`: what there is, what it takes, and lines to copy.

import type { Command } from './command.js';
import type { Terminal } from './terminal.js';

export function helpForAll(commands: readonly Command[], terminal: Terminal): string {
  const width = Math.max(...commands.map(({ name }) => name.length));
  const rows = commands.map(({ name, summary }) => `  ${terminal.paint('bold', name.padEnd(width))}  ${summary}`);
  return [
    'holdfast COMMAND …',
    '',
    ...rows,
    '',
    'holdfast COMMAND --help   what it takes, with examples',
    'holdfast --version',
    '',
    'DIR is the folder that a program opened, FILE a document of openDoc or a loop. --debug shows where an error came from.',
  ].join('\n');
}

export function helpFor({ name, usage, summary, options, examples }: Command, terminal: Terminal): string {
  const flags = Object.entries(options).map(([flag, { short, value, help }]) => ({
    flag: `${short === undefined ? '' : `-${short}, `}--${flag}${value === undefined ? '' : ` ${value}`}`,
    help,
  }));
  const width = Math.max(0, ...flags.map(({ flag }) => flag.length));
  return [
    terminal.paint('bold', `holdfast ${name} ${usage}`.trim()),
    '',
    summary,
    ...(flags.length === 0 ? [] : ['', ...flags.map(({ flag, help }) => `  ${flag.padEnd(width)}  ${help}`)]),
    '',
    'Examples:',
    ...examples.flatMap(([line, meaning]) => [`  ${line}`, terminal.paint('dim', `      ${meaning}`)]),
  ].join('\n');
}
