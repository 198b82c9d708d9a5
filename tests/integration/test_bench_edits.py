"""`warmline bench edits` replays a file of edits with each way to draft; a tiny model computes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

COMMAND = (sys.executable, "-m", "warmline.realtime.main", "bench", "edits")


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run it to its end."""
    return subprocess.run(
        [*COMMAND, *arguments], env=os.environ | environment, capture_output=True, text=True, timeout=600, check=False
    )


def test_every_way_replays_the_same_edits(tiny_model: Path, tmp_path: Path) -> None:
    """What is drafted stands in the file, by source, and takes fewer passes than plain decoding."""
    figures = tmp_path / "figures.json"
    arguments = [
        "--model",
        str(tiny_model),
        "--threads",
        "1",
        "--limit",
        "2",
        "--rounds",
        "1",
        "--json",
        str(figures),
    ]
    ended = run(*arguments)
    assert ended.returncode == 0, ended.stderr
    ways = json.loads(figures.read_text())["groups"]["edits"]["ways"]
    assert set(ways) == {"plain", "lookup 3/10", "lookup 10/32", "warmline"}
    assert len({row["tokens"] for row in ways.values()}) == 1
    assert ways["warmline"]["passes"] < ways["plain"]["passes"] / 2
    assert "edit" in ways["warmline"]["drafts"]
    assert "over plain" in ended.stdout


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    """As an argument or by the environment."""
    missing = str(tmp_path / "missing.jsonl")
    for ended in (run(missing), run(WARMLINE_EDITS=missing)):
        assert ended.returncode == 1
        assert missing in ended.stderr
