"""Whether a text closes the brackets and quotes that an editor closed by itself behind the cursor.

An editor that puts in ``()`` for a ``(`` leaves a *tail* behind the cursor: the closers of what was opened before it,
innermost first, and white space in front of them where Enter put one on a line of its own. A text that goes on at the
cursor may take the tail's place if it closes the same brackets itself, in the same order.

The rule knows no language. A closer closes the innermost bracket of its kind that is open, and what was opened within
is given up; a quote closes one of its kind if there is one, and else opens; three in a row are a quote of their own.
A backslash hides what follows it; ``"`` and ``'`` don't outlast their line. Where it takes a text wrongly (an
apostrophe in a comment), a suggestion starts afresh that could have gone on, and no text becomes wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

_CLOSERS: Final = {"(": ")", "[": "]", "{": "}"}
_MARK: Final = re.compile(r"""\\.|\"{3}|'{3}|[()\[\]{}"'`\n]""", re.DOTALL)
_TAIL: Final = re.compile(r"""[)\]}`]|\"{1,3}|'{1,3}""")


def closes(typed: str, rest: str, tail: str) -> bool:
    """Whether ``rest``, which goes on behind ``typed``, closes what ``tail`` closes there."""
    wanted = _closers(tail)
    return wanted is not None and _in_order(wanted, _read(typed, rest)[0])


def may_close(typed: str, rest: str, tail: str) -> bool:
    """Whether it does, or may yet if more follows."""
    wanted = _closers(tail)
    if wanted is None:
        return False
    closed, still_open = _read(typed, rest)
    return _in_order(wanted, closed + still_open)


def _closers(tail: str) -> list[str] | None:
    """The closers that a tail consists of; None if it has anything else, or ends with white space."""
    return None if _TAIL.sub("", tail).strip() or tail[-1:].isspace() else _TAIL.findall(tail)


def _in_order(wanted: Iterable[str], closers: Iterable[str]) -> bool:
    """Whether what is wanted is among the closers, in their order. One quote may be the first of three."""
    left = iter(closers)
    return all(any(closer.startswith(one) for closer in left) for one in wanted)


def _read(typed: str, rest: str) -> tuple[list[str], list[str]]:
    """The closers in ``rest`` of what ``typed`` had opened, and those of what is open still, innermost first."""
    opened: list[tuple[str, int]] = []  # the closer that is waited for, and where it was opened
    closed: list[str] = []
    for found in _MARK.finditer(typed + rest):
        mark = found[0]
        if mark == "\n":
            opened = [entry for entry in opened if entry[0] not in "\"'"]
        elif mark in _CLOSERS:
            opened.append((_CLOSERS[mark], found.start()))
        elif mark[0] != "\\":
            depth = next((depth for depth in reversed(range(len(opened))) if opened[depth][0] == mark), None)
            if depth is not None:
                if opened[depth][1] < len(typed) < found.end():
                    closed.append(mark)
                del opened[depth:]
            elif mark not in _CLOSERS.values():
                opened.append((mark, found.start()))
    return closed, [closer for closer, at in reversed(opened) if at < len(typed)]
