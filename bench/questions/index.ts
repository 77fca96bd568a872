// In the order in which they are asked.

import type { Question } from '../question.js';
import { durableSteps } from './durable-steps.js';
import { eventLoop } from './event-loop.js';
import { exit } from './exit.js';
import { growth } from './growth.js';
import { load } from './load.js';
import { memory } from './memory.js';
import { threads } from './threads.js';
import { throughput } from './throughput.js';

export const QUESTIONS: readonly Question[] = [
  growth,
  durableSteps,
  eventLoop,
  throughput,
  load,
  exit,
  memory,
  threads,
];
