// holdfast/mission

export type { MissionEvent } from './events.js';
export type { Handoff } from './handoffs.js';
export type { ImportSource } from './import.js';
export { Mission, type Resumed, type Work } from './mission.js';
export type { MissionOptions } from './options.js';
export type { Disagreement, Feature, Milestone, Validation } from './state.js';
