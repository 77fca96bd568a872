import { expect, it } from 'vitest';
import { HoldfastError } from '../../src/errors.js';
import { Events } from '../../src/events.js';
import { Standing } from '../../src/standing.js';

function standing(): Standing {
  const events = new Events();
  events.on('fault', () => undefined);
  return new Standing('/store', events);
}

it('a store whose closing fails is what it was before, and open to calls again', async () => {
  const it = standing();
  it.setDegraded(true);
  await expect(it.closeAfter(() => Promise.reject(new Error('full')))).rejects.toThrow('full');
  expect(it.phase).toBe('degraded');
  expect(() => it.assertOpen()).not.toThrow();
});

it('a store that was taken over while it closed stays fenced when that fails', async () => {
  const it = standing();
  const fenced = new HoldfastError('HF_FENCED', 'somebody else has it');
  const closing = it.closeAfter(async () => {
    it.noteFault(fenced);
    throw fenced;
  });
  await expect(closing).rejects.toBe(fenced);
  expect(it.phase).toBe('fenced');
  expect(() => it.assertOwned()).toThrow(fenced);
});
