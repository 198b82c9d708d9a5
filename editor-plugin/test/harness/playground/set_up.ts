/** Once for a run: the real server with the real model and its HTTP API, as somebody has it who starts it. */
import type { TestProject } from 'vitest/node';
import { freePort } from '../support/processes.js';
import { Service } from '../support/service.js';

declare module 'vitest' {
  interface ProvidedContext {
    playgroundPort: number;
  }
}

export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  // While one works on the tests, a server that runs already spares the time that it takes to load its model.
  const running = process.env['SERVICE_PORT'];
  const service = running === undefined ? await Service.create('--http-port', String(await freePort())) : undefined;
  project.provide('playgroundPort', service?.port ?? Number(running));
  return async () => {
    await service?.stop();
  };
}
