// Processes of the lab run compiled modules, also when the lab itself is run from its sources by the tests.

const isSource = import.meta.url.endsWith('.ts');

/** The address of a module of this folder, for a process of its own. */
export function compiled(name: string): string {
  return new URL(isSource ? `../../.build/bench/lab/${name}` : `./${name}`, import.meta.url).href;
}
