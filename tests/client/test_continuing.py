"""Both ends know what is left of a suggestion while it is typed, in an editor that closes brackets by itself."""

from __future__ import annotations

from collections import deque
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from warmline.client.earlier import Earlier
from warmline.client.mirror import DocumentMirror
from warmline.client.state import SessionState, TextState
from warmline.realtime import (
    Accepted,
    Complete,
    Continued,
    Delta,
    Done,
    PlaceTracker,
    Sampling,
    TextEdit,
    apply_edits,
    utf16_length,
)
from warmline.realtime.completing.supersede import Suggestion

URI = "file:///a"
CLOSERS = {"(": ")", "[": "]", "{": "}", '"': '"'}
SAMPLING = Sampling(max_tokens=1000)


def _joined(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.lists(parts, min_size=1, max_size=4).map("".join)


def _bracketed(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.builds(lambda pair, text: pair[0] + text + pair[1], st.sampled_from(["()", "[]", "{}"]), _joined(inner))


SUGGESTIONS = _joined(st.recursive(st.sampled_from(["a", "\n", "😀", '"text"', ""]), _bracketed, max_leaves=12))
"""Texts whose brackets and quotes are all closed."""


class Editor:
    """Somebody who types a text at a place. The document: ``before``, ``typed``, cursor, ``tail``, ``after``."""

    def __init__(self, text: str, draw: Any) -> None:
        self.suggested = text
        self.before, self.typed, self.tail, self.after = "before😀", "", "", "after"
        self.draw = draw

    @property
    def text(self) -> str:
        return self.before + self.typed + self.tail + self.after

    @property
    def cursor(self) -> int:
        return utf16_length(self.before + self.typed)

    @property
    def follows(self) -> bool:
        """Whether what is typed is what was suggested."""
        return self.suggested.startswith(self.typed)

    def act(self) -> list[TextEdit]:
        """Do something; returns what a change says of it."""
        actions = [self.type] * 6 + [self.erase, self.slip, self.change_above, self.change_below]
        return self.draw(st.sampled_from(actions))()

    def type(self) -> list[TextEdit]:
        """The next character. Over what the editor put there the cursor moves, with or without a change."""
        if not self.follows or self.typed == self.suggested:
            return []
        last, at, character = self.typed[-1:], self.cursor, self.suggested[len(self.typed)]
        opens = character in CLOSERS and (character != '"' or self.typed.count('"') % 2 == 0)
        self.typed += character
        if self.tail.startswith(character):
            self.tail = self.tail[1:]
            return self.draw(st.sampled_from([[], [TextEdit(at, at + 1, character)]]))
        if self.tail.startswith("\n" + character):  # the line that Enter made is not wanted
            self.tail = self.tail[2:]
            return [TextEdit(at, at + 2, character)]
        if opens and self.draw(st.booleans()):
            closer = CLOSERS[character]
            self.tail = closer + self.tail
            apart = [TextEdit(at, at, character), TextEdit(at + 1, at + 1, closer)]
            return self.draw(st.sampled_from([[TextEdit(at, at, character + closer)], apart]))
        if character == "\n" and self.tail and self.tail[0] == CLOSERS.get(last) and self.draw(st.booleans()):
            self.tail = "\n" + self.tail
            return [TextEdit(at, at, "\n\n")]
        return [TextEdit(at, at, character)]

    def erase(self) -> list[TextEdit]:
        """The last character, and with a bracket the closer right behind it."""
        last, at = self.typed[-1:], self.cursor
        if not last or (last in CLOSERS and self.tail.startswith("\n")):
            return []
        pair = bool(self.tail) and CLOSERS.get(last) == self.tail[0]
        self.typed, self.tail = self.typed[:-1], self.tail[pair:]
        return [TextEdit(at - utf16_length(last), at + pair, "")]

    def slip(self) -> list[TextEdit]:
        """A wrong character, to be erased."""
        at = self.cursor
        self.typed += "z"
        return [TextEdit(at, at, "z")]

    def change_above(self) -> list[TextEdit]:
        start = self.draw(st.integers(0, 3))
        end = self.draw(st.integers(start, start + 1))
        text = self.draw(st.sampled_from(["i", "im😀port()\n", "" if len(self.before) > 9 else "i"]))
        edit = TextEdit(utf16_length(self.before[:start]), utf16_length(self.before[:end]), text)
        self.before = self.before[:start] + text + self.before[end:]
        return [edit]

    def change_below(self) -> list[TextEdit]:
        at = utf16_length(self.before + self.typed + self.tail)
        end, text = self.draw(st.integers(1, len(self.after))), self.draw(st.sampled_from(["", "x", "y()"]))
        self.after = self.after[:1] + text + self.after[end:]
        return [TextEdit(at + 1, at + end, text)]


@settings(max_examples=300)
@given(SUGGESTIONS.filter(bool), st.data())
def test_what_follows_a_suggestion_always_goes_on(text: str, data: st.DataObject) -> None:
    """Whatever the editor closes, is taken back or changes elsewhere, both ends know the same rest, and it fits."""
    editor = Editor(text, data.draw)
    position = editor.cursor
    server, client = Suggestion(Complete(0, URI, 0, position, SAMPLING)), PlaceTracker(position)
    server.generated(text, 1)
    for number in range(data.draw(st.integers(1, 30))):
        edits = editor.act()
        server.changed(edits)
        client.changed(edits)
        message = Complete(number, URI, number, editor.cursor, Sampling(max_tokens=1000 - (editor.typed == text)))
        rest = text[len(editor.typed) :] if editor.follows else None
        remaining = text[len(client.passed) :] if text.startswith(client.passed) else ""
        assert server.rest(message) == (rest or None)
        edit = client.remaining(remaining, editor.cursor)
        end = editor.cursor + utf16_length(editor.tail)
        if not rest:
            assert edit is None or (edit == TextEdit(editor.cursor, end, "") and not editor.tail)
            continue
        assert edit == TextEdit(editor.cursor, end, rest)
        least = client.remaining(remaining)
        assert least is not None
        whole = editor.before + text + editor.after
        assert apply_edits(editor.text, [edit]) == apply_edits(editor.text, [least]) == whole
        if data.draw(st.booleans()):
            at = client.at(editor.cursor)
            assert at == (editor.typed, editor.tail)
            server = Suggestion(message, server)
            client, before = PlaceTracker(editor.cursor), client
            client.go_on_from(before, editor.typed)
            assert server.replaces == utf16_length(editor.tail)


def test_a_place_is_known_that_another_completion_gets_later() -> None:
    """The first has ended and the second not heard yet that it goes on with it, when the third is asked for."""
    first, second, third = PlaceTracker(10), PlaceTracker(11), PlaceTracker(12)
    first.changed([TextEdit(10, 10, "f")])
    of_second = Earlier([(1, first, None)], 11)
    for place in (first, second):
        place.changed([TextEdit(11, 11, "o")])
    of_third = Earlier([(2, second, of_second)], 12)
    assert of_second.hand_over(1, second)
    assert of_third.hand_over(2, third)
    assert (third.start, third.passed) == (10, "fo")
    assert third.remaining("o") == TextEdit(12, 12, "o")
    assert not of_third.hand_over(1, third)


class Server:
    """Generates what the ``replay`` of each request says, a character at a time, and goes on where it can."""

    def __init__(self) -> None:
        self.sent: deque[Any] = deque()
        self.current: tuple[Complete, Suggestion] | None = None
        self.waiting: Complete | None = None
        self.left = ""

    def change(self, edits: list[TextEdit]) -> None:
        if self.current is not None:
            self.current[1].changed(edits)

    def complete(self, message: Complete) -> None:
        if self.current is None:
            self.start(message)
            return
        suggestion = self.current[1]
        if self.waiting is not None:
            self.accept(self.waiting)
            self.sent.append(Done(self.waiting.request, "superseded"))
            self.waiting = None
        if not self.go_on(message):
            if suggestion.may_reach(message):
                self.waiting = message
                suggestion.awaited(message)
            else:
                self.sent.append(Done(self.current[0].request, "superseded"))
                self.start(message)

    def step(self) -> None:
        if self.current is None:
            return
        message, suggestion = self.current
        text, self.left = self.left[:1], self.left[1:]
        if text:
            suggestion.generated(text, 1)
        waiting = self.waiting
        if waiting is None and text:
            self.sent.append(Delta(message.request % 128, text))
        elif waiting is not None and not self.go_on(waiting) and not (text and suggestion.may_reach(waiting)):
            self.waiting = None
            self.sent.append(Done(message.request, "superseded"))
            self.start(waiting)

    def go_on(self, message: Complete) -> bool:
        assert self.current is not None
        old, suggestion = self.current
        rest = suggestion.rest(message)
        if rest is None:
            return False
        self.current, self.waiting = (message, Suggestion(message, suggestion)), None
        self.sent.append(Done(old.request, "superseded"))
        self.accept(message, Continued(old.request, old.version, message.version, self.current[1].replaces))
        self.sent.append(Delta(message.request % 128, rest))
        return True

    def start(self, message: Complete) -> None:
        self.current, self.left = (message, Suggestion(message)), message.replay or ""
        self.accept(message)

    def accept(self, message: Complete, continued: Continued | None = None) -> None:
        self.sent.append(Accepted(message.request, message.request % 128, continued))


@settings(max_examples=300)
@given(SUGGESTIONS.filter(bool), st.data())
def test_both_ends_agree_however_their_messages_cross(text: str, data: st.DataObject) -> None:
    """What is shown, put in at any time, makes what the whole suggestion would have made where it was asked for."""
    editor, server = Editor(text, data.draw), Server()
    mirror, up = DocumentMirror(URI, editor.text, ""), deque[Any]()
    session = SessionState(lambda message: up.append(message) or 0, lambda: 0)
    asked: list[tuple[TextState, str, str]] = []  # with what was typed, and the tail

    def act() -> None:
        edits = editor.act()
        if edits:
            up.append(edits)
            mirror.commit(editor.text, edits)

    def ask() -> None:
        if editor.follows:
            place = PlaceTracker(editor.cursor)
            state = TextState(session.next_request(), 0, place)
            state.earlier = session.earlier(mirror, editor.cursor)
            replay = text[len(editor.typed) :]
            session.start(state, Complete(state.request, URI, mirror.version, editor.cursor, SAMPLING, replay=replay))
            mirror.trackers.add(place)
            asked.append((state, editor.typed, editor.tail))

    def deliver_up() -> None:
        if up:
            message = up.popleft()
            (server.complete if isinstance(message, Complete) else server.change)(message)

    def deliver_down() -> None:
        if server.sent:
            session.receive(server.sent.popleft(), 0)

    steps = [act, act, act, ask, deliver_up, deliver_up, deliver_down, deliver_down, server.step]
    for _ in range(data.draw(st.integers(1, 60))):
        data.draw(st.sampled_from(steps))()
        check(editor, asked)
    while up or server.sent:
        deliver_up()
        deliver_down()
    check(editor, asked)
    assert session.running <= 2


def check(editor: Editor, asked: list[tuple[TextState, str, str]]) -> None:
    """What the requests have brought fits where they were asked for, as the document is now."""
    first: dict[int, tuple[str, str]] = {}  # what was typed when the first of those that go on was asked for
    for state, typed, tail in asked:
        place, shown = state.place, "".join(state.pieces)
        assert place is not None
        continued = state.continued
        before, behind = first[state.request] = (typed, tail) if continued is None else first[continued.request]
        if behind:  # that is text like any other, which closers are typed over
            continue
        if continued is not None:
            assert (before + place.passed, continued.replaces) == (typed, utf16_length(tail))
        if not shown:
            continue
        edits = [place.remaining(shown), place.remaining(shown, editor.cursor)]
        for edit in edits:
            if edit is not None:
                assert apply_edits(editor.text, [edit]) == editor.before + typed + shown + editor.after
        if editor.follows and typed + shown == editor.suggested and not place.lost:
            assert None not in edits
