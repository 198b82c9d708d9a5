/** The document in the editor: kept the same on the server, completed as it is typed, and edited by instruction. */
import { isolateHistory } from '@codemirror/commands';
import type { EditorView, ViewUpdate } from '@codemirror/view';
import { WarmlineError } from '../core/index.js';
import type { Client, Completion, Document, EditSession, Sampling } from '../core/index.js';
import type { Announcer } from './announcer.js';
import { editsOf } from './changes.js';
import { byEdit } from './edit_view.js';
import { createEditor, editorState } from './editor.js';
import type { EditorActions, EditorOptions } from './editor.js';
import type { Example } from './examples.js';
import { GhostText } from './ghost_text.js';
import type { Ghost } from './ghost_text.js';
import { showGhost } from './ghost_view.js';
import { InPlaceEdit } from './in_place_edit.js';
import { afterPaint } from './paint.js';
import { editRange } from './ranges.js';
import type { Timed } from './recorder.js';
import type { Asked } from './sdk_code.js';
import { Watching } from './watching.js';
import { nextWord } from './words.js';

export interface WorkspaceOptions {
  readonly client: Client;
  readonly parent: HTMLElement;
  readonly nonce: string;
  readonly now: () => number;
  readonly automatic: () => boolean;
  readonly speculation: () => boolean;
  readonly announcer: Announcer;
  /** The instruction is to be typed now. */
  readonly instruct: () => void;
  /** What is suggested, or that nothing is. */
  readonly suggested: (ghost: Ghost | undefined, problem?: string) => void;
  /** The edit came on, ended, or is gone. */
  readonly edited: () => void;
  /** A request runs, or has come on; undefined once none does. */
  readonly running: (watching: Watching | undefined) => void;
  /** A request ended well, and was painted. */
  readonly timed: (timed: Timed) => void;
}

const COMPLETION_TOKENS = 128;
const WARM_DELAY = 150;

export class Workspace implements EditorActions {
  readonly view: EditorView;
  /** The edit that runs or was done last, for as long as it is followed. */
  edit: InPlaceEdit | undefined;
  /** Instructions of that, in order. */
  instructions: string[] = [];
  /** What was asked for last, for whoever wants to ask by program. */
  private asked: Pick<Asked, 'text' | 'what'> | undefined;
  private document: Document;
  private ghost: GhostText;
  private readonly editorOptions: EditorOptions;
  private readonly watched = new Map<Completion | EditSession, Watching>();
  private readonly over = new WeakSet(); // requests whose end was told
  private warming: ReturnType<typeof setTimeout> | undefined;
  private loads = 0;

  constructor(
    private readonly options: WorkspaceOptions,
    private example: Example,
  ) {
    const { parent, nonce, client } = options;
    this.editorOptions = { parent, nonce, actions: this, updated: (update) => this.updated(update) };
    this.document = this.openDocument(example);
    this.ghost = this.makeGhost();
    this.view = createEditor(this.editorOptions, example);
    client.onEnded((request) => this.ended(request));
  }

  /** Begin anew with an example. */
  load(example: Example): void {
    this.edit?.dispose();
    this.edit = undefined;
    this.ghost.dispose();
    this.document.close();
    this.example = example;
    this.asked = undefined;
    this.document = this.openDocument(example);
    this.ghost = this.makeGhost();
    this.view.setState(editorState(this.editorOptions, example));
    this.view.scrollDOM.scrollTop = 0;
    this.options.suggested(undefined);
    this.options.edited();
  }

  // Completions ------------------------------------------------------------------------------------------------------

  accept(): boolean {
    const ghost = this.ghost.current;
    if (ghost === undefined) {
      return false;
    }
    this.insert(ghost.start, ghost.end, ghost.text);
    return true;
  }

  acceptWord(): boolean {
    const ghost = this.ghost.current;
    if (ghost === undefined) {
      return false;
    }
    const word = nextWord(ghost.text);
    // Closers behind the cursor stay until the rest of the text takes their place.
    this.insert(ghost.start, word === ghost.text ? ghost.end : ghost.start, word);
    return true;
  }

  /** One press, one effect: what is suggested goes first, then the edit stops. */
  escape(): boolean {
    if (this.ghost.current !== undefined) {
      this.ghost.dismiss();
      return true;
    }
    return this.stop();
  }

  trigger(): boolean {
    this.ghost.trigger(this.view.state.selection.main.head);
    return true;
  }

  instruct(): boolean {
    this.options.instruct();
    return true;
  }

  // Edits ------------------------------------------------------------------------------------------------------------

  get editing(): boolean {
    return this.edit?.running === true;
  }

  /** Edit what is selected, or steer the edit that runs. Throws a WarmlineError if it can't be asked for. */
  async send(instruction: string): Promise<void> {
    const running = this.editing ? this.edit : undefined;
    if (running !== undefined) {
      await running.session.steer(instruction);
      this.instructions.push(instruction);
      this.options.edited();
      return;
    }
    this.edit?.dispose();
    this.ghost.dismiss();
    const { main } = this.view.state.selection;
    const text = this.document.toString();
    const { start, end } = editRange(text, main.anchor, main.head);
    this.asked = { text, what: { kind: 'edit', start, end, instruction } };
    const session = this.options.client.edit(this.document, start, end, instruction, { sampling: this.sampling });
    this.instructions = [instruction];
    this.watch(session);
    this.edit = new InPlaceEdit(this.view, session, () => {
      this.paintedSoon(session);
      this.options.edited();
    });
    this.options.edited();
  }

  /** Stop the edit that runs. Returns whether there was one. */
  stop(): boolean {
    if (!this.editing) {
      return false;
    }
    this.edit?.stop();
    return true;
  }

  /** Say where an edit will probably be asked for: its prompt is computed while the instruction is typed. */
  warmRange(): void {
    clearTimeout(this.warming);
    this.warming = setTimeout(() => {
      const { main } = this.view.state.selection;
      const { start, end } = editRange(this.document.toString(), main.anchor, main.head);
      this.document.warm(start, end);
    }, WARM_DELAY);
  }

  /** What was asked for last; else the completion at the cursor. */
  get question(): Pick<Asked, 'uri' | 'language' | 'text' | 'what'> {
    const asked = this.asked ?? {
      text: this.document.toString(),
      what: { kind: 'completion', position: this.view.state.selection.main.head } as const,
    };
    return { uri: this.document.uri, language: this.example.language, ...asked };
  }

  // What happens -----------------------------------------------------------------------------------------------------

  private updated(update: ViewUpdate): void {
    for (const transaction of update.transactions) {
      if (!transaction.docChanged) {
        continue;
      }
      const ours = transaction.annotation(byEdit) !== undefined;
      const undone = transaction.isUserEvent('undo');
      const before = this.edit?.session.own.extent;
      const revertible = this.edit?.revertible;
      const change = this.document.change(editsOf(transaction.changes));
      if (change === undefined) {
        continue;
      }
      const typed = !ours && (transaction.isUserEvent('input') || transaction.isUserEvent('delete'));
      if (typed) {
        this.asked = undefined;
      }
      if (undone && before !== undefined && change.edits.some(({ start, end }) => start <= before.end && end >= before.start)) {
        this.edit?.undone();
      }
      if (this.edit?.revertible !== revertible) {
        this.options.edited();
      }
      this.ghost.changed(change, typed, transaction.newSelection.main.head);
    }
    if (update.selectionSet && !update.docChanged) {
      this.ghost.moved();
      if (!update.state.selection.main.empty) {
        this.warmRange();
      }
    }
  }

  private insert(start: number, end: number, text: string): void {
    this.view.dispatch({
      changes: { from: start, to: end, insert: text },
      selection: { anchor: start + text.length },
      userEvent: 'input.complete',
      annotations: isolateHistory.of('full'),
      scrollIntoView: true,
    });
    this.view.focus();
  }

  private openDocument(example: Example): Document {
    return this.options.client.open(`file:///playground/${++this.loads}/${example.file}`, example.language, example.text);
  }

  private makeGhost(): GhostText {
    return new GhostText(this.options.client, this.document, {
      automatic: this.options.automatic,
      sampling: () => ({ maxTokens: COMPLETION_TOKENS, ...this.sampling }),
      show: (ghost, asked) => this.show(ghost, asked),
      failed: (error) => this.options.suggested(undefined, error.message),
    });
  }

  private get sampling(): Sampling {
    return { speculation: this.options.speculation() ? 'auto' : 'off' };
  }

  private show(ghost: Ghost | undefined, asked: boolean): void {
    this.view.dispatch({ effects: showGhost.of(ghost) });
    this.options.suggested(ghost, ghost === undefined && asked ? 'Nothing to suggest here.' : undefined);
    if (ghost === undefined) {
      this.options.announcer.hush();
      return;
    }
    this.options.announcer.say(`Suggestion: ${ghost.text.trim().split('\n')[0] ?? ''}`);
    if (ghost.request?.document === this.document) {
      this.watch(ghost.request);
      this.paintedSoon(ghost.request);
    }
  }

  private watch(request: Completion | EditSession): void {
    if (!this.watched.has(request) && !this.over.has(request)) {
      const watching = new Watching(request, this.options.now);
      this.watched.set(request, watching);
      this.options.running(watching);
    }
  }

  private paintedSoon(request: Completion | EditSession): void {
    const watching = this.watched.get(request);
    if (watching !== undefined && !document.hidden) {
      afterPaint(() => {
        watching.painted();
        if (this.watched.get(request) === watching) {
          this.options.running(watching);
        }
      });
    }
  }

  private ended(request: object): void {
    this.over.add(request);
    const watching = [...this.watched.values()].find((one) => one.request === request);
    if (watching === undefined) {
      return;
    }
    this.watched.delete(watching.request);
    this.options.running([...this.watched.values()].at(-1));
    const report = (): void => {
      const timed = watching.timed();
      if (timed !== undefined) {
        this.options.timed(timed);
      }
    };
    // What came with the end is drawn in the next frame and painted after it; where nobody looks, there is no frame.
    if (document.hidden) {
      report();
    } else {
      afterPaint(() => afterPaint(report));
    }
  }
}

/** What to say of an error to a person. */
export function inWords(error: unknown): string {
  return error instanceof WarmlineError || error instanceof Error ? error.message : String(error);
}
