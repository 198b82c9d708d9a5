"""What `warmline bench warm` types, and the figures it makes of requests."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from warmline.realtime.benchmarks import warm_watch
from warmline.realtime.benchmarks.service import ServiceFailed
from warmline.realtime.benchmarks.warm_report import cancel_figures, figures, print_report, ratios
from warmline.realtime.benchmarks.warm_requests import Sample, Scale
from warmline.realtime.benchmarks.warm_sizes import LeftOut, asked
from warmline.realtime.benchmarks.warm_texts import FreshText, SourceText, TextsMissing, read_sources, typings
from warmline.realtime.benchmarks.warm_watch import WarmCounts, WarmWatch
from warmline.realtime.documents.document_text import DocumentText
from warmline.realtime.prompting.edit_frame import EditFrame
from warmline.realtime.prompting.prompts import PromptBuilder

SOURCES = [
    SourceText("short", "python", "a = 1\n"),
    SourceText("long", "rust", "".join(f"let x{number} = {number};\n" for number in range(40))),
    SourceText("longer", "go", "".join(f"var x{number} = {number}\n" for number in range(50))),
]


def test_the_projects_own_edits_are_typed_by_default():
    """Each is a file as it is after its edit."""
    sources = read_sources(None)
    assert len(sources) > 50
    assert sources[0].language == "python"
    assert "def __init__(self, capacity: int) -> None:" in sources[0].text


def test_a_file_without_edits_is_named(tmp_path: Path):
    """Missing, of another form, or empty."""
    (tmp_path / "other").write_text('{"id": 1}\n')
    (tmp_path / "empty").write_text("\n")
    for name in ("missing", "other", "empty"):
        with pytest.raises(TextsMissing, match=rf"{name} .*name a file"):
            read_sources(tmp_path / name)


def test_fresh_texts_have_their_length_and_begin_differently():
    """Wherever a prompt of them begins, if it is longer than eight lines."""
    fresh = FreshText(SOURCES)
    texts = [fresh(3000) for _ in range(10)]
    assert {len(text) for text in texts} == {3000}
    assert len({text[:12] for text in texts}) == 10
    lines = [text.splitlines() for text in texts]
    for first in range(0, 50, 7):
        assert len({"".join(line[first : first + 9]) for line in lines}) == 10


SCALE = Scale(tokens=0.3, around=50, seconds=0.0)


def test_a_request_is_for_all_of_a_text_where_that_fits():
    """Of an edit the range twice."""
    fresh = FreshText(SOURCES)
    for kind, size, begins in (("complete", 5000, 16_500), ("edit", 1500, 0), ("edit", 3500, 0)):
        one = asked(kind, size, 8192, fresh, SCALE)
        assert (one.kind, one.span[0], one.span[1]) == (kind, begins, len(one.text))
        assert len(one.text) == round((size - 50) / 0.3)


def test_an_edit_that_has_no_room_is_of_a_part_of_a_text_which_the_prompt_shows_whole(tokenizer: Any):
    """So that it has all the tokens that were wanted: as many as the scale says, for text that has so many."""
    one = asked("edit", 5000, 8192, FreshText(SOURCES), SCALE)
    start, end = one.span
    assert len(one.text) == pytest.approx((5000 - 50) / 0.3, abs=60)
    assert 0.2 < (end - start) / len(one.text) < 0.4
    frame = EditFrame(DocumentText(one.text, ""), tokenizer, start, end, ())
    (before, _), (_, after) = frame._around[0]
    assert (before, after) == (0, len(one.text))


def test_such_an_edit_has_the_prompt_tokens_that_were_wanted_and_can_be_warmed(tokenizer: Any):
    """All of them but the instruction and what opens the answer: the surroundings are the same in both prompts."""
    prompts, fresh = PromptBuilder(tokenizer, 8192), FreshText(read_sources(None))

    def prompt(text: str, span: tuple[int, int]) -> list[int]:
        return prompts.edit(DocumentText(text, "python"), *span, "Add type annotations", 1, (), None).plan().prompt

    short, long = (len(prompt(fresh(chars), (0, chars))) for chars in (4000, 12_000))
    tokens = (long - short) / 8000
    one = asked("edit", 5000, 8192, fresh, Scale(tokens, short - 4000 * tokens, 0.0))
    whole = prompt(one.text, one.span)
    assert len(whole) == pytest.approx(5000, rel=0.1)
    warmed = prompts.warm_edit(DocumentText(one.text, "python"), *one.span).plan().prompt
    assert whole[: len(warmed)] == warmed
    assert len(whole) - len(warmed) < 48


@pytest.mark.parametrize(
    ("kind", "size", "room", "why"),
    [
        ("complete", 5000, 4096, "its 5,000 tokens and 1,024 more are above the 4,096 that the model takes at once"),
        (
            "edit",
            7000,
            8192,
            "its 7,000 tokens, the 3,470 of its range once more, as it may be written anew",
        ),
        ("edit", 2000, 4096, "the 0 of its range once more"),
    ],
)
def test_what_has_no_room_is_left_out_and_says_why(kind: Any, size: int, room: int, why: str):
    """It isn't skipped in silence."""
    with pytest.raises(LeftOut, match=why):
        asked(kind, size, room, FreshText(SOURCES), SCALE)


@pytest.fixture
def metrics(monkeypatch: pytest.MonkeyPatch) -> Callable[..., WarmWatch]:
    """A watch of a service whose counts, begun and ended, are given ones in turn, and then the last for ever."""

    def watch(*counts: tuple[int, int]) -> WarmWatch:
        left = [WarmCounts(*count) for count in counts]
        monkeypatch.setattr(WarmWatch, "_counts", lambda _: left.pop(0) if len(left) > 1 else left[0])
        return WarmWatch("ws://127.0.0.1:1", None)

    monkeypatch.setattr(warm_watch, "_QUIET_SECONDS", 0.1)
    monkeypatch.setattr(warm_watch, "_START_SECONDS", 0.2)
    return watch


@pytest.mark.parametrize(
    ("counts", "seen"),
    [
        ([(4, 3), (5, 3), (5, 4), (5, 5)], True),
        ([(4, 4), (5, 4), (5, 5), (6, 5), (6, 6)], True),
        ([(4, 4)], False),
    ],
    ids=["one after another", "two in turn", "nothing was begun"],
)
async def test_warm_work_is_done_once_all_that_was_begun_has_ended(
    metrics: Callable[..., WarmWatch], counts: list[tuple[int, int]], seen: bool
):
    """Also what begins only once something else has ended."""
    watch = metrics(*counts)
    seconds = await watch.until_done(WarmCounts(4, counts[0][1]))
    assert (seconds is not None) == seen
    assert await watch.counts() == counts[-1]


def test_a_service_whose_metrics_can_not_be_read_is_named():
    """Nothing listens there."""
    with pytest.raises(ServiceFailed, match=r"http://127\.0\.0\.1:1/metrics can't be read"):
        WarmWatch("ws://127.0.0.1:1", "key")._counts()


def test_what_is_typed_are_the_files_own_keys():
    """Typed, they make the file; into the middle from a line's begin on, at the end with nothing behind them."""
    found = list(typings(SOURCES, files=2, keys=20))
    assert [(typing.where, typing.language) for typing in found] == [
        ("middle", "go"),
        ("end", "go"),
        ("middle", "rust"),
        ("end", "rust"),
    ]
    for typing in found:
        whole = typing.text[: typing.index] + typing.keys + typing.text[typing.index :]
        own = [line for line in whole.splitlines(keepends=True) if not re.fullmatch("# [0-9a-f]{10}\n", line)]
        assert "".join(own) + "\n" in {source.text for source in SOURCES}
        assert len(typing.keys) == 20
        assert (typing.where == "end") == (typing.index == len(typing.text))
        assert typing.where == "end" or typing.text[typing.index - 1] == "\n"


def test_a_file_shorter_than_what_is_typed_is_typed_as_far_as_it_goes():
    """Its first line is there already."""
    for typing in typings(SOURCES[:1], files=1, keys=20):
        assert typing.keys == "a = 1"


def test_the_figures_of_requests():
    """Times in milliseconds of those that had text, shares of all prompt tokens."""
    samples = [
        Sample(ttft=4000, prefill=3000, prompt=100, ready=96, warmed=48, reason="length"),
        Sample(ttft=6000, prefill=4000, prompt=100, ready=80, warmed=0, reason="superseded"),
        Sample(ttft=None, prefill=0, prompt=100, ready=100, warmed=0, reason="superseded"),
        Sample(ttft=None, prefill=0, prompt=0, ready=0, warmed=0, reason="superseded"),
    ]
    found = figures(samples)
    assert (found["requests"], found["with_text"], found["superseded"]) == (4, 2, 3)
    assert (found["ttft"], found["ttft_quartiles"], found["pass"]) == (5.0, [4.5, 5.5], 3.5)
    assert (found["beyond_pass"], found["tail_tokens"], found["tail_tokens_max"]) == (1.5, 4, 20)
    assert found["prompt_tokens"] == 100
    assert found["warmed_share"] == pytest.approx(0.16)
    assert found["ready_share"] == pytest.approx(0.92)


def test_no_figures_of_no_requests(capsys: pytest.CaptureFixture[str]):
    """Nor any error, also in the tables."""
    row = figures([])
    assert row["ttft"] is None
    print_report(
        {
            "machine": {"processor": "p", "cores": 2, "python": "3", "warmline": "0"},
            "service": {"model": "m", "server": "s", "runs": "m with an adapter"},
            "left_out": ["edit 5,000: it has no room"],
            "rounds": 7,
            "block_size": 16,
            "key_seconds": 0.08,
            "requests": [],
            "cancels": [{"moment": "decode", "size": 500, **cancel_figures([None])}],
            "typing": [{"where": "end", "every": 1, "others": False, **row}],
            "ratios": {},
        }
    )
    out = capsys.readouterr().out
    assert "0/0" in out and "s with m with an adapter; p" in out and "left out: edit 5,000: it has no room\n" in out


@pytest.mark.parametrize(("rounds", "shown"), [(2, "too short to judge"), (3, "20.0x")])
def test_a_ratio_of_few_rounds_is_not_shown(capsys: pytest.CaptureFixture[str], rounds: int, shown: str):
    """The times are."""
    sample = Sample(ttft=3000, prefill=1000, prompt=100, ready=96, warmed=96, reason="length")
    row = {"kind": "complete", "size": 500, "others": True, "state": "warm", **figures([sample])}
    print_report(
        {
            "machine": {"processor": "p", "cores": 2, "python": "3", "warmline": "0"},
            "service": {"model": "m", "server": "s", "runs": "m with an adapter"},
            "left_out": ["edit 5,000: it has no room"],
            "rounds": rounds,
            "block_size": 16,
            "key_seconds": 0.08,
            "requests": [row],
            "cancels": [],
            "typing": [],
            "ratios": {"complete_500_beside_others": 20.0},
        }
    )
    out = capsys.readouterr().out
    assert shown in out and "3.0 (3.0 to 3.0)" in out
    assert ("20.0x" in out) == (rounds >= 3)


def test_the_figures_of_cancels():
    """In milliseconds; those that ended by themselves first have none."""
    found = cancel_figures([1000, None, 3000])
    assert (found["requests"], found["cancelled"]) == (3, 2)
    assert (found["to_end"], found["to_end_quartiles"], found["to_end_max"]) == (2.0, [1.5, 2.5], 3.0)


def test_ratios_are_cold_over_warm_of_the_same_kind_and_size():
    """Also those measured beside others are held against the cold ones."""
    rows = [
        {"kind": kind, "size": 500, "state": state, "others": others, "ttft": ttft}
        for kind, state, others, ttft in (
            ("complete", "cold", False, 60.0),
            ("complete", "warm", False, 3.0),
            ("complete", "warm", True, 6.0),
            ("edit", "cold", False, 100.0),
            ("edit", "warm", False, 10.0),
        )
    ]
    assert ratios(rows) == {"complete_500": 20.0, "complete_500_beside_others": 10.0, "edit_500": 10.0}
    assert msgspec.json.encode(ratios(rows))
