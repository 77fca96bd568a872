// A store whose threads end again and again, in a process of its own.

import { say } from '../../src/cli/say.js';
import { type Thread, terminateAgainAndAgain } from '../../test/support/process-threads.js';

export interface ThreadOrder {
  directory: string;
  thread: Thread;
  deaths: number;
  seed: number;
}

/** Prints `report <json>`. */
export async function endThreads({ directory, thread, deaths, seed }: ThreadOrder): Promise<void> {
  const workersUrl = new URL('../../workers/', import.meta.url);
  say(`report ${JSON.stringify(await terminateAgainAndAgain(directory, thread, deaths, seed, workersUrl))}`);
}
