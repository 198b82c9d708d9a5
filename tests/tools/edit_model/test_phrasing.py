"""Instructions are worded in many ways, some of them only for the held-out set."""

from __future__ import annotations

from random import Random

from tools.edit_model.phrasing import Phrasing, without_articles

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


def test_a_third_of_the_training_instructions_is_terse() -> None:
    """The shortest wordings come most often, in lower case; the held-out set has each as often."""
    wordings = ("Use an f-string", "Would it be possible to have this as an f-string", "This ought to be one", "Last")
    for held_out, least, most in ((False, 0.33, 0.66), (True, 0.0, 0.33)):
        found = [Phrasing(Random(seed), held_out).pick(*wordings) for seed in range(2000)]
        short = sum("se f-string" in text or "se an f-string" in text for text in found)
        assert least < short / len(found) < most
    assert "use f-string" in {Phrasing(Random(seed)).pick(*wordings) for seed in range(200)}


def test_articles_are_left_out_only_before_code() -> None:
    """What stands in quotes or looks like code stays as it is, with all that follows."""
    assert without_articles("Remove the print in the loop") == "remove print in loop"
    assert without_articles('Add a comment saying "this is the end"') == 'add comment saying "this is the end"'
    assert without_articles("Call foo_bar with the key") == "call foo_bar with the key"


def test_facts_have_no_courtesies() -> None:
    """Where most wordings state something, only those that begin with a known verb are asked for politely."""
    wordings = ("swap them", "arguments are swapped", "swapped", "last")
    found = {Phrasing(Random(seed)).pick_fact_or_request(*wordings) for seed in range(2000)}
    assert {"Please swap them", "can you swap them?"} <= found
    assert not any(text.lower().startswith(("please arg", "can you arg")) for text in found)
