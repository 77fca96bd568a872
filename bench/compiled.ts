// Measured processes run compiled modules, also when they are started from the sources by a test.

const isSource = import.meta.url.endsWith('.ts');
const HERE = new URL('./', import.meta.url).href;
const BUILT = new URL('../.build/bench/', import.meta.url).href;

/** Of a module in bench/, by its `import.meta.url`: the address of the compiled one. */
export function compiled(url: string): string {
  return isSource ? url.replace(HERE, BUILT).replace(/\.ts$/, '.js') : url;
}

/** The address of the module at this path in bench/, without its suffix. */
export function moduleAt(path: string): string {
  return new URL(`${path}${isSource ? '.ts' : '.js'}`, HERE).href;
}
