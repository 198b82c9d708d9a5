"""`warmline bench end-to-end` with a tiny model."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import psutil

COMMAND = (sys.executable, "-m", "warmline.realtime.main", "bench", "end-to-end")


def test_both_sides_replay_the_same_edits(tiny_model: Path, tmp_path: Path) -> None:
    """Their tokens a second and the ratio are printed and written."""
    figures = tmp_path / "figures.json"
    ended = subprocess.run(
        [*COMMAND, "--model", str(tiny_model), "--threads", "1", "--limit", "3", "--rounds", "2"]
        + ["--json", str(figures)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert "engine alone" in ended.stdout
    report = json.loads(figures.read_text())
    assert report["records"] + report["left_out"] == 3
    assert report["records"] >= 1
    for side in ("engine", "end_to_end"):
        rounds = report["rounds"][side]
        assert len(rounds) == 2
        assert all(rates["decode"] >= rates["whole"] > 0 for rates in rounds)
    assert set(report["ratios"]) == {"whole", "decode"}


def test_a_file_that_is_not_there_is_said_plainly() -> None:
    """One line names it."""
    ended = subprocess.run([*COMMAND, "/nowhere"], capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 1
    assert "/nowhere" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_when_terminated_it_ends_its_service_and_says_nothing(tiny_model: Path) -> None:
    """As a shell expects: 128 + 15, no traceback, and no process left behind."""
    command = [*COMMAND, "--model", str(tiny_model), "--threads", "1", "--rounds", "100"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stderr is not None
        assert running.stderr.readline() == "round 1 of 100\n"
        (service,) = psutil.Process(running.pid).children()
        running.terminate()
        said = running.stderr.read()
    assert running.returncode == 128 + signal.SIGTERM
    assert said == ""
    assert not service.is_running()
