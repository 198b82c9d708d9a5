"""The suffix drafter repeats what followed the newest tokens."""

from __future__ import annotations

from warmline.engine.speculation.suffix import SuffixDrafter
from warmline.engine.speculation.suffix_index import SuffixIndex

PROMPT = [*range(10, 60)]


class Drafting(SuffixDrafter):
    """With the tokens of a sequence that has nothing else."""

    def __init__(self, prompt, *others):
        self.sequence = list(prompt)
        super().__init__(self.sequence, *others)

    def observe(self, emitted):
        """The sequence has the tokens before its drafter is told."""
        self.sequence += emitted
        super().observe(emitted)


def drafter(earlier=None):
    """One for a prompt without repetitions."""
    index = None
    if earlier is not None:
        index = SuffixIndex(64)
        index.extend(earlier)
    return Drafting(PROMPT, 200, index)


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


def test_a_long_prompt_is_indexed_bit_by_bit():
    """A part for each step, from its beginning; in the end drafts come from all of it, and from what was said."""
    prompt = [*range(10_000, 17_000)]
    suffix = Drafting(prompt, 8000)
    for pieces, place in enumerate((1_000, 3_000, 5_000, 6_900), 1):
        assert suffix.propose(2).tokens == []
        suffix.observe(prompt[place : place + 3])
        assert suffix.propose(2).tokens == prompt[place + 3 : place + 5]
        suffix.observe([pieces])
    suffix.observe([17_500, *prompt[50:53], 17_600])
    suffix.propose(1)
    suffix.observe([17_500, *prompt[50:53]])
    assert suffix.propose(1).tokens == [17_600]


def test_earlier_texts_are_taken_in_while_it_drafts():
    """What waits to be remembered for its key is, a part for each step."""
    earlier = SuffixIndex(4096)
    earlier.remember([*range(1000, 2600)])
    suffix = Drafting(PROMPT, 200, earlier)
    seen = []
    for place in (1_100, 1_600, 2_100, 2_550):
        suffix.observe([*range(place, place + 3)])
        suffix.propose(1)
        seen.append(suffix.propose(1).tokens)
    assert seen == [[1_103], [1_603], [2_103], [2_553]]
    assert not earlier.work()
