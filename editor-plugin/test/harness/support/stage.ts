/** What a suite plays on: a workspace in a workbench, and the wire between the extension and the real server. */
import type { Browser } from 'playwright-core';
import { inject } from 'vitest';
import { type Lane, createWorkspace, startInstalled, startLane } from './lanes.js';
import { Service } from './service.js';
import { WireProxy } from './wire_proxy.js';
import { Workbench, launch } from './workbench.js';

export interface Stage {
  readonly workbench: Workbench;
  readonly wire: WireProxy;
  readonly service: Service;
  readonly workspace: string;
  readonly strike: () => Promise<void>;
}

export interface Props {
  readonly files: Record<string, string>;
  readonly settings?: Record<string, unknown>;
  /** Talk to the server directly, as people do, instead of by the wire. */
  readonly direct?: boolean;
  /** Another server than the one that all suites share. */
  readonly service?: Service;
  /** A package to install, instead of the extension under development. */
  readonly vsix?: string;
  /** A module to run in the extension host. */
  readonly tests?: string;
}

/** Both lanes' documents may be sent: the web lane's folder has a scheme of its own. */
export const SCHEMES = ['file', 'untitled', 'vscode-remote', 'vscode-test-web'];

export async function raise(props: Props): Promise<Stage> {
  const service = props.service ?? new Service(inject('servicePort'));
  const wire = await WireProxy.create(service.url);
  const workspace = createWorkspace(props.files, {
    'warmline.url': props.direct === true ? service.url : wire.url,
    'warmline.documentSchemes': SCHEMES,
    'warmline.completions.backOff': false, // tests dismiss more than people do
    ...props.settings,
  });
  const strike: (() => Promise<void>)[] = [() => wire.close()];
  try {
    const port = inject('lanePort');
    const lane: Lane =
      props.vsix === undefined
        ? await startLane(inject('lane'), port, workspace, props.tests)
        : await startInstalled(port, workspace, props.vsix);
    strike.unshift(() => lane.stop());
    const browser: Browser = await launch();
    strike.unshift(() => browser.close());
    const workbench = await Workbench.open(browser, lane.url);
    return { workbench, wire, service, workspace, strike: () => each(strike) };
  } catch (error) {
    await each(strike);
    throw error;
  }
}

async function each(steps: readonly (() => Promise<void>)[]): Promise<void> {
  for (const step of steps) {
    await step();
  }
}
