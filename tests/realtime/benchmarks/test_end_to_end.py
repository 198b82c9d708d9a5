"""What `warmline bench end-to-end` says of its rounds."""

from __future__ import annotations

import pytest
from warmline.realtime.benchmarks.end_to_end import print_report


@pytest.mark.parametrize(("rounds", "shown"), [(1, "too short to judge"), (2, "too short to judge"), (3, "90.0%")])
def test_a_ratio_of_few_rounds_is_not_shown(capsys: pytest.CaptureFixture[str], rounds: int, shown: str) -> None:
    """Both sides are."""
    print_report(
        {
            "machine": {"processor": "p", "cores": 2},
            "model": "m",
            "adapter": "small edits",
            "backend": "cpu",
            "kernels": "k",
            "threads": 2,
            "records": 4,
            "tokens": 80,
            "rounds": {
                "engine": [{"whole": 100.0, "decode": 200.0}] * rounds,
                "end_to_end": [{"whole": 90.0, "decode": 180.0}] * rounds,
            },
            "ratios": {"whole": 0.9, "decode": 0.9},
        }
    )
    out = capsys.readouterr().out
    assert out.count(shown) == 2
    assert "m with small edits" in out
    assert ("%" in out) == (rounds >= 3)
    assert all(figure in out for figure in ("100 (100-100)", "90 (90-90)", "200 (200-200)", "180 (180-180)"))
