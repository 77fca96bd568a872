import { join } from 'node:path';
import type { Driver } from '../contract.js';
import { stateOfSteps } from './steps.js';

const itemOf = (step: number) => `item-${step}`;

export const holdfastLoop: Driver = {
  id: 'holdfast-loop',
  name: 'holdfast/loop',
  promised: 'durable',
  savesAtExit: true,
  detectsRot: true,
  how: '`state.begin(item)`, then `await state.end(item, …)`; version n is n items completed',
  async open(directory) {
    const { LoopState } = await import('holdfast/loop');
    const state = await LoopState.create(join(directory, 'loop.json'));
    const finish = async (n: number) => {
      const ends: Promise<void>[] = [];
      for (let step = state.completed.length + 1; step <= n; step++) {
        if (!state.isRunning(itemOf(step))) state.begin(itemOf(step));
        ends.push(state.end(itemOf(step), { status: 'success' }));
      }
      await Promise.all(ends);
      if (ends.length === 0) await state.flush();
    };
    return {
      load: async () => {
        const [failed] = state.failed;
        if (failed !== undefined) throw new Error(`${failed.id} failed: ${failed.reason}`);
        return stateOfSteps(state.completed, itemOf);
      },
      save: ({ n }) => finish(n),
      saveSoon: ({ n }) => {
        finish(n).catch((error: Error) => process.emitWarning(error.message));
      },
      close: () => state.close(),
    };
  },
};
