"""What `warmline bench warm` asks for in a size: all of a text where that fits, or a range with much around it."""

from __future__ import annotations

from typing import Final

from .warm_requests import Asked, Kind, Scale
from .warm_texts import FreshText

ROOM: Final = 1024
"""Tokens that a prompt and its answer may take beyond the text that is measured, at most."""
_BEFORE: Final = (5800, 20)
_AFTER: Final = (5800, 10)
"""Characters and lines around a range, about as many as an edit's prompt shows at most (docs/architecture.md)."""


class LeftOut(Exception):
    """What can't be asked for; the message says why."""


def asked(kind: Kind, size: int, room: int, fresh: FreshText, scale: Scale) -> Asked:
    """A request with a new text of ``size`` tokens, for a model that takes ``room`` of them at once.

    An edit needs room for its range twice, as it may write it anew. Where all of so much text has none, the range is
    a part of it, and the rest stands around that, in lines long enough that the prompt shows them.

    Raises:
        LeftOut: it has no room.

    """
    if size + ROOM > room:
        raise LeftOut(f"its {size:,} tokens and {ROOM:,} more are above the {room:,} that the model takes at once")
    if kind == "complete" or 2 * size + ROOM <= room:
        return Asked.whole(kind, fresh(scale.chars(size)))
    around = _BEFORE[0] + _AFTER[0]
    chars = scale.chars(size) - around
    tokens = round(chars * scale.tokens)
    if tokens < 1 or size + tokens + ROOM > room:
        raise LeftOut(
            f"its {size:,} tokens, the {max(tokens, 0):,} of its range once more, as it may be written anew, and "
            f"{ROOM:,} more are above the {room:,} that the model takes at once"
        )
    before, after = fresh.wide(*_BEFORE), fresh.wide(*_AFTER)
    text = "".join((before, fresh(chars), "\n", after))
    return Asked(kind, text, (len(before), len(text) - len(after)))
