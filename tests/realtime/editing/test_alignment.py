"""Tests of `warmline.realtime.editing.alignment`: which lines pair, and how soon that is settled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from warmline.realtime.editing.alignment import HELD_CHARACTERS, HELD_LINES, Hunk, LineAligner

untimed = settings(deadline=None)

ORIGINAL = [
    "def load(path):\n",
    "    file = open(path)\n",
    "    text = file.read()\n",
    "    return text.splitlines()\n",
    "\n",
    "def save(path, lines):\n",
    "    file = open(path, 'w')\n",
    "    file.write('\\n'.join(lines))\n",
]


def align(original: Sequence[str], new: Sequence[str]) -> list[list[Hunk]]:
    """The hunks that leave with each new line, and at the end."""
    aligner = LineAligner(original)
    return [aligner.push(line) for line in new] + [aligner.finish("")]


def test_a_copied_line_leaves_with_itself() -> None:
    """While the new lines copy the original, each is settled at once."""
    assert align(ORIGINAL, ORIGINAL) == [[Hunk(1, None)]] * len(ORIGINAL) + [[]]


def test_a_modified_line_leaves_when_the_copied_lines_after_it_have_come() -> None:
    """One changed line is settled as a change of that line by the second copied line."""
    new = [*ORIGINAL[:1], "    file = path.open()\n", *ORIGINAL[2:]]
    hunks = align(ORIGINAL, new)
    assert hunks[1:4] == [[], [], [Hunk(1, new[1]), Hunk(1, None), Hunk(1, None)]]


def test_an_inserted_line_leaves_one_line_after_the_original_goes_on() -> None:
    """One inserted line is settled as an insertion by the second copied line."""
    new = [*ORIGINAL[:2], "    # the whole of it\n", *ORIGINAL[2:]]
    assert align(ORIGINAL, new)[4] == [Hunk(0, new[2]), Hunk(1, None), Hunk(1, None)]


def test_deleted_lines_are_settled_by_what_follows_them() -> None:
    """Skipped lines are settled as deleted by the copied lines that come after."""
    new = [*ORIGINAL[:1], *ORIGINAL[3:]]
    assert align(ORIGINAL, new)[2] == [Hunk(2, ""), Hunk(1, None), Hunk(1, None)]


@pytest.mark.parametrize("line", ["\n", "}\n"])
def test_a_line_that_says_little_moves_nothing(line: str) -> None:
    """A blank or closing line in new text does not pull the cursor to the next such line of the original."""
    original = [*(f"row_{number} = {number}\n" for number in range(9)), line, "end\n"]
    hunks = align(original, ["something = new\n", line, "other = also_new\n", *original])
    first = next(hunk for group in hunks for hunk in group)
    assert first == Hunk(0, f"something = new\n{line}other = also_new\n")


def test_a_moved_block_is_inserted_where_it_goes() -> None:
    """Two lines moved up past a longer block are inserted there and deleted below; the longer block stays."""
    block = [f"    step_{number}(context, options, results)\n" for number in range(12)]
    moved = ["    check(context)\n", "    prepare(options)\n"]
    hunks = [
        hunk for group in align([*block, *moved, "    end()\n"], [*moved, *block, "    end()\n"]) for hunk in group
    ]
    assert hunks == [Hunk(0, "".join(moved)), *[Hunk(1, None)] * 12, Hunk(3, "    end()\n")]


def test_lines_after_the_end_of_the_original_leave_at_once() -> None:
    """What is appended needs no settling."""
    assert align(ORIGINAL[:2], [*ORIGINAL[:2], "appended\n"])[2] == [Hunk(0, "appended\n")]


def test_a_long_change_leaves_before_it_ends() -> None:
    """New lines are held back up to a bound, in lines and in characters."""
    aligner = LineAligner(ORIGINAL)
    lines = [f"{number * 7919 % 10007:05d}\n" for number in range(200)]
    left = [bool(aligner.push(line)) for line in lines]
    assert left.index(True) == HELD_LINES and sum(left) > 10
    aligner = LineAligner(ORIGINAL)
    wide = ["".join(lines)] * (HELD_CHARACTERS // 1200 + 2)
    assert any(aligner.push(line) for line in wide)


@untimed
@given(
    st.lists(st.sampled_from([*ORIGINAL, "}\n", "new\n"]), max_size=40),
    st.lists(st.sampled_from([*ORIGINAL, "}\n", "other\n"]), max_size=40),
    st.sampled_from(["", "unfinished"]),
)
def test_hunks_cover_the_original_and_give_the_new_text(original: list[str], new: list[str], rest: str) -> None:
    """All hunks together pass over every original line and give the new text; no more wait than may."""
    aligner = LineAligner(original)
    line, text = 0, ""
    for count, pushed in enumerate([*new, None], 1):
        for hunk in aligner.push(pushed) if pushed is not None else aligner.finish(rest):
            text += "".join(original[line : line + hunk.lines]) if hunk.text is None else hunk.text
            line += hunk.lines
        assert pushed is None or count - text.count("\n") <= HELD_LINES
    assert line == len(original) and text == "".join(new) + rest


def test_copied_lines_of_recorded_edits_leave_within_a_line(edit_records: list[Any]) -> None:
    """Of the copied lines of all recorded edits nine in ten leave within one line, and all within the bound."""
    waits: list[int] = []
    for record in edit_records:
        hunks = align(record.before.splitlines(keepends=True), record.after.splitlines(keepends=True))
        line = 0
        for now, group in enumerate(hunks):
            for hunk in group:
                if hunk.text is None:
                    waits.append(now - line)
                line += 1 if hunk.text is None else hunk.text.count("\n")
    assert max(waits) <= HELD_LINES
    assert sum(wait <= 1 for wait in waits) >= 0.9 * len(waits)
