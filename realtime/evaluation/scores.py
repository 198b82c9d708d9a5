"""How an answer compares with the right one. Distances between texts are inserted plus deleted characters."""

from __future__ import annotations

import math
from typing import Final

import msgspec
from rapidfuzz.distance import Indel, LCSseq

from ..documents.hunks import split_lines

_Z: Final = 1.959963984540054
"""The normal distribution's quantile for an interval of 95 %."""


class EditScores(msgspec.Struct, frozen=True):
    """How the range after an edit compares with the reference.

    Attributes:
        exact: it is the reference.
        exact_text: it is, but for whitespace at the ends of lines and at its end.
        size: how much it changes, relative to what the reference changes; None if the reference changes nothing.
        lines_kept: the share of the lines kept by the reference that it has, too, in their order; None if the
            reference keeps none.
        similarity: 1 for the reference, 0 for the range as it was, less than 0 for what is further from the
            reference than that; None if the reference changes nothing.
        parses: the file does, with it; None if that wasn't measured.
    """

    exact: bool
    exact_text: bool
    size: float | None
    lines_kept: float | None
    similarity: float | None
    parses: bool | None = None


class CompletionScores(msgspec.Struct, frozen=True):
    """How a completion compares with the text that was there.

    Attributes:
        exact: it is the text, and ended by itself.
        begins: it begins with the text.
        first_line: both are the same up to the end of the first line that is not blank.
        right: characters before the first wrong one.
        length: of the text.
    """

    exact: bool
    begins: bool
    first_line: bool
    right: int
    length: int


def score_edit(before: str, after: str, answer: str, parses: bool | None = None) -> EditScores:
    """Compare an edit's answer with the reference ``after``."""
    wanted = Indel.distance(before, after)
    return EditScores(
        exact=answer == after,
        exact_text=without_trailing_space(answer) == without_trailing_space(after),
        size=Indel.distance(before, answer) / wanted if wanted else None,
        lines_kept=lines_kept(before, after, answer),
        similarity=1 - Indel.distance(answer, after) / wanted if wanted else None,
        parses=parses,
    )


def score_completion(middle: str, answer: str, ended: bool) -> CompletionScores:
    """Compare a completion with the text that was there; ``ended`` says that the model ended it."""
    shorter = min(len(middle), len(answer))
    right = next((index for index in range(shorter) if middle[index] != answer[index]), shorter)
    return CompletionScores(
        exact=ended and answer == middle,
        begins=right == len(middle),
        first_line=first_line(answer) == first_line(middle),
        right=right,
        length=len(middle),
    )


def lines_kept(before: str, after: str, answer: str) -> float | None:
    """The share of the lines kept from ``before`` to ``after`` that ``answer`` has in the same order."""
    old = split_lines(before)
    blocks = Indel.opcodes(old, split_lines(after)).as_matching_blocks()
    kept = [line for block in blocks for line in old[block.a : block.a + block.size]]
    return LCSseq.similarity(kept, split_lines(answer)) / len(kept) if kept else None


def without_trailing_space(text: str) -> str:
    """The text without whitespace at the ends of its lines and at its own end."""
    return "\n".join(line.rstrip() for line in text.split("\n")).rstrip()


def first_line(text: str) -> str:
    """The text up to the end of its first line that isn't blank, without the line end."""
    blank = len(text) - len(text.lstrip())
    end = text.find("\n", blank)
    return text if end < 0 else text[:end]


def wilson_interval(successes: int, trials: int) -> tuple[float, float]:
    """Wilson's 95 % confidence interval of a proportion; (0, 1) without trials."""
    if not trials:
        return 0.0, 1.0
    share, square = successes / trials, _Z * _Z / trials
    middle = (share + square / 2) / (1 + square)
    half = _Z * math.sqrt((share * (1 - share) + square / 4) / trials) / (1 + square)
    return max(middle - half, 0.0), min(middle + half, 1.0)
