// The files of a mission, damaged in every way that a file can be: never is completed work scheduled again.
// `HOLDFAST_RUNS=1000` for 200 features and 60 places in each file.

import { cpSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { Mission } from '../../src/mission/index.js';
import { folder, workersUrl } from '../store/support.js';

const isLong = Number(process.env.HOLDFAST_RUNS ?? 0) >= 1000;
const FEATURES = isLong ? 200 : 12;
const OPTIONS = { workersUrl, projectDelayMs: 5 };
const FILES = ['features.json', 'validation-state.json', 'history.jsonl'];

let sound: string;
/** The same files at an earlier time. */
const stale = new Map<string, Buffer>();
const completed = new Set<string>();

beforeAll(async () => {
  sound = folder();
  const mission = await Mission.open(sound, OPTIONS);
  for (let n = 0; n < FEATURES; n++) {
    const id = `f${n}`;
    await mission.add(id);
    if (n % 3 === 2) continue;
    for (let step = 0; step < 2; step++) {
      await mission.start(id);
      await mission.complete(id);
    }
    await mission.validate(id, { ok: true, validator: 'v' });
    completed.add(id);
    if (n !== 4) continue;
    await mission.flush();
    for (const name of FILES) stale.set(name, readFileSync(join(sound, name)));
  }
  await mission.close();
}, 120_000);

interface Damage {
  what: string;
  apply: (directory: string) => void;
}

function* damages(): Generator<Damage> {
  for (const name of FILES) {
    const size = statSync(join(sound, name)).size;
    const change = (what: string, edit: (bytes: Buffer) => Buffer): Damage => ({
      what: `${name}: ${what}`,
      apply: (directory) => writeFileSync(join(directory, name), edit(readFileSync(join(directory, name)))),
    });
    const stride = Math.ceil(size / (isLong ? 60 : 7));
    for (let at = 0; at < size; at += stride) {
      yield change(`byte ${at}`, (bytes) => {
        bytes[at] = (bytes[at] as number) ^ 1;
        return bytes;
      });
      yield change(`cut at ${at}`, (bytes) => bytes.subarray(0, at));
    }
    yield { what: `${name}: gone`, apply: (directory) => rmSync(join(directory, name)) };
    yield change('an older one put back', () => stale.get(name) as Buffer);
    yield change('nothing but zeros', (bytes) => bytes.fill(0));
    yield change('another project', () => Buffer.from('{"features":[{"id":"f0","status":"pending"}]}'));
    yield change('a line cut out', (bytes) => Buffer.from(bytes.toString().replace(/\n.*\n/, '\n')));
  }
  yield { what: 'all gone', apply: (directory) => FILES.forEach((name) => void rmSync(join(directory, name))) };
  yield {
    what: 'no truth',
    apply: (directory) => rmSync(join(directory, '.holdfast'), { recursive: true }),
  };
  yield {
    what: 'neither truth nor files',
    apply: (directory) => {
      rmSync(join(directory, '.holdfast'), { recursive: true });
      for (const name of readdirSync(directory)) if (name !== 'history.jsonl') rmSync(join(directory, name));
    },
  };
}

it('never is completed work scheduled again', async () => {
  let cases = 0;
  let repairing = 0;
  for (const { what, apply } of damages()) {
    const directory = folder();
    cpSync(sound, directory, { recursive: true, filter: (path) => !path.endsWith('.sock') });
    apply(directory);
    // Twice: what was found the first time must not be forgotten the second.
    for (let round = 0; round < 2; round++) {
      const mission = await Mission.open(directory, OPTIONS);
      const again = mission.next().filter(({ id }) => completed.has(id));
      expect(again, what).toEqual([]);
      if (mission.isRepairing) {
        repairing++;
        expect(mission.next(), what).toEqual([]);
        await expect(mission.resume(), what).rejects.toMatchObject({ code: 'HF_REPAIR_REQUIRED' });
      } else expect(mission.next(), what).toHaveLength(FEATURES - completed.size);
      await mission.close();
      if (!mission.isRepairing) expect(existsSync(join(directory, 'features.json')), what).toBe(true);
    }
    cases++;
    rmSync(directory, { recursive: true });
  }
  console.info(`${cases} kinds of damage; ${repairing} openings waited for repair`);
  expect(cases).toBeGreaterThan(40);
}, 600_000);
