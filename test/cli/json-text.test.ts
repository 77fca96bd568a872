// Documents for a person: coloured, harmless to the terminal, and still the same JSON.

import { expect, it } from 'vitest';
import { jsonText } from '../../src/cli/json-text.js';
import type { Terminal } from '../../src/cli/terminal.js';

const VALUE = {
  'a "key": 1': 'true: "x", 12',
  list: [1, -2.5e-7, 1e21, true, null, {}, [], ''],
  text: 'back\\slash\\" \u009b31m\u007f \ud800 null',
};

function terminal(isLive: boolean, paint: Terminal['paint']): Terminal {
  return { isLive, paint } as Terminal;
}

it('is the same JSON in a terminal, without what a terminal would obey', () => {
  const plain = jsonText(
    VALUE,
    terminal(true, (_, text) => text),
  );
  expect(JSON.parse(plain)).toEqual(VALUE);
  expect(plain).toContain('\\u009b31m\\u007f');
  expect(plain).not.toContain('\u009b');
});

it('paints keys, texts and everything else, each whole', () => {
  const painted: string[] = [];
  jsonText(
    VALUE,
    terminal(true, (style, text) => {
      painted.push(`${style} ${text}`);
      return text;
    }),
  );
  expect(painted.slice(0, 3)).toEqual(['cyan "a \\"key\\": 1"', 'green "true: \\"x\\", 12"', 'cyan "list"']);
  expect(painted.slice(3, 10)).toEqual([
    'yellow 1',
    'yellow -2.5e-7',
    'yellow 1e+21',
    'yellow true',
    'yellow null',
    'green ""',
    'cyan "text"',
  ]);
});

it('is left alone in a pipe', () => {
  const paint = () => expect.unreachable('nothing is painted there');
  expect(jsonText(VALUE, terminal(false, paint))).toBe(JSON.stringify(VALUE, null, 2));
});
