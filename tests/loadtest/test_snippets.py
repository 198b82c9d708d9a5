"""What the simulated editors work on."""

from __future__ import annotations

import pytest
from warmline.loadtest.snippets import SNIPPETS, Snippet


@pytest.mark.parametrize("snippet", SNIPPETS, ids=lambda snippet: snippet.name)
def test_a_snippet_is_ascii_and_holds_its_target_once(snippet: Snippet) -> None:
    """So that string indices are the wire's offsets, and the edit is of the part that is meant."""
    assert snippet.text.isascii()
    assert snippet.text.count(snippet.target) == 1
    start, end = snippet.span
    assert snippet.text[start:end] == snippet.target
    assert snippet.target.endswith("\n") and "\n" in snippet.text
