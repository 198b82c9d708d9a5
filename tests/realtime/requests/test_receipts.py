"""What a request's receipt counts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from warmline.engine import Finished
from warmline.realtime.requests.receipts import receipt_of

TOKENS = st.integers(0, 1000)


@st.composite
def sequences(draw: st.DrawFn) -> Finished:
    """One that ended by itself, with its whole prompt computed, or that was given up at any time."""
    warmed, cached, computed, left = (draw(TOKENS) for _ in range(4))
    reason = draw(st.sampled_from(["stop", "length", "cancel"]))
    prompt = warmed + cached + computed + (left if reason == "cancel" else 0)
    return Finished(
        reason, prompt_tokens=prompt, cached_tokens=cached, computed_tokens=computed, warmed_tokens=warmed
    )


@given(st.lists(sequences(), max_size=4))
def test_prompt_tokens_are_those_that_were_warmed_cached_or_computed(ended):
    """However often an edit was steered, and before which part of its prompt was computed."""
    receipt = receipt_of(ended, None)
    assert receipt.prompt_tokens == receipt.warmed_tokens + receipt.cached_tokens + receipt.computed_tokens
    assert receipt.computed_tokens == sum(finished.computed_tokens for finished in ended)


def test_the_whole_prompt_of_a_sequence_that_failed_counts():
    """Its receipt tells what was to be computed."""
    receipt = receipt_of([Finished("error", prompt_tokens=9, computed_tokens=2)], None)
    assert (receipt.prompt_tokens, receipt.computed_tokens) == (9, 2)
