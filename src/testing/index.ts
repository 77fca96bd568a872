// holdfast/testing: for the tests of programs that use holdfast.

export { type Crash, type MemoryDisk, memory } from './memory.js';
export type { FailingCall } from './memory-files.js';
