"""Documents that change while an edit or a completion is under way, and what the rules of the wire make of it.

By chance, and always the same: the chance is seeded.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, Final

from warmline.realtime import Applied, Operation, PlaceTracker, RangeTracker, TextEdit, apply_edits, utf16_length
from warmline.realtime.completing.auto_closing import closes, may_close

RANGES: Final = 120
PLACES: Final = 50
ALPHABET: Final = "ab \r\n😀é"
REQUEST: Final = 7


def operation_vectors() -> list[dict[str, Any]]:
    """All of them, each with its ``kind``: ``range``, ``place`` and ``closes``."""
    chance = random.Random(20260101)
    ranges = [_range_vector(chance) for _ in range(RANGES)]
    return [*ranges, *(_place_vector(chance) for _ in range(PLACES)), *_closing_vectors()]


def _text(chance: random.Random, most: int) -> str:
    return "".join(chance.choice(ALPHABET) for _ in range(chance.randint(0, most)))


def _boundaries(text: str) -> list[int]:
    """The offsets that are not within a character."""
    offsets = [0]
    for character in text:
        offsets.append(offsets[-1] + utf16_length(character))
    return offsets


def _edits(chance: random.Random, text: str, count: int, tracker: RangeTracker | None = None) -> list[TextEdit]:
    """Edits in order; of a range, near it and often where its operations meet."""
    edits: list[TextEdit] = []
    for _ in range(count):
        places = _boundaries(text)
        if tracker is not None:
            seams = {
                tracker.start + tracker._written,
                *(at for edit in tracker.edits() for at in (edit.start, edit.end)),
            }
            near = range(tracker.start - 2, tracker.end + 3)
            seams = seams if chance.random() < 0.4 else set(near)
            places = [at for at in places if at in seams] or [at for at in places if at in near] or [0]
        start, end = sorted((chance.choice(places), chance.choice(places)))
        if chance.random() < 0.5:
            end = start
        edit = TextEdit(start, min(end, start + 6) if min(end, start + 6) in places else end, _text(chance, 3))
        edits.append(edit)
        text = apply_edits(text, [edit])
    return edits


def _one_way(chance: random.Random, text: str) -> list[TextEdit]:
    """Many edits that go through the text from its end, as an editor's replacement of all of something does."""
    return [TextEdit(at, at, _text(chance, 1)) for at in sorted(_boundaries(text), reverse=True)]


def _operations(chance: random.Random, original: str) -> list[Operation]:
    """What a model may make of a text, all of it."""
    places, at, operations = _boundaries(original), 0, list[Operation]()
    while at < places[-1]:
        choice = chance.random()
        stop = chance.choice([place for place in places if place > at][:6])
        if choice < 0.3 and not (operations and isinstance(operations[-1], str)):
            operations.append(_text(chance, 4) or "x")
            continue
        operations.append(stop - at if choice < 0.75 else at - stop)
        at = stop
    return operations


def _plain(edits: list[TextEdit]) -> list[list[object]]:
    return [[edit.start, edit.end, edit.text] for edit in edits]


def _range_vector(chance: random.Random) -> dict[str, Any]:
    """An edit of a range: its operations come, a person changes the document, operations are applied."""
    before, original, after = _text(chance, 6), _text(chance, 24), _text(chance, 6)
    text, start = before + original + after, utf16_length(before)
    tracker = RangeTracker(REQUEST, start, original)
    left, finished = _operations(chance, original), False
    vector: dict[str, Any] = {"kind": "range", "text": text, "start": start, "end": start + utf16_length(original)}
    vector["steps"] = steps = list[dict[str, Any]]()
    for _ in range(chance.randint(3, 9)):
        step: dict[str, Any] = {}
        match chance.randrange(10):
            case 0 | 1 | 2 if left:
                count = chance.randint(1, 3)
                step["operations"], left = left[:count], left[count:]
                tracker.operations(step["operations"])
            case 3 | 4 if tracker.applied < tracker.standing:
                count = chance.randint(tracker.applied, tracker.standing)
                edits = tracker.edits(count)
                step |= {"change": _plain(edits), "applied": count}
                text = apply_edits(text, edits)
                step["ours"] = tracker.changed(edits, Applied(REQUEST, count))
            case 5 if tracker.known > tracker.applied and not finished:
                step["void"] = chance.randint(tracker.applied, tracker.known)
                tracker.void(step["void"])
                left = []
            case 6 if not left:
                step["finish"] = chance.choice([None, chance.randint(0, tracker.known)])
                tracker.finish(step["finish"])
                finished = True
            case 7:
                claimed = chance.randint(0, tracker.known + 1)
                edits = _edits(chance, text, 1, tracker)
                text = apply_edits(text, edits)
                step |= {"change": _plain(edits), "applied": claimed}
                step["ours"] = tracker.changed(edits, Applied(REQUEST, claimed))
            case other:
                count = 20 if other == 9 and chance.random() < 0.3 else chance.randint(1, 3)
                edits = _edits(chance, text, count, tracker)
                if other == 9 and chance.random() < 0.3:
                    edits = _one_way(chance, text)
                text = apply_edits(text, edits)
                step["change"] = _plain(edits)
                tracker.changed(edits)
        step["then"] = {
            "start": tracker.start,
            "end": tracker.end,
            "applied": tracker.applied,
            "known": tracker.known,
            "standing": tracker.standing,
            "conflict": tracker.conflict,
            "range": tracker.text,
            "edits": _plain(tracker.edits()),
        }
        steps.append(step)
    return vector


def _place_vector(chance: random.Random) -> dict[str, Any]:
    """A completion at a place: a person types some of it, an editor closes brackets, other places change."""
    before = _text(chance, 6) + "x"
    completion = chance.choice(["foo(a, b)\nbar", 'print("hi")', "x = [1, 2]", "ab😀cd", "if (a) {\n  b();\n}", ""])
    text, offset = before + _text(chance, 4), utf16_length(before)
    place = PlaceTracker(offset)
    vector: dict[str, Any] = {"kind": "place", "text": text, "offset": offset, "completion": completion}
    vector["steps"] = steps = list[dict[str, Any]]()
    typed = 0
    for _ in range(chance.randint(1, 8)):
        if chance.random() < 0.7 and typed < len(completion):
            count = chance.randint(1, 3)
            cursor = place.start + utf16_length(completion[:typed])
            piece = completion[typed : typed + count]
            closer = {"(": ")", "[": "]", "{": "}", '"': '"'}.get(piece[-1:], "") if chance.random() < 0.6 else ""
            typed += count
            edits = [TextEdit(min(cursor, utf16_length(text)), min(cursor, utf16_length(text)), piece + closer)]
        else:
            edits = _edits(chance, text, chance.choice([1, 1, 2]))
        if any(edit.start not in _boundaries(text) or edit.end not in _boundaries(text) for edit in edits[:1]):
            break
        text = apply_edits(text, edits)
        place.changed(edits)
        cursor = place.start + utf16_length(completion[:typed])
        steps.append({"change": _plain(edits), "cursor": cursor, "then": _place_state(place, completion, cursor)})
    return vector


def _place_state(place: PlaceTracker, completion: str, cursor: int) -> dict[str, Any]:
    def plain(edit: TextEdit | None) -> list[object] | None:
        return None if edit is None else [edit.start, edit.end, edit.text]

    state: dict[str, Any] = {"lost": place.lost}
    if not place.lost:
        state |= {"start": place.start, "end": place.end, "text": place.text}
    state["remaining"] = plain(place.remaining(completion))
    state["at_cursor"] = plain(place.remaining(completion, cursor))
    fits = (place.may_fit(completion[:length]) for length in range(len(completion) + 1))
    state["may_fit"] = "".join("y" if fit else "n" for fit in fits)
    return state


CLOSINGS: Final = (
    ("foo(", "a, b)", ")"),
    ("foo(", "a, b", ")"),
    ("foo(", "a) + (b)", ")"),
    ("foo([", "1])", "])"),
    ("foo([", "1)", "])"),
    ("foo([", "1]", "])"),
    ("if (a) {", "\n  b();\n}", "\n}"),
    ("if (a) {", "\n  b();\n}", "\n} "),
    ('print("', 'hi")', '")'),
    ('print("', "it's\")", '")'),
    ("print('", "a\\'b\")')", "')"),
    ("'''", "doc\n'''", "'''"),
    ('"""', "doc", '"""'),
    ("f(", "a # )\n)", ")"),
    ("f(", "a // )\n)", ")"),
    ("f(", "a / b // c)", ")"),
    ("f(", "a) // c", ")"),
    ("# see (", "this)", ")"),
    ("x = '(", ")'", ")'"),
    ("x = [(", ")]", "]"),
    ("`${", "a}`", "}`"),
    ("don't (", "a)", ")"),
    ("a(", "b", "x"),
    ("a(", "b)", ""),
    ("😀(", "😀)", ")"),
    ("é // (", "a)", ")"),
    ("(" * 40, ")" * 40, ")" * 40),
    ("(" + "a" * 4095, ")", ")"),
    ("(" + "a" * 4094, ")", ")"),
    ("(" + "😀" * 4094, ")", ")"),
)


def _closing_vectors() -> list[dict[str, Any]]:
    rules: dict[str, Callable[[str, str, str], bool]] = {"closes": closes, "may_close": may_close}
    return [
        {"kind": "closes", "typed": typed, "rest": rest, "tail": tail}
        | {name: rule(typed, rest, tail) for name, rule in rules.items() if tail}
        for typed, rest, tail in CLOSINGS
    ]
