"""Training lowers the loss, goes on from a checkpoint as if it had never stopped, and says how well it answers."""

from __future__ import annotations

import dataclasses
import itertools
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
import torch
from warmline.engine.loading.adapter import merge_adapter, read_fill_marks

from tools.edit_model.encode import FILL_MARKS, Encoded
from tools.edit_model.lora import Lora
from tools.edit_model.network import Network
from tools.edit_model.record import CompletionRecord, EditRecord
from tools.edit_model.train import Recipe, Report, Trainer, evaluate

Make = Callable[..., Any]
RECIPE = Recipe(
    steps=40, tokens=512, workers=1, short=128, longest=512, long_from=0.5, rank=4, alpha=8.0, learning_rate=2e-2,
    warmup=4, decay=0.25, seed=1,
)  # fmt: skip


class Alone:
    """The only worker of a run."""

    rank, count = 0, 1

    def mean(self, tensors: Iterable[torch.Tensor]) -> torch.Tensor:
        return torch.cat([tensor.flatten() for tensor in tensors])

    def gather(self, items: list[Any]) -> list[Any]:
        return items


@pytest.fixture
def start(tmp_path: Path, make_tiny_model: Make) -> Callable[..., Trainer]:
    """Start a run in a folder of its own."""

    def start(recipe: Recipe = RECIPE, folder: str = "run") -> Trainer:
        config, weights = make_tiny_model(hidden_size=128, head_dim=32)
        network = Network(config, weights, Lora(config, recipe.rank, recipe.alpha, recipe.seed), list(range(64)))
        (tmp_path / folder).mkdir(exist_ok=True)
        workers: Any = Alone()
        return Trainer(recipe, network, tmp_path / folder, workers)

    return start


def batch(step: int) -> list[list[Encoded]]:
    """Two sequences: a prompt that ends with 5 or 6 is answered 50 51 52 or 60 61 62."""
    return [[Encoded([1, 2, 3 + step % 4, n], [10 * n, 10 * n + 1, 10 * n + 2])] for n in (5, 6)]


@pytest.mark.usefixtures("uncompiled")
def test_training_learns_the_answers(start: Callable[..., Trainer], tmp_path: Path, make_tiny_model: Make) -> None:
    """The loss falls to next to nothing, held-out answers become exact, and the file holds what was learnt."""
    trainer = start()
    completion = CompletionRecord(id="a", language="python", kind="continue", prefix="", suffix="", middle="")
    edit = EditRecord(
        id="b", language="python", kind="k", category="mechanical", instructions=[], prefix="", before="", after="",
        suffix="",
    )  # fmt: skip
    judged = list(zip([completion, edit], itertools.chain(*batch(0)), strict=True))
    workers: Any = Alone()
    assert evaluate(trainer.network, judged, workers)["exact"] == {"continue": [0, 1], "mechanical": [0, 1]}
    losses = [trainer.update(batch(step), 2 * step + 2)[0] for step in range(40)]
    assert losses[0] > 4
    assert losses[-1] < 0.3
    found = evaluate(trainer.network, judged, workers)
    assert found["exact"] == {"continue": [1, 1], "mechanical": [1, 1]}
    assert found["loss"] < 0.3
    trainer.save()
    adapter = tmp_path / "run" / "adapter.safetensors"
    config, weights = make_tiny_model(hidden_size=128, head_dim=32)
    merge_adapter(config, weights, adapter)
    wanted = trainer.network.lora.delta(0, "query")
    _, before = make_tiny_model(hidden_size=128, head_dim=32)
    assert (weights.layers[0].query - before.layers[0].query - wanted).norm() < 0.015 * wanted.norm()
    assert read_fill_marks(adapter) == FILL_MARKS


@pytest.mark.usefixtures("uncompiled")
def test_a_run_that_was_stopped_goes_on_to_the_bit(start: Callable[..., Trainer]) -> None:
    """Weights after 6 steps are the same whether or not it stopped after 3."""
    whole, first = start(folder="whole"), start(folder="parts")
    for step in range(6):
        whole.update(batch(step), step)
    for step in range(3):
        first.update(batch(step), step)
    first.save()
    second = start(folder="parts")
    assert second.restore()
    assert (second.step, second.groups_done) == (3, 2)
    for step in range(3, 6):
        second.update(batch(step), step)
    for left, right in zip(whole.network.lora.parameters(), second.network.lora.parameters(), strict=True):
        assert torch.equal(left, right)


@pytest.mark.usefixtures("uncompiled")
def test_a_checkpoint_of_another_recipe_is_refused(start: Callable[..., Trainer]) -> None:
    """Steps and the fall of the rate may change, the learning rate may not."""
    start().save()
    assert start(dataclasses.replace(RECIPE, steps=80, decay=0.5)).restore()
    with pytest.raises(ValueError, match="another run"):
        start(dataclasses.replace(RECIPE, learning_rate=1e-3)).restore()


def test_the_rate_rises_stays_and_falls() -> None:
    """Over warmup steps up, over the last quarter down to zero."""
    assert RECIPE.rate(0) == pytest.approx(0.005)
    assert RECIPE.rate(3) == RECIPE.rate(29) == pytest.approx(0.02)
    assert RECIPE.rate(35) == pytest.approx(0.01)
    assert RECIPE.rate(39) == pytest.approx(0.002)


def test_short_records_come_first() -> None:
    """Long ones join at the named part of the run."""
    assert [RECIPE.longest_at(step) for step in (0, 19, 20, 39)] == [128, 128, 512, 512]


def test_the_log_has_a_line_a_step(tmp_path: Path) -> None:
    """The first step, which compiles, is not timed."""
    report = Report(tmp_path / "log.jsonl", RECIPE)
    for step in (1, 2, 3):
        report.stepped(step, 1.5, 0.1, batch(step))
    report.judged(3, {"loss": 1.0, "exact": {"mechanical": [1, 2]}})
    lines = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines] == [2, 3, 3]
    assert lines[0]["loss"] == 1.5
    assert [line.get("answers") for line in lines] == [2, 4, None]
    assert lines[-1]["held_out"]["exact"] == {"mechanical": [1, 2]}


@pytest.mark.usefixtures("uncompiled")
def test_b_may_learn_faster_than_a(start: Callable[..., Trainer]) -> None:
    """At the first step, where AdamW moves each number by its rate, B moves that many times as far."""
    moved = {}
    for ratio in (1.0, 8.0):
        trainer = start(dataclasses.replace(RECIPE, b_ratio=ratio, warmup=1), folder=f"ratio-{ratio}")
        before = [parameter.clone() for parameter in trainer.network.lora.parameters()]
        trainer.update(batch(0), 2)
        after = list(trainer.network.lora.parameters())
        moved[ratio] = [(new - old).abs().max().item() for old, new in zip(before, after, strict=True)]
    assert moved[8.0][1::2] == pytest.approx([8 * x for x in moved[1.0][1::2]], rel=0.01)
    assert moved[8.0][0::2] == pytest.approx(moved[1.0][0::2], rel=0.01, abs=1e-9)
