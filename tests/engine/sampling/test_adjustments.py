"""Bias and penalties: what their formulas say, and of the tokens before the row alone."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from warmline.engine import SamplingParams
from warmline.engine.sampling import Adjustments

SIZE = 12
tokens = st.lists(st.integers(0, SIZE - 1), max_size=8)
rows = st.lists(
    st.one_of(st.floats(-30, 30, width=32), st.sampled_from([0.0, -0.0, -math.inf, math.inf, math.nan, 3e38])),
    min_size=SIZE,
    max_size=SIZE,
).map(lambda values: np.array(values, dtype=np.float32))
params = st.builds(
    SamplingParams,
    repetition_penalty=st.sampled_from([1.0, 1.3, 0.5, 100.0]),
    presence_penalty=st.sampled_from([0.0, 0.7, -2.0]),
    frequency_penalty=st.sampled_from([0.0, 0.4, -1.1]),
    logit_bias=st.dictionaries(st.integers(0, SIZE - 1), st.sampled_from([-100.0, 0.5, 100.0]), max_size=3),
)


def by_formula(row, params, prompt, output):
    """The plain way: every token by itself."""
    counts, seen = Counter(output), {*prompt, *output}
    adjusted = []
    for token, logit in enumerate(row.tolist()):
        value = np.float64(logit)
        if token in params.logit_bias:
            value = np.float64(np.float32(value + params.logit_bias[token]))
        if token in seen and params.repetition_penalty != 1:
            value = value / params.repetition_penalty if value > 0 else value * params.repetition_penalty
        if counts[token]:
            value -= params.frequency_penalty * counts[token] + params.presence_penalty
        adjusted.append(value)
    return np.array(adjusted).astype(np.float32)


def test_rejected_tokens_are_forgotten():
    """Those ahead of one row don't count for a row without them, nor once others were emitted; the prompt's stay."""
    adjustments = Adjustments(SamplingParams(frequency_penalty=1.0, repetition_penalty=2.0), [0])
    row = np.full(5, 8, np.float32)
    assert adjustments.apply(row, [0, 1, 1, 2]).tolist() == [3, 2, 3, 8, 8]
    assert adjustments.apply(row, [0, 1]).tolist() == [3, 3, 8, 8, 8]
    assert adjustments.apply(row, [3]).tolist() == [4, 8, 8, 3, 8]
    adjustments.emitted([4])
    assert adjustments.apply(row).tolist() == [4, 8, 8, 8, 3]


@settings(deadline=None, max_examples=300)
@given(st.data())
def test_adjusted_logits_follow_the_formulas_by_position(data):
    """Each row sees the prompt, what was emitted and the draft tokens before it; a rejected draft leaves no trace."""
    wanted, prompt = data.draw(params), data.draw(tokens)
    adjustments = Adjustments(wanted, prompt)
    output = []
    for _ in range(data.draw(st.integers(1, 4))):
        draft = data.draw(tokens)
        for ahead in data.draw(st.lists(st.integers(0, len(draft)), max_size=6)):
            row = data.draw(rows)
            before = row.copy()
            with np.errstate(over="ignore", invalid="ignore"):
                expected = by_formula(row, wanted, prompt, [*output, *draft[:ahead]])
            np.testing.assert_array_equal(adjustments.apply(row, draft[:ahead]), expected)
            np.testing.assert_array_equal(row, before)
        emitted = [*draft[: data.draw(st.integers(0, len(draft)))], *data.draw(tokens)]
        adjustments.emitted(emitted)
        output += emitted


def test_repetition_divides_positive_logits_and_multiplies_others():
    """As in CTRL: a token that was there gets less likely on either side of 0; the prompt counts."""
    adjustments = Adjustments(SamplingParams(repetition_penalty=2.0), [0, 1])
    assert adjustments.apply(np.array([4, -4, 4], np.float32)).tolist() == [2, -8, 4]


def test_presence_and_frequency_count_the_output_alone():
    """A token of the prompt loses nothing until the output has it; then by occurrence, and once."""
    adjustments = Adjustments(SamplingParams(presence_penalty=1.0, frequency_penalty=0.25), [0, 0, 0])
    adjustments.emitted([1, 1])
    assert adjustments.apply(np.zeros(3, np.float32), [2]).tolist() == [0, -1.5, -1.25]
    assert adjustments.apply(np.zeros(3, np.float32)).tolist() == [0, -1.5, 0]


def test_many_different_tokens_are_counted():
    """More tokens than there was room for at first."""
    adjustments = Adjustments(SamplingParams(frequency_penalty=1.0), [])
    for token in range(300):
        adjustments.emitted([token, token // 2])
    counts = np.bincount([*range(300), *(token // 2 for token in range(300))], minlength=400)
    assert (adjustments.apply(np.zeros(400, np.float32)) == -counts.astype(np.float32)).all()


@pytest.mark.parametrize(
    ("asked", "there_are_some"),
    [({}, False), ({"top_k": 5}, False), ({"logit_bias": {1: 0.0}}, True), ({"presence_penalty": -1.0}, True)],
)
def test_without_any_nothing_is_kept(asked, there_are_some):
    """A request that asks for none costs nothing."""
    assert (Adjustments.of(SamplingParams(**asked), [1, 2]) is not None) == there_are_some
