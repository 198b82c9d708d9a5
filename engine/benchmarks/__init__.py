"""What `warmline bench` measures of the engine."""

from __future__ import annotations

from pathlib import Path

from ..options import EngineOptions
from .recording import PLAYER_COMMAND, PlayerReadings, recorded_tokens

__all__ = ["PLAYER_COMMAND", "PlayerReadings", "recorded_tokens", "run_engine_benchmark"]


def run_engine_benchmark(options: EngineOptions, json_file: Path | None = None, repeats: int = 15) -> None:
    """Measure prefill, decode and passes of 1 to 64 tokens; print a table, and write ``json_file`` if given.

    Raises:
        EngineError: the model can't be run, or has no room for 577 tokens.

    """
    from ..backends import openmp  # noqa: F401  (before torch, which the benchmark imports)
    from .engine import main

    main(options, json_file, repeats)
