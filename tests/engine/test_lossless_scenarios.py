"""The property that says it all: in any company, with any drafts, each request has the bits that it has alone.

`tools.invariance` draws requests, batch mates, chunks, drafts, memory, cache, cancels, pauses and thread counts;
test_lossless_mutants.py shows that the property notices what it should.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from warmline.engine import SamplingParams

from tools.invariance.play import Stage, play_stage, play_tiny, thread_count
from tools.invariance.report import keep
from tools.invariance.tally import Tally
from tools.invariance.worlds import real_world, tiny_world

pytestmark = pytest.mark.lossless

SOURCES = ("edit", "suffix", "model", "oracle")
BUT_MODEL = ("edit", "suffix", "oracle")
"""The first layers of the default model draft, too, but hardly ever well."""


def check(tally: Tally, scenarios: int, caplog: pytest.LogCaptureFixture, sources: Iterable[str] = SOURCES) -> None:
    """No difference, though everything occurred that could have made one."""
    assert not tally.differences, tally.differences[:3]
    assert tally.scenarios == scenarios
    assert not tally.missing(sources), tally
    assert tally.drafted_share >= 0.4 and tally.replayed_share >= 0.5, tally
    assert {1, 2, 3} == set(tally.threads), tally
    assert sum(tally.threads[threads] for threads in (2, 3)) >= scenarios // 50, tally
    # An engine goes on without a drafter that fails, and ends a request that does: here neither is to happen.
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


def play_real(model: Path, records: Iterable[Any], seed: int, scenarios: int, tasks: int) -> Tally:
    """Scenarios on a model file and real code."""
    with thread_count(2):
        world = real_world(model, [record.context + record.before for record in records])
    with thread_count(1):
        return play_stage(Stage(world, seed, tasks, threaded=0.2), scenarios)


def test_three_thousand_scenarios_on_tiny_models(caplog: pytest.LogCaptureFixture) -> None:
    """Models of many shapes, both kinds of kernels."""
    tally = play_tiny(range(60), scenarios=50, tasks=12)
    assert set(tally.kernels) >= {"torch"}
    check(tally, 3000, caplog)


def test_sixty_scenarios_on_the_default_model(
    default_model: Path, edit_records: list[Any], caplog: pytest.LogCaptureFixture
) -> None:
    """Prompts of real code, of up to 512 tokens."""
    tally = play_real(default_model, edit_records[::6], 0, scenarios=60, tasks=16)
    check(tally, 60, caplog, BUT_MODEL)


@pytest.mark.verify
def test_many_scenarios_on_tiny_models(caplog: pytest.LogCaptureFixture) -> None:
    """Ten times as many, all of them others."""
    tally = play_tiny(range(60, 660), scenarios=50, tasks=12)
    keep("Scenarios on tiny models", tally)
    check(tally, 30_000, caplog)


@pytest.mark.verify
def test_many_scenarios_on_the_default_model(
    default_model: Path, edit_records: list[Any], caplog: pytest.LogCaptureFixture
) -> None:
    """Ten times as many, all of them others."""
    tally = Tally()
    for seed in range(1, 7):
        tally.add(play_real(default_model, edit_records[seed::6], seed, scenarios=100, tasks=32))
    keep("Scenarios on the default model", tally)
    check(tally, 600, caplog, BUT_MODEL)


def test_greedy_ties_go_to_the_lowest_id() -> None:
    """Where every token has a twin with the same logit, the lower one is emitted, whatever is drafted."""
    with thread_count(1):
        stage = Stage(tiny_world(3), seed=1000, tasks=40)
        assert stage.world.twins
        stage.tasks = [
            task
            for task in stage.tasks
            if task.replay is None and task.sampling.temperature == 0 and not shaped(task.sampling)
        ]
        assert sum(len(task.alone.tokens) for task in stage.tasks) > 20
        assert not any(token % 2 for task in stage.tasks for token in task.alone.tokens)
        assert not play_stage(stage, 20).differences


def shaped(params: SamplingParams) -> bool:
    """Whether twins may get different logits."""
    penalties = params.presence_penalty, params.frequency_penalty
    return bool(params.logit_bias) or params.repetition_penalty != 1 or any(penalties)
