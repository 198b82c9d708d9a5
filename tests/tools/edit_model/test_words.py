"""Made-up words."""

from random import Random

import pytest

from tools.edit_model.transforms.words import (
    fresh,
    join_words,
    message,
    new_name,
    number,
    phrase,
    split_words,
    style_of,
)


@pytest.mark.parametrize(
    ("name", "words", "style"),
    [
        ("max_size", ["max", "size"], "snake"),
        ("maxSize", ["max", "size"], "camel"),
        ("HTTPServer", ["http", "server"], "pascal"),
        ("MAX_SIZE", ["max", "size"], "upper"),
        ("_x2", ["x", "2"], "snake"),
    ],
)
def test_name_is_split_and_its_style_known(name: str, words: list[str], style: str) -> None:
    """A name in any style gives its lower-case words, and the style it is in."""
    assert split_words(name) == words
    assert style_of(name) == style


def test_words_are_joined_in_each_style() -> None:
    """The four styles write the same words in their ways."""
    made = [join_words(["read", "all", "lines"], style) for style in ("snake", "camel", "pascal", "upper")]
    assert made == ["read_all_lines", "readAllLines", "ReadAllLines", "READ_ALL_LINES"]


@pytest.mark.parametrize("style", ["snake", "camel", "pascal", "upper"])
def test_new_name_is_new_and_keeps_the_underscore(style: str) -> None:
    """A new name differs from the old and the taken ones, is an identifier, and keeps leading underscores."""
    taken = {"_data", "_payload", "_Payload"}
    for seed in range(300):
        made = new_name("_data", Random(seed), taken, style)
        assert made.startswith("_") and not made.startswith("__") and made.isidentifier()
        assert made not in taken


def test_new_name_is_no_keyword() -> None:
    """No keyword of the languages comes out, not even for an old name like one."""
    made = {new_name(old, Random(seed), set()) for seed in range(300) for old in ("type_", "val", "cls", "default_x")}
    assert not made & {"class", "default", "type", "var", "function", "return", "int", "string"}


def test_number_differs_and_keeps_its_kind() -> None:
    """Another number than the one given, an int for an int and a float for a float."""
    for seed in range(200):
        whole, broken = number(Random(seed), 10), number(Random(seed), 0.5)
        assert isinstance(whole, int) and whole != 10
        assert isinstance(broken, float) and broken != 0.5


def test_message_and_phrase_are_plain() -> None:
    """Messages and phrases can stand in any string literal and phrases have the length asked for."""
    for seed in range(300):
        assert not set(message(Random(seed))) & set("'\"\\{}%\n`")
        assert 2 <= len(phrase(Random(seed), 2, 5).split()) <= 5


def test_fresh_name_is_not_taken() -> None:
    """A fresh name is none of those taken."""
    taken = {fresh(Random(seed), set(), "snake", 1, 1) for seed in range(50)}
    assert all(fresh(Random(seed), taken, "snake", 1, 1) not in taken for seed in range(50))
