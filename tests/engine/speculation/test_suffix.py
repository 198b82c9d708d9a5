"""The suffix drafter repeats what followed the newest tokens."""

from __future__ import annotations

from warmline.engine.speculation.suffix import SuffixDrafter
from warmline.engine.speculation.suffix_index import SuffixIndex

PROMPT = [*range(10, 60)]


def drafter(earlier=None):
    """One for a prompt without repetitions."""
    index = None
    if earlier is not None:
        index = SuffixIndex(64)
        index.extend(earlier)
    return SuffixDrafter(PROMPT, 200, index)


def test_nothing_is_drafted_before_the_first_token():
    """The first token doesn't wait for the prompt to be indexed."""
    assert drafter().propose(9).tokens == []


def test_the_prompt_is_repeated():
    """What followed in the prompt is the draft; the evidence is the length of the match."""
    suffix = drafter()
    suffix.observe([20, 21, 22])
    draft = suffix.propose(4)
    assert (draft.tokens, draft.source, draft.evidence) == ([23, 24, 25, 26], "suffix", 3)


def test_the_output_is_repeated():
    """The newest place counts: the output's own rather than the prompt's."""
    suffix = drafter()
    suffix.observe([20, 21, 99, 98, 20, 21])
    assert suffix.propose(2).tokens == [99, 98]


def test_tokens_that_were_never_seen_have_no_draft():
    """There is no guess without a match."""
    suffix = drafter()
    suffix.observe([70])
    assert suffix.propose(4).tokens == []


def test_an_earlier_text_is_asked_where_it_says_more():
    """A longer match in another text goes before a shorter one of its own."""
    suffix = drafter(earlier=[1, 2, 20, 21, 7, 8, 9])
    suffix.observe([1, 2, 20, 21])
    assert suffix.propose(3).tokens == [7, 8, 9]
    suffix.observe([22])
    assert suffix.propose(2).tokens == [23, 24]


def test_proposing_twice_gives_the_same():
    """A pass that was given up asks again."""
    suffix = drafter()
    suffix.observe([20, 21])
    assert suffix.propose(5) == suffix.propose(5)
