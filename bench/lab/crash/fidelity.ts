// Whether the replay of a recording comes to what is really in the folder. If not, something was written in a way that the
// trace does not show (through mapped memory, say), and nothing that is built from it says anything about the subject.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DirectoryNode } from '../../../test/support/recording-nodes.js';
import { isTransient } from './descriptors.js';
import { emptyRoot, type Recording } from './record.js';
import { Replay, Unmodelled } from './replay.js';

export function assertFaithful({ base, lives }: Recording): void {
  const replay = new Replay({ base, root: emptyRoot() });
  for (const life of lives) for (const _ of replay.run(life));
  compare(replay.root, base);
}

function compare({ current }: DirectoryNode, path: string): void {
  const names = readdirSync(path).filter((name) => !isTransient(join(path, name)));
  const differing =
    names.find((name) => !current.has(name)) ?? [...current.keys()].find((name) => !names.includes(name));
  if (differing !== undefined)
    throw new Unmodelled(`${join(path, differing)} is not in both the folder and its replay`);
  for (const [name, node] of current) {
    const own = join(path, name);
    if (node.kind === 'directory') compare(node, own);
    else if (!readFileSync(own).equals(node.current.toBuffer()))
      throw new Unmodelled(`${own} is not what the recorded calls made of it`);
  }
}
