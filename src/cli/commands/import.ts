// `holdfast import`: a JSON file becomes a document.

import { importFile } from '../../mend/import.js';
import { type Command, EXIT } from '../command.js';
import { shownPath } from '../shown.js';
import { NO_SCHEMA, sayKept, TAKEOVER, takeWords } from '../writing.js';

export const importCommand: Command = {
  name: 'import',
  usage: 'FILE.json [--into DIR] [--as DOC]',
  summary: 'A JSON file becomes a document',
  options: {
    into: {
      type: 'string',
      value: 'DIR',
      help: 'The store that it goes into. Without it, the document has a store of its own',
    },
    as: { type: 'string', value: 'DOC', help: 'The name of the document. Without it, that of the file' },
    ...TAKEOVER,
  },
  examples: [
    ['holdfast import state.json', 'As openDoc and loops have it: what is saved is in .state.json.holdfast beside it.'],
    ['holdfast import old/loop.json --into .agent', "The document 'loop' of .agent. old/loop.json stays as it is."],
  ],
  run: async (words, terminal) => {
    const [file = ''] = takeWords(words, 'FILE.json');
    const { into, as, takeover } = words.values as { into?: string; as?: string; takeover?: boolean };
    const options = {
      takeover: takeover === true,
      ...(into !== undefined && { into }),
      ...(as !== undefined && { as }),
    };
    const { document, path, version, kept } = await importFile(file, options);
    terminal.line(`${terminal.paint('green', 'imported')}  ${document}, version ${version}: ${shownPath(path)}`);
    terminal.line(NO_SCHEMA);
    sayKept(terminal, kept);
    return EXIT.sound;
  },
};
