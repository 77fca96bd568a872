// One error class. The code is a promise, the message is not: programs branch on `code`, people read `message`.

/** Every code the library throws. Codes are never renamed or reused; docs/errors.md explains each one. */
export const ERROR_CODES = [
  'HF_ASYNC',
  'HF_BACKPRESSURE',
  'HF_CLOSED',
  'HF_CONFLICT',
  'HF_DAMAGED',
  'HF_DISK_FULL',
  'HF_DRAFT',
  'HF_DRIFT',
  'HF_EXISTS',
  'HF_FENCED',
  'HF_IO',
  'HF_LOCKED',
  'HF_LOOP',
  'HF_MISSING',
  'HF_NAME',
  'HF_REPAIR_REQUIRED',
  'HF_SCHEMA',
  'HF_THREAD',
  'HF_TRANSITION',
  'HF_VALUE',
  'HF_VERSION',
] as const;

export type ErrorCode = (typeof ERROR_CODES)[number];

export interface ErrorDetails {
  cause?: unknown;
  /** Where in the document: keys and indices from its root. */
  path?: Path;
  /** What exactly was found, for programs: zod issues, a damage report. */
  details?: unknown;
}

/** Keys and indices from the root of a document to a value in it. */
export type Path = readonly (string | number)[];

export class HoldfastError extends Error {
  override readonly name = 'HoldfastError';
  readonly code: ErrorCode;
  readonly path?: Path;
  readonly details?: unknown;

  constructor(code: ErrorCode, message: string, { cause, path, details }: ErrorDetails = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    if (path !== undefined) this.path = path;
    if (details !== undefined) this.details = details;
  }
}

const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;

/** `outputs["item 7"].tries[3]`; the document itself is `(root)`. */
export function showPath(path: Path): string {
  let text = '';
  for (const key of path) {
    if (typeof key === 'number') text += `[${key}]`;
    else if (!IDENTIFIER.test(key)) text += `[${JSON.stringify(key)}]`;
    else text += text === '' ? key : `.${key}`;
  }
  return text === '' ? '(root)' : text;
}
