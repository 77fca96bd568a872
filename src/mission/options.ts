// What a mission is told when it is opened.

import { type ZodType, z } from 'zod';
import { isSchema } from '../change/schema-shape.js';
import { assertOptions } from '../misuse.js';
import type { StoreOptions } from '../options.js';

export interface MissionOptions extends StoreOptions {
  /** The steps of every feature, in order. @default ['implement', 'finalize'] */
  lifecycle?: readonly string[];
  /** Names of the files, with or without '.json'. Artifacts are documents of yours that scheduling depends on. */
  files?: { features?: string; validation?: string; history?: string; artifacts?: readonly string[] };
  /** What the caller's own values must look like. */
  schema?: { feature?: ZodType; evidence?: ZodType; note?: ZodType };
}

const DEFAULT_LIFECYCLE = ['implement', 'finalize'] as const;

/** What `repair` takes beside steps. */
const STANDINGS = ['pending', 'completed', 'unknown'];

const name = z.string().optional();
const anySchema = z.custom((value) => isSchema(value), 'a zod schema').optional();

/** Those of a mission alone; those of its store are checked where it is opened. */
const Options = z.object({
  files: z
    .strictObject({ features: name, validation: name, history: name, artifacts: z.array(z.string()).optional() })
    .optional(),
  schema: z.strictObject({ feature: anySchema, evidence: anySchema, note: anySchema }).optional(),
});

/** A misspelled schema would check nothing, without a word. */
export function assertMissionOptions(options: MissionOptions): void {
  assertOptions(Options, options, 'a mission');
  lifecycleOf(options);
  const { features, validation, artifacts } = namesOf(options);
  const documents = [features, validation, ...artifacts];
  if (new Set(documents).size !== documents.length)
    throw new TypeError(`Expected \`files\` to have different names, got ${documents.join(', ')}`);
}

export function lifecycleOf({ lifecycle = DEFAULT_LIFECYCLE }: MissionOptions): readonly string[] {
  const isList =
    Array.isArray(lifecycle) &&
    lifecycle.length > 0 &&
    lifecycle.every((step) => typeof step === 'string' && step !== '');
  if (!isList || new Set([...lifecycle, ...STANDINGS]).size !== lifecycle.length + STANDINGS.length)
    throw new TypeError(
      `Expected \`lifecycle\` to be a list of different steps, none of them ${STANDINGS.join(' or ')}, got ${JSON.stringify(lifecycle)}`,
    );
  return lifecycle;
}

export interface MissionNames {
  features: string;
  validation: string;
  history: string;
  artifacts: readonly string[];
}

export function namesOf({ files = {} }: MissionOptions): MissionNames {
  return {
    features: bare(files.features ?? 'features'),
    validation: bare(files.validation ?? 'validation-state'),
    history: bare(files.history ?? 'history'),
    artifacts: (files.artifacts ?? []).map(bare),
  };
}

/** A file's name without its ending is that of its document or log. */
export function bare(name: string): string {
  return name.replace(/\.jsonl?$/, '');
}
