import { copyFileSync, mkdirSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { EXTENSION } from '../support/lanes.js';
import { type Stage, raise } from '../support/stage.js';

const MADE = path.join(EXTENSION, 'dist/pictures');
const CODE = `"""What a basket costs."""


def total(items):
    amount = 0
    for item in items:
        amount += item.price * item.count
    return amount


def largest(items):
    
`;
const EDITED = `def total(items: list[Item], discount: float = 0.0) -> float:
    """The price of all items, less a discount."""
    if not 0 <= discount <= 1:
        raise ValueError(f"a discount of {discount} is not within 0 and 1")
    amount = 0.0
    for item in items:
        amount += item.price * item.count
    return amount * (1 - discount)
`;

/** What the README shows; `UPDATE_PICTURES=1` puts them there. */
describe('the pictures of the README', () => {
  let stage: Stage;

  beforeAll(async () => {
    mkdirSync(MADE, { recursive: true });
    stage = await raise({
      files: { 'basket.py': CODE },
      settings: {
        'workbench.colorTheme': 'Default Dark Modern',
        'workbench.activityBar.location': 'hidden',
        'editor.fontSize': 15,
        'breadcrumbs.enabled': false,
        'window.commandCenter': false,
      },
    });
    await stage.workbench.page.setViewportSize({ width: 900, height: 480 });
    await stage.workbench.untilStatus('connected', (status) => status.includes('ready'));
    await stage.workbench.openFile('basket.py');
    await stage.workbench.press('Control+KeyB');
  });

  afterAll(async () => {
    await stage.strike();
  });

  async function picture(name: string): Promise<void> {
    const file = path.join(MADE, `${name}.png`);
    await stage.workbench.page.screenshot({ path: file });
    if (process.env['UPDATE_PICTURES'] !== undefined) {
      mkdirSync(path.join(EXTENSION, 'media/pictures'), { recursive: true });
      copyFileSync(file, path.join(EXTENSION, 'media/pictures', `${name}.png`));
    }
  }

  it('a suggestion', async () => {
    const { workbench, wire } = stage;
    wire.direct({ completions: ['return max(items, key=lambda item: item.price)'] });
    await workbench.press('Control+End', 'ArrowUp', 'End');
    await workbench.type('ret');
    await workbench.untilGhost('all of it is shown', (ghost) => ghost.endsWith('item.price)'));
    // What came late is shown anew; that it stays is what the picture is of.
    await new Promise((resolve) => setTimeout(resolve, 1500));
    await workbench.untilGhost('it stays', (ghost) => ghost.endsWith('item.price)'));
    await picture('suggestion');
    await workbench.press('Tab');
    await workbench.untilText('it was put in', (text) => text.includes('    return max(items, key=lambda item: item.price)'));
  });

  it('an edit on its way', async () => {
    const { workbench, wire } = stage;
    const instruction = 'add a discount, types, and a check';
    wire.direct({ edits: { [instruction]: EDITED }, pace: 220 });
    await workbench.press('Control+Home', 'ArrowDown', 'ArrowDown', 'ArrowDown');
    for (let line = 0; line < 5; line++) await workbench.press('Shift+ArrowDown');
    await workbench.press('Control+KeyK', 'Control+KeyE');
    await workbench.answer(instruction);
    await workbench.press('ArrowDown');
    await workbench.untilText('some of it is there', (text) => text.includes('if not 0'));
    await picture('edit');
    wire.direct({ pace: 0 });
    await workbench.untilStatus('it is done', (status) => status.includes('accept or reject'));
    await workbench.press('Control+Enter');
    expect(await workbench.text()).toContain('discount');
  });

  // The web lane's panels want a service worker on a subdomain without https, which headless Chromium refuses.
  it.skipIf(inject('lane') === 'web')('the timings', async () => {
    const { workbench, wire } = stage;
    wire.direct({ edits: { 'return a float': EDITED.replace('return amount *', 'return float(amount) *') } });
    await workbench.press('Control+Home', 'ArrowDown', 'ArrowDown', 'ArrowDown');
    for (let line = 0; line < 8; line++) await workbench.press('Shift+ArrowDown');
    await workbench.press('Control+KeyK', 'Control+KeyE');
    await workbench.answer('return a float');
    await workbench.untilText('it is done', (text) => text.includes('float(amount)'));
    await workbench.command('Warmline: Show Timings');
    await workbench.page.locator('.tab', { hasText: 'timings' }).waitFor();
    const frame = workbench.page.frameLocator('iframe.webview').frameLocator('iframe');
    await frame.getByText('Time to first text').waitFor();
    await workbench.page.setViewportSize({ width: 1100, height: 640 });
    await picture('timings');
  });
});
