// What `watch` knows: the newest look at the store, and how the last minutes went.

import { type Holder, holderOf } from '../../disk/lock.js';
import { placesOf } from '../../inspect/home.js';
import { isLoopLike, type LoopProgress, LoopWatch } from '../../inspect/loop-watch.js';
import { type Beat, type Commit, Pulse } from '../../inspect/pulse.js';
import { Places } from '../../journal/places.js';
import { openReadOnly, type ReadOnlyStore } from '../../read-only.js';

export interface Trend {
  commitsPerSec: number[];
  bytesPerSec: number[];
  onDiskWithinMs: (number | null)[];
}

const TREND_MAX = 240;
const RECENT_MAX = 100;

export class Scene {
  readonly home: string;
  readonly trend: Trend = { commitsPerSec: [], bytesPerSec: [], onDiskWithinMs: [] };
  beat: Beat;
  owner: Holder = { kind: 'nobody' };
  loops: LoopProgress[] = [];
  documents: { name: string; version: number }[] = [];
  /** Newest first. */
  recent: Commit[] = [];
  readonly #total: number | null;
  readonly #pulse: Pulse;
  readonly #reader: ReadOnlyStore;
  readonly #loops = new Map<string, LoopWatch>();

  /** `total`: how many items its loops have, where they do not say so themselves. */
  static async open(path: string, total: number | null): Promise<Scene> {
    const home = placesOf(path).directory;
    const scene = new Scene(home, await openReadOnly(home), total);
    scene.#note(scene.beat);
    scene.owner = await holderOf(new Places(home).hidden);
    return scene;
  }

  private constructor(home: string, reader: ReadOnlyStore, total: number | null) {
    this.#total = total;
    this.home = home;
    this.#reader = reader;
    this.#pulse = new Pulse(home);
    this.beat = this.#pulse.look();
  }

  async look(): Promise<void> {
    await this.#reader.refresh();
    const beat = this.#pulse.look();
    this.owner = await holderOf(new Places(this.home).hidden);
    push(this.trend.commitsPerSec, beat.commitsPerSec);
    push(this.trend.bytesPerSec, beat.bytesPerSec);
    push(this.trend.onDiskWithinMs, beat.onDiskWithinMs);
    this.#note(beat);
  }

  #note(beat: Beat): void {
    this.beat = beat;
    this.recent = [...beat.commits, ...this.recent].slice(0, RECENT_MAX);
    this.documents = this.#reader.documents();
    this.loops = this.documents.flatMap(({ name }) => {
      const state = this.#reader.find(name)?.state;
      if (!isLoopLike(state)) return [];
      const watch = this.#loops.get(name) ?? new LoopWatch(name);
      this.#loops.set(name, watch);
      const progress = watch.look(state, beat.commits, beat.time);
      return [{ ...progress, total: this.#total ?? progress.total }];
    });
  }
}

function push<V>(values: V[], value: V): void {
  values.push(value);
  if (values.length > TREND_MAX) values.shift();
}
