import { describe, expect, it } from 'vitest';
import { help, parseArguments } from '../../bench/arguments.js';
import { RIVALS } from '../../bench/drivers/index.js';
import { QUESTIONS } from '../../bench/questions/index.js';

const ids = QUESTIONS.map(({ id }) => id);
const parse = (...args: string[]) => parseArguments(args, ids, '/results');

describe('the command line', () => {
  it('without anything asks every question in full, and keeps the results', () => {
    const rivals = RIVALS.map(({ id }) => id);
    expect(parse()).toEqual({
      ...{ kind: 'run', isQuick: false, questions: ids, rivals, soakS: 30 },
      ...{ isJson: false, out: '/results', fillsReadme: false },
    });
  });

  it('names questions and rivals, which come in their own order', () => {
    expect(parse('--only', 'q3,q1', '--rivals', 'steno,lmdb')).toMatchObject({
      ...{ questions: ['q1', 'q3'], rivals: ['lmdb', 'steno'], out: null },
    });
  });

  it('keeps what is rough only where it is told to', () => {
    expect(parse('--quick')).toMatchObject({ isQuick: true, out: null, soakS: 3 });
    expect(parse('--quick', '--out', 'here', '--soak', '3600')).toMatchObject({ out: 'here', soakS: 3600 });
  });

  it('compares two', () => {
    expect(parse('--compare', 'a.json', 'b.json', '--json')).toEqual({
      ...{ kind: 'compare', before: 'a.json', after: 'b.json', isJson: true },
    });
    expect(parse('--report', '--readme')).toEqual({ kind: 'report', out: '/results', fillsReadme: true });
  });

  it.each([
    [['--onyl', 'q1'], /Unknown option '--onyl'/],
    [['--only', 'q9'], /Expected --only of q1, .*, got 'q9'/],
    [['--only', ','], /Expected --only of .*, got nothing/],
    [['--rivals', 'redis'], /Expected --rivals of .*, got 'redis'/],
    [['--soak', 'long'], /Expected --soak ≥ 1 second, got 'long'/],
    [['--soak', '0'], /Expected --soak ≥ 1 second, got '0'/],
    [['--compare', 'a.json'], /Expected two files or folders/],
    [['update'], /Expected only options, got 'update'/],
  ])('%j is refused', (args, message) => {
    expect(() => parse(...args)).toThrow(TypeError);
    expect(() => parse(...args)).toThrow(message);
  });

  it('has help that names every question and rival', () => {
    const text = help(QUESTIONS);
    for (const id of [...ids, ...RIVALS.map((rival) => rival.id)]) expect(text).toContain(`  ${id} `);
  });
});
