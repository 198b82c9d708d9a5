"""Log probabilities: those of a softmax, the likeliest first, whatever the row holds."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from warmline.engine.sampling import token_logprobs

logit = st.one_of(st.floats(-30, 30, width=32), st.sampled_from([0.0, 1.0, -math.inf, math.nan, 1e30]))
rows = st.one_of(
    st.lists(logit, min_size=1, max_size=100).map(lambda values: np.array(values, dtype=np.float32)),
    st.integers(0, 50).map(lambda seed: np.random.default_rng(seed).normal(0, 5, 5000).astype(np.float32)),
)


def log_softmax(row):
    """The plain way, summed exactly."""
    values = [-math.inf if math.isnan(value) else value for value in row.tolist()]
    largest = max(values)
    if largest == -math.inf:
        return [-9999.0] * len(values)
    norm = math.log(math.fsum(math.exp(value - largest) for value in values))
    return [max(value - largest - norm, -9999.0) for value in values]


@settings(deadline=None, max_examples=300)
@given(rows, st.integers(0, 10_000), st.integers(0, 20))
def test_they_are_those_of_the_softmax(row, token, top):
    """The chosen token's and the likeliest tokens', of equals the lowest id first."""
    token %= len(row)
    expected = log_softmax(row)
    got = token_logprobs(row, token, top)
    assert got.token == token
    assert got.logprob == pytest.approx(expected[token], rel=1e-9, abs=1e-9)
    values = [-math.inf if math.isnan(value) else value for value in row.tolist()]
    ranked = sorted(range(len(row)), key=lambda id_: (-values[id_], id_))[:top]
    assert [id_ for id_, _ in got.top] == ranked
    assert [logprob for _, logprob in got.top] == pytest.approx([expected[id_] for id_ in ranked], rel=1e-9, abs=1e-9)


@settings(deadline=None, max_examples=50)
@given(rows, st.integers(0, 63))
def test_they_are_the_same_bits_wherever_the_row_lies(row, offset):
    """A row of a batch, at any address, gives what a row alone does."""
    batch = np.zeros(len(row) + 64, dtype=np.float32)
    batch[offset : offset + len(row)] = row
    assert token_logprobs(batch[offset : offset + len(row)], 0, 5) == token_logprobs(row.copy(), 0, 5)


@pytest.mark.parametrize(
    ("row", "logprobs"),
    [
        ([math.inf, 0.0, math.inf], [-math.log(2), -9999.0, -math.log(2)]),
        ([-math.inf, math.nan], [-9999.0, -9999.0]),
        ([5.0], [0.0]),
    ],
)
def test_rows_that_are_not_finite_have_finite_ones(row, logprobs):
    """JSON has no infinity: the least is -9999; infinite logits share all of the probability."""
    row = np.array(row, dtype=np.float32)
    assert [token_logprobs(row, token, 0).logprob for token in range(len(row))] == pytest.approx(logprobs)
