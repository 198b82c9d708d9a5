"""One request as its client was told of it, so that what a lost socket took along can be said again."""

from __future__ import annotations

import io
from typing import Final

from ..documents.text import string_index, utf16_length
from ..protocol import (
    Accepted,
    Delta,
    Done,
    Error,
    HeldRequest,
    Operation,
    Ops,
    ScoredDelta,
    ServerMessage,
    Steered,
)

RECORD_BYTES: Final = 1024
"""About what a record takes beside the contents of its frames."""
_PART: Final = 64
_LOGPROB: Final = 150
"""Bytes that an operation or a frame, and a token with its log probability, take in Python."""

Frame = Delta | ScoredDelta | Ops | Steered


class Record:
    """The frames of one request, in order; those of a kind that follow each other are joined.

    Attributes:
        request: its id.
        body: a digest of the message that asked for it.
        accepted, end: how it begins and ends, once it has.
        live: its frames go out as they are made. Not while a client that resumes hasn't said what it has.
        size: about what it takes in memory, in bytes.
    """

    def __init__(self, request: int, body: bytes) -> None:
        self.request = request
        self.body = body
        self.accepted: Accepted | None = None
        self.end: Done | Error | None = None
        self.live = True
        self.size = RECORD_BYTES
        self._frames: list[io.StringIO | list[Operation] | ScoredDelta | Steered] = []
        # What was forgotten, which a client must have to go on.
        self._before = HeldRequest(request)

    def add(self, frame: Frame) -> int:
        """Append a frame of its stream; returns by how many bytes the record has grown."""
        last = self._frames[-1] if self._frames else None
        grown = _PART
        if type(frame) is Delta:
            if not isinstance(last, io.StringIO):
                last = io.StringIO(newline="")
                self._frames.append(last)
            last.write(frame.text)
            grown = _bytes(frame.text)
        elif isinstance(frame, Ops):
            if not isinstance(last, list):
                last = []
                self._frames.append(last)
            last += frame.operations
            grown = sum(_PART + (_bytes(step) if isinstance(step, str) else 0) for step in frame.operations)
        elif isinstance(frame, ScoredDelta):
            self._frames.append(frame)
            grown += _bytes(frame.text) + _LOGPROB * sum(1 + len(token.top) for token in frame.logprobs)
        elif isinstance(frame, Steered):
            self._frames.append(frame)
        self.size += grown
        return grown

    def forget(self) -> int:
        """Give up the frames so far: only a client that has them can go on. Returns how many bytes that frees."""
        characters, operations, steered, logprobs = _position(self._before)
        for frame in self._frames:
            if isinstance(frame, io.StringIO):
                characters += utf16_length(frame.getvalue())
            elif isinstance(frame, list):
                operations += len(frame)
            elif isinstance(frame, Steered):
                steered += 1
            else:
                characters += utf16_length(frame.text)
                logprobs += len(frame.logprobs)
        self._before = HeldRequest(self.request, characters, operations, steered, logprobs)
        self._frames.clear()
        freed, self.size = self.size - RECORD_BYTES, RECORD_BYTES
        return freed

    def rest(self, held: HeldRequest) -> list[ServerMessage]:
        """Its beginning, what a client lacks that has so much of it, and its end, as far as there are such.

        Raises:
            ValueError: what it lacks was forgotten, or it has what was never sent.

        """
        pairs = zip(_position(held), _position(self._before), strict=True)
        characters, operations, steered, logprobs = (has - before for has, before in pairs)
        if min(characters, operations, steered, logprobs) < 0:
            raise ValueError("what is lacking was given up")
        stream = 0 if self.accepted is None else self.accepted.stream
        messages: list[ServerMessage] = [] if self.accepted is None else [self.accepted]
        for frame in self._frames:
            if isinstance(frame, io.StringIO):
                text = frame.getvalue()
                units = utf16_length(text)
                if characters < units:
                    messages.append(Delta(stream, text[string_index(text, characters) :]))
                characters -= min(characters, units)
            elif isinstance(frame, list):
                if operations < len(frame):
                    messages.append(Ops(stream, frame[operations:]))
                operations -= min(operations, len(frame))
            elif isinstance(frame, Steered):
                if not steered:
                    messages.append(frame)
                steered -= min(steered, 1)
            elif logprobs < len(frame.logprobs):
                messages.append(frame)
            else:
                logprobs -= len(frame.logprobs)
                characters -= min(characters, utf16_length(frame.text))
        if characters or operations or steered or logprobs:
            raise ValueError("more is claimed than was sent")
        return messages if self.end is None else [*messages, self.end]


def _position(held: HeldRequest) -> tuple[int, int, int, int]:
    return held.characters, held.operations, held.steered, held.logprobs


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else 4 * len(text)
