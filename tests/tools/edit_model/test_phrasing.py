"""Instructions are worded in many ways, some of them only for the held-out set."""

from __future__ import annotations

from random import Random

from tools.edit_model.phrasing import Phrasing

WORDINGS = ("Rename it.now", "call it now", "the name should be now", "let it be called now")


def picked(held_out: bool) -> set[str]:
    """What two thousand picks give."""
    return {Phrasing(Random(seed), held_out).pick(*WORDINGS) for seed in range(2000)}


def test_the_last_wording_is_kept_for_the_held_out_set() -> None:
    """It never occurs in training; a single wording is used in both."""
    assert not any("let it" in text.lower() for text in picked(held_out=False))
    assert any("let it" in text.lower() for text in picked(held_out=True))
    assert Phrasing(Random(1)).pick("only this").lower().rstrip(".?").endswith("only this")


def test_case_full_stops_and_courtesies_vary() -> None:
    """As people type."""
    assert {"Call it now", "call it now", "Call it now.", "can you call it now?", "Please call it now"} <= picked(
        False
    )


def test_only_requests_have_courtesies() -> None:
    """A wording that states a fact has none."""
    found = picked(False)
    assert "the name should be now" in found
    assert not any(text.startswith(("Please the", "can you the")) for text in found)


def test_one_instruction_quotes_in_one_way() -> None:
    """Code that holds the quote gets backticks instead."""
    for seed in range(50):
        phrasing = Phrasing(Random(seed))
        quoted = phrasing.code("name")
        assert quoted in {"name", "`name`", "'name'", '"name"'}
        assert phrasing.code("other") == quoted.replace("name", "other")
        if quoted[0] in "'\"":
            assert phrasing.code(f"a{quoted[0]}b") == f"`a{quoted[0]}b`"
