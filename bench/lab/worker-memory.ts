// Threads that have little memory, without a word to those who start them: limits cannot be set from outside a process.

import { syncBuiltinESMExports } from 'node:module';
import threads, { Worker, type WorkerOptions } from 'node:worker_threads';

export function limitWorkers(maxOldGenerationSizeMb: number): void {
  threads.Worker = class extends Worker {
    constructor(file: string | URL, options: WorkerOptions = {}) {
      super(file, { ...options, resourceLimits: { ...options.resourceLimits, maxOldGenerationSizeMb } });
    }
  };
  syncBuiltinESMExports();
}
