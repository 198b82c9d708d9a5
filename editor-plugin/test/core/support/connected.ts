import { Client } from '../../../src/core/client.js';
import type { ClientOptions } from '../../../src/core/client.js';
import { FakeEnvironment } from './fake_environment.js';
import { FakeServer } from './fake_server.js';

export interface Connected {
  readonly client: Client;
  readonly server: FakeServer;
  readonly environment: FakeEnvironment;
}

/** A client of a server in memory, and time that a test lets pass. */
export async function connected(options: Partial<ClientOptions> = {}): Promise<Connected> {
  const environment = new FakeEnvironment();
  const server = new FakeServer();
  const client = new Client({ url: 'ws://fake', connect: server.connect, environment, ...options });
  client.start();
  await environment.settle();
  return { client, server, environment };
}
