"""Text as models see it: line feeds only, and code in a fence that nothing inside it can close."""

from __future__ import annotations

import re


def fence(language: str, *texts: str) -> str:
    """A fence longer than any run of backticks in the texts; Markdown gets a longer one, since it adds fences."""
    longest = max((len(run) for text in texts for run in re.findall("`+", text)), default=0)
    shortest = 4 if language.lower() in ("markdown", "md", "mdx", "quarto", "rmd") else 3
    return "`" * max(shortest, longest + 1)


def closed(code: str) -> str:
    """Code that ends with a line feed, if there is any."""
    return code if not code or code.endswith("\n") else code + "\n"


def lf(text: str) -> str:
    """A text with each CR LF as a line feed."""
    return text.replace("\r\n", "\n")
