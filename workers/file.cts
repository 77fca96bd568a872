// Entry point of the file threads: one task per call. CommonJS for the reason that snapshot.cts gives.

import type { FileResult, FileTask } from '../src/file/task.js' with { 'resolution-mode': 'import' };

async function run(task: FileTask): Promise<FileResult> {
  const { runFileTask } = await import('../src/file/task.js');
  return runFileTask(task);
}

export = run;
