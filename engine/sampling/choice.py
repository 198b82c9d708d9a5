"""The choice of a token from a row, bias and penalties applied."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from ..messages import SamplingParams
from .filters import FLOOR, Ids, Logits, Weights, few_above, largest, nucleus, weigh, without_nan

_MOST: Final = float(np.finfo(np.float32).max)
_LEAST: Final = float(np.finfo(np.float32).tiny)
_BLOCK: Final = 1024


def sample(row: Logits, params: SamplingParams, position: int) -> int:
    """The token for ``position``, from logits of shape [vocab_size], which are left as they are.

    Temperature 0 takes the largest logit, the lowest id among equals. Otherwise the filters apply in the order
    min-p, top-k, top-p, each to what the one before left, and the token is drawn by inverting the cumulative
    distribution in the order of ids. NaN counts as minus infinity. Temperatures are taken as float32.
    """
    best = int(row.argmax())  # numpy takes the first of equals, and NaN before all
    if math.isnan(row[best]):
        row = without_nan(row)
        best = int(row.argmax())
    top = row[best]
    if params.temperature <= 0 or math.isinf(top):
        return best
    with np.errstate(over="ignore", under="ignore"):
        ids, weights = _left(row, top, params)
    drawn = _draw(weights, uniform_bits(params.seed, position))
    return drawn if ids is None else int(ids[drawn])


def _left(row: Logits, top: np.float32, params: SamplingParams) -> tuple[Ids | None, Weights]:
    """Ids among which are those that the filters leave (None: all), and what each weighs: nothing if left out."""
    temperature = min(max(params.temperature, _LEAST), _MOST)
    # p >= min_p * p_max is a threshold on the logits, so it may as well come after top-k.
    threshold = math.log(params.min_p) if params.min_p > 0 else FLOOR
    floor = np.float32(max(float(top) + temperature * max(threshold, FLOOR), -_MOST))
    few = 0 < params.top_k < len(row)
    ids: Ids | None = largest(row, params.top_k) if few else few_above(row, floor)
    values = row if ids is None else row[ids]
    weights = weigh(values, top, temperature)
    if params.min_p > 0:
        weights *= values >= floor
    if params.top_p < 1:
        weights *= nucleus(weights, values, params.top_p)
    return ids, weights


def _draw(weights: Weights, bits: int) -> int:
    """The index that 64 random bits choose, each as often as it weighs."""
    whole = len(weights) // _BLOCK * _BLOCK
    if not whole:
        ends = np.cumsum(weights, dtype=np.float64)
        return int(ends.searchsorted(bits * int(ends[-1]) >> 64, side="right"))
    blocks = weights[:whole].reshape(-1, _BLOCK).sum(axis=1, dtype=np.float64)
    ends = np.cumsum(np.append(blocks, weights[whole:].sum(dtype=np.float64)))
    drawn = bits * int(ends[-1]) >> 64
    block = int(ends.searchsorted(drawn, side="right"))
    before = ends[block - 1] if block else 0.0
    first = block * _BLOCK
    inner = np.cumsum(weights[first : first + _BLOCK], dtype=np.float64)
    return first + int(inner.searchsorted(drawn - before, side="right"))


def uniform_bits(seed: int, position: int) -> int:
    """64 random bits keyed by (seed, position): two rounds of SplitMix64 (Steele, Lea & Flood 2014)."""
    return _mix(_mix(seed & _MASK) + position & _MASK)


_MASK: Final = (1 << 64) - 1


def _mix(x: int) -> int:
    x = (x + 0x9E3779B97F4A7C15) & _MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & _MASK
    return x ^ (x >> 31)
