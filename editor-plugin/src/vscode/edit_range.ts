/** What an instruction is about: the selection, or else what the cursor stands in. */
import * as vscode from 'vscode';

/** A longer function is not taken as a whole: small models lose their way in it. */
const MOST_LINES = 120;

/** Whole lines, with the last line's end where there is one: so the cursor at the end of a line is within the range. */
export async function editRange(editor: vscode.TextEditor): Promise<vscode.Range> {
  const { document, selection } = editor;
  if (!selection.isEmpty) {
    // A selection that ends before a line's first character does not mean that line.
    const last = selection.end.character === 0 ? selection.end.line - 1 : selection.end.line;
    return wholeLines(document, selection.start.line, last);
  }
  const symbol = await enclosingSymbol(document, selection.active);
  if (symbol !== undefined) {
    return wholeLines(document, symbol.start.line, symbol.end.line);
  }
  return paragraph(document, selection.active.line);
}

function wholeLines(document: vscode.TextDocument, first: number, last: number): vscode.Range {
  return document.validateRange(new vscode.Range(first, 0, last + 1, 0));
}

/** The smallest function or class around a place that is not too long. */
async function enclosingSymbol(document: vscode.TextDocument, at: vscode.Position): Promise<vscode.Range | undefined> {
  const symbols = await vscode.commands.executeCommand<vscode.DocumentSymbol[] | undefined>(
    'vscode.executeDocumentSymbolProvider',
    document.uri,
  );
  const kinds = new Set([
    vscode.SymbolKind.Function,
    vscode.SymbolKind.Method,
    vscode.SymbolKind.Constructor,
    vscode.SymbolKind.Class,
  ]);
  let found: vscode.Range | undefined;
  let level: readonly vscode.DocumentSymbol[] = symbols ?? [];
  for (;;) {
    // Some providers answer with the older SymbolInformation, which has no `range`.
    const inner = level.find((symbol) => (symbol as Partial<vscode.DocumentSymbol>).range?.contains(at));
    if (inner === undefined) {
      return found;
    }
    if (kinds.has(inner.kind) && inner.range.end.line - inner.range.start.line < MOST_LINES) {
      found = inner.range;
    }
    level = inner.children;
  }
}

/** The lines around a line up to empty ones. */
function paragraph(document: vscode.TextDocument, line: number): vscode.Range {
  const empty = (number: number): boolean => document.lineAt(number).isEmptyOrWhitespace;
  let [first, last] = [line, line];
  if (!empty(line)) {
    while (first > 0 && !empty(first - 1) && line - first < MOST_LINES / 2) {
      first--;
    }
    while (last + 1 < document.lineCount && !empty(last + 1) && last - line < MOST_LINES / 2) {
      last++;
    }
  }
  return wholeLines(document, first, last);
}
