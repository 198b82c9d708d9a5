"""A benchmark says on stderr how far it is."""

from __future__ import annotations

import pytest
from warmline.engine.benchmarks.progress import TOLD_SECONDS, Progress


def test_parts_are_said_at_once_and_steps_every_few_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    """So that neither a long part is silent nor a short one noisy; stdout keeps the figures alone."""
    now = 0.0
    progress = Progress(lambda: now)
    progress.part("loading")
    progress.part("measuring")
    for second in range(int(2 * TOLD_SECONDS) + 1):
        now = float(second)
        progress.at(f"step {second}")
    assert capsys.readouterr() == ("", "loading\nmeasuring\nstep 5\nstep 10\n")
