import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    globalSetup: ['support/set_up.ts'],
    include: [process.env['BENCH'] === undefined ? 'suites/**/*.test.ts' : 'bench/**/*.test.ts'],
    root: import.meta.dirname,
    fileParallelism: false, // a workbench and a model are enough for one machine
    retry: process.env['CI'] === undefined ? 0 : 1, // a browser on a machine that others share; what is tried again is reported
    testTimeout: 240_000,
    hookTimeout: 300_000,
  },
});
