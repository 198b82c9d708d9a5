"""How likely the model found a token, and which it found likeliest."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from ..messages import TokenLogprobs
from .filters import Logits, largest, without_nan
from .scratch import scratch

LEAST_LOGPROB: Final = -9999.0
"""In place of minus infinity, which JSON has not."""


def token_logprobs(row: Logits, token: int, top: int) -> TokenLogprobs:
    """The natural logarithm of the token's probability, and of the ``top`` likeliest tokens', likeliest first.

    ``row`` is what the model gave, [vocab_size]: no temperature, bias, penalty or filter. NaN counts as minus
    infinity; of equals the lowest id comes first. The sum is over the whole row, in float64 and always in the same
    order: no other row, and no other parameter, changes a bit of it.
    """
    peak = float(row.max())
    if math.isnan(peak):
        row = without_nan(row)
        peak = float(row.max())
    if math.isinf(peak):  # those of an infinite logit share all the probability; without one nothing has any
        row = np.where(row == np.inf, np.float32(0), np.float32(-np.inf))
        peak = 0.0
    exponentials = scratch("doubles", len(row))
    np.subtract(row, peak, out=exponentials, dtype=np.float64)
    np.exp(exponentials, out=exponentials)
    total = float(exponentials.sum())
    norm = math.log(total) if total else 0.0
    ids = largest(row, top) if top else np.arange(0)
    likeliest = sorted(((int(id_), float(row[id_])) for id_ in ids), key=lambda pair: (-pair[1], pair[0]))
    return TokenLogprobs(
        token,
        max(float(row[token]) - peak - norm, LEAST_LOGPROB),
        tuple((id_, max(logit - peak - norm, LEAST_LOGPROB)) for id_, logit in likeliest),
    )
