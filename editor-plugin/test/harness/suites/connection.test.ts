import { inject, describe, expect, it } from 'vitest';
import { freePort, until } from '../support/processes.js';
import { Service } from '../support/service.js';
import { raise } from '../support/stage.js';

const OPEN = 2;
const FILES = { 'code.py': 'def add(a, b):\n    \n' };

/** Two starts of a server that loads its model. */
const STARTS = 480_000;

describe('the connection', () => {
  it('is made directly, as people have it, and the server lets the editor in', async () => {
    const { workbench, strike } = await raise({ files: FILES, direct: true });
    try {
      await workbench.untilStatus('connected', (status) => status.includes('ready'));
    } finally {
      await strike();
    }
  });

  it('takes a key where one is needed, and comes back by itself when the server dies and is started again', async () => {
    // A server of its own, since the others go on with theirs.
    const origin = `http://localhost:${String(inject('lanePort'))}`;
    const service = new Service(await freePort(), ['--allowed-origin', origin, '--api-key', 'only-with-this']);
    await service.start();
    const { workbench, wire, strike } = await raise({ files: FILES, service });
    try {
      await workbench.untilStatus('the want of a key is shown', (status) => status.includes('API key'));
      await workbench.command('Warmline: Set API Key');
      await workbench.answer('only-with-this');
      await workbench.untilStatus('connected', (status) => status.includes('ready'));
      await workbench.openFile('code.py');
      await service.stop('SIGKILL');
      await workbench.untilStatus('the loss is shown', (status) => status.includes('no server'));
      await service.start();
      await workbench.untilStatus('connected again', (status) => status.includes('ready'));
      wire.direct({ completions: ['return a + b'] });
      await workbench.press('Control+Home', 'ArrowDown', 'End');
      await workbench.type('ret');
      await workbench.untilGhost('suggestions are back', (ghost) => ghost === 'urn a + b');
      expect(wire.messages(OPEN).filter((message) => String(message[1]).endsWith('code.py')).length).toBe(2);
    } finally {
      await strike();
      await service.stop();
    }
  }, STARTS);

  it('that is cut mid-stream leaves nothing running on the server (omlx#1294)', async () => {
    const { workbench, wire, service, strike } = await raise({ files: FILES });
    try {
      await workbench.untilStatus('connected', (status) => status.includes('ready'));
      wire.direct({ edits: { longer: 'x = 1\n'.repeat(300) } });
      await workbench.openFile('code.py');
      await workbench.press('Control+KeyK', 'Control+KeyE');
      await workbench.answer('longer');
      await workbench.untilText('it has begun', (text) => text.includes('x = 1'));
      wire.cut();
      await until('its slot is free', async () => (await service.metric('warmline_requests_running')) === 0);
      await workbench.untilStatus('connected again, with an edit to review', (status) => status.includes('accept or reject'));
    } finally {
      await strike();
    }
  });

  it('that is dead but says it is open is found out and made again (sleep; CodeChat_Editor#79)', async () => {
    const { workbench, wire, strike } = await raise({ files: FILES });
    try {
      await workbench.untilStatus('connected', (status) => status.includes('ready'));
      const before = wire.connections;
      wire.direct({ mute: true });
      await workbench.untilStatus('it is found out', (status) => !status.includes('ready'));
      wire.direct({ mute: false });
      await workbench.untilStatus('connected again', (status) => status.includes('ready'));
      expect(wire.connections).toBeGreaterThan(before);
    } finally {
      await strike();
    }
  });
});
