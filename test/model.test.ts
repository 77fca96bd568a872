import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Places } from '../src/journal/places.js';
import { recover } from '../src/journal/recover.js';
import { Truth } from '../src/truth.js';
import { Interpreter } from './support/model-interpreter.js';
import { PlainWorld, plainCopy } from './support/model-plain.js';
import { type Command, NAMES, type Program, program } from './support/model-program.js';
import { StoreWorld } from './support/model-store.js';
import { show } from './support/model-world.js';
import { RecordingDisk } from './support/recording-disk.js';

const RUNS = Number(process.env.HOLDFAST_RUNS ?? 300);
const SEED = process.env.HOLDFAST_SEED === undefined ? 20_240_601 : Number(process.env.HOLDFAST_SEED);

/** One program on a store and on plain objects, side by side. */
class Twins {
  readonly #eager: boolean;
  readonly #plain = new PlainWorld();
  readonly #ofPlain: Interpreter;
  readonly #ofStore: Interpreter;
  readonly #store: StoreWorld;
  #disk = new RecordingDisk();
  /** What must be found on disk. */
  #committed = new Map<string, string>();
  #committedStates = new Map<string, unknown>();

  constructor({ eager, initial }: Program) {
    this.#eager = eager;
    this.#store = new StoreWorld(this.#open());
    const exists = (name: string) => this.#plain.docs.has(name);
    const existsInStore = (name: string) => this.#store.docs.has(name) || this.#store.truth.names.includes(name);
    this.#ofPlain = new Interpreter(this.#plain, exists);
    this.#ofStore = new Interpreter(this.#store, existsInStore);
    NAMES.forEach((name, at) => {
      this.run({ do: 'create', name, value: initial[at] as Program['initial'][number] });
    });
  }

  run(command: Command): void {
    switch (command.do) {
      case 'remove':
        this.#remove(command.name);
        break;
      case 'commit':
      case 'flush':
      case 'mark':
      case 'rotate':
      case 'compact':
        this.#store.truth[command.do]();
        this.#noteCommitted();
        break;
      case 'reopen':
        this.#store.truth.close();
        this.#noteCommitted();
        this.#reopen();
        break;
      case 'kill':
        this.#kill();
        break;
      default:
        this.#change(command);
    }
    this.#compareLive();
    this.#compareDisk();
  }

  #change(command: Command): void {
    this.#ofPlain.command(command);
    this.#ofStore.command(command);
    expect(this.#ofStore.notes).toEqual(this.#ofPlain.notes);
    if (this.#eager) this.#noteCommitted();
  }

  #remove(name: string): void {
    this.#store.truth.remove(name);
    this.#store.docs.delete(name);
    this.#plain.docs.delete(name);
    if (this.#eager) this.#noteCommitted();
  }

  #kill(): void {
    this.#store.truth.abandon();
    this.#reopen();
    this.#plain.docs.clear();
    for (const [name, state] of this.#committedStates) this.#plain.create(name, state);
  }

  #open(): Truth {
    return new Truth('/store', { disk: this.#disk, eager: this.#eager, now: () => 1 });
  }

  #reopen(): void {
    this.#disk = this.#disk.afterKill();
    this.#store.truth = this.#open();
    this.#store.docs.clear();
    expect(this.#store.truth.notes).toEqual([]);
  }

  #noteCommitted(): void {
    this.#committed = new Map([...this.#plain.docs].map(([name, { root }]) => [name, show(root)]));
    this.#committedStates = new Map([...this.#plain.docs].map(([name, { root }]) => [name, plainCopy(root)]));
  }

  #compareLive(): void {
    expect([...this.#store.truth.names].sort()).toEqual([...this.#plain.docs.keys()].sort());
    for (const [name, { raw }] of this.#store.docs) expect(show(raw)).toBe(show(this.#plain.docs.get(name)?.root));
  }

  #compareDisk(): void {
    const found = recover(this.#disk.afterKill(), new Places('/store'));
    if (found.kind !== 'sound') throw new Error(`The store is ${JSON.stringify(found)}`);
    const states = [...found.replica.documents].map(([name, { state }]) => [name, show(state)] as const);
    expect(new Map(states)).toEqual(this.#committed);
    for (const [name, { version, pending }] of this.#store.docs) {
      if (pending.isEmpty) expect(found.replica.documents.get(name)?.version).toBe(version);
    }
  }
}

it('a store, plain objects and the frames on disk agree after every command of random programs', {
  timeout: 3_600_000,
}, () => {
  const property = fc.property(program, (each) => {
    const twins = new Twins(each);
    for (const command of each.commands) twins.run(command);
  });
  // A failure prints its seed and path; HOLDFAST_SEED runs another series.
  fc.assert(property, { numRuns: RUNS, seed: SEED });
});
