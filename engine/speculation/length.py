"""How long the next draft should be."""

from __future__ import annotations

from typing import Final

_FIRST: Final = 16
_SHORTEST: Final = 4
_LONGEST: Final = 64
_AFTER_REJECTION: Final = 8


class DraftLength:
    """Doubles after a draft that stood whole; after a rejection, as long as what stood, within bounds.

    Attributes:
        limit: the most tokens that the next draft may have.
    """

    def __init__(self) -> None:
        self.limit = _FIRST

    def observe(self, proposed: int, accepted: int) -> None:
        """Take the outcome of a draft; none at all says nothing."""
        if accepted < proposed:
            self.limit = max(_SHORTEST, min(accepted, _AFTER_REJECTION, self.limit))
        elif proposed == self.limit:
            self.limit = min(2 * self.limit, _LONGEST)
