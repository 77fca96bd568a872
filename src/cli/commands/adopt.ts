// `holdfast adopt`: a file that was changed outside becomes the truth.

import { adopt as take } from '../../mend/adopt.js';
import { type Command, EXIT } from '../command.js';
import { shownPath } from '../shown.js';
import { NO_SCHEMA, sayKept, TAKEOVER, takeWords } from '../writing.js';

export const adopt: Command = {
  name: 'adopt',
  usage: 'DIR DOC | FILE',
  summary: 'A JSON file that somebody changed becomes the state of its document',
  options: TAKEOVER,
  examples: [
    ['holdfast adopt .agent loop', 'Takes over .agent/loop.json as it is now. What was saved is kept in quarantine.'],
    ['holdfast adopt state.json', 'The same for a document of openDoc, or a loop.'],
  ],
  run: async (words, terminal) => {
    const [path = '', name] = takeWords(words, 'DIR', '[DOC]');
    const {
      document,
      path: file,
      isNew,
      version,
      kept,
    } = await take(path, name, {
      takeover: words.values.takeover === true,
    });
    if (!isNew) {
      terminal.line(`${shownPath(file)} holds what is saved: there is nothing to adopt.`);
      return EXIT.sound;
    }
    terminal.line(
      `${terminal.paint('green', 'adopted')}  ${document} is now as in ${shownPath(file)}, version ${version}.`,
    );
    terminal.line(NO_SCHEMA);
    sayKept(terminal, kept);
    return EXIT.sound;
  },
};
