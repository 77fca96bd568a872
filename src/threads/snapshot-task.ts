// A task of the snapshot thread, as data.

import { getHeapStatistics } from 'node:v8';
import { fenceOf } from '../disk/fence.js';
import { nodeDisk } from '../disk/node-disk.js';
import type { CompactReport, CompactRequest, ProjectReport, ProjectRequest } from '../projection/requests.js';
import { compact, forget, project } from '../projection/station.js';
import { PublishLock } from './publish-lock.js';

export type SnapshotTask =
  | { kind: 'project'; request: ProjectRequest; lock: SharedArrayBuffer }
  | { kind: 'compact'; request: CompactRequest; lock: SharedArrayBuffer }
  | { kind: 'forget'; storeId: Uint8Array };

export interface SnapshotResult {
  report: ProjectReport | CompactReport | null;
  /** What this thread holds after the task: replicas, and what is left of the work. */
  heldBytes: number;
}

export function runSnapshotTask(task: SnapshotTask): SnapshotResult {
  const report = reportOf(task);
  const { total_heap_size, external_memory } = getHeapStatistics();
  return { report, heldBytes: total_heap_size + external_memory };
}

function reportOf(task: SnapshotTask): SnapshotResult['report'] {
  if (task.kind === 'forget') {
    forget(task.storeId);
    return null;
  }
  const lock = new PublishLock(task.lock);
  const { directory, owner } = task.request;
  const assertOwner = fenceOf(directory, owner);
  const critical = <R>(fn: () => R) =>
    lock.run(() => {
      // Another process may have taken the store over while this one was stalled: its files, and its record, are newer.
      assertOwner();
      return fn();
    });
  // In this process, whoever publishes after us is the main thread at exit, and then we never get the lock again.
  const tools = { disk: nodeDisk, critical, isNewest: () => true };
  return task.kind === 'project' ? project(task.request, tools) : compact(task.request, tools);
}
