"""Earlier texts are kept by key, and bounded."""

from __future__ import annotations

from warmline.engine.speculation.earlier_texts import EarlierTexts

TEXT = [*range(10, 74)]


def found(texts, salt):
    """What would be drafted for a key behind the text's first tokens."""
    index = texts.of(salt)
    while index.work():
        pass
    place, length = index.match(TEXT[:5])
    return index.following(place, 3) if length else []


def test_a_text_is_found_by_its_own_key_alone():
    """No other key's drafts know of it."""
    texts = EarlierTexts()
    texts.remember("a", TEXT)
    assert found(texts, "a") == TEXT[5:8]
    assert found(texts, "b") == found(texts, "") == []


def test_the_key_that_was_used_last_stays():
    """Of too many keys, the one nobody used for longest is forgotten."""
    texts = EarlierTexts(tokens=128, keys=2)
    texts.remember("a", TEXT)
    texts.remember("b", TEXT)
    assert found(texts, "a")
    texts.remember("c", TEXT)
    assert found(texts, "a") and found(texts, "c")
    assert not found(texts, "b")


def test_an_old_text_gives_way():
    """A key's texts are bounded."""
    texts = EarlierTexts(tokens=128)
    texts.remember("a", TEXT)
    texts.remember("a", [*range(100, 228)])
    assert not found(texts, "a")
