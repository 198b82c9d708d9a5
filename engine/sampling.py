"""Choose the next token from a row of logits: a function of the row, the parameters and (seed, position) alone."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from .messages import SamplingParams

Logits = NDArray[np.float32]
_Ids = NDArray[np.int64]
_Weights = NDArray[np.int64]

_WEIGHT_BITS = 34  # sums of up to 2**19 weights are exact in float64 and int64, whatever the order of addition
_FLOOR = -_WEIGHT_BITS * math.log(2)  # the logarithm of the smallest weight
_BINS = 256


def sample(row: Logits, params: SamplingParams, position: int) -> int:
    """The token for ``position``, from logits of shape [vocab_size].

    Temperature 0 takes the largest logit, the lowest id among equals. Otherwise the filters apply in the order
    min-p, top-k, top-p, each to what the one before left, and the token is drawn by inverting the cumulative
    distribution in the order of ids. NaN counts as minus infinity.
    """
    best = int(row.argmax())  # numpy takes the first of equals, and NaN before all
    if math.isnan(row[best]):
        row = np.where(np.isnan(row), np.float32(-np.inf), row)
        best = int(row.argmax())
    if params.temperature <= 0 or math.isinf(row[best]):
        return best
    ids = _candidates(row, row[best], params)
    exponents = (row[ids].astype(np.float64) - float(row[best])) / params.temperature
    # Probabilities relative to the largest, in units of 2**-34.
    weights: _Weights = np.rint(np.exp(exponents) * (1 << _WEIGHT_BITS)).astype(np.int64)
    if params.top_p < 1:
        kept = _nucleus(exponents, weights, params.top_p)
        ids, weights = ids[kept], weights[kept]
    cumulative = np.cumsum(weights)
    drawn = uniform_bits(params.seed, position) * int(cumulative[-1]) >> 64
    return int(ids[np.searchsorted(cumulative, drawn, side="right")])


def uniform_bits(seed: int, position: int) -> int:
    """64 random bits keyed by (seed, position): two rounds of SplitMix64 (Steele, Lea & Flood 2014)."""
    return _mix(_mix(seed & _MASK) + position & _MASK)


_MASK = (1 << 64) - 1


def _mix(x: int) -> int:
    x = (x + 0x9E3779B97F4A7C15) & _MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & _MASK
    return x ^ (x >> 31)


def _candidates(row: Logits, largest: np.float32, params: SamplingParams) -> _Ids:
    """The ids that min-p and top-k leave, ascending."""
    # p >= min_p * p_max is a threshold on the logits. What has no weight goes as well.
    threshold = max(math.log(params.min_p), _FLOOR) if params.min_p > 0 else _FLOOR
    ids: _Ids = np.flatnonzero(row >= float(largest) + params.temperature * threshold)
    k = params.top_k
    if 0 < k < len(ids):
        logits = row[ids]
        kth = np.partition(logits, len(ids) - k)[len(ids) - k]
        keep = logits > kth
        equal = np.flatnonzero(logits == kth)
        keep[equal[: k - int(keep.sum())]] = True
        ids = ids[keep]
    return ids


def _nucleus(exponents: NDArray[np.float64], weights: _Weights, top_p: float) -> NDArray[np.bool_]:
    """The fewest, most probable first (the lowest id among equals), that hold ``top_p`` of the mass.

    A histogram finds the bin in which the mass is reached; only that bin is sorted.
    """
    bins = np.minimum((exponents * (_BINS / _FLOOR)).astype(np.int64), _BINS - 1)
    mass = np.cumsum(np.bincount(bins, weights=weights, minlength=_BINS))
    needed = top_p * mass[-1]
    last = int(np.searchsorted(mass, needed))
    kept: NDArray[np.bool_] = bins < last
    members = np.flatnonzero(bins == last)
    members = members[np.argsort(-exponents[members], kind="stable")]
    before = mass[last - 1] if last else 0.0
    count = int(np.searchsorted(before + np.cumsum(weights[members]), needed)) + 1
    kept[members[:count]] = True
    return kept
