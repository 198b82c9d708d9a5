/** In-place edits: asks for the instruction, and knows which edit runs in which document. */
import * as vscode from 'vscode';
import { type Document, type EditSession, WarmlineError } from '../core/index.js';
import type { Documents } from './documents.js';
import { EditMarks } from './edit_marks.js';
import { editRange } from './edit_range.js';
import { type EditEnd, RunningEdit } from './running_edit.js';
import { setting } from './settings.js';
import type { Server } from './server.js';

const HISTORY = 'edits.last';

/** What a key binding or another extension may give the command. */
export interface EditArguments {
  readonly instruction?: string;
}

export class Edits implements vscode.Disposable {
  private readonly running = new Map<vscode.TextDocument, RunningEdit>();
  private readonly marks = new EditMarks();
  private readonly changed = new vscode.EventEmitter<void>();
  readonly onDidChange = this.changed.event;
  private readonly subscriptions: vscode.Disposable[];

  constructor(
    private readonly server: Server,
    private readonly documents: Documents,
    private readonly memory: vscode.Memento,
    private readonly log: vscode.LogOutputChannel,
  ) {
    this.subscriptions = [
      documents.onDidChange(({ document, edits, change, reason }) => {
        const edit = this.running.get(document);
        if (edit !== undefined) {
          const own = change?.applied?.request === edit.session.id;
          edit.documentChanged(edits, own, reason === vscode.TextDocumentChangeReason.Undo);
        }
      }),
      documents.onDidClose((document) => this.running.get(document)?.dispose()),
      vscode.workspace.onWillSaveTextDocument(({ document }) => this.running.get(document)?.willSave()),
      vscode.workspace.onDidSaveTextDocument((document) => this.running.get(document)?.saved()),
      vscode.window.onDidChangeVisibleTextEditors(() => {
        for (const edit of this.running.values()) {
          edit.wake();
          this.show(edit);
        }
      }),
      vscode.window.onDidChangeActiveTextEditor(() => {
        this.updateContext();
      }),
    ];
  }

  /** The edit of the active document. */
  get active(): RunningEdit | undefined {
    const document = vscode.window.activeTextEditor?.document;
    return document && this.running.get(document);
  }

  get anyRunning(): boolean {
    return [...this.running.values()].some((edit) => edit.state === 'running');
  }

  /** Edit what is selected, or what the cursor is in; while an edit runs there, steer it. */
  async edit(given: EditArguments = {}): Promise<EditEnd | undefined> {
    const editor = vscode.window.activeTextEditor;
    if (editor === undefined) {
      this.tell('Open a file to edit first.');
      return undefined;
    }
    if (this.active?.state === 'running') {
      await this.steer(given);
      return undefined;
    }
    const { document } = editor;
    if (vscode.workspace.fs.isWritableFileSystem(document.uri.scheme) === false) {
      this.tell(`${name(document)} is read-only.`);
      return undefined;
    }
    const tracked = await this.documents.get(document);
    if (typeof tracked === 'string') {
      this.tell(tracked);
      return undefined;
    }
    const range = await editRange(editor);
    tracked.warm(document.offsetAt(range.start), document.offsetAt(range.end));
    const version = document.version;
    const instruction = given.instruction ?? (await this.ask(range));
    if (instruction === undefined || instruction.trim() === '' || document.isClosed) {
      return undefined;
    }
    // Who typed while the box was open moved what it was about.
    const now = document.version === version ? range : await editRange(editor);
    return this.start(document, now, instruction);
  }

  async steer(given: EditArguments = {}): Promise<void> {
    const edit = this.active;
    if (edit?.state !== 'running') {
      this.tell('No edit runs in this file.');
      return;
    }
    const instruction =
      given.instruction ??
      (await vscode.window.showInputBox({
        title: 'Warmline: Steer the Edit',
        prompt: 'What was made so far stays, and the edit goes on with this as well.',
        placeHolder: edit.session.instruction,
      }));
    if (instruction === undefined || instruction.trim() === '') {
      return;
    }
    try {
      await edit.session.steer(instruction);
      this.log.info(`edit ${edit.session.id} was steered`);
    } catch (error) {
      this.tell(`The edit was not steered: ${error instanceof Error ? error.message : String(error)}.`);
    }
  }

  stop(): void {
    this.active?.stop();
  }

  accept(): void {
    this.active?.accept();
  }

  async reject(): Promise<void> {
    await this.active?.reject();
  }

  dispose(): void {
    for (const edit of [...this.running.values()]) {
      edit.dispose();
    }
    for (const subscription of this.subscriptions) {
      subscription.dispose();
    }
    this.marks.dispose();
    this.changed.dispose();
  }

  private async start(document: vscode.TextDocument, range: vscode.Range, instruction: string): Promise<EditEnd | undefined> {
    const tracked = await this.documents.get(document);
    if (typeof tracked === 'string') {
      this.tell(tracked);
      return undefined;
    }
    this.running.get(document)?.accept(); // one review at a time in a file
    const session = this.asked(tracked, document.offsetAt(range.start), document.offsetAt(range.end), instruction);
    if (session === undefined) {
      return undefined;
    }
    const edit = new RunningEdit(document, session, () => {
      this.show(edit);
    });
    this.running.set(document, edit);
    this.show(edit);
    const end = await edit.ended;
    this.log.info(`edit ${session.id} ended: ${end.reason}`);
    if (edit.state === 'pending' && !setting('edits.review')) {
      edit.accept();
    }
    const said = describe(end);
    if (said !== undefined) {
      this.tell(said);
    }
    return end;
  }

  private asked(document: Document, start: number, end: number, instruction: string): EditSession | undefined {
    try {
      return this.server.client.edit(document, start, end, instruction);
    } catch (error) {
      if (error instanceof WarmlineError) {
        this.tell(`Nothing was edited: ${error.message}.`);
        return undefined;
      }
      throw error;
    }
  }

  private async ask(range: vscode.Range): Promise<string | undefined> {
    const lines = range.end.character === 0 ? range.end.line : range.end.line + 1;
    const where = lines - range.start.line > 1 ? `lines ${range.start.line + 1} to ${lines}` : `line ${range.start.line + 1}`;
    const instruction = await vscode.window.showInputBox({
      title: `Warmline: Edit ${where}`,
      prompt: 'What should change? You can go on typing meanwhile.',
      placeHolder: this.memory.get<string>(HISTORY) ?? 'rename total to sum',
    });
    if (instruction !== undefined && instruction !== '') {
      await this.memory.update(HISTORY, instruction);
    }
    return instruction;
  }

  private show(edit: RunningEdit): void {
    if (edit.state === 'over' && this.running.get(edit.document) === edit) {
      this.running.delete(edit.document);
    }
    const shown = this.running.get(edit.document);
    if (shown === edit || shown === undefined) {
      this.marks.draw(edit.document, shown?.session, shown?.state === 'running');
    }
    this.updateContext();
    this.changed.fire();
  }

  private updateContext(): void {
    const state = this.active?.state;
    void vscode.commands.executeCommand('setContext', 'warmline.editRunning', state === 'running');
    void vscode.commands.executeCommand('setContext', 'warmline.editPending', state === 'pending');
  }

  private tell(message: string): void {
    this.log.info(message);
    void vscode.window.showInformationMessage(`Warmline: ${message}`);
  }
}

/** What to tell whoever waits for an edit that did not simply come out. */
function describe({ reason, changed }: EditEnd): string | undefined {
  switch (reason) {
    case 'stop':
      return changed ? undefined : 'The model left it as it is.';
    case 'accepted':
    case 'rejected':
    case 'undone':
    case 'closed':
    case 'interrupted':
      return undefined;
    case 'conflict':
      return 'The edit stopped where you changed the same code. What it had done stays, and so does yours.';
    case 'length':
      return 'The edit was cut off: the model would have written more than it may.';
    case 'cancel':
      return 'The server ended the edit. What it had done stays.';
    default:
      return changed ? `The edit ended: ${reason}. What it had done stays.` : `Nothing was edited: ${reason}.`;
  }
}

function name(document: vscode.TextDocument): string {
  return document.uri.path.slice(document.uri.path.lastIndexOf('/') + 1);
}

