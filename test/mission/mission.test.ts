import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { Mission, type MissionOptions } from '../../src/mission/index.js';
import { Store } from '../../src/store.js';
import { folder, json, workersUrl } from '../store/support.js';
import { run } from '../support/process-child.js';

// biome-ignore lint/suspicious/noExplicitAny: what is in the file is what the test is about
const file = (directory: string, name: string): any => json(directory, name);

const opened: Mission[] = [];

async function openMission(directory: string, options: MissionOptions = {}): Promise<Mission> {
  const mission = await Mission.open(directory, { workersUrl, projectDelayMs: 5, ...options });
  opened.push(mission);
  return mission;
}

afterEach(async () => {
  for (const mission of opened.splice(0)) await mission.close().catch(() => undefined);
});

async function finish(mission: Mission, id: string): Promise<void> {
  for (const _ of ['implement', 'finalize']) {
    await mission.start(id, { worker: 'w1' });
    await mission.complete(id, { worker: 'w1' });
  }
}

/** Two completed, one half done, one failed once, one untouched. */
async function someWork(directory: string): Promise<void> {
  const mission = await openMission(directory);
  for (const id of ['a', 'b', 'c', 'd', 'e']) await mission.add(id, { title: id });
  await finish(mission, 'a');
  await finish(mission, 'b');
  await mission.start('c');
  await mission.complete('c', { result: { lines: 3 } });
  await mission.start('d');
  await mission.fail('d', 'it did not compile');
  await mission.validate('a', { ok: true, validator: 'v', sessionId: 's1', evidence: { log: 'fine' } });
  await mission.close();
}

const steps = (mission: Mission) => mission.next().map(({ id, step }) => `${id} ${step}`);
const STILL = ['c finalize', 'd implement', 'e implement'];

describe('a mission', () => {
  it('goes on with exactly what is still to be done', async () => {
    const directory = folder();
    await someWork(directory);
    const mission = await openMission(directory);
    expect(await mission.resume()).toMatchObject({ completed: 2, notes: [] });
    expect(steps(mission)).toEqual(STILL);
    expect(mission.next({ limit: 1 })).toHaveLength(1);
    expect(mission.features.get('d')).toMatchObject({ attempts: 1, failure: { reason: 'it did not compile' } });
    expect(mission.validation.get('a')).toMatchObject({ ok: true, sessionId: 's1', evidence: { log: 'fine' } });
    const events = [];
    for await (const event of mission.history({ feature: 'c' })) events.push(event.type);
    expect(events).toEqual(['added', 'started', 'completed']);
    expect(file(directory, 'features').features.a.status).toBe('completed');
    expect(file(directory, 'validation-state').assertions.a.ok).toBe(true);
    expect(readFileSync(join(directory, 'history.jsonl'), 'utf8').trimEnd().split('\n')).toHaveLength(18);
  });

  it('names what was being done when the process was killed, and does it first', async () => {
    const directory = folder();
    await run(`
      import { Mission } from 'holdfast/mission';
      const mission = await Mission.open(${JSON.stringify(directory)});
      for (const id of ['a', 'b']) await mission.add(id);
      await mission.start('b', { worker: 'w7' });
      process.kill(process.pid, 'SIGKILL');`);
    const mission = await openMission(directory);
    expect(mission.next()).toMatchObject([
      { id: 'b', step: 'implement', isInterrupted: true, attempts: 1 },
      { id: 'a', isInterrupted: false },
    ]);
    await expect(mission.complete('b')).rejects.toThrow(expect.objectContaining({ code: 'HF_TRANSITION' }));
    await mission.start('b');
    expect(steps(mission)).toEqual(['a implement']);
  });

  it('still names what was interrupted when its repair is refused', async () => {
    const directory = folder();
    const first = await openMission(directory);
    await first.add('a');
    await first.start('a');
    await first.close();
    const mission = await openMission(directory);
    const repair = { to: 'pending', reason: 'again', worker: 7 as unknown as string };
    await expect(mission.repair('a', repair)).rejects.toMatchObject({ code: 'HF_SCHEMA' });
    expect(mission.next()).toMatchObject([{ id: 'a', isInterrupted: true }]);
  });

  it('only goes forward', async () => {
    const mission = await openMission(folder());
    await mission.add('a');
    const refused = expect.objectContaining({ code: 'HF_TRANSITION' });
    await expect(mission.add('a')).rejects.toThrow(refused);
    await expect(mission.start('b')).rejects.toThrow(refused);
    await expect(mission.complete('a')).rejects.toThrow(refused);
    await mission.start('a', { worker: 'w1' });
    await expect(mission.start('a')).rejects.toThrow(/w1 is at it/);
    await mission.complete('a');
    await mission.start('a');
    await mission.complete('a');
    await expect(mission.start('a')).rejects.toThrow(/completed/);
    await expect(mission.repair('a', { to: 'pending', reason: '' })).rejects.toThrow(TypeError);
    await expect(mission.repair('a', { to: 'nowhere', reason: 'x' })).rejects.toThrow(TypeError);
    await mission.repair('a', { to: 'finalize', reason: 'the release was withdrawn' });
    expect(steps(mission)).toEqual(['a finalize']);
  });

  it('is refused with a lifecycle in which what was done would count as another step; new steps go at the end', async () => {
    const directory = folder();
    const first = await openMission(directory);
    await first.add('a');
    for (const _ of ['implement', 'finalize']) {
      await first.start('a');
      await first.complete('a');
    }
    await first.close();
    for (const lifecycle of [['implement', 'review', 'finalize'], ['finalize', 'implement'], ['implement']]) {
      const refused = openMission(directory, { lifecycle });
      await expect(refused, lifecycle.join()).rejects.toMatchObject({
        code: 'HF_TRANSITION',
        message: /of 'a' was done/,
      });
    }
    const longer = await openMission(directory, { lifecycle: ['implement', 'finalize', 'announce'] });
    expect(steps(longer)).toEqual(['a announce']);
  });

  it('a failed finalization or validation never reopens implementation work', async () => {
    const mission = await openMission(folder());
    await mission.add('a');
    await mission.start('a');
    await mission.complete('a');
    await mission.start('a');
    await mission.fail('a', 'merge conflict');
    expect(steps(mission)).toEqual(['a finalize']);
    await mission.start('a');
    await mission.complete('a');
    await mission.validate('a', { ok: false, validator: 'v' });
    expect(steps(mission)).toEqual([]);
    await expect(mission.milestone('m')).rejects.toThrow(/v found wanting/);
    await mission.validate('a', { ok: true, validator: 'v' });
    await mission.milestone('m', { worker: 'w1' });
    expect(mission.milestones.get('m')?.features).toEqual(['a']);
    await expect(mission.milestone('m')).rejects.toThrow(/already/);
  });

  it('what the schema refuses changes nothing, in no file', async () => {
    const directory = folder();
    const schema = { feature: z.object({ title: z.string() }), evidence: z.object({ log: z.string() }) };
    const mission = await openMission(directory, { schema, files: { artifacts: ['synthesis.json'] } });
    const refused = expect.objectContaining({ code: 'HF_SCHEMA' });
    await expect(mission.add('a', { title: 1 })).rejects.toThrow(refused);
    await mission.add('a', { title: 'A' });
    await expect(mission.validate('a', { ok: true, validator: 'v', evidence: 1 })).rejects.toThrow(refused);
    const cycle: unknown[] = [];
    cycle.push(cycle);
    await expect(mission.setArtifact('synthesis', cycle)).rejects.toThrow(
      expect.objectContaining({ code: 'HF_VALUE' }),
    );
    await mission.setArtifact('synthesis', { order: ['a'] });
    expect(mission.artifact('synthesis.json')).toEqual({ order: ['a'] });
    await expect(mission.setArtifact('other', 1)).rejects.toThrow(TypeError);
    await mission.note({ cost: 3 });
    await mission.flush();
    const types = [];
    for await (const { type } of mission.history()) types.push(type);
    expect(types).toEqual(['added', 'artifact', 'noted']);
    expect(file(directory, 'features').events).toBe(3);
    expect(file(directory, 'synthesis')).toEqual({ value: { order: ['a'] } });
  });

  it.each([[[]], [['a', 'a']], [['']], [['a', 'completed']], ['a' as never]])(
    'refuses %j as a lifecycle',
    async (lifecycle) => {
      await expect(Mission.open(folder(), { lifecycle })).rejects.toThrow(TypeError);
    },
  );
});

describe('disagreement', () => {
  it('handoffs that agree are fine; others stop all scheduling until each is repaired, also after a restart', async () => {
    const directory = folder();
    await someWork(directory);
    const mission = await openMission(directory);
    const handoffs = [
      { id: 'a', ok: true },
      { id: 'c', step: 'implement', ok: true },
      { id: 'a', validator: 'v', ok: true },
    ];
    await mission.resume({ handoffs });
    const wrong = [
      { id: 'd', step: 'implement', ok: true },
      { id: 'b', ok: false },
      { id: 'x', ok: true },
      { id: 'b', validator: 'v', ok: true },
    ];
    const refusal = await mission.resume({ handoffs: wrong }).catch((error) => error);
    expect(refusal).toMatchObject({ code: 'HF_REPAIR_REQUIRED' });
    expect(refusal.details.map(({ id, says, history }: Record<string, string>) => [id, says, history])).toEqual([
      ['d', 'implement done', 'pending'],
      ['b', 'finalize not done', 'completed'],
      ['b', 'passed', 'not validated'],
      ['x', 'completed', 'unknown'],
    ]);
    expect(mission.next()).toEqual([]);
    await expect(mission.start('e')).rejects.toThrow(expect.objectContaining({ code: 'HF_REPAIR_REQUIRED' }));
    await mission.close();
    const again = await openMission(directory);
    expect(again.next()).toEqual([]);
    await again.repair('d', { to: 'finalize', reason: 'the branch is there' });
    await again.repair('b', { to: 'completed', reason: 'the worker meant another' });
    expect(again.isRepairing).toBe(true);
    await again.repair('x', { to: 'completed', reason: 'added by hand' });
    expect(steps(again)).toEqual(['c finalize', 'd finalize', 'e implement']);
    await expect(again.resume({ handoffs: [{ id: 'a', step: 'dance', ok: true }] })).rejects.toThrow(TypeError);
  });

  it('a summary that somebody changed is a claim, not the truth', async () => {
    const directory = folder();
    await someWork(directory);
    const path = join(directory, 'features.json');
    const edited = file(directory, 'features');
    edited.features.a = { ...edited.features.a, status: 'pending', done: [] };
    writeFileSync(path, JSON.stringify(edited));
    const mission = await openMission(directory);
    expect(mission.next()).toEqual([]);
    expect(mission.disagreements).toEqual([{ id: 'a', source: 'summary', says: 'pending', history: 'completed' }]);
    await mission.repair('a', { to: 'completed', reason: 'it was edited by mistake' });
    expect(steps(mission)).toEqual(STILL);
    await mission.flush();
    expect(file(directory, 'features').features.a.status).toBe('completed');
    expect(mission.notes.join()).toMatch(/changed by somebody else/);
  });
});

describe('a mission that was opened and left before anything was added', () => {
  it('is still one to begin', async () => {
    const directory = folder();
    for (const _ of [1, 2, 3]) {
      const mission = await openMission(directory);
      expect(mission.isRepairing).toBe(false);
      await mission.close();
    }
    const mission = await openMission(directory);
    await mission.add('a');
    expect(steps(mission)).toEqual(['a implement']);
  });

  it('is not, when its empty summary was edited: somebody may have put back an old one', async () => {
    const directory = folder();
    await (await openMission(directory)).close();
    const features = { a: { id: 'a', status: 'completed', done: ['implement', 'finalize'] } };
    writeFileSync(join(directory, 'features.json'), JSON.stringify({ features, milestones: {}, events: 5 }));
    expect((await openMission(directory)).isRepairing).toBe(true);
  });
});

describe('lost history', () => {
  it('is not guessed: nothing is scheduled until it is rebuilt from handoffs', async () => {
    const directory = folder();
    await someWork(directory);
    rmSync(join(directory, '.holdfast'), { recursive: true });
    const mission = await openMission(directory);
    expect(mission.next()).toEqual([]);
    await expect(mission.resume()).rejects.toMatchObject({ code: 'HF_REPAIR_REQUIRED' });
    await expect(mission.add('z')).rejects.toThrow(expect.objectContaining({ code: 'HF_REPAIR_REQUIRED' }));
    await mission.rebuild({
      handoffs: [
        { id: 'a', ok: true },
        { id: 'c', step: 'implement', ok: true },
      ],
      reason: 'disk',
    });
    // Only the summary says so.
    expect(mission.disagreements).toEqual([{ id: 'b', source: 'summary', says: 'completed', history: 'pending' }]);
    expect(mission.next()).toEqual([]);
    await mission.repair('b', { to: 'completed', reason: 'the branch is merged' });
    expect(steps(mission).sort()).toEqual(STILL);
    await mission.close();
    const again = await openMission(directory);
    expect(steps(again).sort()).toEqual(STILL);
    await expect(() => again.rebuild({ handoffs: [], reason: 'x' })).rejects.toMatchObject({ code: 'HF_TRANSITION' });
  });

  it('stays lost when the rebuilding of it is refused', async () => {
    const directory = folder();
    await someWork(directory);
    rmSync(join(directory, '.holdfast'), { recursive: true });
    const mission = await openMission(directory);
    const unreasoned = { handoffs: [] } as unknown as { handoffs: []; reason: string };
    await expect(mission.rebuild(unreasoned)).rejects.toMatchObject({ code: 'HF_SCHEMA' });
    expect(mission.isRepairing).toBe(true);
    await expect(mission.resume()).rejects.toMatchObject({ code: 'HF_REPAIR_REQUIRED' });
    await mission.rebuild({ handoffs: [], reason: 'disk' });
    expect(mission.disagreements).not.toEqual([]);
  });

  it('with the summary damaged or gone too', async () => {
    for (const damage of ['{"features":', null]) {
      const directory = folder();
      await someWork(directory);
      rmSync(join(directory, '.holdfast'), { recursive: true });
      for (const name of readdirSync(directory)) if (name.includes('.json.bak')) rmSync(join(directory, name));
      if (damage === null) rmSync(join(directory, 'features.json'));
      else writeFileSync(join(directory, 'features.json'), damage);
      const mission = await openMission(directory);
      expect(mission.isRepairing).toBe(true);
      await mission.close();
      const again = await openMission(directory);
      expect(again.isRepairing).toBe(true);
      await again.rebuild({
        handoffs: [
          { id: 'a', ok: true },
          { id: 'b', ok: true },
        ],
        reason: 'disk',
      });
      expect(again.next()).toEqual([]);
      expect([...again.features.values()].map(({ status }) => status)).toEqual(['completed', 'completed']);
      await again.flush();
      expect(Object.keys(file(directory, 'features').features)).toEqual(['a', 'b']);
    }
  });
});

describe('import', () => {
  it('takes over a project whose files were the truth', async () => {
    const directory = folder();
    const features = {
      features: [
        { id: 'a', status: 'completed', title: 'A' },
        { id: 'b', status: 'pending' },
      ],
    };
    writeFileSync(join(directory, 'features.json'), JSON.stringify(features));
    const before = await openMission(directory);
    expect(before.isRepairing).toBe(true);
    await before.close();
    const validation = { assertions: { a: { status: 'passed', evidence: 'x' } } };
    const options = { workersUrl, projectDelayMs: 5 };
    const mission = await Mission.import(directory, { features, validation }, options);
    opened.push(mission);
    expect(steps(mission)).toEqual(['b implement']);
    expect(mission.validation.get('a')).toMatchObject({ ok: true, validator: 'imported' });
    const types = [];
    for await (const { type } of mission.history({ feature: 'a' })) types.push(type);
    expect(types).toEqual(['imported']);
    await mission.flush();
    expect(file(directory, 'features').features.a.payload.title).toBe('A');
    expect(existsSync(join(directory, 'features.json.bak1'))).toBe(true);
    await mission.close();
    await expect(Mission.import(directory, { features }, options)).rejects.toMatchObject({ code: 'HF_TRANSITION' });
    await expect(Mission.import(folder(), { features: 7 }, options)).rejects.toThrow(TypeError);
    const schema = { feature: z.object({ title: z.number() }) };
    const refused = Mission.import(folder(), { features }, { ...options, schema });
    await expect(refused).rejects.toMatchObject({ code: 'HF_SCHEMA', message: /payload of 'a'/ });
  });
});

describe('a mission that is open twice in a process', () => {
  it('is one: what one does the other sees, and nothing is begun twice', async () => {
    const directory = folder();
    const first = await openMission(directory);
    await first.add('a');
    await first.start('a');
    const second = await openMission(directory);
    expect(second.next()).toEqual([]);
    await first.complete('a');
    await second.start('a');
    await second.complete('a');
    expect(first.next()).toEqual([]);
    await expect(first.start('a')).rejects.toMatchObject({ code: 'HF_TRANSITION' });
    await first.close();
    await first.close();
    await second.add('b');
    await second.close();
    const again = await openMission(directory);
    expect(steps(again)).toEqual(['b implement']);
    expect(again.features.get('a')?.status).toBe('completed');
  });

  it('is not opened with other steps or files than it is open with', async () => {
    const directory = folder();
    await openMission(directory);
    await expect(openMission(directory, { lifecycle: ['build'] })).rejects.toThrow(TypeError);
    await expect(openMission(directory, { files: { features: 'board' } })).rejects.toThrow(TypeError);
  });
});

describe('what callers do with their objects later', () => {
  it('has not happened', async () => {
    const directory = folder();
    const mission = await openMission(directory);
    const payload = { title: 'A', tags: ['x'] };
    const result = { lines: 3 };
    await mission.add('a', payload);
    await mission.start('a');
    payload.tags.push('y');
    await mission.complete('a', { result });
    result.lines = 4;
    await mission.start('a');
    expect(mission.features.get('a')).toMatchObject({ payload: { tags: ['x'] }, result: { lines: 3 } });
    await mission.close();
    expect(file(directory, 'features').features.a.payload).toEqual({ title: 'A', tags: ['x'] });
    expect((await openMission(directory)).notes).toEqual([]);
  });
});

describe('a disagreement that was settled', () => {
  it('is not raised again by the same handoffs, until more happens to the feature', async () => {
    const directory = folder();
    await someWork(directory);
    const handoffs = [
      { id: 'd', ok: true },
      { id: 'd', ok: true },
      { id: 'b', step: 'implement', ok: false },
      { id: 'e', validator: 'v', ok: true },
      { id: 'typo', ok: true },
    ];
    const mission = await openMission(directory);
    await expect(mission.resume({ handoffs })).rejects.toMatchObject({ code: 'HF_REPAIR_REQUIRED' });
    expect(mission.disagreements.map(({ id }) => id)).toEqual(['d', 'b', 'e', 'typo']);
    await mission.repair('d', { to: 'pending', reason: 'there is no branch' });
    await mission.repair('b', { to: 'completed', reason: 'the second attempt did it' });
    await mission.repair('e', { to: 'pending', reason: 'the validator meant another' });
    await expect(mission.repair('a', { to: 'unknown', reason: 'it is known' })).rejects.toThrow(TypeError);
    await mission.repair('typo', { to: 'unknown', reason: 'there is no such feature' });
    expect(mission.features.has('typo')).toBe(false);
    await mission.resume({ handoffs });
    await mission.close();
    const again = await openMission(directory);
    await again.resume({ handoffs });
    expect(steps(again)).toEqual(STILL);
    // Now the same words may be about this attempt.
    await again.start('d');
    await expect(again.resume({ handoffs })).rejects.toMatchObject({ details: [{ id: 'd', says: 'completed' }] });
  });
});

describe('what a summary says that somebody changed', () => {
  async function edited(): Promise<string> {
    const directory = folder();
    await someWork(directory);
    const features = file(directory, 'features');
    features.features.e = { ...features.features.e, status: 'completed', done: ['implement', 'finalize'] };
    writeFileSync(join(directory, 'features.json'), JSON.stringify(features));
    return directory;
  }

  it('is on record before the file is written anew', async () => {
    const directory = await edited();
    const { doc } = Store.prototype;
    const spy = vi.spyOn(Store.prototype, 'doc').mockImplementation(async function (this: Store, ...args) {
      const opened = await doc.apply(this, args);
      if (args[1].onDrift !== 'restore') return opened as never;
      await this.flush({ projected: true });
      throw new Error('killed');
    });
    await expect(openMission(directory)).rejects.toThrow('killed');
    spy.mockRestore();
    expect(file(directory, 'features').features.e.status).toBe('pending');
    const mission = await openMission(directory);
    expect(mission.disagreements).toEqual([{ id: 'e', source: 'summary', says: 'completed', history: 'pending' }]);
  });

  it.each(['adopt', 'restore'] as const)(
    'is a disagreement whatever the store does about drift (%s)',
    async (onDrift) => {
      const mission = await openMission(await edited(), { onDrift });
      expect(mission.disagreements).toMatchObject([{ id: 'e', says: 'completed' }]);
      expect(mission.next()).toEqual([]);
    },
  );

  it('is one about validation too', async () => {
    const directory = folder();
    await someWork(directory);
    const found = file(directory, 'validation-state');
    found.assertions.a.ok = false;
    found.assertions.b = { id: 'b', ok: true };
    writeFileSync(join(directory, 'validation-state.json'), JSON.stringify(found));
    const mission = await openMission(directory);
    expect(mission.disagreements).toEqual([
      { id: 'a', source: 'summary', says: 'not passed', history: 'passed' },
      { id: 'b', source: 'summary', says: 'passed', history: 'not validated' },
    ]);
    await mission.flush();
    expect(file(directory, 'validation-state')).toMatchObject({ assertions: { a: { ok: true } }, events: 20 });
    expect(file(directory, 'features').events).toBe(20);
  });

  it('is noted when it happens to an open mission', async () => {
    const directory = folder();
    const mission = await openMission(directory);
    await mission.add('a');
    await mission.flush();
    writeFileSync(join(directory, 'features.json'), '{"features":{}}');
    await mission.start('a');
    await mission.flush().catch(() => undefined);
    expect(mission.notes).toEqual([expect.stringMatching(/^features.json was changed/)]);
  });
});

describe('a history that is lost', () => {
  it.each(['logs/history', 'history'])('is missed when nothing but its lines is left (%s)', async (history) => {
    const directory = folder();
    const options = { files: { history } };
    const first = await openMission(directory, options);
    await first.add('a');
    await first.close();
    rmSync(join(directory, '.holdfast'), { recursive: true });
    for (const name of readdirSync(directory))
      if (name.includes('.json.') || name.endsWith('.json')) rmSync(join(directory, name));
    for (const _ of [1, 2]) {
      const mission = await openMission(directory, options);
      expect(mission.isRepairing).toBe(true);
      await mission.close();
    }
  });

  it('is missed when nothing but what validators found is left', async () => {
    const directory = folder();
    await someWork(directory);
    for (const name of readdirSync(directory))
      if (!name.startsWith('validation-state.json')) rmSync(join(directory, name), { recursive: true });
    expect((await openMission(directory)).isRepairing).toBe(true);
  });

  it('leaves the payloads in the summary, and they are taken from there', async () => {
    const directory = folder();
    await someWork(directory);
    rmSync(join(directory, '.holdfast'), { recursive: true });
    const mission = await openMission(directory);
    await mission.rebuild({ handoffs: ['a', 'b', 'c'].map((id) => ({ id, ok: true })), reason: 'disk' });
    expect(mission.next()).toMatchObject([
      { id: 'd', payload: { title: 'd' } },
      { id: 'e', payload: { title: 'e' } },
    ]);
  });
});

describe('a lifecycle in which what was counted would count as other steps', () => {
  const other = { lifecycle: ['design', 'implement', 'finalize'] };
  const features = [{ id: 'a', status: 'completed' }];

  it('is refused after an import, a rebuild and a repair, too', async () => {
    const refused = { code: 'HF_TRANSITION', message: expect.stringContaining("'a' was ") };
    const imported = folder();
    await (await Mission.import(imported, { features }, { workersUrl })).close();
    await expect(openMission(imported, other)).rejects.toMatchObject(refused);
    rmSync(join(imported, '.holdfast'), { recursive: true });
    const lost = await openMission(imported);
    await lost.rebuild({ handoffs: [{ id: 'a', ok: true }], reason: 'disk' });
    await lost.close();
    await expect(openMission(imported, other)).rejects.toMatchObject(refused);
    const repaired = folder();
    const mission = await openMission(repaired);
    await mission.add('a');
    await mission.repair('a', { to: 'completed', reason: 'done by hand' });
    await mission.close();
    await expect(openMission(repaired, other)).rejects.toMatchObject(refused);
    const longer = await openMission(repaired, { lifecycle: ['implement', 'finalize', 'announce'] });
    expect(steps(longer)).toEqual(['a announce']);
  });
});

describe('what cannot be meant', () => {
  it.each([
    [{ handoff: [] }, /`handoffs?`/],
    [{ handoffs: [{ id: 'a', ok: true }, { id: 'a' }] }, /`handoffs.1.ok`/],
    [{ handoffs: [{ id: 'a', ok: 'false' }] }, /`handoffs.0.ok`/],
    [{ handoffs: [{ id: 7, ok: true }] }, /`handoffs.0.id`/],
  ])('is refused by resume and rebuild: %j', async (options, message) => {
    const directory = folder();
    await someWork(directory);
    const mission = await openMission(directory);
    await expect(mission.resume(options as never)).rejects.toThrow(message);
    await expect(mission.resume(options as never)).rejects.toThrow(TypeError);
    await mission.close();
    rmSync(join(directory, '.holdfast'), { recursive: true });
    const lost = await openMission(directory);
    await expect(lost.rebuild({ ...options, reason: 'disk' } as never)).rejects.toThrow(message);
    expect(lost.isRepairing).toBe(true);
  });

  it.each([
    [
      'the same feature twice',
      [
        { id: 'a', status: 'completed' },
        { id: 'a', status: 'pending' },
      ],
    ],
    ['a number as an id', [{ id: 'a' }, { id: 7, status: 'completed' }]],
    ['something else than a feature', { a: { status: 'pending' }, b: 'completed' }],
  ])('is refused by import: %s', async (_, features) => {
    await expect(Mission.import(folder(), { features }, { workersUrl })).rejects.toThrow(TypeError);
  });

  it.each([
    { features: 'state', validation: 'state.json' },
    { artifacts: ['features'] },
    { artifacts: ['x', 'x.json'] },
  ])('is one file for two things: %j', async (files) => {
    await expect(Mission.open(folder(), { files })).rejects.toThrow(TypeError);
  });
});
