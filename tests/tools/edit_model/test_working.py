"""Training computes in the type this machine is fast with."""

from __future__ import annotations

import pytest

from tools.edit_model import working


@pytest.mark.parametrize("fast", ["bfloat16", "float32"])
def test_the_faster_type_is_taken(fast: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever product is over sooner."""
    monkeypatch.setattr(working, "seconds_of_a_product", lambda dtype: 1.0 if dtype is working.TYPES[fast] else 2.0)
    assert working.fastest_type() == fast


def test_a_product_takes_time() -> None:
    """In both types."""
    assert all(working.seconds_of_a_product(dtype) > 0 for dtype in working.TYPES.values())
