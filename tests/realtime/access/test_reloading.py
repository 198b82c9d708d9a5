"""Files that change are read again; what can't be read changes nothing."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from structlog.testing import capture_logs
from warmline.realtime.access import reloading
from warmline.realtime.access.reloading import Reloader, Source


@pytest.fixture
async def watched(metrics, tmp_path: Path, monkeypatch):
    """A file that is watched, and what was taken of it."""
    monkeypatch.setattr(reloading, "_POLL_SECONDS", 0.01)
    file = tmp_path / "file"
    file.write_text("first")
    taken: list[str] = []

    def read():
        text = file.read_text() if file.exists() else "missing"
        if "bad" in text:
            raise ValueError("it is bad")
        if "fault" in text:
            raise RuntimeError("a fault")
        return lambda: taken.append(text)

    reloader = Reloader([Source("keys", (file,), read)], metrics)
    reloader.start()
    yield file, taken, reloader
    await reloader.stop()


async def test_a_file_is_read_when_it_changes(watched, until):
    """Written in place, replaced by another, or gone; not while it stays as it is."""
    file, taken, _ = watched
    await asyncio.sleep(0.1)
    assert taken == []
    file.write_text("second")
    await until(lambda: taken == ["second"])
    beside = file.with_name("beside")
    beside.write_text("thirdd")
    beside.replace(file)
    await until(lambda: taken[1:] == ["thirdd"])
    file.unlink()
    await until(lambda: taken[2:] == ["missing"])


async def test_what_cannot_be_read_changes_nothing_and_is_said_once(watched, until, metrics):
    """In the log, without a traceback, and in metrics; a fault of ours ends nothing either."""
    file, taken, _ = watched
    with capture_logs() as lines:
        file.write_text("bad one")
        await until(lambda: len(lines) == 1)
        await asyncio.sleep(0.1)
        assert len(lines) == 1
        file.write_text("a fault")
        await until(lambda: len(lines) == 2)
        assert taken == []
        file.write_text("good")
        await until(lambda: taken == ["good"])
    assert (lines[0]["log_level"], lines[0]["problem"], lines[0]["what"]) == ("error", "it is bad", "keys")
    assert "exc_info" not in lines[0]
    text = metrics.render()
    assert b'warmline_reloads_total{outcome="failed",what="keys"} 2.0' in text
    assert b'warmline_reloads_total{outcome="read",what="keys"} 1.0' in text


async def test_it_is_read_when_somebody_asks(watched, until):
    """Also where nothing seems to have changed."""
    _, taken, reloader = watched
    reloader.ask()
    await until(lambda: taken == ["first"])


async def test_nothing_to_look_at_takes_nothing(metrics):
    """No task is left."""
    reloader = Reloader([], metrics)
    reloader.start()
    reloader.ask()
    assert [task for task in asyncio.all_tasks() if task.get_name() == "warmline reloading"] == []
    await reloader.stop()
