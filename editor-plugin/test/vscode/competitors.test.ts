import { beforeEach, describe, expect, it, vi } from 'vitest';
import { Memory, reset, world } from './support/fake_vscode.js';

type Module = typeof import('../../src/vscode/competitors.js');

/** The module as a new window has it. */
async function started(): Promise<Module> {
  vi.resetModules();
  return import('../../src/vscode/competitors.js');
}

function install(...ids: string[]): void {
  for (const id of ids) {
    world.extensions.set(id, { isActive: true, exports: {}, activate: () => Promise.resolve() });
  }
}

const notice = (module: Module, memory: Memory): Promise<void> => module.noticeCompetitors(memory);

describe('other extensions that suggest', () => {
  beforeEach(() => {
    vi.resetModules();
    reset();
  });

  it('are named, and others are not', async () => {
    install('github.copilot', 'ms-python.python', 'tabbyml.vscode-tabby');
    const { competitors } = await started();
    expect(competitors()).toEqual(['GitHub Copilot', 'Tabby']);
  });

  it('are no news where there are none', async () => {
    install('ms-python.python');
    await notice(await started(), new Memory());
    expect(world.messages).toEqual([]);
  });

  it('are told of once in a window, and whoever comes later is told of then', async () => {
    const [module, memory] = [await started(), new Memory()];
    install('github.copilot', 'codeium.codeium');
    await notice(module, memory);
    expect(world.messages).toHaveLength(1);
    expect(world.messages[0]?.text).toContain('Windsurf and GitHub Copilot suggest inline, too.');
    await notice(module, memory); // as at any change of what is installed
    expect(world.messages).toHaveLength(1);
    install('continue.continue');
    await notice(module, memory);
    expect(world.messages.map(({ text }) => text.split(' suggest')[0])).toEqual(['Windsurf and GitHub Copilot', 'Continue']);
  });

  it('are told of in the next window again, unless a person said not to', async () => {
    const memory = new Memory();
    install('github.copilot');
    await notice(await started(), memory);
    world.choices.push("Don't Show Again");
    await notice(await started(), memory);
    expect(world.messages).toHaveLength(2);
    await notice(await started(), memory);
    expect(world.messages).toHaveLength(2);
    install('tabnine.tabnine-vscode');
    world.choices.push("Don't Show Again");
    await notice(await started(), memory);
    expect(world.messages[2]?.text).toMatch(/^Tabnine suggests/);
    await notice(await started(), memory);
    expect(world.messages).toHaveLength(3);
  });

  it('are shown in the list of extensions where one can turn them off', async () => {
    install('github.copilot');
    world.choices.push('Show Extensions');
    await notice(await started(), new Memory());
    expect(world.executed).toEqual(['workbench.view.extensions']);
    expect(world.messages[0]?.buttons).toEqual(['Show Extensions', "Don't Show Again"]);
  });
});
