// A state of the model as a real folder.

import { linkSync, mkdirSync, writeFileSync } from 'node:fs';
import type { RecordingDisk } from '../../../test/support/recording-disk.js';
import type { DirectoryNode, Node } from '../../../test/support/recording-nodes.js';

export function build(state: RecordingDisk, folder: string): void {
  buildFolder(state.root, folder, new Map());
}

function buildFolder({ current }: DirectoryNode, path: string, made: Map<Node, string>): void {
  mkdirSync(path, { recursive: true });
  for (const [name, node] of current) {
    const target = `${path}/${name}`;
    const first = made.get(node);
    if (node.kind === 'directory') buildFolder(node, target, made);
    else if (first !== undefined) linkSync(first, target);
    else writeFileSync(target, node.current.toBuffer(), { mode: node.mode });
    made.set(node, first ?? target);
  }
}
