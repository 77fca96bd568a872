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
  describeCheck,
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
  /** Somebody changed the file of this document; it is about to be written anew. */
  onDrift(name: string): Promise<void>;
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
    const features = await openWhatever<FeaturesFile>(store, names.features, featuresOf(state), hooks);
    const validation = await openWhatever<ValidationFile>(store, names.validation, validationOf(state), hooks);
    // Both are open: what one of them says otherwise is an event that the other one counts.
    bringUp(features, featuresOf(state), hooks);
    bringUp(validation, validationOf(state), hooks);
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

function bringUp<T extends { events: number }>(doc: Document<T>, expected: T, hooks: SummaryHooks): void {
  if (JSON.stringify(doc.state) === JSON.stringify(expected)) return;
  const isSame = JSON.stringify({ ...doc.state, events: 0 }) === JSON.stringify({ ...expected, events: 0 });
  if (!isSame) hooks.onNote(`${doc.name}.json was rebuilt from the history`);
  doc.replace(expected);
}

/** Not a reason to stop: history is there, and what is replaced is kept. */
async function openWhatever<T>(store: Store, name: string, initial: T, hooks: SummaryHooks): Promise<Document<T>> {
  try {
    // Whatever the store is to do about others: what this one says is not settled by taking it or writing over it.
    return await store.doc<T>(name, { initial, onDrift: 'refuse' });
  } catch (error) {
    const code = error instanceof HoldfastError ? error.code : null;
    if (code === 'HF_DRIFT') {
      await hooks.onDrift(name);
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
    const doc = await store.doc<{ events: number }>(name, { initial: { events: 0 }, onDrift: 'refuse' });
    return doc.state.events === 0;
  } catch (error) {
    if (error instanceof HoldfastError && (error.code === 'HF_DRIFT' || error.code === 'HF_DAMAGED')) return false;
    throw error;
  }
}

/** What a summary that somebody changed says otherwise. One that cannot be read says nothing. */
export function featureClaims(path: string, state: MissionState): Disagreement[] {
  const claims: Disagreement[] = [];
  for (const [id, { done }] of standings(path, state.lifecycle)) {
    const says = describe(done, state.lifecycle);
    const history = state.standingOf(id);
    if (says !== history) claims.push({ id, source: 'summary', says, history });
  }
  return claims;
}

export function validationClaims(path: string, state: MissionState): Disagreement[] {
  return listOf(read(path)?.assertions).flatMap(({ id, feature: { ok } }): Disagreement[] => {
    const known = state.validation.get(id);
    if (typeof ok !== 'boolean' || known?.ok === ok) return [];
    const history = known === undefined ? 'not validated' : describeCheck(known.ok);
    return [{ id, source: 'summary', says: describeCheck(ok), history }];
  });
}

interface Standing {
  /** How many steps. */
  done: number;
  payload: unknown;
}

/** What is done of each feature, as a file of ours or of an earlier project has it. */
export function standings(path: string, lifecycle: readonly string[]): Map<string, Standing> {
  const value = read(path);
  const list = listOf(value?.features ?? value);
  return new Map(
    list.map(({ id, feature }) => [id, { done: stepsDone(feature, lifecycle), payload: feature.payload }]),
  );
}

/** Null for what is not there or no JSON object. */
function read(path: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(readFileSync(path, 'utf8'));
    return typeof value === 'object' ? (value as Record<string, unknown> | null) : null;
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
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
