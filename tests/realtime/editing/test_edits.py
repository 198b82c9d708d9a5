"""Tests of `warmline.realtime.editing.edits`: what operations do, how many there are, and when they leave."""

from __future__ import annotations

import difflib
import random
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rapidfuzz.distance import Indel
from warmline.realtime.documents.text import replace_lone_surrogates, utf16_length
from warmline.realtime.editing import edits
from warmline.realtime.editing.alignment import HELD_LINES
from warmline.realtime.editing.edits import EditAligner, shortest_changes
from warmline.realtime.protocol import Operation

untimed = settings(deadline=None)

LINES = [
    "",
    "}",
    "    }",
    "    return total",
    "    return total  # café",
    "def area(self):",
    "def volume(self):",
    "\tif err != nil {",
    "\t\treturn nil, err",
    "value = compute(first, second)",
    "value = compute(first, second, third)",
    "print('🙂 done 🎉')",
    "# a line separator \u2028 and a form feed \x0c and a lone \r in the middle",
    "```",
    "<|im_end|>",
]


@st.composite
def edited_texts(draw: st.DrawFn, lines: Sequence[str] = LINES) -> tuple[str, str]:
    """A text of code-like lines, and the same text after inserting, deleting, replacing, moving and typing."""
    line = st.sampled_from(lines) | st.text("ab 🙂_\u2028", max_size=8)
    before = draw(st.lists(line, max_size=30))
    after = list(before)
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, len(after)))
        end = draw(st.integers(start, min(len(after), start + 8)))
        kind = draw(st.sampled_from(["replace", "move", "type"]))
        if kind == "replace":
            after[start:end] = draw(st.lists(line, max_size=8))
        elif kind == "move":
            block = after[start:end]
            del after[start:end]
            target = draw(st.integers(0, len(after)))
            after[target:target] = block
        elif start < len(after):
            at = draw(st.integers(0, len(after[start])))
            gone = draw(st.integers(0, 3))
            after[start] = after[start][:at] + draw(st.text("x(🙂", max_size=3)) + after[start][at + gone :]
    last = st.sampled_from(["", "\n"])
    return "\n".join(before) + draw(last), "\n".join(after) + draw(last)


def in_pieces(text: str, seed: int) -> list[str]:
    """The text cut at random, as tokens would cut it."""
    pieces, at, source = [], 0, random.Random(seed)
    while at < len(text):
        pieces.append(text[at : at + source.randint(1, 12)])
        at += len(pieces[-1])
    return pieces


def run(original: str, pieces: Iterable[str], completed: bool = True) -> list[Operation]:
    """All operations of an edit, after checking each call's for their form."""
    aligner = EditAligner(original)
    calls = [aligner.feed(piece) for piece in pieces] + [aligner.finish(completed)]
    for operations in calls:
        kinds = [kind(operation) for operation in operations]
        assert 0 not in operations and "" not in operations
        assert all(one != other for one, other in pairwise(kinds)), operations
    return [operation for operations in calls for operation in operations]


def kind(operation: Operation) -> str:
    """What an operation does."""
    return "insert" if isinstance(operation, str) else "keep" if operation > 0 else "delete"


def changed_characters(operations: Iterable[Operation]) -> int:
    """Inserted plus deleted units."""
    return sum(utf16_length(op) if isinstance(op, str) else max(0, -op) for op in operations)


@untimed
@given(edited_texts(), st.integers(0, 9))
@example(("", ""), 0)
@example(("", "new\ntext"), 0)
@example(("old\ntext", ""), 0)
@example(("a\n", "a"), 0)
@example(("a", "a\n"), 0)
def test_completed_operations_give_the_new_text(
    apply_operations: Callable[..., str], texts: tuple[str, str], seed: int
) -> None:
    """Whatever the texts and however the new one is cut, applying the operations gives it exactly."""
    original, text = texts
    assert apply_operations(original, run(original, in_pieces(text, seed))) == text


@untimed
@given(edited_texts(), st.integers(0, 9))
def test_inserted_lines_of_a_crlf_document_end_in_crlf(
    apply_operations: Callable[..., str], texts: tuple[str, str], seed: int
) -> None:
    """In a document of CRLF lines the result is the new text with CRLF lines."""
    original, text = (side.replace("\r", "").replace("\n", "\r\n") for side in texts)
    if "\r\n" in original:
        operations = run(original, in_pieces(text.replace("\r\n", "\n"), seed))
        assert apply_operations(original, operations) == text


@untimed
@given(edited_texts(), st.integers(0, 9), st.randoms(use_true_random=False))
def test_mixed_line_ends_stay_where_lines_stay(
    apply_operations: Callable[..., str], texts: tuple[str, str], seed: int, source: random.Random
) -> None:
    """In a document of mixed line ends the content is the new text's, and equal text changes no line end."""
    before, text = (side.replace("\r", "") for side in texts)
    original = "".join(source.choice(["\n", "\r\n"]) if unit == "\n" else unit for unit in before)
    result = apply_operations(original, run(original, in_pieces(text, seed)))
    assert result.replace("\r\n", "\n") == text
    assert apply_operations(original, run(original, in_pieces(before, seed))) == original


def test_kept_lines_keep_their_line_end_and_new_ones_take_the_usual_one(apply_operations: Callable[..., str]) -> None:
    """Two of three lines end in CRLF, so an inserted line does; the one that ends in LF stays so."""
    original = "first = 1\r\nsecond = 2\nthird = 3\r\n"
    operations = run(original, ["first = 1\nsecond = 2\ninserted\nthird = 33\n"])
    assert apply_operations(original, operations) == "first = 1\r\nsecond = 2\ninserted\r\nthird = 33\r\n"


def test_a_range_without_line_ends_takes_those_of_the_document(apply_operations: Callable[..., str]) -> None:
    """For a range inside one line the line end is told."""
    aligner = EditAligner("a + b", line_end="\r\n")
    operations = aligner.feed("a\n+ b") + aligner.finish(True)
    assert apply_operations("a + b", operations) == "a\r\n+ b"


@pytest.mark.parametrize(
    "original",
    [
        "tabs\tand\t🙂 emoji 👩‍👩‍👧\n\tindented\n",
        "one\u2028line\nnext\x0cpage\nlone\rreturn\n",
        "text\n```python\nx = 1\n```\n",
        "stop = '<|im_end|>'\n<|im_start|>user\n",
        replace_lone_surrogates("broken \ud83d pair\n"),
        "no line end at the end",
        "\n\n\n",
        "",
    ],
)
def test_unusual_text_survives_any_small_change(apply_operations: Callable[..., str], original: str) -> None:
    """Deleting a character, inserting one, or cutting the text short gives exactly that."""
    for at in range(len(original) + 1):
        for text in (original[:at] + original[at + 1 :], original[:at] + "🎉" + original[at:], original[:at] + "\n"):
            operations = run(original, text)
            assert apply_operations(original, operations) == text
            assert changed_characters(operations) <= utf16_length(original) + 2


@untimed
@given(edited_texts(), st.integers(0, 400), st.integers(0, 9))
def test_an_edit_that_is_cut_keeps_the_original_from_the_last_point_in_step(
    apply_operations: Callable[..., str], texts: tuple[str, str], length: int, seed: int
) -> None:
    """The result of a cut edit is whole new lines, then whole original lines, and little of what came is lost."""
    original, text = texts
    came = text[:length]
    operations = run(original, in_pieces(came, seed), completed=False)
    said = sum(utf16_length(op) if isinstance(op, str) else max(0, op) for op in operations)
    passed = sum(abs(op) for op in operations if isinstance(op, int))
    new = came.encode("utf-16-le")[: 2 * said].decode("utf-16-le")
    old = original.encode("utf-16-le")[2 * passed :].decode("utf-16-le")
    assert apply_operations(original, operations) == new + old
    assert new == "" or new.endswith("\n") or old == ""
    assert original.endswith("\n" + old) or old in ("", original)
    assert came[len(new) :].count("\n") <= HELD_LINES


def test_a_cut_inside_a_copied_line_changes_nothing(apply_operations: Callable[..., str]) -> None:
    """While the model copies, a cut leaves the original, wherever it falls."""
    original = "def area(w, h):\n    return w * h\n\nprint(area(2, 3))\n"
    for length in range(len(original) + 1):
        assert apply_operations(original, run(original, original[:length], completed=False)) == original


def test_a_cut_inside_a_changed_line_leaves_that_line_alone(apply_operations: Callable[..., str]) -> None:
    """Half of a modified line is not applied; the change before it is."""
    original = "a = compute(1)\nb = compute(2)\nc = compute(3)\nd = compute(4)\ne = compute(5)\n"
    text = original.replace("compute(1)", "compute(10)").replace("compute(4)", "compute(40)")
    cut = text[: text.index("compute(40)") + 9]
    assert apply_operations(original, run(original, cut, completed=False)) == text.replace("(40)", "(4)")


@untimed
@given(edited_texts(), st.integers(0, 9), st.integers(0, 9))
def test_how_the_text_is_cut_does_not_matter(texts: tuple[str, str], one: int, other: int) -> None:
    """Two ways to cut the same text in pieces give the same operations, once those in a row are added up."""
    original, text = texts
    assert merged(run(original, in_pieces(text, one))) == merged(run(original, in_pieces(text, other)))


def merged(operations: Iterable[Operation]) -> list[Operation]:
    """The operations with those of one kind in a row added up."""
    merged: list[Any] = []
    for operation in operations:
        if merged and kind(merged[-1]) == kind(operation):
            merged[-1] += operation
        else:
            merged.append(operation)
    return merged


def test_operations_stay_close_to_a_character_difference(
    apply_operations: Callable[..., str], edit_records: list[Any]
) -> None:
    """Over all recorded edits, inserted plus deleted characters are at most 1.15 times the fewest possible."""
    for record in edit_records:
        operations = run(record.before, in_pieces(record.after, 1))
        assert apply_operations(record.before, operations) == record.after
        fewest = Indel.distance(record.before, record.after)
        assert changed_characters(operations) <= 1.15 * fewest, record.id


def test_recorded_edits_work_in_crlf_documents(apply_operations: Callable[..., str], edit_records: list[Any]) -> None:
    """The recorded edits, in documents of CRLF lines, give the new text with CRLF lines."""
    for record in edit_records:
        original = record.before.replace("\n", "\r\n")
        operations = run(original, in_pieces(record.after, 1))
        assert apply_operations(original, operations) == record.after.replace("\n", "\r\n")


def test_recorded_edits_can_be_cut_anywhere(apply_operations: Callable[..., str], edit_records: list[Any]) -> None:
    """Recorded edits cut at ten places each give a start of the new text, then the end of the old one."""
    source = random.Random(5)
    for record in edit_records:
        for _ in range(10):
            came = record.after[: source.randint(0, len(record.after))]
            operations = run(record.before, in_pieces(came, 1), completed=False)
            result = apply_operations(record.before, operations)
            said = sum(utf16_length(op) if isinstance(op, str) else max(0, op) for op in operations)
            passed = sum(abs(op) for op in operations if isinstance(op, int))
            new = came.encode("utf-16-le")[: 2 * said].decode("utf-16-le")
            assert result == new + record.before.encode("utf-16-le")[2 * passed :].decode("utf-16-le")
            assert came[len(new) :].count("\n") <= HELD_LINES


UNLIKE = [f"{number * 7919 % 10007:05d}" * 3 for number in range(200)]


@untimed
@given(st.data(), st.integers(0, 40), st.integers(1, 60))
def test_inserted_lines_cost_their_length(data: st.DataObject, at: int, count: int) -> None:
    """New lines unlike the old ones are inserted, and nothing else changes, however many they are."""
    lines = [f"item_{name} = {name}.lower()\n" for name in data.draw(st.permutations("abcdefghijklmnopqrstuvwxyz"))]
    added = [f"{line}\n" for line in UNLIKE[:count]]
    original, text = "".join(lines), "".join(lines[:at] + added + lines[at:])
    assert changed_characters(run(original, text)) == sum(map(len, added))


@untimed
@given(edited_texts())
def test_operations_never_exceed_replacing_everything(texts: tuple[str, str]) -> None:
    """At worst, as many characters are deleted and inserted as the two texts have; at best, none."""
    original, text = texts
    assert changed_characters(run(original, [text])) <= utf16_length(original) + utf16_length(text)
    assert changed_characters(run(original, [original])) == 0


@pytest.mark.parametrize("line", ["}", "", "value = compute(first, second)"])
def test_thousands_of_equal_lines_are_no_trouble(apply_operations: Callable[..., str], line: str) -> None:
    """One line inserted among 5,000 equal ones costs one line."""
    lines = [line + "\n"] * 5000
    original, text = "".join(lines), "".join([*lines[:2500], "unlike\n", *lines[2500:]])
    operations = run(original, in_pieces(text, 1))
    assert apply_operations(original, operations) == text
    assert changed_characters(operations) == len("unlike\n")


def test_the_text_is_found_again_after_a_long_deletion() -> None:
    """A deletion longer than any window costs what it deletes."""
    lines = [f"{number * 7919 % 10007:05d}" * 3 + "\n" for number in range(2000)]
    operations = run("".join(lines), "".join(lines[:300] + lines[1500:]))
    assert changed_characters(operations) == sum(map(len, lines[300:1500]))


@untimed
@given(st.text("ab c_1\n🙂", max_size=60), st.text("ab c_1\n🙂", max_size=60))
def test_changes_are_the_shortest(removed: str, added: str) -> None:
    """Changes turn one text into the other with as few characters as a character difference."""
    changes = shortest_changes(removed, added)
    assert replaced(removed, changes) == added
    assert sum(end - start + len(text) for start, end, text in changes) == Indel.distance(removed, added)


@untimed
@given(st.text("ab c_1\n🙂", max_size=60), st.text("ab c_1\n🙂", max_size=60), st.sampled_from([0, 20, 200]))
def test_long_texts_are_compared_coarsely(removed: str, added: str, area: int) -> None:
    """Texts too long for the finest comparison still come out right."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(edits, "DIFFERENCE_AREA", area)
        assert replaced(removed, shortest_changes(removed, added)) == added


@pytest.mark.parametrize("area", [0, 50_000, 1_000_000])
def test_a_step_compares_a_bounded_area_however_many_lines_leave(
    apply_operations: Callable[..., str], monkeypatch: pytest.MonkeyPatch, area: int
) -> None:
    """All that one piece of text lets go is compared within the same bound, and comes out right."""
    compared = [0]
    differences = edits._differences

    def counting(old: Any, new: Any) -> Any:
        compared[-1] += len(old) * len(new)
        return differences(old, new)

    monkeypatch.setattr(edits, "_differences", counting)
    monkeypatch.setattr(edits, "DIFFERENCE_AREA", area)
    source = random.Random(4)
    for size, lines in ((30, 60), (2000, 3), (400, 12)):
        before = ["".join(source.choices("abcd ,()", k=size)) for _ in range(lines)]
        after = ["".join("z" if source.random() < 0.2 else letter for letter in line) for line in before]
        original, text = ("\n".join(side) + "\n" for side in (before, after))
        aligner = EditAligner(original)
        operations: list[Operation] = []
        for piece in (*in_pieces(text[: size * 2], 1), text[size * 2 :]):
            operations += aligner.feed(piece)
            compared.append(0)
        assert apply_operations(original, operations + aligner.finish(True)) == text
    assert max(compared) <= area
    assert area < 1_000_000 or max(compared) > 1000


def replaced(text: str, changes: Iterable[tuple[int, int, str]]) -> str:
    """The text after changes, which are in order and do not overlap."""
    parts, at = [], 0
    for start, end, new in changes:
        assert at <= start <= end and (start < end or new)
        parts += [text[at:start], new]
        at = end
    return "".join([*parts, text[at:]])


def test_whole_words_change_where_that_is_free() -> None:
    """Of several shortest differences the one that moves whole words is taken."""
    assert shortest_changes("sum(item_b)", "sum(item_a, item_b)") == [(4, 4, "item_a, ")]


def test_our_own_edits_count_their_lines_right() -> None:
    """Each record of tests/data/edits.jsonl is complete, and its counts are those of a line difference."""
    path = Path(__file__).parents[2] / "data" / "edits.jsonl"
    records = [msgspec.json.decode(line) for line in path.read_bytes().splitlines()]
    assert len({record["id"] for record in records}) == len(records) >= 64
    for record in records:
        before, after = (record[side].removesuffix("\n").split("\n") for side in ("before", "after"))
        assert record["before"].endswith("\n") and record["after"].endswith("\n") and 15 <= len(before) <= 80
        assert (record["repo"], record["license"]) == ("warmline", "Apache-2.0")
        changes = [
            change
            for change in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
            if change[0] != "equal"
        ]
        assert record["hunks"] == len(changes), record["id"]
        assert record["lines_added"] == sum(end - start for *_, start, end in changes), record["id"]
        assert record["lines_removed"] == sum(end - start for _, start, end, *_ in changes), record["id"]
