/** The connection to the server, as the settings and the kept API key have it. */
import * as vscode from 'vscode';
import { Client, type ConnectionOptions, type ConnectionState, systemEnvironment, webSocketConnect } from '../core/index.js';
import { onChange, setting } from './settings.js';
import { socketClass } from './socket.js';

export class Server implements vscode.Disposable {
  readonly client: Client;
  private readonly states = new vscode.EventEmitter<ConnectionState>();
  readonly onDidChangeState = this.states.event;
  private readonly subscriptions: vscode.Disposable[];

  constructor(
    private readonly context: vscode.ExtensionContext,
    log: vscode.LogOutputChannel,
  ) {
    this.client = new Client({
      ...this.options(undefined),
      connect: webSocketConnect(socketClass),
      environment: systemEnvironment(log),
    });
    this.client.connection.onState((state) => {
      void vscode.commands.executeCommand('setContext', 'warmline.connected', state.name === 'ready');
      this.states.fire(state);
    });
    this.subscriptions = [
      onChange(['url', 'enabled'], () => void this.connect()),
      context.secrets.onDidChange(({ key }) => {
        if (key === this.secret) {
          void this.connect();
        }
      }),
      // A laptop that was asleep comes back here first.
      vscode.window.onDidChangeWindowState(({ focused }) => {
        if (focused && setting('enabled')) {
          this.client.connection.check();
        }
      }),
    ];
  }

  get url(): string {
    return setting('url');
  }

  get state(): ConnectionState {
    return this.client.state;
  }

  /** Connect, or connect anew with what the settings say now; or end the connection if all is turned off. */
  async connect(): Promise<void> {
    const token = await this.context.secrets.get(this.secret);
    const { connection } = this.client;
    connection.stop();
    if (setting('enabled')) {
      connection.configure(this.options(token));
      connection.start();
    }
  }

  async setToken(): Promise<void> {
    const token = await vscode.window.showInputBox({
      title: 'Warmline: API Key',
      prompt: `The key that ${this.url} wants. It is kept in the editor's secret storage.`,
      password: true,
      ignoreFocusOut: true,
    });
    if (token !== undefined && token !== '') {
      await this.context.secrets.store(this.secret, token);
    }
  }

  async clearToken(): Promise<void> {
    await this.context.secrets.delete(this.secret);
  }

  dispose(): void {
    for (const subscription of this.subscriptions) {
      subscription.dispose();
    }
    this.client.dispose();
    this.states.dispose();
  }

  /** A key belongs to one server: a folder's settings that name another one don't get it. */
  private get secret(): string {
    return `token ${this.url}`;
  }

  private options(token: string | undefined): ConnectionOptions {
    const version = (this.context.extension.packageJSON as { version: string }).version;
    return { url: this.url, token, client: `vscode ${vscode.version}, warmline ${version}` };
  }
}
