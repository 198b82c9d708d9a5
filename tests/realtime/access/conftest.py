"""Metrics without an engine."""

from __future__ import annotations

import pytest
from warmline.engine import EngineStats
from warmline.realtime.telemetry.metrics import Metrics


@pytest.fixture
def metrics() -> Metrics:
    return Metrics(lambda: EngineStats(blocks_total=1), lambda: 0.0)
