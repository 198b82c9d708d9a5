import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const repository = fileURLToPath(new URL('../../../../', import.meta.url));

export const API_KEY = 'a-test-key';

/** The `warmline` command: of the clone's environment, or of the path; undefined if it is not installed. */
export function warmlineCommand(): string | undefined {
  const folders = [join(repository, '.venv', 'bin'), ...(process.env['PATH'] ?? '').split(delimiter)];
  return folders.map((folder) => join(folder, 'warmline')).find((path) => existsSync(path));
}

async function freePort(): Promise<number> {
  const listener = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => listener.once('listening', resolve));
  const { port } = listener.address() as AddressInfo;
  await new Promise((resolve) => listener.close(resolve));
  return port;
}

/** A server of its own process, with the default model, that lets requests name their text. */
export class RealServer {
  private process: ChildProcess | undefined;
  private output = '';

  private constructor(
    private readonly command: string,
    readonly port: number,
  ) {}

  static async start(command: string): Promise<RealServer> {
    const server = new RealServer(command, await freePort());
    await server.start();
    return server;
  }

  get url(): string {
    return `ws://127.0.0.1:${this.port}`;
  }

  async start(): Promise<void> {
    const options = ['serve', '--port', String(this.port), '--allow-replay', '--api-key', API_KEY];
    const child = spawn(this.command, options, { cwd: repository, stdio: ['ignore', 'pipe', 'pipe'] });
    this.process = child;
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (data: Buffer) => (this.output += data.toString()));
    }
    for (;;) {
      if (child.exitCode !== null) {
        throw new Error(`warmline serve ended: ${this.output}`);
      }
      if (await this.isReady()) {
        return;
      }
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }

  /** End the process, as a crash does, or as Ctrl-C. */
  async stop(signal: 'SIGKILL' | 'SIGINT' = 'SIGKILL'): Promise<void> {
    const child = this.process;
    if (child?.exitCode === null && child.signalCode === null) {
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.kill(signal);
      await ended;
    }
  }

  /** The value of a metric. */
  async metric(name: string): Promise<number> {
    const response = await fetch(`http://127.0.0.1:${this.port}/metrics`);
    const line = (await response.text()).split('\n').find((one) => one.startsWith(`${name} `));
    return Number(line?.split(' ')[1] ?? NaN);
  }

  private async isReady(): Promise<boolean> {
    try {
      return (await fetch(`http://127.0.0.1:${this.port}/readyz`)).ok;
    } catch {
      return false;
    }
  }
}
