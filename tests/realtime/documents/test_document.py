"""A document mirrors what the client has, or says why not and stays as it was."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from warmline.realtime.documents.document import Document
from warmline.realtime.documents.text import content_hash, utf16_length
from warmline.realtime.errors import Refused
from warmline.realtime.limits import Limits
from warmline.realtime.protocol import Change, ErrorCode, Open, TextEdit

LIMITS = Limits()


def opened(text: str, limits: Limits = LIMITS) -> Document:
    return Document(Open("file:///a", 1, "python", text), limits)


def change(*edits: TextEdit, base: int = 1, version: int = 2, **fields: int) -> Change:
    return Change("file:///a", base, version, list(edits), **fields)


@given(st.data())
def test_edits_apply_as_on_code_units(edited, splices, data):
    """Edits give what splicing a list of UTF-16 units gives; one that splits a character is refused."""
    text = data.draw(edited)
    edits, expected = data.draw(splices(text))
    document = opened(text)
    if expected is None:
        with pytest.raises(Refused) as refusal:
            document.change(change(*edits), LIMITS)
        assert refusal.value.code == ErrorCode.INVALID_RANGE
        assert (document.text, document.version) == (text, 1)
    else:
        checked = change(*edits, length=utf16_length(expected), hash=content_hash(expected))
        assert list(document.change(checked, LIMITS)) == edits
        assert (document.text, document.version) == (expected, 2)
        assert document.length == utf16_length(expected)


@given(st.data())
def test_ranges_become_string_indices(edited, data):
    """A range of UTF-16 offsets names the same text as the string indices it becomes."""
    text = data.draw(edited)
    document = opened(text)
    places = [place for place in range(len(text) + 1) if text[max(place - 1, 0) : place + 1] != "\r\n"]
    first, last = sorted(data.draw(st.tuples(st.sampled_from(places), st.sampled_from(places))))
    assert document.range(utf16_length(text[:first]), utf16_length(text[:last])) == (first, last)
    assert document.index(utf16_length(text[:last])) == last


@pytest.mark.parametrize("text", ["a\r\nb", "🎉\r\nb"])
def test_no_request_is_about_half_a_line_end(text):
    """A place between CR and LF is refused, as a position and at either end of a range; a lone CR is a character."""
    document = opened(text)
    inside = document.length - 2
    for start, end in ((inside, inside), (0, inside), (inside, document.length)):
        with pytest.raises(Refused, match=f"offset {inside} lies between the CR and the LF") as refusal:
            document.range(start, end)
        assert refusal.value.code == ErrorCode.INVALID_RANGE
    assert document.range(inside - 1, inside + 1) == (1, 3)
    assert opened("a\rb").range(2, 2) == (2, 2)


def test_a_change_may_take_line_ends_apart():
    """It says what the text is now, in however many steps an editor gets there."""
    document = opened("a\r\nb\r\n")
    document.change(change(TextEdit(1, 2, ""), TextEdit(3, 4, "")), LIMITS)
    assert document.text == "a\nb\n"
    document.change(change(TextEdit(1, 1, "\r"), TextEdit(2, 2, "x"), base=2, version=3), LIMITS)
    assert document.text == "a\rx\nb\n"


def test_offsets_are_found_among_thousands_of_pairs():
    """Through changes, a few edits and many at once, and where all of them go or the first one comes."""
    many = "a🎉é" * 5000
    document = opened(many)
    assert document.range(4, 16_000) == (3, 12_000)
    document.change(change(TextEdit(0, 3, "🎈🎈")), LIMITS)
    assert document.text == "🎈🎈é" + many[3:]
    document.change(change(TextEdit(9, document.length, ""), base=2, version=3), LIMITS)
    assert (document.text, document.index(9), document.length) == ("🎈🎈éa🎉é", 6, 9)
    document.change(change(*[TextEdit(9, 9, many)] * 6, base=3, version=4), LIMITS)
    assert (document.text, document.index(10)) == ("🎈🎈éa🎉é" + many * 6, 7)
    with pytest.raises(Refused):
        document.index(11)
    document.change(change(TextEdit(0, document.length, "abc"), base=4, version=5), LIMITS)
    assert document.range(1, 3) == (1, 3)
    document.change(change(TextEdit(1, 1, "🎉"), TextEdit(3, 4, ""), base=5, version=6), LIMITS)
    assert (document.text, document.index(3)) == ("a🎉c", 2)


def test_edits_that_go_to_and_fro_may_be_fewer():
    """Those in one direction are applied in one pass, others one by one."""
    limits = Limits(max_edits=8, max_unordered_edits=6)
    one_way = [TextEdit(at, at, "x") for at in range(0, 16, 2)]
    fro = [TextEdit(at % 2, at % 2, "x") for at in range(7)]
    document = opened("abcdefgh")
    document.change(change(*one_way), limits)
    assert document.text == "xaxbxcxdxexfxgxh"
    with pytest.raises(Refused, match="7 edits that go to and fro") as refusal:
        document.change(change(*fro, base=2, version=3), limits)
    assert refusal.value.code == ErrorCode.INVALID_PARAMETER
    document.change(change(*fro[:6], base=2, version=3), limits)
    assert document.length == 22


@pytest.mark.parametrize(
    ("edits", "named"),
    [
        ([TextEdit(0, 5, "")], "edit 0: the range 0..5 is outside"),
        ([TextEdit(3, 2, "")], "edit 0: the range 3..2 is reversed"),
        ([TextEdit(2, 2, "")], "edit 0: offset 2 lies inside a surrogate pair"),
        ([TextEdit(0, 2, "")], "edit 0: offset 2 lies inside a surrogate pair"),
        ([TextEdit(0, 1, ""), TextEdit(4, 4, "")], "edit 1: the range 4..4 is outside"),
    ],
)
def test_a_bad_edit_is_named_and_nothing_is_changed(edits, named):
    """The refusal says which edit was wrong and how, and edits before it have no effect."""
    document = opened("a🎉b")
    with pytest.raises(Refused, match=named) as refusal:
        document.change(change(*edits), LIMITS)
    assert refusal.value.code == ErrorCode.INVALID_RANGE
    assert (document.text, document.version, document.length) == ("a🎉b", 1, 4)


@pytest.mark.parametrize(("start", "end"), [(3, 2), (0, 5), (5, 5), (2, 3), (0, 2)])
def test_a_bad_range_is_refused(start, end):
    """Reversed, outside, or cutting a surrogate pair."""
    with pytest.raises(Refused) as refusal:
        opened("a🎉b").range(start, end)
    assert refusal.value.code == ErrorCode.INVALID_RANGE


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"base": 0}, ErrorCode.STALE_VERSION),
        ({"base": 2, "version": 3}, ErrorCode.STALE_VERSION),
        ({"version": 1}, ErrorCode.STALE_VERSION),
        ({"length": 4}, ErrorCode.HASH_MISMATCH),
        ({"hash": 4}, ErrorCode.HASH_MISMATCH),
        ({"length": 3, "hash": content_hash("xab") + 1}, ErrorCode.HASH_MISMATCH),
    ],
)
def test_a_change_that_does_not_follow_is_refused(fields, code):
    """A wrong base, a version that doesn't grow, or another result than the client's leave the document as it was."""
    document = opened("ab")
    with pytest.raises(Refused) as refusal:
        document.change(change(TextEdit(0, 0, "x"), **fields), LIMITS)
    assert refusal.value.code == code
    assert (document.text, document.version, document.length) == ("ab", 1, 2)


def test_versions_need_not_be_consecutive():
    """A client may skip versions, as editors do on undo."""
    document = opened("ab")
    document.change(change(version=9), LIMITS)
    document.change(change(TextEdit(2, 2, "c"), base=9, version=12), LIMITS)
    assert (document.text, document.version) == ("abc", 12)


@pytest.mark.parametrize("text", ["aaaaa", "漢漢", "🎉🎉"])
def test_size_is_counted_in_bytes(text):
    """Opening or growing beyond the limit, in UTF-8 bytes, is refused."""
    limits = Limits(max_document_bytes=len(text.encode()) - 1)
    with pytest.raises(Refused) as refusal:
        opened(text, limits)
    assert refusal.value.code == ErrorCode.DOCUMENT_TOO_LARGE
    document = opened("", limits)
    with pytest.raises(Refused) as refusal:
        document.change(change(TextEdit(0, 0, text)), limits)
    assert refusal.value.code == ErrorCode.DOCUMENT_TOO_LARGE
    assert document.text == ""
    assert opened(text, Limits(max_document_bytes=len(text.encode()))).text == text


def test_a_change_of_too_many_edits_is_refused():
    """Above the limit the client is told to open the document anew."""
    with pytest.raises(Refused, match="3 edits") as refusal:
        opened("").change(change(*[TextEdit(0, 0, "x")] * 3), Limits(max_edits=2))
    assert refusal.value.code == ErrorCode.INVALID_PARAMETER


@pytest.mark.parametrize(
    ("text", "newline"),
    [("", "\n"), ("a", "\n"), ("a\r\nb\n", "\r\n"), ("a\nb\r\n", "\n"), ("\n", "\n"), ("\r\n", "\r\n")],
)
def test_the_first_line_says_the_line_end(text, newline):
    """Mixed documents go by their first line."""
    assert opened(text).newline == newline
