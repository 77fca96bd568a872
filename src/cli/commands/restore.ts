// `holdfast restore`: a document as it was.

import type { Past } from '../../inspect/at.js';
import { restore as goBack, type Restored } from '../../mend/restore.js';
import { type Command, EXIT } from '../command.js';
import { momentFrom } from '../moment.js';
import { shownPath } from '../shown.js';
import { NO_SCHEMA, sayKept, TAKEOVER, takeWords } from '../writing.js';

export const restore: Command = {
  name: 'restore',
  usage: 'DIR DOC | FILE --to SEQ|TIME|bak1|saved',
  summary: 'A document as it was at a commit, at a time or in a backup becomes its present state',
  options: {
    to: {
      type: 'string',
      value: 'MOMENT',
      help: '812 (a commit), 14:30, 2026-11-18T14:30, 10m (ago), bak1 to bak9, or saved',
    },
    ...TAKEOVER,
  },
  examples: [
    ['holdfast restore .agent loop --to 812', 'As it was after commit 812 (see holdfast log). What it is now is kept.'],
    ['holdfast restore .agent loop --to 14:30', 'As it was at half past two.'],
    ['holdfast restore state.json --to bak1', 'As in state.json.bak1.'],
    [
      'holdfast restore .agent loop --to saved',
      'As it is saved: undoes what somebody did to .agent/loop.json, and keeps that.',
    ],
  ],
  run: async (words, terminal) => {
    const [path = '', name] = takeWords(words, 'DIR', '[DOC]');
    const { to, takeover } = words.values;
    if (typeof to !== 'string') throw new TypeError('Expected --to SEQ, TIME, bak1 or saved. See --help');
    const moment = to === 'saved' ? to : momentFrom(to);
    const done = await goBack(path, name, moment, { takeover: takeover === true });
    const { document, isNew, version, kept } = done;
    const what = isNew ? `is as ${describe(done.from)}, now version ${version}` : saidOfSame(done, to);
    terminal.line(`${terminal.paint('green', 'restored')}  ${document} ${what}: ${shownPath(done.path)}`);
    if (isNew && done.from.kind === 'backup') terminal.line(NO_SCHEMA);
    sayKept(terminal, kept);
    return EXIT.sound;
  },
};

/** The state was the same, so nothing is new but perhaps the file. */
function saidOfSame({ from, version }: Restored, to: string): string {
  return to === 'saved' ? `is as it was saved, version ${version}` : `was as ${describe(from)}, version ${version}`;
}

function describe(from: Past): string {
  return from.kind === 'backup' ? `in ${shownPath(from.path)}` : `at commit ${from.seq} (version ${from.version})`;
}
