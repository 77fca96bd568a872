import { expect, it } from 'vitest';
import { Projector, type ProjectorHost } from '../../src/projection/projector.js';
import type { ProjectReport, ProjectRequest } from '../../src/projection/requests.js';
import { PublishLock } from '../../src/threads/publish-lock.js';

/** A thread that answers when told to, and a store whose commits become durable when told to. */
function world() {
  const state = { durableSeq: 1, lastSeq: 1, version: 1 };
  const asked: ProjectRequest[] = [];
  const answers: ((report: ProjectReport) => void)[] = [];
  const host: ProjectorHost = {
    directory: '/store',
    storeId: new Uint8Array(16),
    owner: 1,
    durableSeq: () => state.durableSeq,
    lastSeq: () => state.lastSeq,
    takeNumber: () => 9,
    versionOf: () => state.version,
    backupsOf: () => 0,
    onOutcome: () => undefined,
    onDigests: () => undefined,
    onFault: (error) => {
      throw error;
    },
  };
  const thread = {
    project: (request: ProjectRequest) => {
      asked.push(request);
      return new Promise<ProjectReport>((resolve) => answers.push(resolve));
    },
    compact: () => Promise.reject(new Error('Nothing is compacted here')),
    release: () => Promise.resolve(),
    terminate: () => Promise.resolve(),
  };
  const settings = { projectDelayMs: 60_000, projectBytesPerSecMax: 1e9, audit: false };
  const projector = new Projector(host, thread, new PublishLock(), settings);
  const answer = (seq: number, version: number) => {
    const documents = [{ name: 'a', version, seq, outcome: { kind: 'unchanged' as const, sha256: '' } }];
    answers.shift()?.({ seq, problem: null, fault: null, documents, digests: [] });
  };
  return { state, asked, projector, answer };
}

it('a document that was removed and made anew is published, also when the thread last saw the one before', async () => {
  const { state, asked, projector, answer } = world();
  projector.noteRemoved('a');
  state.lastSeq = 3;
  // The new one has the version of the old one, and neither the removal nor it is durable.
  const early = projector.projectNow();
  answer(1, 1);
  await early;
  expect(projector.names).toEqual(['a']);
  state.durableSeq = 3;
  const late = projector.projectNow();
  answer(3, 1);
  await late;
  expect(asked.map(({ toSeq }) => toSeq)).toEqual([1, 3]);
  expect(projector.names).toEqual([]);
  await projector.stop();
});
