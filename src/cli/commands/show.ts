// `holdfast show`: a document as it was.

import { at } from '../../inspect/at.js';
import { type Command, EXIT } from '../command.js';
import { jsonText } from '../json-text.js';
import { momentFrom } from '../moment.js';
import { parsePath, valueAt } from '../value-path.js';
import { takeWords } from '../writing.js';

export const show: Command = {
  name: 'show',
  usage: 'DIR DOC | FILE',
  summary: 'A document as JSON, as it was at a commit, at a time or in a backup',
  options: {
    at: { type: 'string', value: 'SEQ|TIME|bak1', help: '800, 14:30, 2026-11-18T14:30, 10m (ago), bak1; else now' },
    path: { type: 'string', value: 'PATH', help: 'Only this part of it: outputs.item[3], outputs["item 7"]' },
    json: { type: 'boolean', help: 'With the commit and the version that it is of, on one line' },
  },
  examples: [
    ['holdfast show .agent loop --at 800', 'As commit 800 left it.'],
    ['holdfast show .agent loop --at 10m --path completed', 'A part of it, as it was ten minutes ago.'],
    ['holdfast show .agent/loop.json --at bak1', 'What a backup of a single document holds.'],
  ],
  run: async (words, terminal) => {
    const [path = '', name] = takeWords(words, 'DIR', '[DOC]');
    const { at: moment, path: part, json } = words.values;
    const past = await at(path, name, typeof moment === 'string' ? momentFrom(moment) : undefined);
    const state = valueAt(past.state, parsePath(typeof part === 'string' ? part : ''));
    terminal.line(json === true ? JSON.stringify({ ...past, state }) : jsonText(state, terminal));
    return EXIT.sound;
  },
};
