"""Log probabilities as OpenAI's API has them: chats have one form, completions another."""

from __future__ import annotations

import codecs
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Final

import msgspec
from msgspec import Raw, Struct
from warmline.engine import TokenLogprobs

from ..requests.scored import TokenBytes, text_alone

_encode: Final = msgspec.json.Encoder().encode


class ChatLogprobs(Struct, frozen=True, gc=False):
    """Those of a message's tokens."""

    content: list[Raw]
    refusal: None = None


class CompletionLogprobs(Struct, frozen=True, gc=False):
    """Those of a text's tokens, in columns.

    ``text_offset`` is where in the text a token begins, in characters.
    """

    text_offset: list[int]
    token_logprobs: list[float]
    tokens: list[str]
    top_logprobs: list[Raw]


class _Logprob(Struct, frozen=True, gc=False):
    token: str
    logprob: float
    bytes: list[int] | None


class _TokenLogprob(_Logprob, frozen=True, gc=False):
    top_logprobs: list[_Logprob]


class Collector(ABC):
    """Takes the log probabilities of an answer as they come, and gives them in the form that the answer has.

    Most of it is encoded at once, so that a long answer's end isn't held up by all of them.
    """

    def __init__(self, token_bytes: TokenBytes) -> None:
        self._token_bytes = token_bytes

    @abstractmethod
    def add(self, logprobs: Iterable[TokenLogprobs]) -> None:
        """Take those of the next tokens."""

    @abstractmethod
    def take(self) -> ChatLogprobs | CompletionLogprobs:
        """Those that were added since they were last taken."""

    def _text(self, token: int) -> str:
        return text_alone(self._token_bytes, token)


class ChatCollector(Collector):
    """Those of a chat. A token that stands for no bytes has null there."""

    def __init__(self, token_bytes: TokenBytes) -> None:
        super().__init__(token_bytes)
        self._content: list[Raw] = []

    def add(self, logprobs: Iterable[TokenLogprobs]) -> None:
        for chosen in logprobs:
            token = _TokenLogprob(
                self._text(chosen.token),
                chosen.logprob,
                self._bytes(chosen.token),
                [_Logprob(self._text(token), logprob, self._bytes(token)) for token, logprob in chosen.top],
            )
            self._content.append(Raw(_encode(token)))

    def take(self) -> ChatLogprobs:
        content, self._content = self._content, []
        return ChatLogprobs(content)

    def _bytes(self, token: int) -> list[int] | None:
        return list(self._token_bytes(token)) or None


class CompletionCollector(Collector):
    """Those of a completion.

    The likeliest tokens come by their text, and the chosen one is among them even if others are likelier. Of tokens
    with the same text (parts of characters, special ones) the likeliest counts.
    """

    def __init__(self, token_bytes: TokenBytes) -> None:
        super().__init__(token_bytes)
        self._offsets = _Offsets()
        self._next = CompletionLogprobs([], [], [], [])

    def add(self, logprobs: Iterable[TokenLogprobs]) -> None:
        columns = self._next
        for chosen in logprobs:
            likeliest: dict[str, float] = {}
            for token, logprob in (*chosen.top, (chosen.token, chosen.logprob)):
                likeliest.setdefault(self._text(token), logprob)
            columns.text_offset.append(self._offsets.of(self._token_bytes(chosen.token)))
            columns.token_logprobs.append(chosen.logprob)
            columns.tokens.append(self._text(chosen.token))
            columns.top_logprobs.append(Raw(_encode(likeliest)))

    def take(self) -> CompletionLogprobs:
        columns, self._next = self._next, CompletionLogprobs([], [], [], [])
        return columns


class _Offsets:
    """At which character of the text each of its pieces begins, the text being decoded as the engine does it."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._characters = 0

    def of(self, piece: bytes) -> int:
        """The character that the next piece's first byte belongs to."""
        if not piece:
            return self._characters
        self._decode(piece[:1])
        unfinished, _ = self._decoder.getstate()
        begin = self._characters if unfinished else self._characters - 1
        self._decode(piece[1:])
        return begin

    def _decode(self, piece: bytes) -> None:
        self._characters += len(self._decoder.decode(piece))
