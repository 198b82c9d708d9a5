"""When a completion goes on with what was generated for the one before."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from warmline.realtime.completing.suggestion import Suggestion
from warmline.realtime.documents.text import utf16_length
from warmline.realtime.protocol import Complete, Sampling, TextEdit

SAMPLING = Sampling(max_tokens=10, seed=3)


def complete(position: int, sampling: Sampling = SAMPLING, replay: str | None = None) -> Complete:
    return Complete(1, "file:///a", 1, position, sampling, replay)


def suggestion(*pieces: str, sampling: Sampling = SAMPLING, replay: str | None = None) -> Suggestion:
    """One at offset 100, each of whose pieces is a token."""
    made = Suggestion(complete(100, sampling, replay))
    for piece in pieces:
        made.generated(piece, 1)
    return made


def typed(*edits: tuple[int, int, str]) -> list[TextEdit]:
    return [TextEdit(*edit) for edit in edits]


@pytest.mark.parametrize(
    ("edits", "position", "rest"),
    [
        (typed((100, 100, "ret")), 103, "urn x"),
        (typed((100, 100, "r"), (101, 101, "e")), 102, "turn x"),
        (typed((100, 100, "rx"), (101, 102, "")), 101, "eturn x"),  # a slip, taken back
        ([], 100, "return x"),
        (typed((100, 100, "rat")), 103, None),
        (typed((100, 100, "return x")), 108, None),  # nothing is left to show
        (typed((100, 100, "ret")), 102, None),  # the cursor is elsewhere
        (typed((99, 99, "ret")), 103, "return x"),  # that only moved it
        (typed((101, 101, "ret")), 103, None),
        (typed((100, 101, "ret")), 103, "urn x"),  # typed over what stood there
        (typed((100, 100, "ret"), (0, 2, "import x\n")), 110, "urn x"),
        (typed((0, 0, "import x\n"), (109, 109, "ret")), 112, "urn x"),
        (typed((0, 0, "import x\n"), (109, 109, "ret")), 103, None),
        (typed((100, 100, "ret"), (200, 200, "x")), 103, "urn x"),
        (typed((100, 100, "ret"), (99, 101, "r")), 102, None),
        (typed((100, 100, "ret"), (102, 104, "t")), 103, None),
    ],
)
def test_it_goes_on_if_the_person_typed_its_beginning(edits, position, rest):
    """Wherever else something was changed."""
    made = suggestion("return", " x")
    made.changed(edits)
    assert made.rest(complete(position)) == rest


def test_nothing_goes_on_in_a_document_that_was_opened_again():
    """What was typed is unknown then."""
    made = suggestion("return")
    made.replaced()
    assert made.rest(complete(100)) is None


@pytest.mark.parametrize(
    ("sampling", "goes_on"),
    [
        (Sampling(max_tokens=10, seed=3), True),
        (Sampling(max_tokens=9, seed=3), True),  # what the typed token leaves
        (Sampling(max_tokens=8, seed=3), False),
        (Sampling(max_tokens=11, seed=3), False),
        (Sampling(max_tokens=10, seed=4), False),
        (Sampling(max_tokens=10, seed=3, temperature=0.5), False),
        (Sampling(max_tokens=10, seed=3, stop=("\n",)), False),
        (Sampling(max_tokens=10, seed=3, speculation="off"), False),
    ],
)
def test_it_goes_on_for_the_same_sampling_alone(sampling, goes_on):
    """Of max_tokens, the rest has to be what was asked for."""
    made = suggestion("return", " x")
    made.changed(typed((100, 100, "return")))
    assert (made.rest(complete(106, sampling)) is not None) == goes_on


def test_a_sampled_text_is_asked_for_again_to_get_another():
    """Where nothing was typed, a greedy one goes on and a sampled one does not."""
    sampled = Sampling(temperature=1.0)
    assert suggestion("x", sampling=sampled).rest(complete(100, sampled)) is None
    assert suggestion("x").rest(complete(100)) == "x"


def test_a_replay_goes_on_with_its_rest():
    """That of the new request has to be what the typed text leaves of the old one's."""
    made = suggestion("return", replay="return x")
    made.changed(typed((100, 100, "re")))
    assert made.rest(complete(102, replay="turn x")) == "turn"
    assert made.rest(complete(102, replay="turn y")) is None
    assert made.rest(complete(102)) is None


@pytest.mark.parametrize(
    ("edits", "position", "rest", "replaces"),
    [
        (typed((100, 100, "foo"), (103, 103, "()")), 104, "bar[0], b)", 1),
        (typed((100, 100, "foo("), (104, 104, ")"), (104, 104, "bar[]")), 108, "0], b)", 2),
        (typed((100, 100, "foo(bar[0])"), (110, 111, ")")), 110, ", b)", 1),  # typed over, by a change
        (typed((100, 100, "foo()")), 105, None, 0),
        (typed((100, 100, "foo();")), 104, None, 0),
        (typed((100, 100, "foo(]")), 104, None, 0),
        (typed((100, 100, "foo)")), 103, None, 0),
    ],
)
def test_it_goes_on_over_what_the_editor_closed(edits, position, rest, replaces):
    """And takes the place of that; other text behind the cursor ends it."""
    made = suggestion("foo(bar[0]", ", b)")
    made.changed(edits)
    message = complete(position)
    assert made.rest(message) == rest
    if rest is not None:
        assert Suggestion(message, made).replaces == replaces


def test_closers_that_are_still_to_come_are_waited_for_to_the_end_of_the_line():
    """Unless they can't come any more."""
    made = suggestion("foo(", "a, ")
    made.changed(typed((100, 100, "foo()")))
    message = complete(104)
    assert (made.rest(message), made.may_reach(message)) == (None, True)
    made.generated("b)", 1)
    assert made.rest(message) == "a, b)"
    for more in ("\n", "]"):
        made = suggestion("[foo(", "a, ", more)
        made.changed(typed((100, 100, "[foo()")))
        assert (made.rest(complete(105)), made.may_reach(complete(105))) == (None, False)


def test_a_request_that_waits_is_for_what_was_typed_when_it_came():
    """Whatever is changed, above it or there, while the text is on its way."""
    made = suggestion('"', sampling=Sampling(max_tokens=20))
    made.changed(typed((100, 100, '""')))
    message = complete(102, Sampling(max_tokens=20))
    made.awaited(message)
    made.changed(typed((0, 0, "x"), (103, 103, "a")))
    made.generated('"a"', 1)
    assert made.rest(message) == 'a"'
    new = Suggestion(message, made)
    assert new.replaces == 0
    assert new.rest(complete(104, Sampling(max_tokens=20))) == '"'
    made.replaced()
    assert made.rest(message) is None
    assert not made.may_reach(message)


def test_what_was_typed_of_it_may_be_taken_back():
    """Also what was typed before it went on: it has been suggested."""
    made = suggestion("return", " x")
    made.changed(typed((100, 100, "ret")))
    made = Suggestion(complete(103), made)
    made.changed(typed((101, 103, "")))
    assert made.rest(complete(101)) == "eturn x"


@given(st.text("ab\n\U0001f388", min_size=1, max_size=9), st.data())
def test_it_goes_on_however_often_the_person_types(text, data):
    """Key after key, and each time what is left is the text without what was typed."""
    made, position, left = suggestion(*text), 100, text
    while len(left) > 1:
        key = left[: data.draw(st.integers(1, len(left) - 1))]
        made.changed(typed((position, position, key)))
        position += utf16_length(key)
        least = 10 - min(len(text) - len(left) + len(key), 9)
        message = complete(position, Sampling(max_tokens=data.draw(st.integers(least, 10)), seed=3))
        rest = made.rest(message)
        assert rest == left[len(key) :]
        made, left = Suggestion(message, made), rest


@given(st.lists(st.tuples(st.text("ab\n", max_size=4), st.booleans()), min_size=1, max_size=12))
def test_looking_at_a_text_in_between_changes_nothing(pieces):
    """Nor does it what those that go on with it see."""
    made, sampling = suggestion(sampling=Sampling(max_tokens=20)), Sampling(max_tokens=20)
    text = ""
    for piece, looks in pieces:
        made.generated(piece, 1)
        text += piece
        if looks:
            assert made.rest(complete(100, sampling)) == (text or None)
            assert made.may_reach(complete(100, sampling)) == (not text)
        if looks and text:
            made = Suggestion(complete(100, sampling), made)
    assert made.rest(complete(100, sampling)) == (text or None)
