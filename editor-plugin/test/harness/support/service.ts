/** The real server with the real model, started once and restarted where a test wants that. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { type Running, freePort, start, until } from './processes.js';

const ROOT = path.resolve(import.meta.dirname, '../../../..');

export function warmlineCommand(): string {
  const local = path.join(ROOT, '.venv/bin/warmline');
  return process.env['WARMLINE'] ?? (existsSync(local) ? local : 'warmline');
}

export class Service {
  private running: Running | undefined;

  constructor(
    readonly port: number,
    private readonly args: readonly string[] = [],
  ) {}

  get url(): string {
    return `ws://127.0.0.1:${String(this.port)}`;
  }

  static async create(...args: string[]): Promise<Service> {
    const service = new Service(await freePort(), args);
    await service.start();
    return service;
  }

  async start(): Promise<void> {
    const running = start(warmlineCommand(), ['serve', '--port', String(this.port), '--allow-replay', ...this.args]);
    this.running = running;
    await until(
      'the server is ready',
      async () => {
        if (running.child.exitCode !== null) throw new Error(`warmline serve ended:\n${running.output()}`);
        return fetch(`http://127.0.0.1:${String(this.port)}/readyz`).then(
          (answer) => answer.ok,
          () => false,
        );
      },
      180,
    );
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    await this.running?.stop(signal);
  }

  /** The value of a metric: all its series added up. */
  async metric(name: string): Promise<number> {
    const text = await (await fetch(`http://127.0.0.1:${String(this.port)}/metrics`)).text();
    const lines = text.split('\n').filter((line) => line.startsWith(`${name} `) || line.startsWith(`${name}{`));
    if (lines.length === 0) throw new Error(`the server has no metric ${name}`);
    return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
  }
}
