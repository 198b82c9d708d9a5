/** Once for a run: the extension and the tests that run inside it are built, and the real server is started. */
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { build } from 'esbuild';
import type { TestProject } from 'vitest/node';
import { EXTENSION, IN_HOST, type LaneName, PROBE } from './lanes.js';
import { freePort } from './processes.js';
import { Service } from './service.js';

declare module 'vitest' {
  interface ProvidedContext {
    lane: LaneName;
    lanePort: number;
    servicePort: number;
  }
}

export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  const lane = process.env['LANE'] ?? 'web';
  if (lane !== 'web' && lane !== 'node') {
    throw new Error(`LANE is web or node, not ${lane}`);
  }
  execFileSync(process.execPath, ['esbuild.mjs'], { cwd: EXTENSION, stdio: 'inherit' });
  await build({
    entryPoints: {
      [path.parse(IN_HOST).name]: path.join(import.meta.dirname, '../in_host/index.ts'),
      [path.parse(PROBE).name]: path.join(import.meta.dirname, '../in_host/probe.ts'),
    },
    outdir: path.dirname(IN_HOST),
    bundle: true,
    format: 'cjs',
    platform: 'browser',
    target: 'es2022',
    external: ['vscode'],
    logLevel: 'warning',
  });
  const lanePort = Number(process.env['LANE_PORT'] ?? (await freePort()));
  // What a person has to do too whose editor runs in a browser.
  const allowed = ['--allowed-origin', `http://localhost:${String(lanePort)}`];
  // While one works on the tests, a server that runs already spares the time that it takes to load its model.
  const running = process.env['SERVICE_PORT'];
  const service = running === undefined ? await Service.create(...allowed) : undefined;
  project.provide('lane', lane);
  project.provide('lanePort', lanePort);
  project.provide('servicePort', service?.port ?? Number(running));
  return async () => {
    await service?.stop();
  };
}
