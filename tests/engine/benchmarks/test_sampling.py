"""`warmline bench sampling` compares two ways to choose the same tokens."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest
from rich.console import Console
from warmline.engine.benchmarks import sampling as benchmark


@pytest.mark.parametrize("setting", benchmark.SETTINGS)
@pytest.mark.parametrize("shape", benchmark.SHAPES)
def test_both_ways_choose_the_same(setting: str, shape: str) -> None:
    """What is timed is the same work: tokens and log probabilities agree, but for the order of equal logits."""
    generator = np.random.default_rng(5)
    history = benchmark.History([1, 2, 3, 3], [2, 9, 9])
    ways = [way(benchmark.SETTINGS[setting], history) for way in (benchmark.ours, benchmark.sorting)]
    for position in range(20):
        row = benchmark.SHAPES[shape](generator, 3000)
        (token, logprobs), (other, others) = (way(row, position) for way in ways)
        assert token == other or shape == "equal"
        assert (logprobs is None) == (others is None)
        if logprobs is not None and others is not None:
            assert logprobs.logprob == pytest.approx(others.logprob)
            same = [id_ for id_, _ in logprobs.top] == [id_ for id_, _ in others.top]
            assert same or shape == "equal"


def test_the_file_has_every_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    """Each vocabulary, kind of logits and setting, with both medians, spread and ratio; the table shows them."""
    whole = benchmark.measure
    monkeypatch.setattr(benchmark, "measure", lambda repeats: whole(repeats, (1000, 2000)))
    benchmark.main(tmp_path / "figures.json", repeats=3)
    figures = msgspec.json.decode((tmp_path / "figures.json").read_bytes())
    assert len(figures["rows"]) == 2 * len(benchmark.SHAPES) * len(benchmark.SETTINGS)
    for row in figures["rows"]:
        assert row["same_tokens"] == 1 or row["logits"] == "equal"
        assert row["ratio"] == pytest.approx(row["sorting_microseconds"]["median"] / row["microseconds"]["median"])
        assert row["microseconds"]["spread"] >= 0
    assert "top-p" in capsys.readouterr().out


def test_a_narrow_terminal_shows_every_name_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    """Columns without room follow in a second table, beside the same names."""
    whole = benchmark.measure
    monkeypatch.setattr(benchmark, "measure", lambda repeats: whole(repeats, (151_936,)))
    monkeypatch.setattr(benchmark, "table_console", lambda _: Console(width=80))
    benchmark.main(repeats=2)
    out = capsys.readouterr().out
    assert all(len(line) <= 80 for line in out.splitlines())
    names = (*benchmark.SHAPES, *benchmark.SETTINGS, "151,936", "vocabulary", "sorting: us", "times faster")
    assert [name for name in (*names, "same tokens") if name not in out] == []
