/** What must not leave this machine: by scheme, by glob, by git. */
import * as vscode from 'vscode';
import { type ExclusionRules, exclusionReason } from '../core/index.js';
import { gitIgnores, onGitChange } from './git_ignored.js';
import { onChange, setting } from './settings.js';

export class Privacy implements vscode.Disposable {
  private readonly ignored = new Map<string, Promise<boolean>>();
  private readonly changed = new vscode.EventEmitter<void>();
  readonly onDidChange = this.changed.event;
  private readonly subscriptions: vscode.Disposable[];

  constructor() {
    const again = (): void => {
      this.ignored.clear();
      this.changed.fire();
    };
    const rules = vscode.workspace.createFileSystemWatcher('**/.gitignore');
    this.subscriptions = [
      rules,
      rules.onDidChange(again),
      rules.onDidCreate(again),
      rules.onDidDelete(again),
      onGitChange(again),
      vscode.workspace.onDidGrantWorkspaceTrust(again),
      onChange(['enabled', 'exclude', 'excludeGitIgnored', 'documentSchemes'], again),
    ];
  }

  /** Why a document is not sent; undefined if it may be. */
  async objection(document: vscode.TextDocument): Promise<string | undefined> {
    if (!setting('enabled')) {
      return 'Warmline is turned off.';
    }
    const { uri } = document;
    const rules: ExclusionRules = { schemes: setting('documentSchemes'), globs: setting('exclude', document) };
    const reason = exclusionReason(uri.toString(), rules);
    if (reason !== undefined) {
      return reason;
    }
    if (setting('excludeGitIgnored', document) && (await this.gitIgnores(uri))) {
      return `${uri.path} is ignored by git (warmline.excludeGitIgnored).`;
    }
    return undefined;
  }

  dispose(): void {
    for (const subscription of this.subscriptions) {
      subscription.dispose();
    }
    this.changed.dispose();
  }

  private gitIgnores(uri: vscode.Uri): Promise<boolean> {
    const key = uri.toString();
    const known = this.ignored.get(key);
    if (known !== undefined) {
      return known;
    }
    const asked: Promise<boolean> = gitIgnores(uri).then(({ ignored, settled }) => {
      if (!settled && this.ignored.get(key) === asked) {
        this.ignored.delete(key); // a guess is for once
      }
      return ignored;
    });
    this.ignored.set(key, asked);
    return asked;
  }
}
