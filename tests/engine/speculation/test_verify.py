"""Verification: what is emitted never depends on the draft."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from warmline.engine.speculation.verify import verify

tokens = st.lists(st.integers(0, 2), max_size=8)


@given(tokens, tokens, st.integers(0, 2))
def test_any_draft_emits_the_target_tokens(draft, targets, last):
    """The emitted tokens are the target's, one more than the draft tokens that agree with it."""
    targets = (targets + [last] * (len(draft) + 1))[: len(draft) + 1]
    emitted = verify(draft, targets.__getitem__)
    agreeing = next((i for i, (a, b) in enumerate(zip(draft, targets, strict=False)) if a != b), len(draft))
    assert emitted == targets[: agreeing + 1]


def test_nothing_is_sampled_behind_the_first_mismatch():
    """Rows behind a rejected token are not looked at: they were computed from a wrong past."""
    asked = []
    assert verify([1, 2, 3], lambda index: asked.append(index) or [1, 9][index]) == [1, 9]
    assert asked == [0, 1]
