// The playground's files, from src/playground to realtime/web/static, which is committed: users of the wheel need no npm.
// `--check` makes them elsewhere and says whether the committed ones are those.
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync, mkdirSync, copyFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { build } from 'esbuild';

const here = import.meta.dirname;
const source = path.join(here, 'src/playground');
const committed = path.resolve(here, '../realtime/web/static');

export async function buildPlayground(target) {
  mkdirSync(target, { recursive: true });
  const { metafile } = await build({
    absWorkingDir: here,
    entryPoints: [
      { in: path.join(source, 'main.ts'), out: 'playground' },
      { in: path.join(source, 'style.css'), out: 'playground' },
    ],
    outdir: target,
    bundle: true,
    format: 'esm',
    target: ['es2022', 'chrome111', 'firefox113', 'safari16.4'],
    minify: true,
    charset: 'utf8',
    metafile: true,
    legalComments: 'none', // licences.txt has them
    logLevel: 'warning',
  });
  copyFileSync(path.join(source, 'index.html'), path.join(target, 'index.html'));
  copyFileSync(path.join(here, 'media/icon.svg'), path.join(target, 'icon.svg'));
  writeFileSync(path.join(target, 'licences.txt'), licences(Object.keys(metafile.inputs)));
}

/** The licence of every package that is in the bundle. */
function licences(inputs) {
  const packages = new Set(inputs.flatMap((input) => /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input)?.[1] ?? []));
  const parts = [...packages].sort().map((name) => {
    const folder = path.join(here, 'node_modules', name);
    const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
    if (file === undefined) throw new Error(`${name} has no licence file`);
    return `${name}\n\n${readFileSync(path.join(folder, file), 'utf8').trim()}\n`;
  });
  return `The playground contains these packages, beside Warmline itself (Apache-2.0).\n\n${parts.join(`\n${'-'.repeat(80)}\n\n`)}`;
}

if (process.argv.includes('--check')) {
  const fresh = mkdtempSync(path.join(tmpdir(), 'warmline-playground-'));
  try {
    await buildPlayground(fresh);
    const names = new Set([...readdirSync(fresh), ...readdirSync(committed)]);
    const read = (folder, name) => readdirSync(folder).includes(name) && readFileSync(path.join(folder, name), 'utf8');
    const stale = [...names].filter((name) => read(fresh, name) !== read(committed, name));
    if (stale.length > 0) {
      console.error(`realtime/web/static is not what its sources make (${stale.join(', ')}): run \`npm run build:playground\`, and commit it.`);
      process.exitCode = 1;
    }
  } finally {
    rmSync(fresh, { recursive: true });
  }
} else if (process.argv[1] === import.meta.filename) {
  await buildPlayground(committed);
}
