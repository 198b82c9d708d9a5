import { defineConfig } from 'vitest/config';

/** The page that the server serves, in Chromium; no VS Code. */
export default defineConfig({
  test: {
    globalSetup: ['playground/set_up.ts'],
    include: ['playground/**/*.test.ts'],
    root: import.meta.dirname,
    fileParallelism: false, // one model is enough for one machine
    retry: process.env['CI'] === undefined ? 0 : 1, // a browser on a machine that others share; what is tried again is reported
    testTimeout: 240_000,
    hookTimeout: 300_000,
  },
});
