"""`warmline bench edits` replays every edit in every way, and counts what came of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from warmline.engine.backends.base import Backend
from warmline.engine.batch import Batch
from warmline.engine.benchmarks import edits as benchmark
from warmline.engine.benchmarks.edit_replay import EditReplay
from warmline.engine.core import Engine
from warmline.engine.options import EngineOptions
from warmline.engine.speculation.cost import USUAL_COST

CODE = [*range(20, 220)]


def edit(group: str = "edits", changed: int = 3) -> EditReplay:
    """Copying 200 tokens but for a few."""
    return EditReplay(group, [*CODE, 9], CODE, [*CODE[:100], *[5] * changed, *CODE[100:]])


class ConstantCost:
    """What passes cost is known, and never corrected."""

    cost = USUAL_COST

    def __init__(self, backend: Backend, most_tokens: int) -> None: ...

    def observe_pass(self, batch: Batch, seconds: float) -> None:
        """Whatever it took."""


@pytest.fixture
def options(
    tmp_path: Path, make_tiny_model: Callable[..., Any], write_tiny_folder: Callable[..., Any]
) -> EngineOptions:
    """Of a tiny model."""
    folder = write_tiny_folder(tmp_path / "tiny", *make_tiny_model(context_length=1024))
    return EngineOptions(model=str(folder), backend="cpu", threads=1, kv_memory=1 << 22)


def test_it_reports_each_way_for_each_group(
    options: EngineOptions, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file has figures for all; plain decoding gives a token a pass, drafting more; shares are of the whole."""
    monkeypatch.setattr("warmline.engine.core._learn", ConstantCost)  # what passes take just now decides nothing
    edits = [edit(), edit(changed=5), edit("long")]
    benchmark.main(options, lambda tokenizer, most: edits, 2, tmp_path / "figures.json")
    report = json.loads((tmp_path / "figures.json").read_text())
    assert report["machine"]["processor"] and report["rounds"] == 2
    assert list(report["cost_curve_ms"]) == ["1", "32", "64", "128"]
    assert {group: figures["edits"] for group, figures in report["groups"].items()} == {"edits": 2, "long": 1}
    for figures in report["groups"].values():
        ways = figures["ways"]
        assert list(ways) == list(benchmark.WAYS)
        assert ways[benchmark.PLAIN]["tokens_per_pass"] == 1
        assert ways[benchmark.PLAIN]["over_plain"] == 1
        assert ways[benchmark.PLAIN]["drafts"] == {}
        assert ways[benchmark.OURS]["tokens_per_pass"] > 4
        assert len({way["tokens"] for way in ways.values()}) == 1
        for way in ways.values():
            assert sum(way["time_shares"].values()) == pytest.approx(1)
            assert way["tokens_per_second"] > 0 and len(way["over_plain_rounds"]) == 2
    assert "edits: 2 edits" in capsys.readouterr().out


def test_a_narrow_terminal_shows_every_name_whole(
    options: EngineOptions, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Columns without room follow in a second table, beside the same ways."""
    monkeypatch.setattr(benchmark, "table_console", lambda _: Console(width=80))
    benchmark.main(options, lambda tokenizer, most: [edit()], 1)
    out = capsys.readouterr().out
    assert all(len(line) <= 80 for line in out.splitlines() if line[:1] in "┏┃┡│└")
    names = ("tok/s", "over plain", "tok/pass", "accepted", "by source", "forward", "drafting", "rest")
    assert [name for name in (*benchmark.WAYS, *names) if name not in out] == []


def test_a_replay_gives_the_answer_with_drafts_counted(fake: Any) -> None:
    """Its tokens are the answer's; a way that drafts fixed lengths proposes them."""
    engine, watch = Engine(fake.FakeBackend(64), fake.FakeTokenizer()), benchmark.Stopwatch()
    small = EditReplay("edits", [*range(2, 40)], [*range(2, 40)], [*range(2, 40)])
    for way, drafting in benchmark.WAYS.items():
        totals = benchmark.replay(engine, watch, small, drafting, way)
        assert totals.tokens == 38
        assert (totals.proposed > 0) == (drafting is not None)
        assert totals.passes == totals.tokens - totals.accepted
        assert 0 <= totals.drafting < totals.seconds


def test_plain_decoding_is_of_the_middle() -> None:
    """What comes before is given, and its length bounded; short answers are taken whole."""
    part = benchmark.middle(edit())
    assert len(part.answer) == benchmark.PLAIN_TOKENS
    assert part.prompt + part.answer == [*CODE, 9, *edit().answer[: len(part.prompt) - 201 + len(part.answer)]]
    short = EditReplay("edits", [1], [2], [3, 4])
    assert benchmark.middle(short) == short


def test_every_way_goes_first_in_turn() -> None:
    """So that what comes first or last has no advantage."""
    assert {benchmark._turns(number)[0] for number in range(4)} == set(benchmark.WAYS)
