"""`warmline bench fresh` writes each text with speculation and without, and compares them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from warmline.engine.benchmarks import fresh as benchmark
from warmline.engine.messages import pack_tokens
from warmline.engine.offline import OfflineEngine
from warmline.engine.options import EngineOptions


@pytest.fixture
def options(tiny_folder: Path) -> EngineOptions:
    """Of a tiny model."""
    return EngineOptions(model=str(tiny_folder), backend="cpu", threads=1, kv_memory=1 << 22)


def test_it_reports_each_pair_and_what_they_say_together(
    options: EngineOptions, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The texts are the same and take no more passes; without speculation a pass brings a token."""
    benchmark.main(options, 4, 20, 1.0, tmp_path / "figures.json")
    report = json.loads((tmp_path / "figures.json").read_text())
    assert len(report["pairs"]) == 4
    for pair in report["pairs"]:
        assert pair["tokens"] == pair["off_passes"] == 20 and pair["same_text"]
        assert pair["on_passes"] == pair["off_passes"] - pair["accepted"]
        assert pair["ratio"] == pytest.approx(pair["on_ms"] / pair["off_ms"])
    least, most = report["range_of_ratios"]
    first, third = report["quartile_ratios"]
    assert least <= first <= report["median_ratio"] <= third <= most
    assert report["passes"]["off"] == sum(pair["off_passes"] for pair in report["pairs"])
    assert (report["passes"]["pairs_with_more"], report["different_texts"]) == (0, 0)
    assert "0 texts took more" in capsys.readouterr().out


def test_the_two_take_turns(options: EngineOptions, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of some tokens each, beginning with the one or the other."""
    turns: list[tuple[int, int]] = []
    take_turn = benchmark.take_turn

    def noted(engine: OfflineEngine, sequence: int, run: benchmark.Run) -> None:
        before = len(run.tokens)
        take_turn(engine, sequence, run)
        turns.append((sequence, (len(run.tokens) - before) // len(pack_tokens([0]))))

    monkeypatch.setattr(benchmark, "take_turn", noted)
    engine = OfflineEngine(options)
    for number, first in ((0, 0), (1, 1)):
        turns.clear()
        pair = benchmark.one_pair(engine, number, 30, 1.0)
        assert pair.tokens == 30 and pair.same_text
        assert [sequence for sequence, _ in turns[:6]] == [first, 1 - first] * 3
        without = [said for sequence, said in turns if sequence == 0]
        assert sum(without) == 30 and max(without) < 2 * benchmark.TURN


def test_beginnings_differ() -> None:
    """Each text is another."""
    assert len({*benchmark.BEGINNINGS}) == len(benchmark.BEGINNINGS) >= 20
