// Every campaign, in the order of the report.

import type { Campaign } from '../report.js';
import { bitRot } from './bit-rot.js';
import { crashStatesCampaign } from './crash-states.js';
import { exit } from './exit.js';
import { faults } from './faults.js';
import { fullDisk } from './full-disk.js';
import { kill } from './kill.js';
import { powerCut } from './power-cut.js';

export const CAMPAIGNS: readonly Campaign[] = [powerCut, crashStatesCampaign, faults, kill, bitRot, fullDisk, exit];
