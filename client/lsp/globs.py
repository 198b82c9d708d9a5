"""Globs as the VS Code extension has them (`editor-plugin/src/core/globs.ts`): both are held to the same vectors."""

from __future__ import annotations

import functools
import re
from typing import Final

_TOKEN: Final = re.compile(r"\*\*/|/\*\*\Z|\*\*|\*|\?|\[!?\]?[^\]/]*\]|.", re.DOTALL)
_PLAIN: Final = {"**/": "(?:.*/)?", "/**": "/.*", "**": ".*", "*": "[^/]*", "?": "[^/]"}


@functools.cache
def glob_pattern(glob: str) -> re.Pattern[str]:
    """A glob as a regular expression to `re.Pattern.fullmatch` a path with slashes by.

    ``*`` and ``?`` within a name, ``**`` across folders, ``{a,b}``, ``[a-z]`` and ``[!a-z]``. One without a slash
    means files of that name anywhere; a relative one is looked for anywhere, too. A bracket or brace that doesn't
    close stands for itself. Upper and lower case are the same: on some systems they are, and in doubt nothing leaves.
    """
    anywhere = glob if glob.startswith(("/", "**/")) else f"**/{glob}"
    return re.compile(_translated(anywhere), re.IGNORECASE | re.DOTALL)


def _translated(glob: str) -> str:
    tokens = _TOKEN.findall(glob)
    parts: list[str] = []
    within = False
    for at, token in enumerate(tokens):
        if token == "{" and next((brace for brace in tokens[at + 1 :] if brace in "{}"), "") == "}":
            within = True
            parts.append("(?:")
        elif token == "}" and within:
            within = False
            parts.append(")")
        elif token == "," and within:
            parts.append("|")
        elif token in _PLAIN:
            parts.append(_PLAIN[token])
        elif len(token) > 1:
            parts.append(_character_class(token))
        else:
            parts.append(re.escape(token))
    return "".join(parts)


def _character_class(token: str) -> str:
    """A range whose ends are the wrong way round means nothing, so it is taken for the text that it is."""
    negated = token.startswith("[!")
    content = token[2 if negated else 1 : -1]
    members: list[str] = []
    at = 0
    while at < len(content):
        first = content[at]
        if content[at + 1 : at + 2] == "-" and at + 2 < len(content):
            last = content[at + 2]
            if first > last:
                return re.escape(token)
            members.append(f"{re.escape(first)}-{re.escape(last)}")
            at += 3
        else:
            members.append(re.escape(first))
            at += 1
    if not members:
        return re.escape(token)
    return f"[{'^/' if negated else ''}{''.join(members)}]"
