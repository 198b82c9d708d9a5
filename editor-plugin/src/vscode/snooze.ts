/** A pause of suggestions for a while. */
import * as vscode from 'vscode';

const MINUTES = [5, 15, 30, 60];

export class Snooze implements vscode.Disposable {
  private until = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private readonly changed = new vscode.EventEmitter<void>();
  readonly onDidChange = this.changed.event;

  get minutesLeft(): number {
    return Math.max(0, Math.ceil((this.until - Date.now()) / 60_000));
  }

  get active(): boolean {
    return this.minutesLeft > 0;
  }

  start(minutes: number): void {
    clearTimeout(this.timer);
    this.until = Date.now() + minutes * 60_000;
    this.timer = setTimeout(() => {
      this.changed.fire();
    }, minutes * 60_000);
    this.changed.fire();
  }

  end(): void {
    clearTimeout(this.timer);
    this.until = 0;
    this.changed.fire();
  }

  /** Ask for how long; a number of minutes may be given by a key binding. */
  async ask(minutes?: unknown): Promise<void> {
    if (typeof minutes === 'number') {
      this.start(minutes);
      return;
    }
    const items = MINUTES.map((number) => ({ label: `${number} minutes`, minutes: number }));
    const off = this.active ? [{ label: 'End the pause now', minutes: 0 }] : [];
    const picked = await vscode.window.showQuickPick([...off, ...items], { placeHolder: 'No suggestions for' });
    if (picked?.minutes === 0) {
      this.end();
    } else if (picked !== undefined) {
      this.start(picked.minutes);
    }
  }

  dispose(): void {
    clearTimeout(this.timer);
    this.changed.dispose();
  }
}
