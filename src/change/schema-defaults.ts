// Defaults go where keys are absent. Nothing else of what a parse returns is taken over, and the keys that are there
// keep their order; new ones follow in the order of the schema.

import { hasOwn, isContainer, type Plain, setOwn } from './plain.js';

/** `input` with what `output`, its parse, has in addition. `input` itself when that is nothing. */
export function fillDefaults(input: unknown, output: unknown): unknown {
  if (input === undefined) return output;
  if (!isContainer(input) || !isContainer(output) || Array.isArray(input) !== Array.isArray(output)) return input;
  if (Array.isArray(input)) return fillArray(input, output as unknown[]);
  let filled: Plain | null = null;
  for (const key of Object.keys(output)) {
    const given = hasOwn(input, key) ? input[key] : undefined;
    const value = fillDefaults(given, (output as Plain)[key]);
    if (value === given) continue;
    filled ??= { ...input };
    setOwn(filled, key, value);
  }
  return filled ?? input;
}

function fillArray(input: unknown[], output: unknown[]): unknown[] {
  const items = output.map((item, index) => fillDefaults(input[index], item));
  return items.length === input.length && items.every((item, index) => item === input[index]) ? input : items;
}
