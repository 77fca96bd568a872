// `holdfast demo`

import { type Command, EXIT } from '../command.js';
import { runDemo } from '../demo.js';

export const demo: Command = {
  name: 'demo',
  usage: '',
  summary: 'A loop that is killed again and again, and what came back',
  options: {},
  examples: [
    ['holdfast demo', 'About ten seconds. Works in a folder of its own under the temporary one, and removes it.'],
  ],
  run: async () => ((await runDemo()) ? EXIT.sound : EXIT.damaged),
};
