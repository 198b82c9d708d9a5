"""Locust in microseconds.

Locust rounds response times below 100 to whole numbers, to two digits above, and prints whole milliseconds: too
coarse for a first token within a millisecond. Times are therefore reported in microseconds and kept to three
significant digits. Locust's column heads can't be changed, so the rows name the unit.
"""

from __future__ import annotations

import math


def bucket_response_time(response_time: float) -> int:
    """A time in microseconds rounded to three significant digits: 147.2 to 147, 3432 to 3430, 58760 to 58800."""
    if response_time < 1000:
        return round(response_time)
    step: int = 10 ** (math.floor(math.log10(response_time)) - 2)
    return round(response_time / step) * step
