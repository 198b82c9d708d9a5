"""Which tokens are left to draw from, found without sorting the vocabulary."""

from __future__ import annotations

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
_LARGEST: Final = int(np.float32(1 << WEIGHT_BITS).view(np.int32)) >> _BIN_SHIFT
_BINS: Final = (WEIGHT_BITS + 1) << 23 - _BIN_SHIFT  # the last one has those of no weight
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
    kth = np.partition(values, len(values) - k)[len(values) - k]
    keep = values > kth
    equal = np.flatnonzero(values == kth)
    keep[equal[: k - np.count_nonzero(keep)]] = True
    kept: Ids = ids[keep]
    return kept


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
    mass is reached; only that bin is sorted.
    """
    total = float(weights.sum(dtype=np.float64))
    needed = top_p * total
    # Those below their share of what may be left out are never needed.
    head = weights >= np.float32(0.999 * (1 - top_p) * total / len(weights))
    if _FEW * np.count_nonzero(head) > len(weights):
        return _heaviest(weights, values, needed)
    ids = np.flatnonzero(head)
    head[ids] = _heaviest(weights[ids], values[ids], needed)
    return head


def _heaviest(weights: Weights, values: Logits, needed: float) -> NDArray[np.bool_]:
    """The fewest that weigh ``needed``, which is no more than all do."""
    size = len(weights)
    bins, indices, doubles = scratch("bins", size), scratch("indices", size), scratch("doubles", size)
    # In the order of the weights: a float's bits are logarithmic.
    np.right_shift(weights.view(np.int32), _BIN_SHIFT, out=bins)
    np.subtract(_LARGEST, bins, out=bins)
    np.minimum(bins, _BINS, out=bins)
    indices[:], doubles[:] = bins, weights  # the types that bincount takes as they are
    mass = np.cumsum(np.bincount(indices, weights=doubles))
    last = int(np.searchsorted(mass, needed))
    kept: NDArray[np.bool_] = bins < last
    members = np.flatnonzero(bins == last)
    members = members[np.lexsort((-values[members], -weights[members]))]
    before = mass[last - 1] if last else 0.0
    count = int(np.searchsorted(before + np.cumsum(weights[members], dtype=np.float64), needed)) + 1
    kept[members[:count]] = True
    return kept
