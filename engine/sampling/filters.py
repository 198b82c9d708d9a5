"""Which tokens are left to draw from, found without sorting the vocabulary."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from .scratch import scratch

Logits = NDArray[np.float32]
Ids = NDArray[np.intp]
Weights = NDArray[np.float32]
"""Probabilities relative to the largest, in units of 2**-`WEIGHT_BITS`: whole numbers."""

WEIGHT_BITS: Final = 34
"""So that sums of up to 2**19 weights are exact in float64, whatever the order of addition."""
FLOOR: Final = -24.5
"""Exponents below this have no weight: exp(-24.5) * 2**34 is less than a half."""

_COLUMN: Final = 64
_BIN_SHIFT: Final = 17  # of a float32's bits: 64 bins for each power of two
_SHIFTS: Final = (_BIN_SHIFT, 8, 0)
"""Of these bins, of those that one of them is split into, and of those of one of these: a weight each."""
_LARGEST: Final = int(np.float32(1 << WEIGHT_BITS).view(np.int32)) >> _BIN_SHIFT
_BINS: Final = (WEIGHT_BITS + 1) << 23 - _BIN_SHIFT  # the last one has those of no weight
_SORTED: Final = 256
"""So many are sorted sooner than split further."""
_FEW: Final = 8
"""A part of so much or less of the vocabulary is worth taking out of it."""


def without_nan(row: Logits) -> Logits:
    """The row with minus infinity for each NaN."""
    return np.where(np.isnan(row), np.float32(-np.inf), row)


def largest(values: Logits, k: int) -> Ids:
    """The indices of the k largest values, ascending; of equals the first. No value is NaN.

    The k-th largest of the maxima of columns is a lower bound of the k-th largest value, and few columns reach it.
    """
    size = len(values)
    if k >= size:
        return np.arange(size)
    width = size // _COLUMN
    if _FEW * k > width:
        return _largest(values, np.arange(size), k)
    grid = values[: _COLUMN * width].reshape(_COLUMN, width)
    peaks = grid.max(axis=0)
    bound = np.partition(peaks, width - k)[width - k]
    columns = np.flatnonzero(peaks >= bound)
    if _FEW * len(columns) > width:
        ids = np.flatnonzero(values >= bound)
    else:
        starts = np.arange(0, _COLUMN * width, width)
        ids = np.concatenate([(starts[:, None] + columns).ravel(), np.arange(_COLUMN * width, size)])
        ids = ids[values[ids] >= bound]
    return _largest(values[ids], ids, k)


def _largest(values: Logits, ids: Ids, k: int) -> Ids:
    """The ids, which are ascending, of the k largest of as many values."""
    kept: Ids = ids[_are_largest(values, k)]
    return kept


def _are_largest(values: Logits, k: int) -> NDArray[np.bool_]:
    """Which of the values are the k largest; of equals the first."""
    kth = np.partition(values, len(values) - k)[len(values) - k]
    keep: NDArray[np.bool_] = values > kth
    equal = values == kth
    last = np.flatnonzero(equal)[k - np.count_nonzero(keep) - 1]
    equal[last + 1 :] = False
    keep |= equal
    return keep


def few_above(row: Logits, floor: np.float32) -> Ids | None:
    """The ids of all that are no less than ``floor``, if those are few; None if they are many."""
    reaching = row >= floor
    few = _FEW * np.count_nonzero(reaching) < len(row)
    return np.flatnonzero(reaching) if few else None


def weigh(values: Logits, top: np.float32, temperature: float) -> Weights:
    """What each value weighs; ``top`` is the largest. The array is good until the next call."""
    weights: Weights = np.subtract(values, top, out=scratch("weights", len(values)))
    if temperature != 1:
        weights /= np.float32(temperature)
    np.exp(weights, out=weights)
    weights *= np.float32(1 << WEIGHT_BITS)
    return np.rint(weights, out=weights)


def nucleus(weights: Weights, values: Logits, top_p: float) -> NDArray[np.bool_]:
    """Which are the fewest, heaviest first, that hold ``top_p`` of the mass; at least one.

    Of equal weights the larger value comes first, of equal values the first. A histogram finds the bin in which the
    mass is reached, histograms of its parts the weight with which it is; a partition finds which of that weight stay.
    """
    total = float(weights.sum(dtype=np.float64))
    needed = max(top_p * total, 0.5)  # weights are whole: that is one of them
    # Those below their share of what may be left out are never needed.
    head = weights >= np.float32(0.999 * (1 - top_p) * total / len(weights))
    if _FEW * np.count_nonzero(head) > len(weights):
        return _heaviest(weights, values, needed)
    ids = np.flatnonzero(head)
    head[ids] = _heaviest(weights[ids], values[ids], needed)
    return head


def _heaviest(weights: Weights, values: Logits, needed: float) -> NDArray[np.bool_]:
    """The fewest that weigh ``needed``, which is above 0 and no more than all do."""
    members: Ids | None = None  # those of the bin in which the mass is reached; None: all
    its, before, shift = weights, 0.0, 31
    for finer in _SHIFTS:
        if len(its) <= _SORTED or _all_equal(its):
            break
        # In the order of the weights, the heaviest first: a float's bits are logarithmic.
        bins = scratch("bins", len(its))
        np.bitwise_and(its.view(np.int32), (1 << shift) - 1, out=bins)
        np.right_shift(bins, finer, out=bins)
        np.subtract(_LARGEST if members is None else (1 << shift - finer) - 1, bins, out=bins)
        np.minimum(bins, _BINS, out=bins)
        last, before = _reaching(bins, its, before, needed)
        found = np.flatnonzero(bins == last)
        members = found if members is None else members[found]
        its, shift = its[found], finer
    if len(its) > _SORTED:  # all weigh the same
        count = -(-(math.ceil(needed) - int(before)) // int(its[0]))
        if members is None:
            return _are_largest(values, count)
        chosen = members[_are_largest(values[members], count)]
    else:
        ids = np.arange(len(its)) if members is None else members
        order = np.lexsort((-values[ids], -its))
        count = int(np.searchsorted(before + np.cumsum(its[order], dtype=np.float64), needed)) + 1
        chosen = ids[order[:count]]
    kept: NDArray[np.bool_] = weights > its.max()
    kept[chosen] = True
    return kept


def _reaching(bins: NDArray[np.int32], weights: Weights, before: float, needed: float) -> tuple[int, float]:
    """The bin with which the mass, of ``before`` to begin with, comes to what is needed; and the mass before it."""
    size = len(bins)
    indices, doubles = scratch("indices", size), scratch("doubles", size)
    indices[:], doubles[:] = bins, weights  # the types that bincount takes as they are
    mass = before + np.cumsum(np.bincount(indices, weights=doubles))
    last = int(np.searchsorted(mass, needed))
    return last, float(mass[last - 1]) if last else before


def _all_equal(weights: Weights) -> bool:
    return bool(weights[0] == weights[-1] and weights.min() == weights.max())
