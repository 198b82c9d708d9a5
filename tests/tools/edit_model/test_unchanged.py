"""Instructions that change nothing."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from random import Random

from tools.edit_model.phrasing import Phrasing
from tools.edit_model.unchanged import KINDS, Place, cannot_apply, request_without_effect

TEXT = """def total_size(files, limit=100):
    size = 0
    for file in files:
        size += file.size
    if size > limit:
        raise ValueError("too large")
    return size
"""


def requests(
    text: str = TEXT, language: str = "python", around: str = "def parse_all(lines): pass\n"
) -> dict[str, list[str]]:
    """Many requests by kind."""
    found = defaultdict(list)
    for seed in range(3000):
        random = Random(seed)
        place = Place(language, text, around, ("parse_all", "total_size"), Phrasing(random), False)
        made = request_without_effect(place)
        if made is not None:
            found[made[0]].append(made[1])
    return found


def test_all_kinds_occur_in_many_wordings() -> None:
    """Each kind is worded in dozens of ways."""
    found = requests()
    assert set(found) == KINDS
    for kind, texts in found.items():
        assert len(set(texts)) > (20 if kind not in {"already-so", "nothing-to-remove"} else 8), kind


def test_names_asked_for_are_not_there() -> None:
    """A name to be renamed doesn't stand in the range."""
    for text in requests()["no-such-name"]:
        renamed = re.match(r"rename (?:variable |parameter |argument |local )?[`'\"]?([\w$]+)[`'\"]? to ", text, re.I)
        if renamed is not None and renamed.group(1) not in {"the", "variable"}:
            assert renamed.group(1).lower() not in TEXT.lower()


def test_values_asked_for_are_not_there() -> None:
    """A number to be changed doesn't stand in the range, not even in a longer one."""
    for text in requests()["no-such-value"]:
        changed = re.match(r"change (?:the |the number |the constant )?(\d+) to", text, re.I)
        if changed is not None:
            assert changed.group(1) not in TEXT


def test_nothing_is_removed_that_is_there() -> None:
    """The loop, the if and the raise are there, so nobody asks for their removal; comments aren't."""
    texts = requests()["nothing-to-remove"]
    assert any("comment" in t for t in texts)
    assert not any(re.search(r"\b(loop|raise|exception|throw)$", t) for t in texts)


def test_requests_fit_the_language() -> None:
    """Python isn't asked for let and const, nor TypeScript for f-strings."""
    assert not any("let" in t.split() for t in requests()["already-so"])
    script = requests("function f(a: number) {\n  return a;\n}\n", "typescript", "")
    assert not any("f-string" in t for t in script["already-so"])


def test_a_borrowed_instruction_must_name_what_is_missing() -> None:
    """All that it replaces is named in it and stands nowhere in the range."""
    assert cannot_apply("rename counter to n", ("counter", "counter"), TEXT)
    assert not cannot_apply("rename limit to n", ("limit",), TEXT)
    assert not cannot_apply("rename the parameter to n", ("counter",), TEXT)
    assert not cannot_apply("add a docstring", (), TEXT)


def test_the_kinds_keep_a_mix() -> None:
    """No kind makes up half of the requests."""
    counts = Counter({kind: len(texts) for kind, texts in requests().items()})
    assert max(counts.values()) < counts.total() / 2
