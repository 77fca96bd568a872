// Entry point of the snapshot thread: one task per call.
//
// CommonJS, because piscina loads it with `require`: a thread that is ended while `require` loads an ES module takes the
// whole process with it ("IsGraphAsync must be used on an instantiated module", Node 20). `import` does not.

import type { SnapshotTask } from '../src/threads/snapshot-task.js' with { 'resolution-mode': 'import' };

async function run(task: SnapshotTask): Promise<unknown> {
  const { runSnapshotTask } = await import('../src/threads/snapshot-task.js');
  return runSnapshotTask(task);
}

export = run;
