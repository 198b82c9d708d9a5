"""Memory that is used again for every row.

Arrays of a vocabulary's size are large enough for the C library to hand them back to the system as they are freed:
getting their pages anew costs several times what is computed in them.
"""

from __future__ import annotations

import threading
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

Use = Literal["row", "weights", "bins", "indices", "doubles"]

_TYPES: Final[dict[Use, Any]] = {
    "row": np.float32, "weights": np.float32, "bins": np.int32, "indices": np.intp, "doubles": np.float64,
}  # fmt: skip


class _Arrays(threading.local):
    def __init__(self) -> None:
        self.by_use: dict[Use, NDArray[Any]] = {}


_arrays: Final = _Arrays()


def scratch(use: Use, size: int) -> NDArray[Any]:
    """An array of this size with anything in it, good until this thread asks for the same use again."""
    array = _arrays.by_use.get(use)
    if array is None or len(array) < size:
        array = _arrays.by_use[use] = np.empty(size, dtype=_TYPES[use])
    return array[:size]
