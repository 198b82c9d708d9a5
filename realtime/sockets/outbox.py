"""What a slow reader has not taken yet."""

from __future__ import annotations

from typing import Any, Final

from ..protocol import MSGPACK, Delta, Ops, ScoredDelta, ServerMessage, server_codec

_encode: Final = server_codec(MSGPACK).encode
_MESSAGE: Final = 128
_PART: Final = 64
"""Bytes that a message, and one text or operation of a stream, take in Python beside their contents."""
_LOGPROB: Final = 150
"""Bytes that a token with its text and its log probability take beside what they take in MessagePack."""


class Outbox:
    """Messages waiting for a socket, in order. Unsent frames of one stream become one.

    Attributes:
        size: about what the messages take in memory, in bytes; no less than they take in MessagePack.
    """

    def __init__(self) -> None:
        self.size = 0
        self._entries: list[ServerMessage | tuple[type[Delta | Ops], int, list[Any]]] = []
        self._growing: dict[int, list[Any]] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, message: ServerMessage) -> None:
        """Append a message, or merge it into its stream's last one."""
        if type(message) is Delta:  # a scored one stays by itself
            self._grow(Delta, message.stream, [message.text])
        elif isinstance(message, Ops):
            self._grow(Ops, message.stream, message.operations)
        else:
            # The stream's number may pass to the next request now, so nothing later merges across this message.
            self._growing.clear()
            self.size += _MESSAGE + len(_encode(message))
            if isinstance(message, ScoredDelta):
                self.size += _LOGPROB * sum(1 + len(token.top) for token in message.logprobs)
            self._entries.append(message)

    def take(self) -> list[ServerMessage]:
        """Empty the box."""
        entries, self._entries = self._entries, []
        self._growing.clear()
        self.size = 0
        return [_build(*entry) if isinstance(entry, tuple) else entry for entry in entries]

    def _grow(self, kind: type[Delta | Ops], stream: int, parts: list[Any]) -> None:
        growing = self._growing.get(stream)
        if growing is None:
            self.size += _MESSAGE
            self._growing[stream] = growing = []
            self._entries.append((kind, stream, growing))
        growing.extend(parts)
        self.size += sum(_PART + _bytes(part) if isinstance(part, str) else _PART for part in parts)


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else 4 * len(text)


def _build(kind: type[Delta | Ops], stream: int, parts: list[Any]) -> ServerMessage:
    return Delta(stream, "".join(parts)) if kind is Delta else Ops(stream, parts)
