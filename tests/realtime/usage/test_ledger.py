"""What the usage ledger keeps."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic, sleep

import pytest
from hypothesis import given
from hypothesis import strategies as st
from warmline.realtime.protocol import Drafts, Receipt, Timing
from warmline.realtime.telemetry.request_end import RequestEnd
from warmline.realtime.usage import ledger as ledger_module
from warmline.realtime.usage.ledger import HOUR, LedgerError, Totals, UsageGroup, UsageLedger, read_usage

NOON = 1_800_000_000 // HOUR * HOUR + 12 * HOUR
RECEIPT = Receipt(100, 60, 20, 20, 50, 0, 9, [Drafts("edit", 40, 30), Drafts("suffix", 10, 1)], 0)
TIMING = Timing(1, 2, 3, engine_prefill=2000, engine_first_token=300, engine_step=7000)
USED = Totals(1, 0, 60, 20, 20, 50, 9, 50, 31, 2000, 7300)


class Time:
    def __init__(self) -> None:
        self.now = NOON + 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "usage.db"


@pytest.fixture
def opened(path: Path, time: Time) -> Iterator[Callable[..., UsageLedger]]:
    """Open the ledger, as many times as wanted; closed at the end."""
    made: list[UsageLedger] = []

    def opened(model: str = "smol") -> UsageLedger:
        made.append(UsageLedger(path, model, time))
        return made[-1]

    yield opened
    for each in made:
        each.close()


def ended(key: str | None = "alice", kind: str = "edit", outcome: str = "stop") -> RequestEnd:
    return RequestEnd(kind, {} if key is None else {"key": key}, outcome, RECEIPT, TIMING)


def test_usage_is_summed_by_hour_key_kind_and_model(
    opened: Callable[..., UsageLedger], path: Path, time: Time
) -> None:
    """Requests without a key are together; a failure is counted as such."""
    ledger = opened()
    ledger(ended())
    ledger(ended(outcome="error"))
    ledger(ended(kind="chat"))
    ledger(ended(key=None))
    time.now += HOUR
    ledger(ended())
    ledger.close()
    twice = Totals(2, 1, 120, 40, 40, 100, 18, 100, 62, 4000, 14600)
    assert read_usage(path) == {
        UsageGroup(NOON, "alice", "edit", "smol"): twice,
        UsageGroup(NOON, "alice", "chat", "smol"): USED,
        UsageGroup(NOON, "anonymous", "edit", "smol"): USED,
        UsageGroup(NOON + HOUR, "alice", "edit", "smol"): USED,
    }


def test_a_ledger_goes_on_where_it_was(opened: Callable[..., UsageLedger], path: Path) -> None:
    """After a restart, and with a second service that writes to it."""
    first, second = opened(), opened("other")
    first(ended())
    second(ended())
    first.close()
    third = opened()
    third(ended())
    third.close()
    second.close()
    found = read_usage(path)
    assert [found[UsageGroup(NOON, "alice", "edit", model)].requests for model in ("smol", "other")] == [2, 1]


def test_only_hours_that_are_not_over_at_a_time_are_read(
    opened: Callable[..., UsageLedger], path: Path, time: Time
) -> None:
    """The hour in which it lies is told whole."""
    ledger = opened()
    for _ in range(3):
        ledger(ended())
        time.now += HOUR
    ledger.close()
    assert [account.hour for account in read_usage(path, NOON + HOUR + 5)] == [NOON + HOUR, NOON + 2 * HOUR]


def test_it_is_written_a_while_after_a_request_though_none_follows(
    opened: Callable[..., UsageLedger], path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a thread of its own: a crash loses no more than that while's."""
    monkeypatch.setattr(ledger_module, "WRITE_SECONDS", 0.01)
    ledger = opened()
    for expected in (1, 2):
        ledger(ended())
        until = monotonic() + 10
        while sum(used.requests for used in read_usage(path).values()) < expected:
            assert monotonic() < until
            sleep(0.01)


def test_what_cannot_be_written_is_tried_again(opened: Callable[..., UsageLedger], path: Path) -> None:
    """Nobody's usage is lost, and no request fails."""
    ledger = opened()
    path.unlink()
    path.mkdir()
    ledger(ended())
    ledger._write()
    assert ledger.failures == 1
    path.rmdir()
    ledger(ended())
    ledger.close()
    assert read_usage(path) == {
        UsageGroup(NOON, "alice", "edit", "smol"): Totals(2, 0, 120, 40, 40, 100, 18, 100, 62, 4000, 14600)
    }


def test_closing_twice_is_one(opened: Callable[..., UsageLedger], path: Path) -> None:
    """It writes nothing again."""
    ledger = opened()
    ledger(ended())
    ledger.close()
    ledger.close()
    assert [used.requests for used in read_usage(path).values()] == [1]


def test_a_file_that_is_no_ledger_is_refused(path: Path, time: Time) -> None:
    """Before anything is served; it stays as it was."""
    path.write_text("something else entirely, and long enough for a header of a database" * 20)
    before = path.read_bytes()
    with pytest.raises(LedgerError, match="can't be used as a usage ledger: file is not a database"):
        UsageLedger(path, "smol", time)
    assert path.read_bytes() == before
    with pytest.raises(LedgerError, match="can't be opened: unable to open database file"):
        UsageLedger(path.parent / "none" / "usage.db", "smol", time)


@pytest.mark.parametrize("what", ["another program's", "empty", "damaged", "text"])
def test_reading_what_is_no_ledger_says_so_and_leaves_it_alone(
    opened: Callable[..., UsageLedger], path: Path, what: str
) -> None:
    """Whatever it is."""
    if what == "another program's":
        with sqlite3.connect(path) as file:
            file.execute("CREATE TABLE usage (disk TEXT)")
        file.close()
    elif what == "damaged":
        ledger = opened()
        for number in range(300):
            ledger(ended(f"{number} {'x' * 100}"))
        ledger.close()
        content = bytearray(path.read_bytes())
        content[5000:] = bytes(len(content) - 5000)
        path.write_bytes(content)
    else:
        path.write_text("" if what == "empty" else "no ledger " * 100)
    before = path.read_bytes()
    with pytest.raises(LedgerError, match=f"{path.name} (is no|can't be read as a) usage ledger"):
        read_usage(path)
    assert path.read_bytes() == before


def test_another_program_s_database_is_not_written_to(path: Path, time: Time) -> None:
    """Though it could be."""
    with sqlite3.connect(path) as file:
        file.execute("CREATE TABLE usage (disk TEXT)")
    file.close()
    before = path.read_bytes()
    with pytest.raises(LedgerError, match="is a database of something else"):
        UsageLedger(path, "smol", time)
    assert path.read_bytes() == before


def test_a_ledger_of_a_later_version_is_refused(path: Path, time: Time) -> None:
    """Its columns may mean something else."""
    with sqlite3.connect(path) as file:
        file.execute("PRAGMA user_version = 2")
    file.close()
    with pytest.raises(LedgerError, match="by a later version"):
        UsageLedger(path, "smol", time)


def test_a_ledger_that_is_not_there_is_not_made_by_reading(path: Path) -> None:
    """The answer says how one is written."""
    with pytest.raises(LedgerError, match=r"there is no file .*`serve --usage"):
        read_usage(path)
    assert not path.exists()


@given(st.lists(st.tuples(st.sampled_from("ab"), st.booleans()), max_size=20))
def test_nothing_is_counted_twice_or_lost(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, bool]]
) -> None:
    """However requests and writes come."""
    path = tmp_path_factory.mktemp("usage") / "usage.db"
    ledger = UsageLedger(path, "smol", lambda: NOON)
    for key, write in steps:
        ledger(ended(key))
        if write:
            ledger._write()
    ledger.close()
    found = {account.key: used.requests for account, used in read_usage(path).items()}
    assert found == {key: sum(key == other for other, _ in steps) for key in {key for key, _ in steps}}
