import type { Driver } from '../contract.js';
import { stateOfSteps } from './steps.js';

const featureOf = (step: number) => `feature-${step}`;

export const holdfastMission: Driver = {
  id: 'holdfast-mission',
  name: 'holdfast/mission',
  promised: 'durable',
  savesAtExit: true,
  detectsRot: true,
  how: '`add`, `start` and `complete` of one feature; version n is n features completed',
  async open(directory) {
    const { Mission } = await import('holdfast/mission');
    const mission = await Mission.open(directory, { lifecycle: ['do'] });
    const { todo } = await mission.resume();
    const begun = new Set(todo.map(({ id }) => id));
    let completed = mission.features.size - begun.size;
    const finish = async (n: number) => {
      const events: Promise<void>[] = [];
      for (let step = completed + 1; step <= n; step++) {
        const id = featureOf(step);
        if (!mission.features.has(id)) events.push(mission.add(id));
        if (mission.features.get(id)?.status !== 'active' || begun.delete(id)) events.push(mission.start(id));
        events.push(mission.complete(id));
        completed = step;
      }
      await Promise.all(events);
      if (events.length === 0) await mission.flush();
    };
    return {
      load: async () => {
        const done = [...mission.features.values()].filter(({ status }) => status === 'completed');
        return stateOfSteps(
          done.map(({ id }) => id),
          featureOf,
        );
      },
      save: ({ n }) => finish(n),
      saveSoon: ({ n }) => {
        finish(n).catch((error: Error) => process.emitWarning(error.message));
      },
      close: () => mission.close(),
    };
  },
};
