"""What requests say, typed, and what of it can't be done.

Fields that are not named here change nothing about the answer and are ignored.

The event loop waits while a body is decoded, in whatever thread that is done: the decoder keeps the interpreter lock.
So what a body may hold is counted before anything is made of it, or while it is made, and the rest is not looked at.
"""

from __future__ import annotations

import re
import threading
from typing import Annotated, Any, Final, TypeVar

import msgspec
from msgspec import Meta, Raw, Struct
from warmline.engine import SamplingParams

from ..prompting.windows import MAX_CHARS_PER_TOKEN
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
_Value = TypeVar("_Value")

_NULL: Final = Raw(b"null")
_PLAIN: Final = {"type": "text"}
_SHORT: Final = 64
"""Bytes of a value that is looked at, to see whether it is more than nothing."""
_VALUES_BESIDE: Final = 16_384
"""Values of a body beside its prompt and its prediction: there may be 1,024 biases of tokens."""
_MAX_BIASES: Final = 1024
_BIASES: Final[Any] = LogitBias | None
_STOP: Final[Any] = StopString | Annotated[list[StopString], Meta(max_length=MAX_STOP_STRINGS)] | None
_STOP_BYTES: Final = 64 << 10
"""Bytes of JSON that the most and longest stop strings fit in, each character an escaped surrogate pair."""
_SEVERAL: Final = "one prompt a request: send each in its own"
_BEGINS: Final = re.compile(rb"\[\s*(.?)", re.DOTALL)

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


class _Room(threading.local):
    """How many more items the body that is decoded may have."""

    items = 0


_room: Final = _Room()


class _Item(Struct, frozen=True):
    """What a body may have many of. It is counted as it is made, so that no more are made than there is room for."""

    def __post_init__(self) -> None:
        _room.items -= 1
        if _room.items < 0:
            raise _TooMany


class _TooMany(Exception):
    """A body has more items than there is room for."""


class StreamOptions(_Item, frozen=True):
    """What a stream tells beside its text."""

    include_usage: bool = False


class Part(_Item, frozen=True):
    """A part of a message."""

    type: str
    text: str = ""


class Message(_Item, frozen=True):
    """One message of a chat."""

    role: str
    content: str | list[Part] | None = None
    tool_calls: Raw = _NULL

    @property
    def calls_tools(self) -> bool:
        """Whether it is a call, not a text."""
        return _says_something(self.tool_calls, "tool_calls")


class Prediction(_Item, frozen=True):
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
    stop: Raw = _NULL

    repetition_penalty: RepetitionPenalty | None = None
    presence_penalty: Penalty | None = None
    frequency_penalty: Penalty | None = None
    logit_bias: Raw = _NULL

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
        return SamplingParams(
            max_tokens=_given(self.max_tokens, max_tokens),
            temperature=_given(self.temperature, 1.0),
            top_p=_given(self.top_p, 1.0),
            top_k=max(_given(self.top_k, 0), 0),
            min_p=_given(self.min_p, 0.0),
            seed=_given(self.seed, seed) & MAX_INT,
            stop=(*self.stops(), *stop),
            repetition_penalty=_given(self.repetition_penalty, 1.0),
            presence_penalty=_given(self.presence_penalty, 0.0),
            frequency_penalty=_given(self.frequency_penalty, 0.0),
            logit_bias=self.biases(),
        )

    def stops(self) -> tuple[str, ...]:
        """The strings that end the text.

        Raises:
            Problem: they are no strings, or too many or too long.

        """
        if memoryview(self.stop).nbytes > _STOP_BYTES:
            raise Problem(
                ErrorCode.INVALID_MESSAGE, f"stop: at most {MAX_STOP_STRINGS} short strings may end a text", "stop"
            )
        stop: str | list[str] | None = _decode(self.stop, _STOP, "stop")
        return (stop,) if isinstance(stop, str) else tuple(stop or ())

    def biases(self) -> LogitBias:
        """What is added to the logits of tokens.

        Raises:
            Problem: it is no such thing, or of too many tokens.

        """
        if _items(self.logit_bias) > _MAX_BIASES:
            raise Problem(
                ErrorCode.INVALID_MESSAGE, f"logit_bias: at most {_MAX_BIASES} tokens may have one", "logit_bias"
            )
        biases: LogitBias | None = _decode(self.logit_bias, _BIASES, "logit_bias")
        return biases or {}

    def draft(self) -> str:
        """The predicted text; empty without one."""
        if self.prediction is None:
            return ""
        if self.prediction.type != "content":
            raise Problem(ErrorCode.INVALID_PARAMETER, "a prediction must be of type content", "prediction.type")
        return text_of(self.prediction.content, "prediction.content", "")


class CompletionBody(Common, kw_only=True, frozen=True):
    """POST /v1/completions."""

    prompt: Raw
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

    def text_or_tokens(self, most: int) -> str | list[int]:
        """The one prompt, which may have so many tokens if it is given as such.

        Raises:
            Problem: there is none, or more than one, or it is neither text nor tokens, or has too many of these.

        """
        found = _BEGINS.match(self.prompt)
        if found is None:
            return _decode(self.prompt, str, "prompt")
        if found[1] == b'"':
            (text,) = _decode(self.prompt, tuple[str], "prompt", _SEVERAL)
            return text
        count = 0 if found[1] == b"]" else _items(self.prompt)
        if count > most:
            raise Problem(
                ErrorCode.PROMPT_TOO_LONG, f"the prompt has {count} tokens, and {most} are available", "prompt"
            )
        if found[1] == b"[":
            (tokens,) = _decode(self.prompt, tuple[list[int]], "prompt", _SEVERAL)
        else:
            tokens = _decode(self.prompt, list[int], "prompt")
        if not tokens:
            raise Problem(
                ErrorCode.INVALID_PARAMETER, "the prompt is empty: give a text, or at least a token", "prompt"
            )
        return tokens


class ChatBody(Common, kw_only=True, frozen=True):
    """POST /v1/chat/completions."""

    messages: Annotated[list[Message], Meta(min_length=1)]
    max_completion_tokens: MaxTokens | None = None
    logprobs: bool | None = None
    top_logprobs: Logprobs | None = None
    tools: Raw = _NULL
    functions: Raw = _NULL
    response_format: Raw = _NULL
    modalities: Raw = _NULL
    audio: Raw = _NULL
    web_search_options: Raw = _NULL
    reasoning_effort: str | None = None

    def refused(self) -> dict[str, object]:
        return {
            **super().refused(),
            "tools": _says_something(self.tools, "tools"),
            "functions": _says_something(self.functions, "functions"),
            "response_format": _says_something(self.response_format, "response_format", _PLAIN),
            "modalities": _says_something(self.modalities, "modalities", ["text"]),
            "audio": _says_something(self.audio, "audio"),
            "web_search_options": _says_something(self.web_search_options, "web_search_options"),
            "reasoning_effort": None if self.reasoning_effort in ("none", "minimal") else self.reasoning_effort,
        }

    def sampling(self, seed: int, stop: tuple[str, ...], max_tokens: int) -> SamplingParams:
        if self.top_logprobs and not self.logprobs:
            raise Problem(ErrorCode.INVALID_PARAMETER, "top_logprobs needs logprobs to be true", "top_logprobs")
        sampling = super().sampling(seed, stop, max_tokens)
        return msgspec.structs.replace(
            sampling,
            max_tokens=_given(self.max_completion_tokens, sampling.max_tokens),
            logprobs=_given(self.top_logprobs, 0) if self.logprobs else None,
        )


def parse(body: bytes | bytearray, kind: type[_Body], tokens: int) -> _Body:
    """A request's body, for a model that may be given so many tokens at once.

    Raises:
        Problem: it is no JSON, not of this kind, has more than there is room for, or asks for what can't be done.

    """
    # Each value but the first follows a comma; in texts there may be as many as these have characters.
    commas = body.count(b",")
    if commas > 2 * MAX_CHARS_PER_TOKEN * tokens + _VALUES_BESIDE:
        raise Problem(
            ErrorCode.PROMPT_TOO_LONG,
            f"the body has {commas} commas, more than a prompt can have for which {tokens} tokens are available",
        )
    _room.items = tokens  # each message has one at least
    try:
        parsed = _decode(body, kind)
    except _TooMany:
        raise Problem(
            ErrorCode.PROMPT_TOO_LONG, f"there are over {tokens} messages and parts, and {tokens} are available"
        ) from None
    parsed.biases()
    parsed.stops()
    for name, value in parsed.refused().items():
        if value:
            raise Problem(ErrorCode.INVALID_PARAMETER, f"{name} is not supported here: {_INSTEAD[name]}", name)
    return parsed


def _decode(content: bytes | bytearray | Raw, kind: type[_Value], field: str = "", otherwise: str = "") -> _Value:
    """A body, or one of its fields.

    Raises:
        Problem: it is no JSON, or not of this kind; ``otherwise`` is what an array of another length is told.

    """
    try:
        return msgspec.json.decode(content, type=kind)
    except msgspec.ValidationError as error:
        reason, _, place = str(error).partition(" - at `")
        if otherwise and not place:
            raise Problem(ErrorCode.INVALID_PARAMETER, otherwise, field) from None
        key, _, path = place.rpartition("$")
        path = f"{field}{path}".rstrip("`").lstrip(".")
        param = path.partition("[...]")[0] or None  # "[...]" is any value of an object
        found = re.search("required field `(.*)`", reason)
        if param is None and found is not None:
            param = found[1]
        where = f"{param}, a key" if key else param
        raise Problem(ErrorCode.INVALID_MESSAGE, reason if where is None else f"{where}: {reason}", param) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Problem(ErrorCode.MALFORMED_MESSAGE, f"the body is not JSON: {error}") from None


def _given(value: _Value | None, otherwise: _Value) -> _Value:
    """A value, which may be 0, or what holds without one."""
    return otherwise if value is None else value


def _items(value: Raw) -> int:
    """How many items an array has that holds no text and one array at most, or an object with numbers for keys."""
    return bytes(value).count(b",") + 1


def _says_something(value: Raw, field: str, *usual: object) -> bool:
    """Whether a field is more than nothing, and not what is usual.

    Raises:
        Problem: it holds what is no JSON, such as a number beyond those that there are.

    """
    if value is _NULL:
        return False
    if memoryview(value).nbytes > _SHORT:
        return True
    said = _decode(value, object, field)
    return bool(said) and said not in usual


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
