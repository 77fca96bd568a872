// npm run picture: docs/watch.svg, from a real terminal in which `holdfast watch` looks at a real loop. Needs tmux.

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { svgOf } from './svg.js';

const WINDOW = { columns: 96, rows: 24 } as const;
const ITEMS = 2400;
/** For the curves to be as wide as the window, nearly. */
const WATCHED_MS = 45_000;
const SERVER = `holdfast-picture-${process.pid}`;

const root = fileURLToPath(new URL('../../..', import.meta.url));
const cli = join(root, 'dist/src/cli/main.js');

function tmux(...args: string[]): string {
  const { status, stdout, stderr } = spawnSync('tmux', ['-L', SERVER, '-f', '/dev/null', ...args], {
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`tmux ${args.join(' ')}: ${stderr}`);
  return stdout;
}

async function capture(folder: string): Promise<string> {
  const file = join(folder, 'migration.json');
  const loop = spawn(process.execPath, [fileURLToPath(new URL('loop.js', import.meta.url)), file, `${ITEMS}`], {
    stdio: 'inherit',
  });
  const ended = once(loop, 'exit');
  try {
    while (!existsSync(file)) await sleep(100);
    const { columns, rows } = WINDOW;
    const command = `cd ${folder} && ${process.execPath} ${cli} watch migration.json`;
    tmux('new-session', '-d', '-x', `${columns}`, '-y', `${rows}`, command);
    await sleep(WATCHED_MS);
    return tmux('capture-pane', '-p', '-e');
  } finally {
    spawnSync('tmux', ['-L', SERVER, 'kill-server']);
    loop.kill('SIGINT');
    await ended;
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

const folder = mkdtempSync(join(tmpdir(), 'holdfast-picture-'));
try {
  const screen = await capture(folder);
  const path = join(root, 'docs/watch.svg');
  writeFileSync(
    path,
    svgOf(screen, WINDOW.columns, 'holdfast watch: rates, progress and last changes of a running loop'),
  );
  console.log(path);
} finally {
  rmSync(folder, { recursive: true });
}
