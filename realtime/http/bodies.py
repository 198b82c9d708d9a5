"""What requests say, typed, and what of it can't be done.

Fields that are not named here change nothing about the answer and are ignored.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Final, TypeVar

import msgspec
from msgspec import Meta, Struct
from warmline.engine import SamplingParams

from ..protocol import (
    MAX_INT,
    MAX_STOP_STRINGS,
    ErrorCode,
    LogitBias,
    Logprobs,
    MaxTokens,
    MinP,
    Penalty,
    RepetitionPenalty,
    StopString,
    Temperature,
    TopP,
)
from .problems import Problem

_Body = TypeVar("_Body", bound="Common")

_ONE_ANSWER: Final = "a request has one answer; send it several times, each with a seed of its own"
_NO_TOOLS: Final = (
    "no tool is called here; leave it out, describe in a message what you need, and read it from the answer"
)
_TEXT_ONLY: Final = "leave it out; the model reads and writes text"
_INSTEAD: Final = {
    "n": _ONE_ANSWER,
    "best_of": _ONE_ANSWER,
    "echo": "leave it out, and put the prompt before the answer yourself",
    "tools": _NO_TOOLS,
    "functions": _NO_TOOLS,
    "response_format": "answers are plain text; leave it out, ask for the format in a message, and check the answer",
    "modalities": _TEXT_ONLY,
    "audio": _TEXT_ONLY,
    "web_search_options": "nothing is searched; put what the model should know into a message",
    "reasoning_effort": "thinking is off; leave it out, or give none or minimal",
}
"""What to do instead, by field."""


class StreamOptions(Struct, frozen=True):
    """What a stream tells beside its text."""

    include_usage: bool = False


class Part(Struct, frozen=True):
    """A part of a message."""

    type: str
    text: str = ""


class Message(Struct, frozen=True):
    """One message of a chat."""

    role: str
    content: str | list[Part] | None = None
    tool_calls: list[Any] | None = None


class Prediction(Struct, frozen=True):
    """What the answer will probably repeat: it changes the time, never the text."""

    type: str
    content: str | list[Part]


class Common(Struct, kw_only=True, frozen=True):
    """What both kinds of requests may say. Null is the same as nothing."""

    model: str = ""
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    prediction: Prediction | None = None
    max_tokens: MaxTokens | None = None
    temperature: Temperature | None = None
    top_p: TopP | None = None
    top_k: Annotated[int, Meta(ge=-1, le=MAX_INT)] | None = None  # -1 is off, as in vLLM
    min_p: MinP | None = None
    seed: int | None = None
    stop: StopString | Annotated[list[StopString], Meta(max_length=MAX_STOP_STRINGS)] | None = None

    repetition_penalty: RepetitionPenalty | None = None
    presence_penalty: Penalty | None = None
    frequency_penalty: Penalty | None = None
    logit_bias: LogitBias | None = None

    # What is refused unless it asks for nothing.
    n: int | None = None

    def refused(self) -> dict[str, object]:
        """Fields that ask for what can't be done."""
        return {"n": None if self.n == 1 else self.n}

    @property
    def includes_usage(self) -> bool:
        """Whether a stream ends with what it cost."""
        return self.stream_options is not None and self.stream_options.include_usage

    def sampling(self, seed: int, stop: tuple[str, ...], max_tokens: int) -> SamplingParams:
        """How tokens are chosen. ``seed`` and ``max_tokens`` are for where nothing is said; ``stop`` comes on top.

        Raises:
            Problem: fields contradict each other.

        """
        own = (self.stop,) if isinstance(self.stop, str) else tuple(self.stop or ())
        return SamplingParams(
            max_tokens=self.max_tokens or max_tokens,
            temperature=1.0 if self.temperature is None else self.temperature,
            top_p=self.top_p or 1.0,
            top_k=max(self.top_k or 0, 0),
            min_p=self.min_p or 0.0,
            seed=seed if self.seed is None else self.seed & MAX_INT,
            stop=(*own, *stop),
            repetition_penalty=self.repetition_penalty or 1.0,
            presence_penalty=self.presence_penalty or 0.0,
            frequency_penalty=self.frequency_penalty or 0.0,
            logit_bias=self.logit_bias or {},
        )

    def draft(self) -> str:
        """The predicted text; empty without one."""
        if self.prediction is None:
            return ""
        if self.prediction.type != "content":
            raise Problem(ErrorCode.INVALID_PARAMETER, "a prediction must be of type content", "prediction.type")
        return text_of(self.prediction.content, "prediction.content", "")


class CompletionBody(Common, kw_only=True, frozen=True):
    """POST /v1/completions."""

    prompt: str | list[str | int | list[int]]
    suffix: str | None = None
    echo: bool | None = None
    best_of: int | None = None
    logprobs: Logprobs | None = None

    def refused(self) -> dict[str, object]:
        return {
            **super().refused(),
            "echo": self.echo,
            "best_of": None if self.best_of == 1 else self.best_of,
        }

    def sampling(self, seed: int, stop: tuple[str, ...], max_tokens: int) -> SamplingParams:
        return msgspec.structs.replace(super().sampling(seed, stop, max_tokens), logprobs=self.logprobs)

    def text_or_tokens(self) -> str | list[int]:
        """The one prompt."""
        prompt = self.prompt
        if isinstance(prompt, str):
            return prompt
        if prompt in ([], [[]]):
            raise Problem(
                ErrorCode.INVALID_PARAMETER, "the prompt is empty: give a text, or at least a token", "prompt"
            )
        only = prompt[0] if len(prompt) == 1 else None
        if isinstance(only, (str, list)):
            return only
        tokens = [token for token in prompt if isinstance(token, int)]
        if len(tokens) < len(prompt):
            raise Problem(ErrorCode.INVALID_PARAMETER, "one prompt a request: send each in its own", "prompt")
        return tokens


class ChatBody(Common, kw_only=True, frozen=True):
    """POST /v1/chat/completions."""

    messages: Annotated[list[Message], Meta(min_length=1)]
    max_completion_tokens: MaxTokens | None = None
    logprobs: bool | None = None
    top_logprobs: Logprobs | None = None
    tools: list[Any] | None = None
    functions: list[Any] | None = None
    response_format: dict[str, Any] | None = None
    modalities: list[str] | None = None
    audio: dict[str, Any] | None = None
    web_search_options: dict[str, Any] | None = None
    reasoning_effort: str | None = None

    def refused(self) -> dict[str, object]:
        plain = self.response_format is None or self.response_format.get("type") == "text"
        return {
            **super().refused(),
            "tools": self.tools,
            "functions": self.functions,
            "response_format": None if plain else self.response_format,
            "modalities": None if self.modalities == ["text"] else self.modalities,
            "audio": self.audio,
            "web_search_options": self.web_search_options,
            "reasoning_effort": None if self.reasoning_effort in ("none", "minimal") else self.reasoning_effort,
        }

    def sampling(self, seed: int, stop: tuple[str, ...], max_tokens: int) -> SamplingParams:
        if self.top_logprobs and not self.logprobs:
            raise Problem(ErrorCode.INVALID_PARAMETER, "top_logprobs needs logprobs to be true", "top_logprobs")
        sampling = super().sampling(seed, stop, max_tokens)
        return msgspec.structs.replace(
            sampling,
            max_tokens=self.max_completion_tokens or sampling.max_tokens,
            logprobs=(self.top_logprobs or 0) if self.logprobs else None,
        )


def parse(body: bytes | bytearray, kind: type[_Body]) -> _Body:
    """A request's body.

    Raises:
        Problem: it is no JSON, not of this kind, or asks for what can't be done.

    """
    try:
        parsed = msgspec.json.decode(body, type=kind)
    except msgspec.ValidationError as error:
        reason, _, place = str(error).partition(" - at `")
        key, _, path = place.rpartition("$")
        param = path.rstrip("`").partition("[...]")[0].lstrip(".") or None  # "[...]" is any value of an object
        found = re.search("required field `(.*)`", reason)
        if param is None and found is not None:
            param = found[1]
        where = f"{param}, a key" if key else param
        raise Problem(ErrorCode.INVALID_MESSAGE, reason if where is None else f"{where}: {reason}", param) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Problem(ErrorCode.MALFORMED_MESSAGE, f"the body is not JSON: {error}") from None
    for name, value in parsed.refused().items():
        if value:
            raise Problem(ErrorCode.INVALID_PARAMETER, f"{name} is not supported here: {_INSTEAD[name]}", name)
    return parsed


def text_of(content: str | list[Part] | None, param: str, between: str) -> str:
    """The text of a message, whose parts, if it has any, must all be text.

    Raises:
        Problem: it has no content, or other parts.

    """
    if content is None:
        raise Problem(ErrorCode.INVALID_MESSAGE, f"{param} is missing: give a text, which may be empty", param)
    if isinstance(content, str):
        return content
    for part in content:
        if part.type != "text":
            raise Problem(
                ErrorCode.INVALID_PARAMETER,
                f"the model reads text only; a part of type {part.type[:40]!r} is none: leave it out",
                param,
            )
    return between.join(part.text for part in content)
