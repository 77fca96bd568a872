// On what it was run, so that it can be run again.

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { cpus, release, totalmem } from 'node:os';

export function machine(): string {
  const memory = `${Math.round(totalmem() / 2 ** 30)} GiB`;
  return `${cpus().length} × ${cpus()[0]?.model.trim() ?? 'unknown'}, ${memory}, Linux ${release()}, Node ${process.version}`;
}

export function versionsOf(drivers: readonly { package?: string }[]): Record<string, string> {
  const packages = new Set(drivers.flatMap((driver) => driver.package ?? []));
  return Object.fromEntries([...packages].map((name) => [name, versionOf(name)]));
}

function versionOf(name: string): string {
  // Not by require: most packages do not export their package.json.
  const paths = createRequire(import.meta.url).resolve.paths(name) ?? [];
  for (const path of paths) {
    try {
      return (JSON.parse(readFileSync(`${path}/${name}/package.json`, 'utf8')) as { version: string }).version;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }
  return 'unknown';
}
