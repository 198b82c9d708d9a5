/** Child processes of the harness: started with their output kept, and ended together with what they started. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';

export interface Running {
  readonly child: ChildProcess;
  /** Everything it has printed. */
  readonly output: () => string;
  readonly stop: (signal?: NodeJS.Signals) => Promise<void>;
}

export function start(command: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Running {
  // A group of its own: VS Code's server has children that outlive it otherwise.
  const child = spawn(command, [...args], { env: { ...process.env, ...env }, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  const keep = (chunk: Buffer): void => {
    output = (output + chunk.toString()).slice(-100_000);
  };
  child.stdout.on('data', keep);
  child.stderr.on('data', keep);
  child.on('error', (error) => {
    output += String(error);
  });
  const killed = (): void => {
    killGroup(child, 'SIGKILL');
  };
  process.once('exit', killed);
  return {
    child,
    output: () => output,
    async stop(signal = 'SIGTERM') {
      process.off('exit', killed);
      if (child.exitCode !== null || child.signalCode !== null) return;
      const gone = once(child, 'exit');
      killGroup(child, signal);
      const late = setTimeout(killed, 15_000);
      await gone;
      clearTimeout(late);
    },
  };
}

function killGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, signal);
  } catch {
    // it has ended
  }
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

/** Wait until a condition holds, and say what did not come true in time. */
export async function until(what: string, condition: () => boolean | Promise<boolean>, seconds = 60): Promise<void> {
  const end = Date.now() + seconds * 1000;
  while (!(await condition())) {
    if (Date.now() > end) throw new Error(`not within ${String(seconds)} s: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}
