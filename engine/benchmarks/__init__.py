"""What `warmline bench` measures of the engine."""

from __future__ import annotations

from pathlib import Path

from ..options import EngineOptions
from .about import about_machine
from .copy_request import Copying, PlanCopies
from .edit_replay import EditReplay, PlanEdits
from .progress import Progress
from .recording import PLAYER_COMMAND, PLAYER_PARTS, PlayerReadings, recorded_tokens

__all__ = [
    "PLAYER_COMMAND",
    "PLAYER_PARTS",
    "Copying",
    "EditReplay",
    "PlanCopies",
    "PlayerReadings",
    "Progress",
    "about_machine",
    "recorded_tokens",
    "run_edits_benchmark",
    "run_engine_benchmark",
    "run_fresh_benchmark",
    "run_sampling_benchmark",
]


def run_engine_benchmark(options: EngineOptions, json_file: Path | None = None, repeats: int = 15) -> None:
    """Measure prefill, decode and passes of 1 to 64 tokens; print a table, and write ``json_file`` if given.

    Raises:
        EngineError: the model can't be run, or has no room for 577 tokens.

    """
    from ..backends import openmp  # noqa: F401  (before torch, which the benchmark imports)
    from .engine import main

    main(options, json_file, repeats)


def run_edits_benchmark(
    options: EngineOptions,
    plan: PlanEdits,
    rounds: int,
    json_file: Path | None = None,
    beside: tuple[PlanCopies, Path] | None = None,
) -> None:
    """Replay edits with each way to draft; print tables, and write ``json_file`` if given.

    ``beside`` names a llama-server, and what it and the engine are to generate for comparison.

    Raises:
        EngineError: the model or llama-server can't be run.

    """
    from ..backends import openmp  # noqa: F401  (before torch, which the benchmark imports)
    from .edits import main

    main(options, plan, rounds, json_file, beside)


def run_fresh_benchmark(
    options: EngineOptions, pairs: int, tokens: int, temperature: float, json_file: Path | None = None
) -> None:
    """Write code with speculation and without, in turn; print a table, and write ``json_file`` if given.

    Raises:
        EngineError: the model can't be run.

    """
    from ..backends import openmp  # noqa: F401  (before torch, which the benchmark imports)
    from .fresh import main

    main(options, pairs, tokens, temperature, json_file)


def run_sampling_benchmark(json_file: Path | None = None, repeats: int = 60) -> None:
    """Measure what choosing a token costs, beside sorting; print a table, and write ``json_file`` if given."""
    from .sampling import main

    main(json_file, repeats)
