import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  // The shell's modules see a VS Code that tests set up; the core's import none.
  resolve: { alias: { vscode: fileURLToPath(new URL('test/vscode/support/fake_vscode.ts', import.meta.url)) } },
  test: {
    include: ['test/core/**/*.test.ts', 'test/playground/**/*.test.ts', 'test/vscode/**/*.test.ts'],
    testTimeout: 120_000, // the real model on a machine that does other things, too
    hookTimeout: 120_000, // a server that loads a model
  },
});
