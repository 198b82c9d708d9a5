"""What `warmline usage` says."""

from __future__ import annotations

import io
from typing import cast

import pytest
from rich.console import Console
from warmline.realtime.usage.ledger import HOUR, Totals, UsageGroup
from warmline.realtime.usage.report import By, as_objects, as_table, saved_us, sum_by

DAY = 20_000 * 86400
FOUND = {
    UsageGroup(DAY, "alice", "edit", "smol"): Totals(2, 1, 600, 200, 200, 100, 18, 100, 62, 4_000_000, 14_600_000),
    UsageGroup(DAY + 23 * HOUR, "alice", "warm", "smol"): Totals(5, 0, 0, 0, 900),
    UsageGroup(DAY + 24 * HOUR, "bob", "edit", "big"): Totals(
        1, 0, 0, 0, 200, 10, 10, 0, 0, 4_000_000, 3_600_000_000
    ),
}


@pytest.mark.parametrize(
    ("by", "requests"),
    [
        ("key", {"alice": 7, "bob": 1}),
        ("kind", {"edit": 3, "warm": 5}),
        ("model", {"big": 1, "smol": 7}),
        ("day", {"2024-10-04": 7, "2024-10-05": 1}),
    ],
)
def test_it_is_summed_by_what_is_asked(by: By, requests: dict[str, int]) -> None:
    """Days end at midnight in UTC."""
    assert {name: used.requests for name, used in sum_by(FOUND, by).items()} == requests


def test_what_was_cached_saved_what_computing_takes() -> None:
    """On average over all that requests had computed: 8 s for 400 tokens here."""
    alice, bob = as_objects(FOUND, "key")
    assert (alice["key"], alice["saved_us"]) == ("alice", 800 * 20_000)
    assert (bob["key"], bob["saved_us"], bob["computed_tokens"]) == ("bob", 0, 200)


def test_without_anything_computed_nothing_can_be_said_of_savings() -> None:
    """Work ahead has no time."""
    assert saved_us(Totals(warmed_tokens=5), Totals(warmed_tokens=5)) is None
    only_warm = {UsageGroup(DAY, "alice", "warm", "smol"): Totals(5, 0, 0, 0, 900)}
    assert as_objects(only_warm, "key")[0]["saved_us"] is None


def test_people_see_shares_and_times() -> None:
    """And the sum of all."""
    to = Console(file=io.StringIO(), width=160)
    to.print(as_table(FOUND, "key"))
    head, *rows = [line.split() for line in cast("io.StringIO", to.file).getvalue().splitlines()]
    assert " ".join(head) == "key requests failed prompt warmed cached computed output accepted time saved"
    assert [" ".join(row) for row in rows] == [
        "alice 7 1 1,900 32% 11% 58% 100 62% 18.6 s 16.0 s",
        "bob 1 0 200 0% 0% 100% 10 - 1:00:04 h 0.0 s",
        "in all 8 1 2,100 29% 10% 62% 110 62% 1:00:23 h 16.0 s",
    ]


def test_names_are_shown_as_they_are() -> None:
    """A key may be named like a style."""
    to = Console(file=io.StringIO(), width=160)
    to.print(as_table({UsageGroup(DAY, "[red]", "edit", "m"): Totals(1)}, "key"))
    assert "[red]" in cast("io.StringIO", to.file).getvalue()
