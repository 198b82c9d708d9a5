"""Processors that are kept awake, by what takes no time from anybody."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from warmline.realtime.benchmarks.transport import awake
from warmline.realtime.benchmarks.transport.awake import kept_awake


@pytest.fixture
def spinning(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    """The processes that were started."""
    started: list[subprocess.Popen[bytes]] = []

    class Noted(subprocess.Popen):
        def __init__(self, *args, **options) -> None:
            super().__init__(*args, **options)
            started.append(self)

    monkeypatch.setattr(awake.subprocess, "Popen", Noted)
    return started


def test_each_processor_has_its_spinner(spinning):
    """On it alone, and with less than the lowest priority."""
    processors = sorted(os.sched_getaffinity(0))[:2]
    with kept_awake(processors):
        assert [os.sched_getaffinity(process.pid) for process in spinning] == [{number} for number in processors]
        assert {os.sched_getscheduler(process.pid) for process in spinning} == {os.SCHED_IDLE}


def test_they_end_with_the_measurement(spinning):
    """Also when that fails."""
    with pytest.raises(ZeroDivisionError), kept_awake(sorted(os.sched_getaffinity(0))[:1]):
        assert spinning[0].poll() is None
        _ = 1 / 0
    assert spinning[0].poll() is not None


def test_they_end_with_whoever_started_them(tmp_path):
    """Killed, it can't end them itself."""
    noted = tmp_path / "pid"
    program = f"""
import os, subprocess, sys
from warmline.realtime.benchmarks.transport import awake
class Noted(subprocess.Popen):
    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        open({str(noted)!r}, "w").write(str(self.pid))
awake.subprocess.Popen = Noted
with awake.kept_awake([{min(os.sched_getaffinity(0))}]):
    os._exit(0)
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
    spinner = int(noted.read_text())
    until = time.monotonic() + 30
    while time.monotonic() < until and _runs(spinner):
        time.sleep(0.02)
    assert not _runs(spinner)


def _runs(pid: int) -> bool:
    """Whether a process does anything; one that nobody has waited for is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
