"""What answers say, as OpenAI's API has them: whole ones, and the events of a stream."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Final, Literal

import msgspec
from msgspec import UNSET, Struct, UnsetType
from warmline.engine import Finished, TokenLogprobs

from ..requests.scored import TokenBytes
from .logprobs import (
    ChatCollector,
    ChatLogprobs,
    Collector,
    CompletionCollector,
    CompletionLogprobs,
)

_encode: Final = msgspec.json.Encoder().encode

DONE: Final = b"data: [DONE]\n\n"

FinishReason = Literal["stop", "length"]

_FROM_PREDICTION: Final = "edit"
"""The source of drafts that come from a text given with the request."""


class _PromptDetails(Struct, frozen=True, gc=False):
    cached_tokens: int
    audio_tokens: int = 0


class _CompletionDetails(Struct, frozen=True, gc=False):
    accepted_prediction_tokens: int
    rejected_prediction_tokens: int
    reasoning_tokens: int = 0
    audio_tokens: int = 0


class Usage(Struct, frozen=True):
    """What a request cost, in tokens."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    prompt_tokens_details: _PromptDetails
    completion_tokens_details: _CompletionDetails

    @classmethod
    def of(cls, finished: Finished, *, predicted: bool) -> Usage:
        """Cached tokens are all that were found computed; of drafts those count that the prediction gave."""
        drafts = [draft for draft in finished.drafts if predicted and draft.source == _FROM_PREDICTION]
        accepted = sum(draft.accepted for draft in drafts)
        return cls(
            finished.prompt_tokens,
            finished.output_tokens,
            finished.prompt_tokens + finished.output_tokens,
            _PromptDetails(finished.cached_tokens + finished.warmed_tokens),
            _CompletionDetails(accepted, sum(draft.proposed for draft in drafts) - accepted),
        )


class _Message(Struct, frozen=True, gc=False):
    content: str
    role: Literal["assistant"] = "assistant"
    refusal: None = None


class _Delta(Struct, frozen=True, gc=False, omit_defaults=True):
    role: str = ""
    content: str = ""


_Logprobs = ChatLogprobs | CompletionLogprobs | None


class _ChatChoice(Struct, frozen=True, gc=False):
    message: _Message
    logprobs: _Logprobs
    finish_reason: FinishReason
    index: int = 0


class _ChatChunkChoice(Struct, frozen=True, gc=False):
    delta: _Delta
    logprobs: _Logprobs
    finish_reason: FinishReason | None
    index: int = 0


class _TextChoice(Struct, frozen=True, gc=False):
    text: str
    logprobs: _Logprobs
    finish_reason: FinishReason | None
    index: int = 0


_Choice = _ChatChoice | _ChatChunkChoice | _TextChoice


class _Answer(Struct, frozen=True, gc=False):
    id: str
    object: str
    created: int
    model: str
    system_fingerprint: str
    choices: tuple[_Choice, ...]
    usage: Usage | UnsetType | None = UNSET


class Answer(ABC):
    """Writes one answer, either whole or as the events of a stream.

    ``usage`` has a stream tell what it cost, in an event of its own before the end. ``predicted`` says that the
    request had a prediction. ``token_bytes`` is there if log probabilities were asked for.
    """

    whole_object: str
    chunk_object: str
    collector: type[Collector]

    def __init__(
        self,
        request_id: str,
        model: str,
        fingerprint: str,
        *,
        usage: bool,
        predicted: bool,
        token_bytes: TokenBytes | None = None,
    ) -> None:
        self.id = request_id
        self._created = int(time.time())
        self._model = model
        self._fingerprint = fingerprint
        self._with_usage = usage
        self._predicted = predicted
        self._begun = False
        self._collector = None if token_bytes is None else self.collector(token_bytes)

    def score(self, logprobs: Iterable[TokenLogprobs]) -> None:
        """Take the log probabilities of the next tokens. The next event brings them, or the whole answer."""
        if self._collector is not None:
            self._collector.add(logprobs)

    def whole(self, text: str, finished: Finished) -> bytes:
        """The body of an answer that isn't streamed."""
        choice = self._choice(text, self._logprobs(), _reason(finished))
        return _encode(self._answer(self.whole_object, (choice,), self._usage(finished)))

    def event(self, text: str) -> bytes:
        """The event that brings the next text."""
        first, self._begun = not self._begun, True
        return self._event((self._chunk(text, self._logprobs(), None, first=first),))

    def last(self, finished: Finished) -> bytes:
        """The events that end a stream."""
        first, self._begun = not self._begun, True
        end = self._event((self._chunk("", None, _reason(finished), first=first),))
        usage = self._event((), self._usage(finished)) if self._with_usage else b""
        return b"".join((end, usage, DONE))

    @abstractmethod
    def _choice(self, text: str, logprobs: _Logprobs, reason: FinishReason) -> _Choice:
        """The choice of a whole answer."""

    @abstractmethod
    def _chunk(self, text: str, logprobs: _Logprobs, reason: FinishReason | None, *, first: bool) -> _Choice:
        """The choice of an event."""

    def _logprobs(self) -> _Logprobs:
        return None if self._collector is None else self._collector.take()

    def _usage(self, finished: Finished) -> Usage:
        return Usage.of(finished, predicted=self._predicted)

    def _event(self, choices: tuple[_Choice, ...], usage: Usage | None = None) -> bytes:
        answer = self._answer(self.chunk_object, choices, usage if self._with_usage else UNSET)
        return b"data: %b\n\n" % _encode(answer)

    def _answer(self, kind: str, choices: tuple[_Choice, ...], usage: Usage | UnsetType | None) -> _Answer:
        return _Answer(self.id, kind, self._created, self._model, self._fingerprint, choices, usage)


class ChatAnswer(Answer):
    """The answer to a chat. The first event of a stream says the role, too."""

    whole_object = "chat.completion"
    chunk_object = "chat.completion.chunk"
    collector = ChatCollector

    def _choice(self, text: str, logprobs: _Logprobs, reason: FinishReason) -> _ChatChoice:
        return _ChatChoice(_Message(text), logprobs, reason)

    def _chunk(self, text: str, logprobs: _Logprobs, reason: FinishReason | None, *, first: bool) -> _ChatChunkChoice:
        return _ChatChunkChoice(_Delta("assistant" if first else "", text), logprobs, reason)


class CompletionAnswer(Answer):
    """The answer to a completion."""

    whole_object = "text_completion"
    chunk_object = "text_completion"
    collector = CompletionCollector

    def _choice(self, text: str, logprobs: _Logprobs, reason: FinishReason) -> _TextChoice:
        return _TextChoice(text, logprobs, reason)

    def _chunk(self, text: str, logprobs: _Logprobs, reason: FinishReason | None, *, first: bool) -> _TextChoice:
        return _TextChoice(text, logprobs, reason)


def _reason(finished: Finished) -> FinishReason:
    return "length" if finished.reason == "length" else "stop"
