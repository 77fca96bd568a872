// What a zod 4 schema looks like from outside: the few internals that are read here, and how to walk them.
//
// I1. Only `_zod.def` and the fields of `_zod` declared below are read, never `instanceof`: the program's schemas may
//     come from another copy of zod 4 than the one this library imports.
// I2. Schemas are graphs. A walk recognises where it has been by `identityOf`, or it does not end.

/** Anything that looks like a zod 4 schema; `z.ZodType` of any copy of zod fits. */
export interface Schema {
  readonly _zod: { readonly def: { readonly type: string } };
}

export interface CheckDef {
  readonly check: string;
  readonly fn?: unknown;
  /** `z.property()` */
  readonly schema?: Node;
  /** `z.properties()` */
  readonly shape?: Readonly<Record<string, Node>>;
}

export interface Check {
  readonly _zod: { readonly def: CheckDef; readonly check?: unknown };
}

/** The definitions of all schema types in one: which fields are there depends on `type`. */
export interface Def {
  readonly type: string;
  readonly checks?: readonly Check[] | undefined;
  readonly error?: unknown;
  readonly shape?: Readonly<Record<string, Node>>;
  readonly catchall?: Node | undefined;
  readonly element?: Node;
  readonly items?: readonly Node[];
  readonly rest?: Node | null;
  readonly keyType?: Node;
  readonly valueType?: Node;
  readonly mode?: string;
  readonly partial?: boolean;
  readonly innerType?: Node;
  readonly options?: readonly Node[];
  readonly left?: Node;
  readonly right?: Node;
  readonly in?: Node;
  readonly out?: Node;
  readonly values?: readonly unknown[];
  readonly getter?: unknown;
  readonly coerce?: boolean;
  readonly format?: string;
  readonly normalize?: boolean;
  readonly fn?: unknown;
}

export interface Node extends Schema {
  readonly _zod: {
    readonly def: Def;
    /** Every value that passes, when they are finitely many. */
    readonly values?: ReadonlySet<unknown> | undefined;
    /** What a lazy schema resolves to, resolved once. */
    readonly innerType?: Node;
  };
}

/** A schema inside another one, and how to say where. */
export interface Child {
  readonly step: string;
  readonly node: Node;
}

/** Types that hold no other schema. */
export const LEAF_TYPES: ReadonlySet<string> = new Set([
  'any',
  'boolean',
  'custom',
  'enum',
  'literal',
  'never',
  'null',
  'number',
  'string',
  'template_literal',
  'undefined',
  'unknown',
  'void',
]);

/** Types that stand for the schema inside them. */
export const WRAPPER_TYPES: ReadonlySet<string> = new Set([
  'default',
  'lazy',
  'nonoptional',
  'nullable',
  'optional',
  'prefault',
  'readonly',
]);

/** Types whose children `childrenOf` knows by name. */
const CONTAINER_TYPES: ReadonlySet<string> = new Set(['array', 'intersection', 'object', 'record', 'tuple', 'union']);

export function isKnownType(type: string): boolean {
  return LEAF_TYPES.has(type) || WRAPPER_TYPES.has(type) || CONTAINER_TYPES.has(type);
}

export function isSchema(value: unknown): value is Node {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return false;
  const internals = (value as { _zod?: { def?: { type?: unknown } } })._zod;
  return typeof internals?.def?.type === 'string';
}

/** What makes two schemas the same place of a graph: clones share their def, a factory's lazy schemas their getter. */
export function identityOf(node: Node): object {
  const { def } = node._zod;
  return def.type === 'lazy' && typeof def.getter === 'function' ? def.getter : def;
}

/** The schema a wrapper stands for. */
export function innerOf(node: Node): Node | undefined {
  return node._zod.def.type === 'lazy' ? node._zod.innerType : node._zod.def.innerType;
}

/** True when zod demands every key of a record: its key schema has finitely many values and the record is not partial. */
export function isExhaustive(node: Node): boolean {
  return node._zod.def.keyType?._zod.values !== undefined && node._zod.def.partial !== true;
}

/** The schemas that values inside (or behind) this one are parsed with. */
export function childrenOf(node: Node): Child[] {
  const { def } = node._zod;
  if (LEAF_TYPES.has(def.type)) return [];
  if (WRAPPER_TYPES.has(def.type)) return present([['', innerOf(node)]]);
  switch (def.type) {
    case 'object':
      return present([...Object.entries(def.shape ?? {}).map(named), ['[*]', def.catchall]]);
    case 'array':
      return present([['[]', def.element]]);
    case 'tuple':
      return present([...numbered('[', def.items, ']'), ['[]', def.rest]]);
    case 'record':
      return present([
        ['[key]', def.keyType],
        ['[*]', def.valueType],
      ]);
    case 'union':
      return present(numbered('<option ', def.options, '>'));
    case 'intersection':
      return present([
        ['<left>', def.left],
        ['<right>', def.right],
      ]);
    default:
      return childrenOfUnknown(def);
  }
}

/** Schemas that checks of this one run on a property of the value (`z.property`, `z.properties`). */
export function schemasInChecks(node: Node): Child[] {
  const found: Child[] = [];
  for (const check of node._zod.def.checks ?? []) {
    const { schema, shape } = check._zod.def;
    if (isSchema(schema)) found.push({ step: '<property>', node: schema });
    if (shape !== undefined) found.push(...present(Object.entries(shape).map(named)));
  }
  return found;
}

type Step = readonly [string, Node | null | undefined];

const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;

function named([key, node]: [string, Node]): Step {
  return [IDENTIFIER.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`, node];
}

function numbered(before: string, nodes: readonly Node[] = [], after: string): Step[] {
  return nodes.map((node, index) => [`${before}${index}${after}`, node]);
}

function present(steps: readonly Step[]): Child[] {
  const found: Child[] = [];
  for (const [step, node] of steps) if (isSchema(node)) found.push({ step, node });
  return found;
}

// Types of zod versions to come, or of the program's own making: whatever in the definition is a schema.
function childrenOfUnknown(def: Def): Child[] {
  const steps: Step[] = [];
  for (const [key, value] of Object.entries(def)) {
    if (isSchema(value)) steps.push([`<${key}>`, value]);
    else if (Array.isArray(value)) {
      for (const item of value) if (isSchema(item)) steps.push([`<${key}>`, item]);
    }
  }
  return present(steps);
}
