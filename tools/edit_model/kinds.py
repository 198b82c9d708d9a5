"""What is known of each kind of edit: whether it can be done by copying alone, and how often it should occur."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from . import mixes, unchanged
from .record import Category, Split

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

HELD_OUT_WEIGHTS: Final[dict[str, float]] = {
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
"""How often a kind is tried for the held-out set, in relation to others, which have 1.0 if they are mechanical and
1.3 if not. As it decides that set's bytes, it stays as it is."""

TRAINING_WEIGHTS: Final[dict[str, float]] = {
    mixes.TWO_EDITS: 24.0,
    mixes.STEERED: 8.0,
    mixes.CORRECTED: 4.0,
    "rename-variable": 7.0,
    "rename-parameter": 6.0,
    "rename-function": 6.0,
    "rename-attribute": 5.0,
    "rename-method": 2.0,
    "rename-class": 2.0,
    "change-constant": 5.0,
    "change-string": 5.0,
    "change-default": 3.0,
    "add-default": 3.0,
    "remove-default": 3.0,
    "add-parameter": 6.0,
    "remove-parameter": 5.0,
    "move-parameter": 1.5,
    "add-type-hints": 3.0,
    "add-type-hint": 2.0,
    "add-return-type": 2.0,
    "remove-type-hints": 2.0,
    "add-docstring": 3.0,
    "remove-docstring": 3.0,
    "add-comment": 5.0,
    "add-trailing-comment": 2.0,
    "change-comment": 2.5,
    "remove-comment": 3.5,
    "remove-comments": 3.0,
    "add-guard": 3.5,
    "add-raise": 3.0,
    "early-return": 3.0,
    "add-return": 2.0,
    "add-log": 5.0,
    "add-print": 2.5,
    "add-local-import": 2.0,
    "wrap-try": 4.0,
    "wrap-if": 3.5,
    "wrap-with": 2.5,
    "wrap-loop": 2.0,
    "unwrap-block": 2.0,
    "unwrap-if": 2.0,
    "delete-statement": 6.0,
    "delete-block": 3.0,
    "delete-branch": 3.5,
    "delete-calls": 3.0,
    "remove-else": 2.0,
    "remove-decorator": 2.0,
    "remove-keyword-argument": 2.0,
    "remove-property": 2.0,
    "add-statement": 2.0,
    "make-async": 2.0,
    "strict-equality": 2.5,
    "extract-variable": 3.0,
    "inline-variable": 3.0,
    "invert-condition": 3.0,
    "loop-to-comprehension": 3.0,
    "comprehension-to-loop": 2.0,
    "template-literal": 3.0,
    "use-f-string": 2.5,
    "use-f-strings": 2.5,
    "use-f-string-for-format": 2.5,
    "use-f-string-for-percent": 2.5,
    "use-f-string-for-concatenation": 2.5,
    "use-f-strings-for-format": 2.5,
    "use-f-strings-for-percent": 2.5,
    "list-to-tuple": 2.0,
    "tuple-to-list": 2.0,
}
"""The same for training: more of what is asked for most and of what came out worst, less of what is learnt early."""

UNCHANGED_SHARE: Final = 0.06
"""Of the edits, how many are requests that leave the range as it is."""

SIMPLE: Final = frozenset(
    {
        "rename-variable", "rename-parameter", "rename-function", "rename-attribute", "change-constant",
        "change-string", "change-default", "add-default", "remove-default", "add-docstring", "remove-docstring",
        "add-comment", "remove-comment", "change-comment", "add-guard", "add-raise", "add-log", "add-print",
        "add-assert", "add-parameter", "remove-parameter", "add-return-type", "add-type-hint", "remove-type-hint",
        "delete-statement", "change-operator", "change-boolean", "change-called-function", "wrap-try",
        "change-type", "change-type-hint", "make-async", "add-decorator", "remove-decorator", "add-statement",
        "change-return", "change-return-value", "change-assigned-value", "change-variable",
    }
)  # fmt: skip
"""Kinds of which two together make an instruction that people give."""

_SHOWN_AS: Final = {
    "fix-missing-bracket": "fix-syntax",
    "fix-extra-bracket": "fix-syntax",
    "fix-missing-colon": "fix-syntax",
    "fix-missing-comma": "fix-syntax",
    "fix-missing-quote": "fix-syntax",
    "fix-typo-in-comment": "fix-typo",
    "fix-typo-in-docstring": "fix-typo",
    "fix-typo-in-string": "fix-typo",
    "fix-typo-in-name": "fix-typo",
    "fix-wrong-variable": "fix-variable",
    "fix-missing-not": "fix-negation",
    "fix-swapped-arguments": "fix-argument-order",
    "ternary-to-if-else": "ternary-to-if",
    "if-else-to-ternary": "if-to-ternary",
    "merge-nested-ifs": "merge-ifs",
    "augmented-assignment": "compound-assignment",
    "plain-assignment": "expand-assignment",
    "change-return-value": "change-return",
    "change-raised-exception": "change-exception",
}


def category_of(kind: str) -> Category:
    """The category of a kind."""
    if kind in unchanged.KINDS:
        return "unchanged"
    return "semantic" if kind in _SEMANTIC_KINDS or _SEMANTIC.match(kind) else "mechanical"


@cache
def weight_of(kind: str, split: Split) -> float:
    """How often a kind is tried."""
    found = (HELD_OUT_WEIGHTS if split == "held-out" else TRAINING_WEIGHTS).get(kind)
    if found is not None:
        return found
    if split == "train" and kind.startswith("fix-"):
        return 2.0
    return 1.3 if category_of(kind) == "semantic" else 1.0


def shown_as(kind: str) -> str:
    """The name tables give a kind: the same for the same edit in different languages, whose records name it apart."""
    return _SHOWN_AS.get(kind, kind)
