import { vi } from 'vitest';
import type { FileTask } from '../../src/file/task.js';
import { behaves } from './behaviour.js';

vi.mock('../../src/threads/shared-pool.js', async () => {
  const { runFileTask } = await import('../../src/file/task.js');
  const run = async (task: FileTask, { transferList }: { transferList: ArrayBuffer[] }) => {
    // As long as a thread would take to hear of it: calls made meanwhile are in line by then.
    await new Promise((resolve) => setTimeout(resolve, 2));
    return structuredClone(await runFileTask(structuredClone(task, { transfer: transferList })));
  };
  return {
    SharedPool: class {
      pool = { run };
    },
  };
});

behaves('in one thread');
