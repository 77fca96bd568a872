// At exit, when the journal thread is dead or silent, the main thread writes the ring itself. Only at exit: a thread that
// wakes up again would go on in a tail that no longer counts.

import { fenceOf } from '../disk/fence.js';
import type { Channel } from '../queue/channel.js';
import { Station } from './station.js';

/** Returns the sequence up to which everything is durable now. */
export function rescue(channel: Channel): number {
  const start = channel.start();
  const station = new Station(start, {
    report: (report) => channel.onReport(report),
    apart: (id) => channel.apartOf(id),
    assertOwner: fenceOf(start.directory, start.owner),
  });
  station.close();
  return channel.durable.seq;
}
