// The files that people and other programs read: features and validation. They are folded from history and never read
// back as truth: one that is damaged, stale or edited is written anew, and what it says is at most a reason to ask.

import { existsSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import type { Document } from '../document.js';
import { HoldfastError } from '../errors.js';
import type { Store } from '../store.js';
import {
  type Disagreement,
  describe,
  type Feature,
  type Milestone,
  type MissionState,
  type Validation,
} from './state.js';

export interface FeaturesFile {
  features: Record<string, Feature>;
  milestones: Record<string, Milestone>;
  /** How much of the history this is. */
  events: number;
}

export interface ValidationFile {
  assertions: Record<string, Validation>;
  events: number;
}

export interface SummaryNames {
  features: string;
  validation: string;
}

export interface SummaryHooks {
  /** What was not as it should have been, and what became of it. */
  onNote(note: string): void;
  /** Somebody changed this file; it is about to be written anew. */
  onDrift(path: string): void;
}

export class Summaries {
  readonly #features: Document<FeaturesFile>;
  readonly #validation: Document<ValidationFile>;

  private constructor(features: Document<FeaturesFile>, validation: Document<ValidationFile>) {
    this.#features = features;
    this.#validation = validation;
  }

  /** Opens both and brings them up to the history. */
  static async open(store: Store, names: SummaryNames, state: MissionState, hooks: SummaryHooks): Promise<Summaries> {
    const features = await openOne<FeaturesFile>(store, names.features, featuresOf(state), hooks);
    const validation = await openOne<ValidationFile>(store, names.validation, validationOf(state), hooks);
    return new Summaries(features, validation);
  }

  /** Inside the transaction that appends the event: what it changed. */
  follow(state: MissionState, changed: Iterable<string>): void {
    const ids = [...changed];
    this.#features.update((file) => {
      for (const id of ids) {
        const feature = state.features.get(id);
        if (feature !== undefined) file.features[id] = structuredClone(feature);
      }
      for (const [name, milestone] of state.milestones) file.milestones[name] ??= structuredClone(milestone);
      file.events = state.events;
    });
    this.#validation.update((file) => {
      for (const id of ids) {
        const found = state.validation.get(id);
        if (found !== undefined) file.assertions[id] = structuredClone(found);
      }
      file.events = state.events;
    });
  }
}

async function openOne<T extends { events: number }>(
  store: Store,
  name: string,
  expected: T,
  hooks: SummaryHooks,
): Promise<Document<T>> {
  const doc = await openWhatever<T>(store, name, expected, hooks);
  if (JSON.stringify(doc.state) === JSON.stringify(expected)) return doc;
  hooks.onNote(`${name}.json was rebuilt from the history`);
  doc.replace(expected);
  return doc;
}

/** Not a reason to stop: history is there, and what is replaced is kept. */
async function openWhatever<T>(store: Store, name: string, initial: T, hooks: SummaryHooks): Promise<Document<T>> {
  try {
    return await store.doc<T>(name, { initial });
  } catch (error) {
    const code = error instanceof HoldfastError ? error.code : null;
    if (code === 'HF_DRIFT') {
      hooks.onDrift(join(store.directory, `${name}.json`));
      hooks.onNote(`${name}.json was changed by somebody else: it is kept in quarantine and written anew`);
      return store.doc<T>(name, { initial, onDrift: 'restore' });
    }
    const path = join(store.directory, `${name}.json`);
    if (code !== 'HF_DAMAGED' || !existsSync(path)) throw error;
    const kept = `${path}.damaged-${Date.now()}`;
    renameSync(path, kept);
    hooks.onNote(`${name}.json cannot be read: it is kept as ${kept} and written anew`);
    return store.doc<T>(name, { initial });
  }
}

/** Saved, and of no events. One that cannot be opened may be anything. */
export async function isBlank(store: Store, name: string): Promise<boolean> {
  try {
    const doc = await store.doc<{ events: number }>(name, { initial: { events: 0 } });
    return doc.state.events === 0;
  } catch (error) {
    if (error instanceof HoldfastError && (error.code === 'HF_DRIFT' || error.code === 'HF_DAMAGED')) return false;
    throw error;
  }
}

/** What a summary that somebody changed says otherwise. One that cannot be read says nothing. */
export function claimsOf(path: string, state: MissionState): Disagreement[] {
  const claims: Disagreement[] = [];
  for (const [id, done] of standings(path, state.lifecycle)) {
    const says = describe(done, state.lifecycle);
    const history = state.standingOf(id);
    if (says !== history) claims.push({ id, source: 'summary', says, history });
  }
  return claims;
}

/** How many steps are done of each feature, as a file of ours or of an earlier project has it. */
export function standings(path: string, lifecycle: readonly string[]): Map<string, number> {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === 'ENOENT') return new Map();
    throw error;
  }
  const list = listOf((value as { features?: unknown } | null)?.features ?? value);
  return new Map(list.map(({ id, feature }) => [id, stepsDone(feature, lifecycle)]));
}

export function listOf(features: unknown): { id: string; feature: Record<string, unknown> }[] {
  if (typeof features !== 'object' || features === null) return [];
  const entries: [string | null, unknown][] = Array.isArray(features)
    ? features.map((one) => [null, one])
    : Object.entries(features);
  return entries.flatMap(([key, one]) => {
    if (typeof one !== 'object' || one === null) return [];
    const id = (one as { id?: unknown }).id ?? key;
    return typeof id === 'string' ? [{ id, feature: one as Record<string, unknown> }] : [];
  });
}

const FINISHED = new Set(['completed', 'complete', 'done', 'passed', 'validated']);

export function stepsDone(feature: Record<string, unknown>, lifecycle: readonly string[]): number {
  if (Array.isArray(feature.done)) return feature.done.length;
  return typeof feature.status === 'string' && FINISHED.has(feature.status) ? lifecycle.length : 0;
}

function featuresOf(state: MissionState): FeaturesFile {
  return {
    features: structuredClone(Object.fromEntries(state.features)),
    milestones: structuredClone(Object.fromEntries(state.milestones)),
    events: state.events,
  };
}

function validationOf(state: MissionState): ValidationFile {
  return { assertions: structuredClone(Object.fromEntries(state.validation)), events: state.events };
}
