import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { describe, inject, it } from 'vitest';
import { EXTENSION } from '../support/lanes.js';
import { raise } from '../support/stage.js';

/** The web lane can't install a package from a file. */
describe.skipIf(inject('lane') === 'web')('the package', () => {
  it('installs and suggests', async () => {
    execFileSync('npm', ['run', '--silent', 'package'], { cwd: EXTENSION, stdio: 'pipe' });
    const { workbench, wire, strike } = await raise({
      files: { 'code.py': 'def packaged(a, b):\n    \n' },
      vsix: path.join(EXTENSION, 'dist/warmline.vsix'),
    });
    try {
      await workbench.untilStatus('connected', (status) => status.includes('ready'));
      wire.direct({ completions: ['return a + b'] });
      await workbench.openFile('code.py');
      await workbench.press('Control+Home', 'ArrowDown', 'End');
      await workbench.type('ret');
      await workbench.untilGhost('a suggestion is shown', (ghost) => ghost === 'urn a + b');
    } finally {
      await strike();
    }
  }, 240_000);
});
