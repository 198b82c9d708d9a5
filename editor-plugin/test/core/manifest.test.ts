import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { DEFAULT_EXCLUSIONS, DEFAULT_SCHEMES } from '../../src/core/index.js';

interface Manifest {
  icon: string;
  main: string;
  browser: string;
  enabledApiProposals?: unknown;
  contributes: {
    commands: { command: string }[];
    keybindings: { command: string; key: string; when: string }[];
    walkthroughs: { steps: { media: { markdown: string } }[] }[];
    configuration: { properties: Record<string, { default: unknown; scope?: string }> }[];
  };
}

const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as Manifest;
const source = ['extension', 'inline']
  .map((file) => readFileSync(new URL(`../../src/vscode/${file}.ts`, import.meta.url), 'utf8'))
  .join('');

function setting(name: string): { default: unknown; scope?: string } | undefined {
  return manifest.contributes.configuration.map(({ properties }) => properties[name]).find((found) => found !== undefined);
}

describe('the manifest', () => {
  it("excludes what the core's rules do", () => {
    expect(setting('warmline.exclude')?.default).toEqual(DEFAULT_EXCLUSIONS);
    expect(setting('warmline.documentSchemes')?.default).toEqual(DEFAULT_SCHEMES);
  });

  it('uses no proposed API', () => {
    expect(manifest.enabledApiProposals).toBeUndefined();
  });

  it('leaves Tab to VS Code (microsoft/vscode#252432)', () => {
    expect(JSON.stringify(manifest.contributes.keybindings)).not.toMatch(/"tab"/i);
  });

  it('leaves Esc to Vim, and takes it only while there is something to stop (VSCodeVim#9856)', () => {
    const escapes = manifest.contributes.keybindings.filter(({ key }) => key === 'escape');
    expect(escapes.length).toBeGreaterThan(0);
    for (const { when } of escapes) {
      expect(when).toContain('!vim.active');
      expect(when).toMatch(/warmline\.(editRunning|suggestionShown)/);
      expect(when).toContain('!suggestWidgetVisible');
    }
  });

  it('names only files that are there (zed#55618)', () => {
    const walkthroughs = manifest.contributes.walkthroughs.flatMap(({ steps }) => steps.map(({ media }) => media.markdown));
    for (const file of [manifest.icon, ...walkthroughs, 'media/next_edit_dark.svg', 'media/next_edit_light.svg']) {
      expect(existsSync(new URL(`../../${file}`, import.meta.url)), file).toBe(true);
    }
  });

  it('names only commands that the extension registers', () => {
    for (const { command } of [...manifest.contributes.commands, ...manifest.contributes.keybindings]) {
      const name = command.replace(/^warmline\./, '');
      expect(source, command).toMatch(new RegExp(`^ {4}${name}(:|,)|'${command}'`, 'm'));
    }
  });

  it('lets no folder say what is run on the machine', () => {
    expect(setting('warmline.startServer.command')?.scope).toBe('machine');
  });
});
