"""Whether a text closes the brackets and quotes that an editor closed by itself behind the cursor.

An editor that puts in ``()`` for a ``(`` leaves a *tail* behind the cursor: the closers of what was opened before it,
innermost first, and white space in front of them where Enter put one on a line of its own. A text that goes on at the
cursor may take the tail's place if it closes the same brackets itself, in the same order.

The rule knows no language. A closer closes the innermost bracket of its kind that is open, and what was opened within
is given up; a quote closes one of its kind if there is one, and else opens; three in a row are a quote of their own.
A backslash hides what follows it; ``"`` and ``'`` don't outlast their line, nor does a comment (``#``, and ``//`` but
where it divides: behind an operand and one space). In a string or a comment, typed or generated, brackets match among
themselves only. Of those that the cursor stands in, they are what the tail closes only if what is open outside can't
be: an editor may or may not close brackets there. But what looks like a string may be none (an apostrophe, a
lifetime). So a text is read both ways, with strings and with none but those that the tail closes, and has to close
the tail in both: in doubt a suggestion starts afresh that could have gone on.

It is asked for each key and each piece of a text, so its cost is linear, and no more than `MAX_READ` is read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from typing import Final

MAX_READ: Final = 4096
"""Characters of a text in which its closers count, from the place on; what comes later closes nothing."""

_CLOSERS: Final = {"(": ")", "[": "]", "{": "}"}
_MARK: Final = re.compile(
    r"""\\.|\"{3}|'{3}|[()\[\]{}"'`\n]|(?:(?<=\s)|^)(?:\#|(?<![\w)\]][ \t])//)""", re.DOTALL | re.MULTILINE
)
_QUOTES: Final = frozenset(("'", '"', "'''", '"""', "`"))
_COMMENTS: Final = frozenset(("#", "//"))
_TAIL: Final = re.compile(r"""[)\]}`]|\"{1,3}|'{1,3}""")


def closes(typed: str, rest: str, tail: str) -> bool:
    """Whether ``rest``, which goes on behind ``typed``, closes what ``tail`` closes there."""
    wanted = _closers(tail)
    return wanted is not None and all(_in_order(wanted, closed) for closed, _ in _readings(typed, rest, wanted))


def may_close(typed: str, rest: str, tail: str) -> bool:
    """Whether it does, or may yet if more follows."""
    wanted = _closers(tail)
    if wanted is None:
        return False
    more = len(typed) + len(rest) < MAX_READ
    for closed, still_open in _readings(typed, rest, wanted):
        if not _in_order(wanted, closed + still_open if more else closed):
            return False
    return True


def _closers(tail: str) -> list[str] | None:
    """The closers that a tail consists of; None if it has anything else, or ends with white space."""
    return None if _TAIL.sub("", tail).strip() or tail[-1:].isspace() else _TAIL.findall(tail)


def _in_order(wanted: Iterable[str], closers: Iterable[str]) -> bool:
    """Whether what is wanted is among the closers, in their order. One quote may be the first of three."""
    left = iter(closers)
    return all(any(closer.startswith(one) for closer in left) for one in wanted)


def _readings(typed: str, rest: str, wanted: Iterable[str]) -> Iterator[tuple[list[str], list[str]]]:
    """Both ways to read a text: with strings, and with none but what the tail closes."""
    wanted = list(wanted)
    outside = _read(typed, "", opaque=True, within=False)[1]
    yield _read(typed, rest, opaque=True, within=not _in_order(wanted, outside))
    yield _read(
        typed, rest, opaque=False, quotes={quote for quote in _QUOTES for one in wanted if one[0] == quote[0]}
    )


def _read(
    typed: str, rest: str, *, opaque: bool, within: bool = True, quotes: Collection[str] = _QUOTES
) -> tuple[list[str], list[str]]:
    """The closers in ``rest`` of what ``typed`` had opened, and those of what is open still, innermost first.

    Brackets in a comment, and in a string if ``opaque``, match among themselves, or not at all if not ``within``.
    Only ``quotes`` are taken for some.
    """
    opened: list[tuple[str, int]] = []  # the closer that is waited for, and where it was opened
    waiting: Counter[str] = Counter()  # how many of `opened` wait for each closer
    closed: list[str] = []
    inside = ""  # the quote of the string, or "#" for the comment, that is being read
    floor = 0  # what is above in `opened` was opened by the string's quote and in it, or in the comment
    outside = waiting

    def close(depth: int, end: int) -> None:
        """The mark that ends there closes this one, and gives up what is above."""
        closer, at = opened[depth]
        if at < len(typed) < end:
            closed.append(closer)
        waiting.subtract(closer for closer, _ in opened[depth:])
        del opened[depth:]

    for found in _MARK.finditer((typed[:MAX_READ] + rest[:MAX_READ])[:MAX_READ]):
        mark, at = found[0], found.start()
        if mark == "\n":
            if inside and inside in "#\"'":
                del opened[floor:]
                inside, waiting = "", outside
            for quote in "\"'":
                if waiting[quote]:  # there is one at most
                    del opened[_innermost(opened, quote)]
                    waiting[quote] = 0
        elif mark[0] == "\\" or (mark in _QUOTES and mark not in quotes):
            continue
        elif inside in _QUOTES and mark.startswith(inside):
            close(floor, found.end())
            inside, waiting = "", outside
        elif mark in _CLOSERS:
            if within or not inside:
                opened.append((_CLOSERS[mark], at))
                waiting[_CLOSERS[mark]] += 1
        elif waiting[mark]:
            close(_innermost(opened, mark), found.end())
        elif inside:
            if inside == "#" and within and mark in _QUOTES:  # a word in quotes, which hide nothing there
                opened.append((mark, at))
                waiting[mark] += 1
        elif mark in _COMMENTS:
            if not any(waiting[quote] for quote in _QUOTES):
                inside, floor, waiting = "#", len(opened), Counter()
        elif mark in _QUOTES:
            opened.append((mark, at))
            if opaque:
                inside, floor, waiting = mark, len(opened) - 1, Counter()
            else:
                waiting[mark] += 1
    return closed, [closer for closer, at in reversed(opened) if at < len(typed)]


def _innermost(opened: list[tuple[str, int]], closer: str) -> int:
    """Where the last one is that waits for a closer, which there must be.

    A closer gives up all that is passed by on the way. A quote that ends with its line doesn't, but the next one of
    its kind is opened behind. So each mark is passed by three times at most, in all the searches of a text.
    """
    depth = len(opened) - 1
    while opened[depth][0] != closer:
        depth -= 1
    return depth
