import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Most of them wait for a disk or a process. The default on two cores is one.
    maxWorkers: 3,
    coverage: {
      provider: 'v8',
      include: ['src/**/*.ts', 'workers/**/*.ts'],
      // These run in processes of their own, which coverage does not see; test/real-disk.test.ts runs them.
      exclude: ['src/cli/**'],
      thresholds: { lines: 97 },
      reporter: ['text-summary', ['text', { skipFull: true }]],
    },
  },
});
