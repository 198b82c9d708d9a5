"""Text as models see it: line feeds only, and code in a fence that nothing inside it can close."""

from __future__ import annotations

import re
from typing import Final

_FENCED: Final = ("markdown", "md", "mdx", "quarto", "rmd")
"""Languages whose texts add fences themselves."""
_PROSE: Final = (*_FENCED, "", "plaintext", "text", "txt", "restructuredtext", "rst", "latex", "tex", "asciidoc")


def fence(language: str, *texts: str) -> str:
    """A fence longer than any run of backticks in the texts; Markdown gets a longer one, since it adds fences."""
    longest = max((len(run) for text in texts for run in re.findall("`+", text)), default=0)
    shortest = 4 if language.lower() in _FENCED else 3
    return "`" * max(shortest, longest + 1)


def named(language: str) -> str:
    """What of a language's name goes beside a fence; nothing there can break it."""
    return re.sub(r"[^\w+#.-]", "", language)


def is_code(language: str) -> bool:
    """Whether a language, as editors call it, is one of code; one that isn't named may be any."""
    return language.lower() not in _PROSE


def closed(code: str) -> str:
    """Code that ends with a line feed, if there is any."""
    return code if not code or code.endswith("\n") else code + "\n"


def lf(text: str) -> str:
    """A text with each CR LF as a line feed."""
    return text.replace("\r\n", "\n")
