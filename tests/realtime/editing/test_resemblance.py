"""Tests of `warmline.realtime.editing.resemblance`, and of edits that change words in nearly every line."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz.distance import Indel
from warmline.realtime.editing.alignment import HELD_LINES
from warmline.realtime.editing.edits import EditAligner
from warmline.realtime.editing.resemblance import pair_by_resemblance
from warmline.realtime.protocol import Operation

WORDS = re.findall(
    r"\w+",
    "value result index count total path file line text name key node left right parent child items first last start "
    "end size width height user token state config options context request response handler error message data",
)


def identifier(source: random.Random) -> str:
    """One word, or two."""
    return source.choice(WORDS) + source.choice(["", "_" + source.choice(WORDS)])


def code_line(source: random.Random) -> str:
    """A line such as programs consist of."""
    a, b, c, d = (identifier(source) for _ in range(4))
    form = source.choice(
        [
            f"{a} = {b}({c}, {d})",
            f"if {a}.{b} == {c}:",
            f"return {a}[{b}] + {c}",
            f"for {a} in {b}.{c}():",
            f"self.{a} = {b}",
            f"{a}.{b}({c}={d})",
            "",
            f"def {a}({b}, {c}):",
            f"raise ValueError({a}, {b})",
        ]
    )
    return "    " * source.randint(0, 3) + form


def table_row(source: random.Random) -> str:
    """A row of a table: all of them look alike."""
    a, b, c = (identifier(source) for _ in range(3))
    return f'    ("{a}", {source.randint(0, 99)}, "{b}", "{c}"),'


def prose_line(source: random.Random) -> str:
    """A line of text."""
    return " ".join(source.choice(WORDS) for _ in range(source.randint(5, 12)))


def change_words(source: random.Random, line: str, count: int) -> str:
    """The line with so many of its words replaced, or all if it has fewer."""
    words = list(re.finditer(r"\w+", line))
    chosen = source.sample(words, min(count, len(words)))
    for word in sorted(chosen, key=lambda word: word.start(), reverse=True):
        line = line[: word.start()] + identifier(source) + line[word.end() :]
    return line


Line = Callable[[random.Random], str]
Change = Callable[[random.Random, list[str], Line], list[str]]


def two_words(source: random.Random, lines: list[str], _: Line) -> list[str]:
    """Two words change in nearly every line."""
    return [change_words(source, line, 2) if source.random() < 0.95 else line for line in lines]


def two_words_and_more(source: random.Random, lines: list[str], line: Line) -> list[str]:
    """Two words change in most lines, some are deleted, and some come in between."""
    changed: list[str] = []
    for old in lines:
        chance = source.random()
        if chance > 0.1:
            changed += [line(source)] if chance > 0.9 else []
            changed.append(change_words(source, old, 2) if chance > 0.2 else old)
    return changed


def names(source: random.Random, lines: list[str], _: Line) -> list[str]:
    """Six names change wherever they stand."""
    renamed = {word: f"{word[::-1]}_of_old" for word in source.sample(WORDS, 6)}
    return [re.sub(r"[^\W_]+", lambda found: renamed.get(found[0], found[0]), line) for line in lines]


def insertions(source: random.Random, lines: list[str], line: Line) -> list[str]:
    """Lines of the same kind come in between, here and there and as one long block."""
    changed: list[str] = []
    for old in lines:
        if source.random() < 0.1:
            changed += [line(source) for _ in range(source.randint(1, 5))]
        changed.append(old)
    at = source.randint(0, len(changed))
    return changed[:at] + [line(source) for _ in range(30)] + changed[at:]


def fewest_characters(old: str, new: str) -> int:
    """The characters that the shortest difference deletes and inserts (a bit a column of the table; Hyyrö 2004)."""
    places: dict[str, int] = {}
    for at, character in enumerate(old):
        places[character] = places.get(character, 0) | 1 << at
    whole = row = (1 << len(old)) - 1
    for character in new:
        matching = row & places.get(character, 0)
        row = ((row + matching) | (row - matching)) & whole
    common = (whole ^ row).bit_count()
    return len(old) + len(new) - 2 * common


@given(st.text("abc", max_size=30), st.text("abc", max_size=30))
def test_the_yardstick_is_right(old: str, new: str) -> None:
    """The shortest difference is counted as others count it."""
    assert fewest_characters(old, new) == Indel.distance(old, new)


def stream(original: str, lines: list[str]) -> list[Operation]:
    """All operations of an edit to these lines, after checking that none waited too long."""
    aligner = EditAligner(original)
    operations: list[Operation] = []
    for count, line in enumerate(lines, 1):
        operations += aligner.feed(line + "\n")
        reached = sum(abs(op) for op in operations if isinstance(op, int) and op > 0)
        reached += sum(len(op) for op in operations if isinstance(op, str))
        assert "\n".join([*lines[:count], ""])[reached:].count("\n") <= HELD_LINES
    return operations + aligner.finish(True)


def size(operations: list[Operation]) -> int:
    """Inserted plus deleted characters."""
    return sum(len(op) if isinstance(op, str) else max(0, -op) for op in operations)


@pytest.mark.parametrize("change", [two_words, two_words_and_more, names, insertions])
@pytest.mark.parametrize("line", [code_line, table_row, prose_line])
def test_operations_stay_near_the_fewest_characters(
    apply_operations: Callable[..., str], line: Line, change: Change
) -> None:
    """Whatever changes in nearly every line, operations have at most 1.15 times the characters they need."""
    for seed in range(6):
        for count in (5, 25, 40, 120):
            source = random.Random(seed)
            lines = [line(source) for _ in range(count)]
            changed = change(source, lines, line)
            original, text = ("".join(one + "\n" for one in side) for side in (lines, changed))
            operations = stream(original, changed)
            assert apply_operations(original, operations) == text
            assert size(operations) <= 1.15 * fewest_characters(original, text), (seed, count)


@settings(deadline=None)
@given(st.integers(), st.integers(1, 60), st.floats(0, 1), st.sampled_from([code_line, table_row, prose_line]))
def test_whatever_changes_the_text_is_exact(
    apply_operations: Callable[..., str], seed: int, count: int, share: float, line: Line
) -> None:
    """Operations give the new text, and never have more characters than both texts; lines before the first change
    are kept."""
    source = random.Random(seed)
    lines = [line(source) for _ in range(count)]
    changed = [change_words(source, one, source.randint(1, 5)) if source.random() < share else one for one in lines]
    original, text = ("".join(one + "\n" for one in side) for side in (lines, changed))
    operations = stream(original, changed)
    assert apply_operations(original, operations) == text
    assert size(operations) <= len(original) + len(text)
    alike = next((at for at, (one, other) in enumerate(zip(lines, changed, strict=True)) if one != other), count)
    kept = next(
        (at for at, operation in enumerate(operations) if not (isinstance(operation, int) and operation > 0)), None
    )
    assert sum(operations[:kept]) >= sum(len(one) + 1 for one in lines[:alike])  # type: ignore[arg-type]


@pytest.mark.parametrize("line", [code_line, table_row, prose_line])
def test_untouched_lines_between_much_changed_ones_are_kept(apply_operations: Callable[..., str], line: Line) -> None:
    """Of unchanged lines among many changed ones nothing is deleted."""
    source = random.Random(3)
    lines = [f"{line(source)}  # {number}" for number in range(80)]
    changed = [one if at % 5 == 0 else change_words(source, one, 3) for at, one in enumerate(lines)]
    original = "".join(one + "\n" for one in lines)
    place, kept = 0, [False] * len(original)
    for operation in stream(original, changed):
        if isinstance(operation, int):
            kept[place : place + abs(operation)] = [operation > 0] * abs(operation)
            place += abs(operation)
    start = 0
    for at, one in enumerate(lines):
        if at % 5 == 0:
            assert all(kept[start : start + len(one) + 1]), one
        start += len(one) + 1


@pytest.mark.parametrize("line", [code_line, table_row, prose_line])
def test_changed_lines_pair_with_their_originals(line: Line) -> None:
    """Twenty lines with two words changed each stand where they stood, also below some that were deleted."""
    for seed in range(20):
        source = random.Random(seed)
        lines = [line(source) for _ in range(40)]
        changed = [change_words(source, one, 2) for one in lines]
        pairs = pair_by_resemblance(changed[:20], lines)
        assert sum(new == old for new, old in pairs) >= 14
        pairs = pair_by_resemblance(changed[10:30], lines, free=10)
        assert sum(new + 10 == old for new, old in pairs) >= 14


@pytest.mark.parametrize("line", [code_line, table_row, prose_line])
def test_unrelated_lines_pair_with_nothing(line: Line) -> None:
    """Lines of the same kind that are no changed ones are not taken for such."""
    for seed in range(40):
        source = random.Random(seed)
        lines = [line(source) for _ in range(40)]
        assert pair_by_resemblance([line(source) for _ in range(20)], lines) == []


@pytest.mark.parametrize(("lines", "original"), [([], ["a"]), (["a"], []), ([], [])])
def test_nothing_pairs_with_nothing(lines: list[str], original: list[str]) -> None:
    """Where either side is empty there are no pairs."""
    assert pair_by_resemblance(lines, original) == []


def test_pairs_rise_on_both_sides() -> None:
    """No line and no original is in two pairs, and none crosses another."""
    source = random.Random(1)
    lines = [code_line(source) for _ in range(48)]
    pairs = pair_by_resemblance([change_words(source, one, 1) for one in lines[::2]][:20], lines)
    assert pairs == sorted(pairs) and len({old for _, old in pairs}) == len({new for new, _ in pairs}) == len(pairs)
