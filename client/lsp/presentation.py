"""What of a suggestion is shown: pure functions of it and of what stands around it.

They are those of the VS Code extension (`editor-plugin/src/core/filters.ts`), but for the indentation: LSP tells a
server nothing of the editor's tabs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

_LINE_END: Final = re.compile(r"\r\n|\r|\n")
_OPENERS: Final = {")": "(", "]": "[", "}": "{"}
_BRACKETS: Final = re.compile(r'"(?:\\.|[^"\\\r\n])*"|\'(?:\\.|[^\'\\\r\n])*\'|[()[\]{}]')


def presentable(text: str, before: str, after: str) -> str:
    """What of a suggestion is worth showing between what stands before the cursor and what follows; maybe nothing.

    Lines end in LF, whatever the document has: editors put in their own.
    """
    text = _trimmed_end(_LINE_END.sub("\n", text), after)
    text = _trimmed_end(_without_repetition(text, after), after)
    text = _without_unmatched_closers(text, before, after)
    return text if text.strip() else ""


def first_line(text: str) -> str:
    """The text up to its first line end."""
    return _LINE_END.split(text, 1)[0]


def _trimmed_end(text: str, after: str) -> str:
    """Without the blank lines it ends with, and without trailing blanks where the line ends there."""
    text = re.sub(r"(?:[ \t]*\n)+[ \t]*\Z", "", text)
    return text.rstrip(" \t") if not after or after[0] in "\r\n" else text


def _without_repetition(text: str, after: str) -> str:
    """Without the end that says again what follows anyway; empty if all of it does."""
    rest = first_line(after).rstrip()
    if rest.strip():
        end = text.rstrip()
        if end.endswith(rest):
            return end[: len(end) - len(rest)]
        if end.endswith(rest.lstrip()):
            return end[: len(end) - len(rest.lstrip())].rstrip()
        return text
    lines = text.split("\n")
    following = [line.rstrip() for line in _LINE_END.split(after, 2 * len(lines) + 8) if line.strip()]
    for count in range(min(len(lines), len(following)), 0, -1):
        whole = count == len(lines)
        tail = [line.rstrip() for line in lines[len(lines) - count :]]
        # The first line stands behind other text, so its own indentation says nothing.
        same = tail == following[:count] or (
            whole and [tail[0].strip(), *tail[1:]] == [following[0].strip(), *following[1:count]]
        )
        telling = re.compile(r"\w" if count > 1 else r"\w{3}")
        if same and (whole or any(telling.search(line) for line in tail)):
            return "\n".join(lines[: len(lines) - count])
    return text


def _without_unmatched_closers(text: str, before: str, after: str) -> str:
    """Cut before a bracket that closes nothing: neither what the text opens, nor what is open before and not closed
    behind.
    """
    stack, _ = _open_and_unmatched(before)
    for closer in _open_and_unmatched(after)[1]:
        if not stack or stack[-1] != _OPENERS[closer]:
            break
        stack.pop()
    for bracket, at in _brackets(text):
        opener = _OPENERS.get(bracket)
        if opener is None:
            stack.append(bracket)
        elif stack and stack[-1] == opener:
            stack.pop()
        else:
            return text[:at].rstrip()
    return text


def _open_and_unmatched(text: str) -> tuple[list[str], list[str]]:
    """What is open at the end of a text, outermost first, and the closers in it that nothing there opens."""
    stack: list[str] = []
    unmatched: list[str] = []
    for bracket, _ in _brackets(text):
        opener = _OPENERS.get(bracket)
        if opener is None:
            stack.append(bracket)
        elif stack and stack[-1] == opener:
            stack.pop()
        else:
            unmatched.append(bracket)
    return stack, unmatched


def _brackets(text: str) -> Iterator[tuple[str, int]]:
    """The brackets of a text that are not in a string of one line, and where they are."""
    for found in _BRACKETS.finditer(text):
        if len(found[0]) == 1:
            yield found[0], found.start()
