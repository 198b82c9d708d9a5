import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/core/**/*.test.ts', 'test/playground/**/*.test.ts'],
    testTimeout: 120_000, // the real model on a machine that does other things, too
    hookTimeout: 120_000, // a server that loads a model
  },
});
