// `holdfast export`: a document or a log for other programs, to the standard output.

import { type ExportFormat, exported } from '../../inspect/export.js';
import { type Command, EXIT } from '../command.js';
import { takeWords } from '../writing.js';

const FORMATS: readonly ExportFormat[] = ['json', 'jsonl', 'msgpack'];

export const exportCommand: Command = {
  name: 'export',
  usage: 'DIR DOC | FILE',
  summary: 'A document or a log as JSON, JSON Lines or MessagePack, to the standard output',
  options: {
    format: { type: 'string', short: 'f', value: 'FORMAT', help: 'json (the default), jsonl or msgpack' },
  },
  examples: [
    ['holdfast export .agent loop > loop.json', 'As it is saved now, also while a program works on it.'],
    ['holdfast export .agent events -f jsonl | tail -3', 'The last three entries of a log.'],
    ['holdfast export .agent loop -f msgpack > loop.msgpack', 'For programs that read MessagePack.'],
  ],
  endsWithReader: true,
  run: async (words, terminal) => {
    const [path = '', name] = takeWords(words, 'DIR', '[DOC]');
    const format = formatFrom(words.values.format ?? 'json');
    if (format === 'msgpack' && terminal.isLive)
      throw new TypeError('MessagePack is not for a terminal: write it to a file (> loop.msgpack) or into a pipe');
    for await (const bytes of exported(path, name, format)) {
      terminal.write(bytes);
      await terminal.drained();
    }
    return EXIT.sound;
  },
};

function formatFrom(text: unknown): ExportFormat {
  const found = FORMATS.find((format) => format === text);
  if (found === undefined) throw new TypeError(`Expected --format ${FORMATS.join(', ')}, got ${String(text)}`);
  return found;
}
