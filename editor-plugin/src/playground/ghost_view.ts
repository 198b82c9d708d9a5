/** Ghost text in CodeMirror: text that is drawn behind the cursor and is not in the document. */
import { StateEffect, StateField } from '@codemirror/state';
import type { EditorState, Extension } from '@codemirror/state';
import { Decoration, EditorView, WidgetType } from '@codemirror/view';
import type { DecorationSet } from '@codemirror/view';

/** As much of a suggestion as it takes to draw it: `text` in place of [start, end). */
export interface Shown {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

export const showGhost = StateEffect.define<Shown | undefined>();

interface Drawn {
  readonly shown: Shown | undefined;
  readonly decorations: DecorationSet;
}

const nothing: Drawn = { shown: undefined, decorations: Decoration.none };

const field = StateField.define<Drawn>({
  create: () => nothing,
  update(drawn, transaction) {
    let result = drawn;
    if (transaction.docChanged && drawn.shown !== undefined) {
      result = nothing; // who shows it says anew where it stands
    }
    for (const effect of transaction.effects) {
      if (effect.is(showGhost)) {
        result = effect.value === undefined ? nothing : drawnAt(effect.value);
      }
    }
    return result;
  },
  provide: (self) => EditorView.decorations.from(self, ({ decorations }) => decorations),
});

export const ghostView: Extension = field;

export function shownGhost(state: EditorState): Shown | undefined {
  return state.field(field).shown;
}

function drawnAt(shown: Shown): Drawn {
  const widget = Decoration.widget({ widget: new GhostWidget(shown.text), side: 1 }).range(shown.start);
  // What the text takes the place of would be said twice.
  const replaced = shown.end > shown.start ? [Decoration.replace({}).range(shown.start, shown.end)] : [];
  return { shown, decorations: Decoration.set([widget, ...replaced], true) };
}

class GhostWidget extends WidgetType {
  constructor(private readonly text: string) {
    super();
  }

  override eq(other: GhostWidget): boolean {
    return other.text === this.text;
  }

  toDOM(): HTMLElement {
    const element = document.createElement('span');
    element.className = 'ghost';
    element.setAttribute('aria-hidden', 'true'); // the page says it in its own time
    element.textContent = this.text;
    return element;
  }

  override updateDOM(element: HTMLElement): boolean {
    element.textContent = this.text; // in place: a stream of pieces doesn't flicker
    return true;
  }

  override ignoreEvent(): boolean {
    return false;
  }
}
