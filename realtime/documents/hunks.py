"""The lines of a text, and what changed of them: the hunks of a unified diff."""

from __future__ import annotations

import difflib
from typing import Final

CONTEXT: Final = 3
"""Lines around changed ones that are shown."""
_STEPS: Final = 1_000_000
"""Comparisons of lines for one text, which take about 0.1 s."""

_Line = tuple[int | None, str]
"""A line, and where it is if it must not be taken for another one."""


def split_lines(text: str) -> list[str]:
    """The lines of a text with their line ends; U+2028 and the like are no line ends."""
    lines = [line + "\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def hunks_of(text: str, span: tuple[int, int], new: str) -> str:
    """The hunks that put ``new`` in the place of the whole lines text[start:end]; "" if they are the same.

    Lines outside the span are context only: where lines repeat, the difference of the whole texts could just as well
    be one outside. The line after the span takes part if ``new`` joins it. Where so many lines repeat that comparing
    them would take too long, what is left to compare is one change.
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
    for group in _Matcher(a, b, len(before), len(after)).get_grouped_opcodes(CONTEXT):
        (_, a_start, _, b_start, _), (_, _, a_end, _, b_end) = group[0], group[-1]
        hunks.append(f"@@ -{_extent(a_start, a_end)} +{_extent(b_start, b_end)} @@\n")
        for tag, i, j, k, m in group:
            if tag == "equal":
                hunks += [_line(" ", line) for _, line in a[i:j]]
            else:
                hunks += [_line("-", line) for _, line in a[i:j]]
                hunks += [_line("+", line) for _, line in b[k:m]]
    return "".join(hunks)


class _Matcher(difflib.SequenceMatcher[_Line]):
    """Compares lines with a bounded number of steps; so many at both ends match themselves in any case.

    difflib's time grows with the cube of the lines where these repeat.
    """

    def __init__(self, a: list[_Line], b: list[_Line], head: int, tail: int) -> None:
        super().__init__(None, a, b)
        self._lines = a
        places: dict[_Line, list[int]] = self.b2j  # type: ignore[attr-defined]  # which typeshed leaves out
        self._repeats = {line: len(found) for line, found in places.items()}
        self._head = head
        self._a_end, self._b_end = len(a) - tail, len(b) - tail
        self._left = _STEPS

    def find_longest_match(
        self, alo: int = 0, ahi: int | None = None, blo: int = 0, bhi: int | None = None
    ) -> difflib.Match:
        """The longest run of lines that both parts have; none once the steps are used up."""
        assert ahi is not None
        assert bhi is not None
        if self._left >= 0:
            self._left -= sum(1 + self._repeats.get(line, 0) for line in self._lines[alo:ahi])
        if self._left >= 0:
            return super().find_longest_match(alo, ahi, blo, bhi)
        if alo < self._head:
            return difflib.Match(alo, blo, self._head - alo)
        if ahi > self._a_end:
            return difflib.Match(self._a_end, self._b_end, ahi - self._a_end)
        return difflib.Match(alo, blo, 0)


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
