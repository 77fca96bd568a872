// One subject on one disk, cut off again and again in one folder; in one trial of three once more while the next process
// opens what was left.
//
// C1. What was heard before the cut was acknowledged; what is heard after it counts for nothing.
// C2. What was begun is counted when the process is dead: it may have gone further than was heard.
// C3. A cut is judged by what the next process finds that opens the folder; nobody else touches it.

import { execFile, execFileSync } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { sleep } from '../../../test/support/process-child.js';
import type { PowerCutDisk } from '../../../test/support/process-mounts.js';
import { randomFrom } from '../../../test/support/random.js';
import type { SaveOrder } from '../child.js';
import { type Driver, type Found, judge, type Verdict } from '../contract.js';
import { type CampaignOptions, keepsPromise, type Row, RowCounter } from '../report.js';
import { refusedBy, Saving } from '../subject.js';

/** That long a cut needs to happen after it was decided on. */
const CUT_MS = 8;

const SAVING_MS_MAX = 120;

/** What others do meanwhile: names and sizes reach the disk, and what was written may still be in memory. */
type Stir = 'nothing' | 'another program syncs its file' | 'everything is written out';

export class PowerCutTrials {
  readonly #driver: Driver;
  readonly #condition: string;
  readonly #disk: PowerCutDisk;
  readonly #options: CampaignOptions;
  readonly #counter: RowCounter;
  readonly #random: () => number;
  #folders = 0;
  #processes = 0;
  /** The newest save that must be there, and the newest that may be. */
  #acked = 0;
  #issued = 0;
  /** How long the last opening took. */
  #openMs = 0;
  #isKept = false;

  constructor(driver: Driver, condition: string, disk: PowerCutDisk, options: CampaignOptions) {
    this.#driver = driver;
    this.#condition = condition;
    this.#disk = disk;
    this.#options = options;
    this.#counter = new RowCounter(driver, condition);
    this.#random = randomFrom(options.seed);
  }

  async run(onTrial: () => void): Promise<Row> {
    let saving = this.#start();
    try {
      await this.#found(saving);
      for (let trial = 0; trial < this.#options.size; trial++) {
        const what = [await this.#cutWhileSaving(saving)];
        if (this.#random() < 1 / 3) what.push(await this.#cutWhileOpening());
        saving = this.#start();
        const found = await this.#found(saving);
        const verdict = this.#count(found, `cut ${trial}, ${what.join(', ')}`);
        onTrial();
        const isFirst = !this.#isKept && !keepsPromise(this.#driver, this.#counter.row, 'power-cut');
        if (verdict.kind === 'intact' || (verdict.kind === 'lost' && !isFirst)) continue;
        await saving.end();
        if (isFirst) this.#keep();
        this.#beginAnew();
        saving = this.#start();
        await this.#found(saving);
      }
      return this.#counter.row;
    } finally {
      await saving.end();
      rmSync(this.#directory, { recursive: true, force: true });
    }
  }

  get #directory(): string {
    return join(this.#disk.path, `${this.#driver.id}-${this.#folders}`);
  }

  #start(more: Partial<SaveOrder> = {}): Saving {
    const seed = this.#options.seed + this.#processes++;
    return new Saving({ driver: this.#driver.id, directory: this.#directory, seed, ...more });
  }

  async #found(saving: Saving): Promise<Found> {
    await saving.line('opening');
    const began = performance.now();
    const found = await saving.found();
    this.#openMs = performance.now() - began;
    return found ?? refusedBy(await saving.ended);
  }

  async #cutWhileSaving(saving: Saving): Promise<string> {
    // Now and then long enough for what a subject does in the background, however busy the machine is.
    const isLong = this.#random() < 1 / 4;
    const mostMs = isLong ? Math.max(SAVING_MS_MAX, 3 * this.#openMs) : SAVING_MS_MAX;
    const savingMs = 5 + this.#random() * (mostMs - 5);
    const beforeMs = this.#random() * savingMs;
    await sleep(beforeMs);
    const stir = await this.#stir(this.#random());
    await sleep(savingMs - beforeMs);
    const { acked } = saving;
    await this.#cut(saving);
    this.#acked = Math.max(this.#acked, acked);
    this.#issued = Math.max(this.#issued, saving.issued);
    return `${this.#acked} acknowledged, ${this.#issued} begun, ${stir}`;
  }

  async #stir(choice: number): Promise<Stir> {
    if (choice < 1 / 3) return 'nothing';
    if (choice < 2 / 3) {
      const file = await open(join(this.#disk.path, 'bystander'), 'a');
      try {
        await file.write('x');
        await file.sync();
      } finally {
        await file.close();
      }
      return 'another program syncs its file';
    }
    await promisify(execFile)('sync', ['-f', this.#disk.path]);
    return 'everything is written out';
  }

  /** It opens and saves nothing: what must be there and what may be is as before. */
  async #cutWhileOpening(): Promise<string> {
    const afterMs = this.#random() * (CUT_MS + 1.2 * this.#openMs);
    const opening = this.#start({ saves: 0, isLeft: true, openDelayMs: CUT_MS });
    await opening.line('opening');
    await sleep(afterMs);
    const isOpen = opening.lines.some((line) => line.startsWith('found '));
    await this.#cut(opening);
    return `cut again ${afterMs.toFixed()} ms into the next opening${isOpen ? ', which was over' : ''}`;
  }

  async #cut(saving: Saving): Promise<void> {
    try {
      await this.#disk.cut();
    } finally {
      await saving.end();
    }
    await this.#disk.restart();
  }

  #count(found: Found, what: string): Verdict {
    const verdict = judge(found, { acked: this.#acked, issued: this.#issued });
    this.#counter.add(verdict, what);
    // What was found is on the disk: from here on it has to stay.
    this.#acked = this.#issued = found.kind === 'intact' ? found.n : 0;
    return verdict;
  }

  /** The first that broke a promise, for whoever wants to look. */
  #keep(): void {
    this.#isKept = true;
    if (!existsSync(this.#directory)) return;
    const kept = join(this.#options.scratch, `power-cut-${this.#condition}-${this.#driver.id}`);
    // Not `cpSync`, which refuses sockets.
    execFileSync('cp', ['-a', this.#directory, kept]);
    this.#counter.row.examples.push(`The folder of the first is in ${kept}`);
  }

  #beginAnew(): void {
    rmSync(this.#directory, { recursive: true, force: true });
    this.#folders++;
    this.#acked = this.#issued = 0;
  }
}
