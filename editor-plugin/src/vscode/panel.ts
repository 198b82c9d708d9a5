/** The timings panel: what the last request cost, hop by hop, kept up to date while it is seen. */
import * as vscode from 'vscode';
import { type TimedRequest, timingsPage } from './timings_page.js';

/** As many requests as the percentiles are of. */
const MOST = 500;
/** A page is drawn anew as a whole, so not for every key. */
const REDRAW = 400;

export class TimingsPanel implements vscode.Disposable {
  private readonly requests: TimedRequest[] = [];
  private panel: vscode.WebviewPanel | undefined;
  private timer: ReturnType<typeof setTimeout> | undefined;

  add(request: TimedRequest): void {
    this.requests.push(request);
    this.requests.splice(0, this.requests.length - MOST);
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      this.draw();
    }, REDRAW);
  }

  get last(): TimedRequest | undefined {
    return this.requests.at(-1);
  }

  show(): void {
    if (this.panel === undefined) {
      const panel = vscode.window.createWebviewPanel(
        'warmline.timings',
        'Warmline: timings',
        { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true },
        { enableScripts: false, localResourceRoots: [] },
      );
      panel.onDidDispose(() => {
        this.panel = undefined;
      });
      panel.onDidChangeViewState(() => {
        this.draw();
      });
      this.panel = panel;
    }
    this.panel.reveal(undefined, true);
    this.draw();
  }

  dispose(): void {
    clearTimeout(this.timer);
    this.panel?.dispose();
  }

  private draw(): void {
    if (this.panel?.visible === true) {
      this.panel.webview.html = timingsPage(this.requests, nonce());
    }
  }
}

function nonce(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
