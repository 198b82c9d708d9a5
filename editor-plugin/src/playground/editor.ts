/** CodeMirror as the page has it. */
import { closeBrackets, closeBracketsKeymap } from '@codemirror/autocomplete';
import { defaultKeymap, historyKeymap } from '@codemirror/commands';
import { javascript } from '@codemirror/lang-javascript';
import { python } from '@codemirror/lang-python';
import { bracketMatching, indentOnInput, indentUnit, syntaxHighlighting } from '@codemirror/language';
import { EditorState, Prec } from '@codemirror/state';
import type { Extension } from '@codemirror/state';
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from '@codemirror/view';
import type { ViewUpdate } from '@codemirror/view';
import { classHighlighter } from '@lezer/highlight';
import { editView } from './edit_view.js';
import type { Example, Language } from './examples.js';
import { ghostView } from './ghost_view.js';

/** What keys do; each returns whether it had something to do, so that the key is free otherwise. */
export interface EditorActions {
  accept(): boolean;
  acceptWord(): boolean;
  escape(): boolean;
  trigger(): boolean;
  instruct(): boolean;
}

export interface EditorOptions {
  readonly parent: HTMLElement;
  /** What the page's policy wants style sheets to carry. */
  readonly nonce: string;
  readonly actions: EditorActions;
  readonly updated: (update: ViewUpdate) => void;
}

export function createEditor(options: EditorOptions, example: Example): EditorView {
  return new EditorView({ parent: options.parent, state: editorState(options, example) });
}

/** The state that an example begins with: its own history, its own language. */
export function editorState({ nonce, actions, updated }: EditorOptions, example: Example): EditorState {
  const keys = [
    { key: 'Tab', run: () => actions.accept() },
    { key: 'Ctrl-ArrowRight', mac: 'Alt-ArrowRight', run: () => actions.acceptWord() },
    { key: 'Escape', run: () => actions.escape() },
    { key: 'Alt-\\', run: () => actions.trigger() },
    { key: 'Mod-i', run: () => actions.instruct(), preventDefault: true },
  ];
  const cursor = example.text.indexOf(example.cursor) + example.cursor.length;
  return EditorState.create({
    doc: example.text,
    selection: { anchor: cursor },
    extensions: [
      Prec.highest(keymap.of(keys)),
      EditorView.cspNonce.of(nonce),
      EditorView.contentAttributes.of({
        'aria-label': `Code: ${example.file}`,
        'aria-describedby': 'ghost-state',
        tabindex: '0', // what is edited takes the focus anyway, but not every checker knows
      }),
      lineNumbers(),
      highlightActiveLine(),
      drawSelection(),
      EditorView.lineWrapping,
      indentOnInput(),
      indentUnit.of(example.language === 'python' ? '    ' : '  '),
      bracketMatching(),
      closeBrackets(),
      syntaxHighlighting(classHighlighter),
      languageOf(example.language),
      editView,
      ghostView,
      keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...historyKeymap]),
      EditorView.updateListener.of(updated),
    ],
  });
}

function languageOf(language: Language): Extension {
  return language === 'python' ? python() : javascript({ typescript: true });
}
