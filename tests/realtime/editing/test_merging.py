"""Operations and a person's changes at the same time: what merges, what conflicts, and that both ends agree."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from warmline.realtime.documents import text_edits
from warmline.realtime.documents.text import utf16_length, utf16_offset
from warmline.realtime.documents.text_edits import MAX_NEAR, EditSequence, apply_edits, edits_near
from warmline.realtime.editing.merging import MAX_MARKS, RangeTracker
from warmline.realtime.protocol import Applied, Operation, TextEdit

REQUEST = 7


def tracker_of(
    original: str = "abcdefgh", *operations: Operation, start: int = 10, decides: bool = False
) -> RangeTracker:
    tracker = RangeTracker(REQUEST, start, original, decides=decides)
    tracker.operations(operations)
    return tracker


def insertion(at: int, text: str = "X") -> list[TextEdit]:
    return [TextEdit(at, at, text)]


def apply_all(tracker: RangeTracker, count: int | None = None) -> list[TextEdit]:
    """Put operations into the document, as the side that makes changes does."""
    edits = tracker.edits(count)
    assert tracker.changed(edits, Applied(REQUEST, tracker.standing if count is None else count))
    return edits


# What a person may do ------------------------------------------------------------------------------------------


def test_without_a_persons_changes_the_edits_do_what_the_operations_say() -> None:
    """Kept units are passed over; a deletion and an insertion side by side are one edit."""
    tracker = tracker_of("abcdefgh", 2, -1, "CC", 1, "+", 2, -2)
    assert apply_all(tracker, 5) == [TextEdit(12, 13, "CC"), TextEdit(15, 15, "+")]
    assert (tracker.text, tracker.applied) == ("abCCd+efgh", 5)
    assert apply_all(tracker) == [TextEdit(18, 20, "")]
    assert (tracker.text, tracker.start, tracker.end) == ("abCCd+ef", 10, 18)
    assert tracker.edits() == []


@pytest.mark.parametrize(
    ("edits", "start", "end"),
    [
        (insertion(3, "four"), 14, 22),
        (insertion(10), 11, 19),
        (insertion(18), 10, 18),
        (insertion(30), 10, 18),
        ([TextEdit(2, 9, "x")], 4, 12),
        ([TextEdit(18, 25, "x")], 10, 18),
        ([TextEdit(0, 0, "😀"), TextEdit(0, 2, "")], 10, 18),
    ],
)
def test_a_change_outside_the_range_shifts_it(edits: list[TextEdit], start: int, end: int) -> None:
    """An insertion exactly at its start or end is outside; operations go where the range is now."""
    tracker = tracker_of("abcdefgh", -1, decides=True)
    assert tracker.changed(edits) is False
    assert (tracker.start, tracker.end, tracker.text) == (start, end, "abcdefgh")
    assert tracker.edits() == [TextEdit(start, start + 1, "")]
    assert not tracker.conflict


def test_a_change_of_what_is_applied_is_merged() -> None:
    """What the model wrote is the person's to change, while the rest still comes."""
    tracker = tracker_of("abcdefgh", -2, "new", 2, decides=True)
    apply_all(tracker)
    tracker.changed([TextEdit(11, 13, "!!!!")])
    assert (tracker.text, tracker.conflict) == ("n!!!!cdefgh", False)
    tracker.operations([-4])
    assert tracker.edits() == [TextEdit(17, 21, "")]


def test_a_kept_unit_passes_over_a_persons_changes() -> None:
    """What the person wrote stays, and what they deleted stays deleted."""
    tracker = tracker_of("abcdefgh", 6, "+", 2)
    tracker.changed([TextEdit(12, 14, "XYZ"), TextEdit(11, 11, "!")])
    assert tracker.text == "a!bXYZefgh"
    assert apply_all(tracker) == [TextEdit(18, 18, "+")]
    assert tracker.text == "a!bXYZef+gh"


@pytest.mark.parametrize(
    ("edit", "standing"),
    [
        (TextEdit(12, 12, "X"), 1),  # beside the deletion, before and after
        (TextEdit(13, 13, "X"), 1),
        (TextEdit(11, 12, ""), 1),
        (TextEdit(13, 14, ""), 1),
        (TextEdit(12, 13, ""), 1),
        (TextEdit(15, 15, "X"), 3),  # where an insertion belongs
        (TextEdit(14, 15, ""), 3),
        (TextEdit(11, 11, "X"), 5),  # where nothing happens
        (TextEdit(14, 14, "X"), 5),
        (TextEdit(16, 17, "X"), 5),
    ],
)
def test_an_operation_that_touches_a_persons_change_does_not_stand(edit: TextEdit, standing: int) -> None:
    """Nor do those after it, whichever came first: the operation or the change."""
    operations: list[Operation] = [2, -1, 2, "+", 3]
    before, after = tracker_of("abcdefgh", *operations), tracker_of("abcdefgh")
    before.changed([edit])
    after.changed([edit])
    for operation in operations:
        after.operations([operation])
    assert before.standing == after.standing == standing
    assert before.conflict is after.conflict is (standing < 5)
    assert before.edits() == after.edits()


def test_a_change_of_what_is_still_to_come_is_a_conflict_for_the_side_that_makes_it() -> None:
    """All that was sent stands; the other side hears of it with the end."""
    ours, theirs = tracker_of("abcdefgh", 4, decides=True), tracker_of("abcdefgh", 4)
    for tracker in (ours, theirs):
        tracker.changed(insertion(15))
    assert (ours.conflict, ours.standing, theirs.conflict) == (True, 1, False)
    theirs.finish(ours.standing)
    assert (theirs.conflict, theirs.standing) == (True, 1)


def test_a_change_where_the_next_operation_begins_waits_for_what_that_is() -> None:
    """A kept unit leaves it alone, anything else is a conflict."""
    for operation, standing in ((2, 3), (-2, 2), ("x", 2)):
        tracker = tracker_of("abcdefgh", -2, "new", decides=True)
        apply_all(tracker)
        tracker.changed(insertion(13))
        assert not tracker.conflict
        tracker.operations([operation])
        assert tracker.standing == standing


def test_the_rest_of_an_edit_that_has_ended_is_the_persons() -> None:
    """Nothing more comes for it."""
    tracker = tracker_of("abcdefgh", 4, -1, decides=True)
    tracker.finish()
    tracker.changed(insertion(17))
    assert (tracker.conflict, tracker.edits()) == (False, [TextEdit(14, 15, "")])


def test_a_change_that_was_taken_back_is_still_a_conflict() -> None:
    """Whether an operation meets a change must not depend on when it arrives."""
    tracker = tracker_of("abcdefgh")
    tracker.changed(insertion(12))
    tracker.changed([TextEdit(12, 13, "")])
    tracker.operations([1, -2])
    assert (tracker.text, tracker.standing) == ("abcdefgh", 1)


def test_the_whole_range_may_go() -> None:
    """With text before and after it; what comes then is a conflict unless it keeps."""
    tracker = tracker_of("abcdefgh", 2, decides=True)
    tracker.changed([TextEdit(8, 20, "new")])
    assert (tracker.start, tracker.end, tracker.text) == (11, 11, "")
    assert (tracker.conflict, tracker.edits()) == (True, [])


def test_an_edit_of_nothing_inserts_where_the_place_is_now() -> None:
    """An empty range has no inside to change."""
    tracker = tracker_of("", decides=True)
    tracker.changed(insertion(10, "typed"))
    tracker.operations(["text"])
    assert apply_all(tracker) == [TextEdit(15, 15, "text")]
    tracker.changed(insertion(17, "!"))
    assert (tracker.text, tracker.conflict) == ("te!xt", False)


def test_many_changes_of_what_is_not_applied_count_as_one() -> None:
    """A bounded number of places is remembered; what lies between them is then changed, too."""
    tracker = tracker_of("ab" * 100, 199)
    for index in range(MAX_MARKS + 1):
        tracker.changed(insertion(11 + 3 * index))
    text = tracker.text
    assert text == "aXb" * (MAX_MARKS + 1) + "ab" * (99 - MAX_MARKS)
    tracker.operations(["end"])
    assert apply_all(tracker) == [TextEdit(10 + len(text) - 1, 10 + len(text) - 1, "end")]
    other = tracker_of("ab" * 100)
    for index in range(MAX_MARKS + 1):
        other.changed(insertion(11 + 3 * index))
    other.operations([4, -1])
    assert other.standing == 1


@pytest.mark.parametrize(
    "edit", [TextEdit(13, 13, "XX"), TextEdit(12, 13, "XX"), TextEdit(12, 13, ""), TextEdit(12, 14, "")]
)
def test_a_change_where_the_applied_part_ends_is_not_forgotten(edit: TextEdit) -> None:
    """An insertion that arrives once the kept units before it are applied meets it, as it does before."""
    for early in (True, False):
        tracker = tracker_of("abcdefgh", 3)
        tracker.changed([edit])
        text = tracker.text
        if early:
            tracker.operations(["new", 5])
        apply_all(tracker, 1)
        if not early:
            tracker.operations(["new", 5])
        assert (tracker.standing, tracker.text, tracker.conflict) == (1, text, True)
        tracker.void(1)
        tracker.operations([3, "+", 2])
        apply_all(tracker)
        assert tracker.text == text[:-2] + "+gh"


# Which changes are ours ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "edits",
    [
        [TextEdit(11, 13, ""), TextEdit(11, 11, "new"), TextEdit(15, 15, "+")],
        [TextEdit(14, 14, "+"), TextEdit(11, 13, "new")],
        [TextEdit(10, 18, "anewd+efgh")],
        [TextEdit(11, 14, "newd+")],
    ],
)
def test_our_operations_are_recognised_whatever_the_change_looks_like(edits: list[TextEdit]) -> None:
    """An editor divides, orders and joins edits as it likes; the effect counts."""
    tracker = tracker_of("abcdefgh", 1, -2, "new", 1, "+", 3, -1)
    assert tracker.changed(edits, Applied(REQUEST, 5))
    assert (tracker.applied, tracker.text, tracker.standing) == (5, "anewd+efgh", 7)
    tracker.finish()
    assert tracker.edits() == [TextEdit(19, 20, "")]


@pytest.mark.parametrize(
    ("edits", "applied"),
    [
        ([TextEdit(11, 13, "old")], Applied(REQUEST, 3)),  # another effect
        ([TextEdit(11, 13, "new")], Applied(REQUEST, 1)),  # fewer than it has
        ([TextEdit(11, 13, "new")], Applied(REQUEST, 9)),  # more than there are
        ([TextEdit(11, 13, "new")], Applied(REQUEST + 1, 3)),  # another's
        ([TextEdit(11, 13, "new")], None),
        ([TextEdit(0, 0, "x"), TextEdit(12, 14, "new")], Applied(REQUEST, 3)),  # and something before the range
        ([TextEdit(11, 13, "new"), TextEdit(20, 20, "x")], Applied(REQUEST, 3)),  # and after it
    ],
)
def test_a_change_that_claims_to_be_ours_and_is_not_is_a_persons(
    edits: list[TextEdit], applied: Applied | None
) -> None:
    """It is merged or in conflict as if it had claimed nothing."""
    tracker, same = tracker_of("abcdefgh", 1, -2, "new", 1), tracker_of("abcdefgh", 1, -2, "new", 1)
    assert not tracker.changed(edits, applied)
    same.changed(edits)
    assert (tracker.applied, tracker.standing, tracker.text) == (0, same.standing, same.text) == (0, 1, same.text)


def test_operations_are_applied_once() -> None:
    """The same change again is a person's."""
    tracker = tracker_of("abcdefgh", "x", 8)
    apply_all(tracker)
    assert not tracker.changed(insertion(10, "x"), Applied(REQUEST, 1))
    assert (tracker.start, tracker.text) == (11, "xabcdefgh")


# Many changes at once ------------------------------------------------------------------------------------------


def test_a_change_of_too_many_places_of_the_range_ends_the_edit() -> None:
    """What is applied stays, on both sides; the one that doesn't decide goes on to say where the range is."""
    ours, theirs = (tracker_of("abcdefgh" * 20, -1, "new", 3, decides=decides) for decides in (True, False))
    edits = [TextEdit(at, at, "#") for at in range(10 + 2 * (MAX_NEAR + 4), 10, -2)]
    for tracker in (ours, theirs):
        apply_all(tracker, 2)
        assert not tracker.changed(edits)
        assert (tracker.conflict, tracker.standing) == (True, 2)
    assert theirs.text == apply_edits(
        "newbcdefgh" + "abcdefgh" * 19, [TextEdit(e.start - 10, e.end - 10, e.text) for e in edits]
    )
    few = tracker_of("abcdefgh" * 20, -1, "new", 3)
    apply_all(few, 2)
    few.changed([TextEdit(edit.start, edit.end, edit.text) for edit in edits[-1:]])
    assert few.standing == 3


@given(st.data())
def test_the_edits_of_a_change_count_as_changes_of_their_own(edited: Any, splices: Any, data: st.DataObject) -> None:
    """However many there are beside the few that touch the range."""
    before, original, after = (data.draw(edited) for _ in range(3))
    text = before + original + after
    edits, expected = data.draw(splices(text))
    if expected is None:
        return
    start, size = utf16_length(before), utf16_length(original)
    kept = data.draw(st.integers(0, size))
    together, apart = (tracker_of(original, kept, "new", start=start) for _ in range(2))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_edits, "MAX_NEAR", data.draw(st.integers(1, 4)))
        is_one_way = EditSequence.of(edits).one_way
        near = edits_near(edits, start, start + size)
        together.changed(edits)
        for edit in edits:
            apart.changed([edit])
    assert together.text == apart.text
    if apart.text:  # what is put where a whole range was removed may be before or after it
        assert (together.start, together.end) == (apart.start, apart.end)
    if near is None:
        assert (together.conflict, together.standing) == (True, 0)
    elif is_one_way:
        assert together.standing == apart.standing


# Steering and wrong use ----------------------------------------------------------------------------------------


def test_void_operations_are_forgotten_and_so_are_their_conflicts() -> None:
    """Others follow where the last remaining one ends."""
    tracker = tracker_of("abcdefgh", 2, -2, "x", 4)
    tracker.changed(insertion(13))
    assert tracker.conflict
    tracker.void(1)
    assert (tracker.known, tracker.conflict) == (1, False)
    tracker.operations([4, "y", 2])
    assert tracker.edits() == [TextEdit(17, 17, "y")]


def test_wrong_numbers_are_errors() -> None:
    """Past the range, past what stands, before what is applied."""
    tracker = tracker_of("abcd", 2, -1)
    with pytest.raises(ValueError, match="reaches unit 5 of a range of 4"):
        tracker.operations(["x", -2])
    assert tracker.known == 3
    with pytest.raises(ValueError, match="4 operations can't be applied: 0 are, and 3 stand"):
        tracker.edits(4)
    apply_all(tracker, 2)
    with pytest.raises(ValueError, match="1 of 3 operations can't remain where 2 are applied"):
        tracker.void(1)


# Both ends -----------------------------------------------------------------------------------------------------

Cell = tuple[str, int]
"""A unit of the document and where it is from: ``b`` before the range, ``o`` the original, ``a`` after it, ``m`` the
model, ``p`` the person."""


class Side:
    """One end: its document, and its tracker."""

    def __init__(self, before: str, original: str, after: str, decides: bool) -> None:
        self.text = before + original + after
        self.tracker = RangeTracker(REQUEST, utf16_length(before), original, decides=decides)

    def change(self, edits: list[TextEdit], applied: Applied | None) -> bool:
        self.text = apply_edits(self.text, edits)
        ours = self.tracker.changed(edits, applied)
        units = self.text.encode("utf-16-le")
        assert units[2 * self.tracker.start : 2 * self.tracker.end].decode("utf-16-le") == self.tracker.text
        return ours


class Exchange:
    """A server that makes operations, a client whose person types, and two channels between them."""

    def __init__(self, before: str, original: str, after: str) -> None:
        self.original = original
        self.server = Side(before, original, after, decides=True)
        self.client = Side(before, original, after, decides=False)
        self.down: deque[tuple[str, Any]] = deque()
        self.up: deque[tuple[str, Any]] = deque()
        self.said: list[Operation] = []
        self.reached = 0  # characters of the original
        self.ended = self.done = False
        self.keep: int | None = None  # while a steer is under way: operations that remain
        self.steering = False
        units = {"b": before, "o": original, "a": after}
        self.cells: list[Cell] = [(kind, n) for kind, text in units.items() for n in range(utf16_length(text))]
        self.written = 0
        self.gone: set[Cell] = set()  # that the person deleted
        self.typed = 0

    # The server

    def make(self, steps: Iterable[tuple[str, int, str]]) -> None:
        if self.ended:
            return
        batch: list[Operation] = []
        for kind, count, text in steps:
            part = self.original[self.reached : self.reached + count]
            if kind == "insert":
                batch.append(text)
            elif part:
                self.reached += len(part)
                batch.append(utf16_length(part) if kind == "keep" else -utf16_length(part))
        tracker = self.server.tracker
        tracker.operations(batch)
        standing = batch[: max(tracker.standing - len(self.said), 0)]
        self.said += standing
        self.down.append(("ops", standing))
        self.end_if_conflict()

    def end_if_conflict(self) -> None:
        if self.server.tracker.conflict and not self.ended:
            self.ended = True
            self.down.append(("conflict", self.server.tracker.standing))

    def finish(self) -> None:
        if not self.ended:
            self.ended = True
            self.server.tracker.finish()
            self.down.append(("stop", None))

    def server_takes(self) -> None:
        if not self.up:
            return
        kind, value = self.up.popleft()
        if kind == "change":
            edits, applied, ours = value
            assert self.server.change(edits, applied) is ours
            self.end_if_conflict()
        elif not self.ended:
            remaining = len(self.said) if value is None else value
            self.server.tracker.void(remaining)
            del self.said[remaining:]
            units = sum(abs(operation) for operation in self.said if isinstance(operation, int))
            self.reached = next(n for n in range(len(self.original) + 1) if utf16_offset(self.original, n) == units)
            self.down.append(("steered", remaining))

    # The client

    def client_takes(self) -> None:
        if not self.down:
            return
        kind, value = self.down.popleft()
        tracker = self.client.tracker
        if kind == "ops":
            tracker.operations(value)
        elif kind == "steered":
            tracker.void(value)
            self.keep, self.steering = None, False
        else:
            self.done, self.keep = True, None
            tracker.finish(value)

    def steer(self, remaining: int | None) -> None:
        tracker = self.client.tracker
        if self.steering or self.done or tracker.conflict:
            return
        if remaining is not None:
            remaining = tracker.applied + remaining % (tracker.known - tracker.applied + 1)
        self.keep, self.steering = remaining, True
        self.up.append(("steer", remaining))

    def send(self, edits: list[TextEdit], applied: Applied | None) -> bool:
        ours = self.client.change(edits, applied)
        self.up.append(("change", (edits, applied, ours)))
        for edit in edits:
            removed = self.cells[edit.start : edit.end]
            if ours:
                assert all(kind == "o" for kind, _ in removed), "an operation deletes the original only"
                new = [("m", self.written + index) for index in range(utf16_length(edit.text))]
                self.written += len(new)
            else:
                self.gone.update(removed)
                new = [("p", self.typed + index) for index in range(utf16_length(edit.text))]
                self.typed += len(new)
            self.cells[edit.start : edit.end] = new
        return ours

    def type(self, at: int, count: int, text: str, claim: int | None) -> None:
        """A person's change of ``count`` characters somewhere; near the range more often than not."""
        held = self.client.text
        start = at % (len(held) + 1)
        end = min(start + count, len(held))
        if held[start:end] == text:
            return
        edits = [TextEdit(utf16_offset(held, start), utf16_offset(held, end), text)]
        known = self.client.tracker.known
        self.send(edits, None if claim is None else Applied(REQUEST, claim % (known + 1)))

    def apply(self, count: int | None) -> None:
        tracker = self.client.tracker
        most = tracker.standing if self.keep is None else min(tracker.standing, max(self.keep, tracker.applied))
        upto = most if count is None else tracker.applied + count % (most - tracker.applied + 1)
        assert self.send(tracker.edits(upto), Applied(REQUEST, upto)), "our own operations"
        assert tracker.applied == upto

    def settle(self) -> None:
        while self.up or self.down:
            self.server_takes()
            self.client_takes()


steps = st.lists(
    st.tuples(
        st.sampled_from(["keep", "keep", "delete", "insert"]), st.integers(1, 3), st.sampled_from(["m", "n🤖"])
    ),
    min_size=1,
    max_size=3,
)
typing = st.tuples(
    st.just("type"),
    st.integers(0, 15),
    st.sampled_from([0, 0, 1, 1, 2, 5]),
    st.sampled_from(["", "", "P", "Q🙂"]),
    st.sampled_from([None, None, None, 0, 1, 3]),
)
make = st.tuples(st.just("make"), steps)
apply = st.tuples(st.just("apply"), st.none() | st.integers(0, 9))
steer = st.tuples(st.just("steer"), st.none() | st.integers(0, 9))
deliver = st.tuples(st.sampled_from(["server_takes", "client_takes", "settle"]))
finish = st.tuples(st.just("finish"))
usual = (make, make, typing, typing, apply, deliver, deliver)
actions = st.lists(st.one_of(*usual, *usual, steer, finish), max_size=25)
# Each character once, so that a claim to be our deletion is true only of the same unit.
texts = st.lists(st.sampled_from("abcdefghé\n😀🎉"), unique=True, max_size=10).map("".join)


@settings(max_examples=400, deadline=None)
@given(st.text("xy", max_size=1), texts, st.text("xy", max_size=1), actions)
def test_both_ends_agree_however_changes_and_operations_interleave(
    before: str, original: str, after: str, actions: list[Any]
) -> None:
    """The same operations stand, the documents are equal, and nothing of the person's or the model's is lost."""
    exchange = Exchange(before, original, after)
    for name, *arguments in actions:
        getattr(exchange, name)(*arguments)
    exchange.settle()
    exchange.finish()
    exchange.settle()
    server, client = exchange.server.tracker, exchange.client.tracker
    assert (server.standing, server.applied) == (client.standing, client.applied)
    assert server.edits() == client.edits()
    exchange.apply(None)
    exchange.settle()
    assert exchange.server.text == exchange.client.text
    assert (server.text, server.start, server.end) == (client.text, client.start, client.end)

    expected = [cell for cell in _result(exchange.said[: client.standing], original) if cell not in exchange.gone]
    assert [cell for cell in exchange.cells if cell[0] in "om"] == expected
    typed = {cell for cell in exchange.cells if cell[0] == "p"}
    assert typed | exchange.gone >= {("p", index) for index in range(exchange.typed)}, "a person's text is never lost"


def _result(operations: list[Operation], original: str) -> list[Cell]:
    """What operations make of the original, unit by unit."""
    cells: list[Cell] = []
    at = written = 0
    for operation in operations:
        if isinstance(operation, str):
            length = utf16_length(operation)
            cells += [("m", written + index) for index in range(length)]
            written += length
        else:
            cells += [("o", at + index) for index in range(max(operation, 0))]
            at += abs(operation)
    return cells + [("o", index) for index in range(at, utf16_length(original))]


@given(texts, st.lists(steps, max_size=4))
def test_with_nobody_typing_the_text_is_what_the_operations_say(
    apply_operations: Callable[..., str], original: str, batches: list[list[tuple[str, int, str]]]
) -> None:
    """By the letter of the protocol, however they are applied."""
    exchange = Exchange("", original, "")
    for batch in batches:
        exchange.make(batch)
        exchange.settle()
        exchange.apply(None if len(batch) > 1 else 1)
    exchange.apply(None)
    assert exchange.client.text == apply_operations(original, exchange.said)


@settings(max_examples=300, deadline=None)
@given(
    st.integers(1, 12),
    st.lists(st.tuples(st.integers(0, 20), st.integers(0, 3), st.integers(0, 3)), max_size=6),
    st.lists(st.sampled_from([1, 2, 3, 4, -1, -2, "m", "mm"]), max_size=6),
)
def test_what_stands_and_what_it_does_is_as_defined(
    units: int, changes: list[tuple[int, int, int]], wanted: list[Operation]
) -> None:
    """Against the definition, unit by unit: operations touch places, and so do a person's changes."""
    tracker = RangeTracker(REQUEST, 1, "o" * units)
    cells: list[int | str] = ["(", *range(units), ")"]
    touched: set[int] = set()  # places: place n is before unit n
    for at, deleted, inserted in changes:
        at = min(at, len(cells))
        removed = cells[at : at + deleted]
        inside = tracker.start < at < tracker.end
        tracker.changed([TextEdit(at, at + len(removed), "p" * inserted)])
        cells[at : at + len(removed)] = "p" * inserted
        if any(isinstance(cell, int) for cell in removed) or (inside and inserted):
            left = [cell for cell in cells[:at] if isinstance(cell, int)]
            right = [cell for cell in cells[at:] if isinstance(cell, int)]
            touched.update(range(left[-1] + 1 if left else 0, (right[0] if right else units) + 1))
    operations: list[Operation] = []
    deleted_units: set[int] = set()
    new: dict[int, str] = {}
    standing = reached = 0
    conflict = False
    for operation in wanted:
        length = 0 if isinstance(operation, str) else abs(operation)
        if reached + length > units:
            break
        operations.append(operation)
        places = range(reached, reached + length + 1)
        conflict = conflict or (operation in (-1, -2, "m", "mm") and not touched.isdisjoint(places))
        if not conflict:
            standing += 1
            if isinstance(operation, str):
                new[reached] = new.get(reached, "") + operation
            elif operation < 0:
                deleted_units.update(places[:-1])
        reached += length
    tracker.operations(operations)
    assert (tracker.standing, tracker.conflict) == (standing, conflict)
    assert apply_edits(_shown(cells), tracker.edits(), len(cells)) == _shown(cells, new, deleted_units)
    for place in set(range(units + 1)) - touched:
        tracker.void(0)
        tracker.operations([place, "new"])
        assert apply_edits(_shown(cells), tracker.edits(), len(cells)) == _shown(cells, {place: "new"})


def _shown(cells: list[int | str], new: Mapping[int, str] = {}, deleted: Collection[int] = ()) -> str:
    """The text of a document with text inserted before units of the original, and units of it deleted."""
    last = max((cell for cell in cells if isinstance(cell, int)), default=-1)
    text = ""
    for cell in cells:
        if isinstance(cell, str):
            text += cell
        else:
            text += new.get(cell, "") + "o" * (cell not in deleted) + (new.get(cell + 1, "") if cell == last else "")
    return text
