/**
 * The part of VS Code's API that the modules under test use, as a test sets it up: `vitest.config.ts` has them import
 * this in place of `vscode`. What needs a real editor is tested in one (`test/harness`).
 */

export enum UIKind {
  Desktop = 1,
  Web = 2,
}

interface Terminal {
  readonly name: string;
  exitStatus: { code: number } | undefined;
  readonly sent: string[];
  shown: number;
  show(): void;
  sendText(text: string): void;
}

/** An extension that is installed: what it offers, once it is active. */
export interface Installed {
  isActive: boolean;
  exports: unknown;
  activate(): Promise<unknown>;
}

/** What there is, and what was done with it. */
export interface World {
  uiKind: UIKind;
  remoteName: string | undefined;
  readonly settings: Record<string, unknown>;
  readonly extensions: Map<string, Installed>;
  /** What a person chooses in the messages to come. */
  readonly choices: (string | undefined)[];
  readonly messages: { text: string; buttons: string[] }[];
  readonly executed: string[];
  readonly terminals: Terminal[];
  copied: string | undefined;
  /** Files of the folder that is open, by path. */
  readonly files: Map<string, string>;
  folder: Uri | undefined;
  notebooks: { uri: Uri; getCells(): { document: { uri: Uri } }[] }[];
}

export class Uri {
  constructor(
    readonly scheme: string,
    readonly path: string,
  ) {}

  get fsPath(): string {
    return this.path;
  }

  toString(): string {
    return `${this.scheme}://${this.path}`;
  }

  with({ path }: { path: string }): Uri {
    return new Uri(this.scheme, path);
  }
}

/** What an extension keeps between sessions. */
export class Memory {
  private readonly kept = new Map<string, unknown>();

  get<T>(key: string, standard?: T): T {
    return (this.kept.has(key) ? this.kept.get(key) : standard) as T;
  }

  update(key: string, value: unknown): Promise<void> {
    this.kept.set(key, value);
    return Promise.resolve();
  }

  keys(): readonly string[] {
    return [...this.kept.keys()];
  }
}

export const env = {
  get uiKind(): UIKind {
    return world.uiKind;
  },
  get remoteName(): string | undefined {
    return world.remoteName;
  },
  clipboard: {
    writeText: (text: string): Promise<void> => {
      world.copied = text;
      return Promise.resolve();
    },
  },
};

export const extensions = {
  getExtension: (id: string): Installed | undefined => world.extensions.get(id),
};

export const window = {
  get terminals(): readonly Terminal[] {
    return world.terminals;
  },
  createTerminal({ name }: { name: string }): Terminal {
    const terminal: Terminal = {
      name,
      exitStatus: undefined,
      sent: [],
      shown: 0,
      show: () => {
        terminal.shown++;
      },
      sendText: (text) => void terminal.sent.push(text),
    };
    world.terminals.push(terminal);
    return terminal;
  },
  showInformationMessage(text: string, ...buttons: string[]): Promise<string | undefined> {
    world.messages.push({ text, buttons });
    return Promise.resolve(world.choices.shift());
  },
};

export const commands = {
  executeCommand(command: string): Promise<void> {
    world.executed.push(command);
    return Promise.resolve();
  },
};

/** VS Code's emitter, as far as anything here listens. */
export class EventEmitter<T> {
  private readonly listeners = new Set<(value: T) => void>();

  readonly event = (listener: (value: T) => void): { dispose(): void } => {
    this.listeners.add(listener);
    return { dispose: () => void this.listeners.delete(listener) };
  };

  get heard(): number {
    return this.listeners.size;
  }

  fire(value: T): void {
    for (const listener of [...this.listeners]) {
      listener(value);
    }
  }

  dispose(): void {
    this.listeners.clear();
  }
}

export class Disposable {
  constructor(readonly dispose: () => void) {}
}

const never = (): { dispose(): void } => ({ dispose: () => undefined });

export const workspace = {
  get notebookDocuments(): World['notebooks'] {
    return world.notebooks;
  },
  createFileSystemWatcher: () => ({ onDidChange: never, onDidCreate: never, onDidDelete: never, dispose: () => undefined }),
  onDidGrantWorkspaceTrust: never,
  onDidChangeConfiguration: never,
  getConfiguration: () => ({
    get: (name: string): unknown => world.settings[name],
    inspect: (): undefined => undefined,
  }),
  getWorkspaceFolder: (uri: Uri): { uri: Uri } | undefined =>
    world.folder !== undefined && uri.path.startsWith(`${world.folder.path}/`) ? { uri: world.folder } : undefined,
  fs: {
    stat(uri: Uri): Promise<object> {
      const there = [...world.files.keys()].some((path) => path === uri.path || path.startsWith(`${uri.path}/`));
      return there ? Promise.resolve({}) : Promise.reject(new Error('there is none'));
    },
    readFile(uri: Uri): Promise<Uint8Array> {
      const text = world.files.get(uri.path);
      return text === undefined ? Promise.reject(new Error('there is none')) : Promise.resolve(new TextEncoder().encode(text));
    },
  },
};

/** A world in which nothing has happened yet. */
function fresh(): World {
  return {
    uiKind: UIKind.Desktop,
    remoteName: undefined,
    settings: { url: 'ws://127.0.0.1:8765', 'startServer.command': 'warmline serve' },
    extensions: new Map(),
    choices: [],
    messages: [],
    executed: [],
    terminals: [],
    copied: undefined,
    files: new Map(),
    folder: new Uri('file', '/code'),
    notebooks: [],
  };
}

// One for all copies of this module: a test that loads a module anew gets one with it.
const shared = globalThis as { fakeVscodeWorld?: World };
export const world: World = (shared.fakeVscodeWorld ??= fresh());

export function reset(): void {
  Object.assign(world, fresh());
}
