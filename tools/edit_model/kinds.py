"""What is known of each kind of edit: whether it can be done by copying alone, and how often it should occur."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from . import mixes, unchanged
from .record import Category

_SEMANTIC: Final = re.compile(
    r"fix-|use-|extract-|inline-|invert-|merge-|split-|simplify-|flatten-|convert-|combine-|nest-|unnest-|replace-|"
    r"introduce-|expand-|log-with-|reverse-|swap-branches|early-return|return-|add-else|remove-redundant-|"
    r".*-to-|.*-with-"
)
"""Kinds whose result takes an understanding of the code or of the language. All others are mechanical: the code with
what the instruction says put in, taken out or replaced."""

_SEMANTIC_KINDS: Final = frozenset(
    {
        mixes.TWO_EDITS, mixes.STEERED, mixes.CORRECTED, "augmented-assignment", "destructuring",
        "explicit-length-check", "explicit-return", "for-of", "implicit-return", "literal-for-call",
        "negate-condition", "nullish-coalescing", "object-longhand", "object-shorthand", "optional-chaining",
        "plain-assignment", "remove-boolean-comparison", "remove-walrus", "sort-entries", "spread",
        "string-concatenation", "template-literal",
    }
)  # fmt: skip

WEIGHTS: Final[dict[str, float]] = {
    mixes.TWO_EDITS: 8.0,
    mixes.STEERED: 6.0,
    mixes.CORRECTED: 3.0,
    "rename-variable": 6.0,
    "rename-parameter": 5.0,
    "rename-function": 5.0,
    "rename-attribute": 4.0,
    "rename-method": 2.0,
    "rename-class": 2.0,
    "change-constant": 4.0,
    "change-string": 4.0,
    "add-docstring": 4.0,
    "add-comment": 2.0,
    "add-parameter": 3.0,
    "add-guard": 2.5,
    "add-raise": 2.0,
    "add-log": 2.0,
    "change-default": 2.0,
    "remove-parameter": 2.0,
    "wrap-try": 2.0,
}
"""How often a kind is tried, in relation to others, which have 1.0 if they are mechanical and 1.3 if not."""

UNCHANGED_SHARE: Final = 0.06


def category_of(kind: str) -> Category:
    """The category of a kind."""
    if kind in unchanged.KINDS:
        return "unchanged"
    return "semantic" if kind in _SEMANTIC_KINDS or _SEMANTIC.match(kind) else "mechanical"


@cache
def weight_of(kind: str) -> float:
    """How often a kind is tried."""
    found = WEIGHTS.get(kind)
    if found is not None:
        return found
    return 1.3 if category_of(kind) == "semantic" else 1.0
