// An empty project of somebody else, with the packed library installed.

import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const root = join(import.meta.dirname, '../..');

/** As npm answers when nothing can be downloaded. */
const OFFLINE = /ENOTFOUND|ECONNREFUSED|ECONNRESET|ETIMEDOUT|EAI_AGAIN|ENETUNREACH|ENOTCACHED|E50\d\b/;

interface Ran {
  status: number | null;
  stdout: string;
  stderr: string;
}

export interface Packed {
  size: number;
  unpackedSize: number;
  files: { path: string; size: number }[];
}

export class Project {
  readonly folder = mkdtempSync(join(tmpdir(), 'holdfast-package-'));
  readonly tarball: string;
  readonly packed: Packed;
  /** Why the tarball could not be installed; null: it is. */
  readonly offlineBecause: string | null;

  constructor() {
    // Without scripts: a build here would pull the files away from under other tests.
    const pack = run('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', this.folder], root);
    if (pack.status !== 0) throw new Error(`npm pack failed:\n${pack.stderr}`);
    const [packed] = JSON.parse(pack.stdout) as (Packed & { filename: string })[];
    if (packed === undefined) throw new Error(`npm pack said nothing:\n${pack.stderr}`);
    this.packed = packed;
    this.tarball = join(this.folder, packed.filename);
    this.write('package.json', JSON.stringify({ private: true, type: 'module' }));
    const others = ['zod', 'typescript', '@types/node'].map((name) => `${name}@${versionOf(name)}`);
    const flags = ['--no-audit', '--no-fund', '--ignore-scripts', '--prefer-offline', '--fetch-retries=0'];
    const install = run('npm', ['install', ...flags, this.tarball, ...others], this.folder);
    if (install.status !== 0 && !OFFLINE.test(install.stderr))
      throw new Error(`npm install failed:\n${install.stderr}`);
    this.offlineBecause = install.status === 0 ? null : (OFFLINE.exec(install.stderr)?.[0] ?? 'unknown');
  }

  /** The installed package. */
  get library(): string {
    return join(this.folder, 'node_modules/holdfast');
  }

  path(name: string): string {
    return join(this.folder, name);
  }

  write(name: string, text: string): string {
    writeFileSync(this.path(name), text);
    return this.path(name);
  }

  node(...args: string[]): Ran {
    return run(process.execPath, args, this.folder);
  }

  /** A command that the packed library brings. */
  command(name: string, ...args: string[]): Ran {
    return run(this.path(`node_modules/.bin/${name}`), args, this.folder);
  }

  /** A tool of ours, from our own node_modules. */
  tool(name: string, ...args: string[]): Ran {
    return run(join(root, 'node_modules/.bin', name), args, this.folder);
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

function run(command: string, args: string[], cwd: string): Ran {
  const env = { ...process.env, NO_COLOR: '1', NODE_OPTIONS: '' };
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, encoding: 'utf8', timeout: 55_000, env });
  if (error !== undefined) throw error;
  return { status, stdout, stderr };
}

function versionOf(name: string): string {
  return JSON.parse(readFileSync(join(root, 'node_modules', name, 'package.json'), 'utf8')).version;
}
