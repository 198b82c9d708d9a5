"""The lines of a text, and what changed of them: the hunks of a unified diff."""

from __future__ import annotations

import difflib
from typing import Final

CONTEXT: Final = 3
"""Lines around changed ones that are shown."""


def split_lines(text: str) -> list[str]:
    """The lines of a text with their line ends; U+2028 and the like are no line ends."""
    lines = [line + "\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def hunks_of(text: str, span: tuple[int, int], new: str) -> str:
    """The hunks that put ``new`` in the place of the whole lines text[start:end]; "" if they are the same.

    Lines outside the span are context only: where lines repeat, the difference of the whole texts could just as well
    be one outside. The line after the span takes part if ``new`` joins it.
    """
    start, end = span
    before, old, after = split_lines(text[:start]), split_lines(text[start:end]), split_lines(text[end:])
    now = split_lines(new)
    if after and now and not now[-1].endswith("\n"):
        old.append(after.pop(0))
        now[-1] += old[-1]
    # A line outside is told from every other one by its place, so it is matched with itself.
    lines_before = [(number, line) for number, line in enumerate(before)]
    lines_after = [(~number, line) for number, line in enumerate(after)]
    a = [*lines_before, *((None, line) for line in old), *lines_after]
    b = [*lines_before, *((None, line) for line in now), *lines_after]
    hunks: list[str] = []
    for group in difflib.SequenceMatcher(None, a, b).get_grouped_opcodes(CONTEXT):
        (_, a_start, _, b_start, _), (_, _, a_end, _, b_end) = group[0], group[-1]
        hunks.append(f"@@ -{_extent(a_start, a_end)} +{_extent(b_start, b_end)} @@\n")
        for tag, i, j, k, m in group:
            if tag == "equal":
                hunks += [_line(" ", line) for _, line in a[i:j]]
            else:
                hunks += [_line("-", line) for _, line in a[i:j]]
                hunks += [_line("+", line) for _, line in b[k:m]]
    return "".join(hunks)


def changed_span(old: str, new: str) -> tuple[tuple[int, int], str]:
    """The whole lines of a text outside which another text is the same, and what stands there in that one."""
    a, b = split_lines(old), split_lines(new)
    most = min(len(a), len(b))
    first = next((at for at in range(most) if a[at] != b[at]), most)
    most -= first
    last = next((at for at in range(most) if a[~at] != b[~at]), most)
    start, behind = sum(map(len, a[:first])), sum(map(len, a[len(a) - last :]))
    return (start, len(old) - behind), new[start : len(new) - behind]


def _extent(start: int, end: int) -> str:
    """A range of lines as hunk headers have it: an empty one names the line before it."""
    return f"{start + 1 if end > start else start},{end - start}"


def _line(sign: str, line: str) -> str:
    return f"{sign}{line}" if line.endswith("\n") else f"{sign}{line}\n\\ No newline at end of file\n"
