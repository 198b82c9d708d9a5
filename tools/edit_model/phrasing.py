"""How people ask: one of many wordings of the same instruction."""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random
from typing import Final

_QUOTES: Final = (("", ""), ("", ""), ("`", "`"), ("`", "`"), ("'", "'"), ('"', '"'))

_TERSE: Final = 1 / 3
"""How many instructions of the training set are as short as people in a hurry type them."""

_NO_IMPERATIVES: Final = frozenset(
    {
        "the", "this", "that", "there", "it", "i", "i'd", "we", "let's", "let", "in", "at", "on", "for", "inside",
        "before", "after", "above", "below", "from", "when", "if", "with", "as", "should", "here", "nothing",
        "some", "new", "code", "wrong", "don't", "no", "right", "every", "one", "missing", "rename:", "typo",
        "typo:",
    }
)  # fmt: skip
"""First words of wordings that state or wish: 'can you the loop should ...?' is no courtesy."""

_VERBS: Final = frozenset(
    """
    access accumulate actually add alphabetize apply arrange assign avoid await break build cache call chain
    change check close collapse collect combine compare compute concatenate continue convert correct cut dedent
    deduplicate define delete do drop eliminate evaluate exchange expand express extract fill fix flatten flip
    fold format get give go indent inline introduce invert iterate join just keep let log look loop make merge
    modernize move name negate nest open order pass prefer pull put raise read rearrange reduce rely remove
    rename reorder replace return reverse rewrite run save separate set shorten simplify sort spell split store
    strip swap switch take terminate test transpose turn unfold unindent unroll update use wrap write yield
    """.split()  # noqa: SIM905
)
"""First words of wordings that ask, in lists where any other word states a fact."""

_CODE: Final = re.compile(r"[`'\"\d]|\w[(._]\w|\w\(\)")
_ARTICLE: Final = re.compile(r"(?<=\w )(?:the|a|an) (?=[a-z])")
_ERROR: Final = re.compile(r"\w+(Error|Warning):")


class Phrasing:
    """Words instructions for one edit.

    In all sets but the held-out one the last wording of each list is never used, so that held-out instructions are
    in part worded as nothing the model was trained on. A third of the others are terse.
    """

    def __init__(self, random: Random, held_out: bool = False) -> None:
        self.random = random
        self._held_out = held_out
        self._open, self._close = random.choice(_QUOTES)

    def code(self, text: str) -> str:
        """A piece of code inside an instruction, quoted in the way this instruction quotes (perhaps not at all)."""
        if self._open and self._open in text:
            return f"`{text}`"
        return f"{self._open}{text}{self._close}"

    def pick(self, *wordings: str) -> str:
        """One of the wordings, as somebody would type it: with or without capital, full stop and courtesies.

        The first word of a wording must not be code.
        """
        return self._typed(wordings, facts=False)

    def pick_fact_or_request(self, *wordings: str) -> str:
        """As `pick`, of wordings of which many state a fact: courtesies go only to those that begin with a verb."""
        text = self._typed(wordings, facts=True)
        # Names of classes keep their capital.
        return text[0].upper() + text[1:] if _ERROR.match(text) else text

    def _typed(self, wordings: Sequence[str], facts: bool) -> str:
        choices = wordings if self._held_out or len(wordings) == 1 else wordings[:-1]
        if not self._held_out and self.random.random() < _TERSE:
            return self._terse(choices)
        text = self.random.choice(choices)
        lower = text[0].lower() + text[1:]
        roll = self.random.random()
        first = text.split()[0].lower()
        if 0.40 <= roll < 0.50 and first in _NO_IMPERATIVES:
            roll = 0.0
        word = re.match(r"\w+", lower)
        bare = facts and word is not None and word[0].lower() not in _VERBS
        if roll < 0.40:
            text = lower
        elif roll < 0.46:
            text = lower if bare else "Please " + lower
        elif roll < 0.50:
            return lower if bare else f"can you {lower}?"
        else:
            text = text[0].upper() + text[1:]
        if self.random.random() < 0.25:
            text += "."
        return text

    def _terse(self, choices: Sequence[str]) -> str:
        """One of the shortest wordings, without what can be left out of it."""
        shortest = sorted(choices, key=len)[: max(2, len(choices) // 3)]
        return without_articles(self.random.choice(shortest))


def without_articles(text: str) -> str:
    """An instruction in lower case, without the articles that stand before any code in it."""
    code = _CODE.search(text)
    end = code.start() if code is not None else len(text)
    return text[0].lower() + _ARTICLE.sub("", text[1:end]) + text[end:]
