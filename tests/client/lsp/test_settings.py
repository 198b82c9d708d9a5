"""Settings of an editor: what is wrong is said, and nothing is left out."""

from __future__ import annotations

import pytest
from warmline.client import InvalidArgument
from warmline.client.lsp.settings import Settings, parse_settings


def test_without_any_they_are_the_defaults() -> None:
    """Whatever an editor sends in their place."""
    assert parse_settings(None) == parse_settings({}) == Settings()


def test_they_have_the_names_that_the_extension_gives_them() -> None:
    """Those that are left out stay as they are."""
    given = {
        "url": "ws://elsewhere:1",
        "completions": {"maxTokens": 9, "languages": {"*": False}},
        "exclude": ["*.sql"],
        "excludeGitIgnored": False,
        "documentSchemes": ["file"],
    }
    settings = parse_settings(given)
    assert (settings.url, settings.exclude, settings.document_schemes) == ("ws://elsewhere:1", ("*.sql",), ("file",))
    assert (settings.enabled, settings.exclude_git_ignored, settings.completions.multiline) == (True, False, True)
    assert (settings.completions.max_tokens, settings.completions.languages) == (9, {"*": False})


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"exlude": ["*.sql"]}, "exlude"),
        ({"completions": {"maxTokens": 0}}, r"maxTokens"),
        ({"exclude": "*.sql"}, r"exclude"),
        ({"enabled": "no"}, r"enabled"),
        (["x"], "object"),
        ({"apiKey": "x"}, "WARMLINE_API_KEY"),
    ],
)
def test_what_is_none_is_refused_in_words(options, said) -> None:
    """A mistyped exclusion must not send what it excludes."""
    with pytest.raises(InvalidArgument, match=said):
        parse_settings(options)
