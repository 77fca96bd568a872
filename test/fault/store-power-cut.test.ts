// A disk that loses its power. bench/campaign/power-cut.ts does it as often as one likes.

import { describe, expect, it } from 'vitest';
import { cutAgainAndAgain, show } from '../support/process-cuts.js';
import { because, whyNoCuts } from '../support/process-means.js';

const why = whyNoCuts();
const isLong = Number(process.env.HOLDFAST_RUNS ?? 0) >= 1000;
const CUTS = isLong ? 20 : 2;

describe.skipIf(why !== null)(because('a power cut', why), () => {
  it.each(['ext4', 'xfs'] as const)(
    'on %s: what was acknowledged is there, nothing is damaged, again and again',
    async (fileSystem) => {
      const report = await cutAgainAndAgain(fileSystem, CUTS, 5);
      console.info(show(report));
      expect(report.wrong).toEqual([]);
      expect(report.steps).toBeGreaterThan(0);
    },
    300_000,
  );
});
