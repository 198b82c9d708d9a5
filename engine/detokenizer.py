"""Turn a sequence's tokens into the text that may be shown: whole characters, nothing of a stop string."""

from __future__ import annotations

import codecs


class Detokenizer:
    """Decodes the bytes of one sequence's tokens as they come.

    Bytes that are no UTF-8 become U+FFFD. A stop string ends the text before its first character; the one that is
    complete first counts, the longest if several are complete at the same character, so the text does not depend on
    how it was cut into tokens. What might still become a stop string is held back.
    """

    def __init__(self, stop: tuple[str, ...] = ()) -> None:
        self.stopped = False
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._stop = tuple(string for string in stop if string)
        self._longest = max(map(len, self._stop), default=0)
        self._held = ""

    def push(self, piece: bytes) -> str:
        """Take the bytes of the next token; return the text that can be shown now.

        Sets ``stopped`` when a stop string is complete; nothing may be pushed after that.
        """
        return self._release(self._decode(piece))

    def finish(self, *, cut: bool) -> str:
        """The text that was held back, at the end.

        A character whose bytes are incomplete becomes U+FFFD, but is left out when the sequence was ``cut`` short:
        the rest of it would have come. The result may complete a stop string.
        """
        if self.stopped:
            return ""
        text = self._release("" if cut else self._decode(b"", True))
        text, self._held = text + self._held, ""
        return text

    def _release(self, text: str) -> str:
        if not self._stop or not text:
            return text
        text = self._held + text
        _, start = min(
            ((at + len(stop), at) for stop in self._stop if (at := text.find(stop)) >= 0),
            default=(0, -1),
        )
        if start >= 0:
            self.stopped = True
            self._held = ""
            return text[:start]
        keep = len(text) - self._partial(text)
        self._held = text[keep:]
        return text[:keep]

    def _partial(self, text: str) -> int:
        """The length of the longest end of ``text`` with which a stop string begins."""
        for length in range(min(self._longest - 1, len(text)), 0, -1):
            tail = text[-length:]
            if any(stop.startswith(tail) for stop in self._stop):
                return length
        return 0
