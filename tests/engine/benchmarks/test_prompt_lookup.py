"""Prompt lookup as its reference does it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from warmline.engine.benchmarks.prompt_lookup import PromptLookup


def reference(tokens: list[int], longest: int, count: int) -> list[int]:
    """The published algorithm, by trying every place."""
    for size in range(min(longest, len(tokens)), 0, -1):
        for start in range(len(tokens) - size):
            if tokens[start : start + size] == tokens[len(tokens) - size :]:
                return tokens[start + size : start + size + count]
    return []


@given(
    st.lists(st.integers(0, 3), min_size=1, max_size=20),
    st.lists(st.lists(st.integers(0, 3), max_size=5), max_size=8),
    st.sampled_from([(3, 10), (10, 32), (1, 2)]),
)
def test_it_drafts_what_the_reference_does(
    prompt: list[int], groups: list[list[int]], setting: tuple[int, int]
) -> None:
    """At each step, whatever was emitted."""
    tokens = list(prompt)
    lookup = PromptLookup(tokens, *setting)
    for group in [[], *groups]:
        tokens += group
        lookup.observe(group)
        draft = lookup.propose(100)
        assert draft.tokens == reference(tokens, *setting)
        assert len(list(draft.outlook)) == len(draft.tokens)


def test_a_budget_cuts_the_draft() -> None:
    """At the end of an output less is drafted."""
    assert PromptLookup([1, 2, 3, 1], 3, 10).propose(1).tokens == [2]
