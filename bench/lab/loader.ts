// Loads one folder after the other in a process that lives on: starting one for each would take longer than loading.
// Beside them it keeps one of the same kind open, so that threads which all of them share need not start for each.

import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { say } from '../../src/cli/say.js';
import { oneLine, openAndLoad } from './child.js';
import type { Found, Session } from './contract.js';
import { driverOf } from './drivers/index.js';

export interface LoadRequest {
  id: number;
  driver: string;
  directory: string;
}

export interface LoadAnswer {
  found: Found;
  /** Why it could not be closed again. Something may be left behind: the next one belongs in another process. */
  unclosed: string | null;
}

/** Takes requests from stdin, a line each, and prints `answer <id> <json>` when the folder is closed again. */
export async function serve(beside: string): Promise<void> {
  const open = new Map<string, Session>();
  for await (const line of createInterface({ input: process.stdin })) {
    const { id, driver, directory } = JSON.parse(line) as LoadRequest;
    if (!open.has(driver)) open.set(driver, await driverOf(driver).open(join(beside, driver)));
    const { session, found } = await openAndLoad(driverOf(driver), directory);
    let unclosed: string | null = null;
    try {
      await session?.close();
    } catch (error) {
      unclosed = `close: ${oneLine(error)}`;
    }
    say(`answer ${id} ${JSON.stringify({ found, unclosed } satisfies LoadAnswer)}`);
  }
}
