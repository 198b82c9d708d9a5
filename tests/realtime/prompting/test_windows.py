"""Where a window begins stays while a person types, moves far when it must, and needs no memory."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from warmline.realtime.documents.tokens import DocumentTokens
from warmline.realtime.prompting.windows import Window, reach, window_start


class Bytes:
    """A token for each byte; spaces have none."""

    word_ends = ""

    def encode(self, text: str) -> list[int]:
        return list(text.replace(" ", "").encode())


LINES = st.lists(st.text("abc (){}:\t", max_size=30), max_size=60).map("\n".join)


def code(functions: int) -> str:
    """Functions that differ from each other, of 160 to 200 characters."""
    return "".join(
        f"def area_{number}(width, height):\n"
        f"    # the {number * 7919 % 10007} of them\n"
        f"    if width > {number}:\n"
        f"        height -= {number * 31}\n"
        f"    return (\n"
        f"        width * height\n"
        f"    )\n"
        f"\n"
        f")  # nothing begins here\n"
        for number in range(functions)
    )


@given(LINES, st.data(), st.integers(0, 400))
def test_a_window_has_more_than_half_of_its_room(text, data, chars):
    """Never more than all of it, and the whole text where that fits."""
    end = data.draw(st.integers(0, len(text)))
    start = window_start(text, end, chars)
    assert start == 0 if end <= chars else chars // 2 <= end - start <= chars


@given(LINES, st.integers(64, 400))
def test_a_window_begins_with_a_line_where_one_begins(text, chars):
    """In the half of its room that it may begin in."""
    end = len(text)
    start = window_start(text, end, chars)
    if end > chars and "\n" in text[end - chars - 1 : end - chars + chars // 2]:
        assert text[start - 1] == "\n"


def test_a_window_begins_with_the_least_indented_line():
    """And not with what closes a bracket."""
    text = code(60)
    for end in range(4000, len(text), 97):
        assert text[window_start(text, end, 2000) :].startswith("def area_")
        inside = text[:end] + "\n" + "    value = compute(value)\n        more = 1\n" * 40
        assert inside[window_start(inside, len(inside), 1500) :].startswith("    value")


def test_a_window_moves_far_and_seldom():
    """Typed key by key, twice at most in each quarter of a window, on average."""
    text = code(400)
    starts = [window_start(text, end, 2000) for end in range(10_000, len(text))]
    moves = [after - before for before, after in itertools.pairwise(starts) if after != before]
    assert min(moves) > 0
    assert len(moves) <= 2 * (len(text) - 10_000) / 1000


ALIKE = {
    "SQL inserts": "INSERT INTO customers (identifier, first_name, last_name, city, zip) VALUES ({}, {}, {});\n",
    "rows of JSON": '    {{"type": "Feature", "geometry": {{"type": "Point", "coordinates": [{}, {}]}}, "id": {}}}\n',
    "objects over several lines": (
        '  {{\n    "type": "Feature",\n    "geometry": {{\n      "type": "Point",\n      "coordinates": [\n'
        "        {},\n        {},\n        {}\n      ]\n    }}\n  }},\n"
    ),
    "registrations": 'application.router.register_request_handler(method="GET", version={}, path="/{}", run=on_{})\n',
}


def alike(form: str, chars: int) -> str:
    """At least so many characters of rows that differ in their numbers alone."""
    return "".join(form.format(row, row * 7919 % 10007, row * 31 % 997) for row in range(-(-chars // len(form)) + 50))


@pytest.mark.parametrize("room", [2000, 16_000])
@pytest.mark.parametrize("kind", ALIKE)
def test_a_window_moves_seldom_where_lines_begin_alike(kind, room):
    """As often as among lines that differ early, and not with each that it leaves behind."""
    text = alike(ALIKE[kind], 55_000)
    starts = [window_start(text, end, room) for end in range(25_000, 50_000, 2)]
    moves = sum(before != after for before, after in itertools.pairwise(starts))
    assert moves <= 3 * 25_000 / min(room // 2, 8192)


@given(st.integers(0, 600), st.sampled_from(["abcdefgh ", "x = ", "漢字", "    - "]), st.integers(0, 10_000))
def test_a_window_moves_seldom_however_much_lines_share(shared, word, first):
    """It goes by what follows, as far as it takes to tell them apart."""
    beginning = "v" + (word * shared)[:shared]
    text = "".join(
        f"{beginning}{row * 7919 % 100_003:06d}\n" for row in range(first, first + 60_000 // (shared + 8) + 1)
    )
    starts = [window_start(text, end, 16_000) for end in range(20_000, 50_000, 100)]
    moves = sum(before != after for before, after in itertools.pairwise(starts))
    assert moves <= 25  # 7.5 on average; were the first of equals taken, 49 or more


@given(st.text("ab\n", max_size=200), st.text("ab\n", max_size=200), st.integers(1, 400))
def test_what_is_after_a_window_does_not_move_it(one, other, chars):
    """Nor is it chosen by what will be typed there."""
    text = alike(ALIKE["SQL inserts"], 4000) + "\n" * 200
    assert window_start(text + one, len(text), chars) == window_start(text + other, len(text), chars)


@given(st.text("ab\n", max_size=300))
def test_changes_above_a_window_do_not_move_it(added):
    """It begins with the same line, wherever that is now."""
    text = code(40)
    end = len(text) - 50
    start = window_start(text, end, 2000)
    changed = text[:200] + added + text[300:]
    assert changed[window_start(changed, end + len(added) - 100, 2000) :] == text[start:]


@pytest.mark.parametrize("text", ["x" * 100_000, "漢" * 100_000])
def test_a_line_without_an_end_is_cut_now_and_then(text):
    """There the start moves by a fixed step, not with each key."""
    starts = {window_start(text, end, 2000) for end in range(50_000, 60_000)}
    assert 10 <= len(starts) <= 21


def test_a_large_window_is_nearly_full():
    """The choice is bounded, and with it the time it takes."""
    text = code(4000)
    assert len(text) - window_start(text, len(text), 400_000) > 390_000


@given(st.integers(1, 10_000))
def test_a_view_reaches_as_far_as_a_window_looks(room):
    """At eight characters a token."""
    assert reach(room) >= 8 * room


def shown(text: str, end: int, room: int) -> list[int]:
    view = DocumentTokens(len(text)).view(Bytes(), text, (max(end - reach(room), 0), end))
    return Window(view, text, end, room).tokens(room)


@given(LINES, st.data(), st.integers(1, 500))
def test_a_window_s_tokens_fit_their_room(text, data, room):
    """And are the last of the text's."""
    end = data.draw(st.integers(0, len(text)))
    whole = Bytes().encode(text[:end])
    tokens = shown(text, end, room)
    assert len(tokens) <= room
    assert whole[len(whole) - len(tokens) :] == tokens
    if len(whole) <= room:
        assert tokens == whole


def test_a_window_stays_where_its_text_has_more_tokens_than_its_end():
    """What fits is guessed from the end, and then known from the window itself."""
    lines = [f"{number * 7919 % 10007:05d}" * 8 for number in range(600)]
    dense, sparse = "\n".join(lines[:400]) + "\n", "\n".join(" ".join(line) for line in lines[400:])
    firsts, sizes = [], []
    for end in range(len(dense) + 1000, len(dense) + 7000, 20):
        text = dense + sparse[: end - len(dense)]
        sizes.append(len(shown(text, end, 4000)))
        firsts.append(len(Bytes().encode(text)) - sizes[-1])
    assert 1000 <= min(sizes) <= max(sizes) <= 4000
    assert len(set(firsts)) <= 12
