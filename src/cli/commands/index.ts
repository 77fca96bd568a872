// Every command, in the order in which --help lists them.

import type { Command } from '../command.js';
import { adopt } from './adopt.js';
import { demo } from './demo.js';
import { diff } from './diff.js';
import { exportCommand } from './export.js';
import { gc } from './gc.js';
import { importCommand } from './import.js';
import { inspectCommand } from './inspect.js';
import { log } from './log.js';
import { repair } from './repair.js';
import { restore } from './restore.js';
import { show } from './show.js';
import { verifyCommand } from './verify.js';
import { watch } from './watch.js';

export const COMMANDS: readonly Command[] = [
  inspectCommand,
  log,
  show,
  diff,
  verifyCommand,
  watch,
  repair,
  adopt,
  restore,
  importCommand,
  exportCommand,
  gc,
  demo,
];
