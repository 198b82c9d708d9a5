// Two bundles of the extension: the Node host's and the web worker's. `--watch` rebuilds, `--production` minifies.
import { context } from 'esbuild';

const watch = process.argv.includes('--watch');
const production = process.argv.includes('--production');

const common = {
  entryPoints: ['src/vscode/extension.ts'],
  bundle: true,
  format: 'cjs', // extension hosts load CommonJS
  target: 'es2022',
  external: ['vscode'],
  minify: production,
  sourcemap: production ? false : 'linked',
  logLevel: 'info',
};

const bundles = [
  { ...common, platform: 'node', outfile: 'dist/node.cjs' },
  // The Node host's WebSocket comes from `ws` where there is none; a browser has its own.
  { ...common, platform: 'browser', outfile: 'dist/web.js', alias: { ws: './src/vscode/no_ws.ts' } },
];

for (const options of bundles) {
  const build = await context(options);
  if (watch) {
    await build.watch();
  } else {
    await build.rebuild();
    await build.dispose();
  }
}
