"""How to choose tokens, as programs say it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, Literal, TypedDict

import msgspec
from warmline.realtime import Sampling, replace_lone_surrogates

from .arguments import check_bounded_text, check_text, check_wire, wire_types
from .errors import InvalidArgument, WrongType

Speculation = Literal["auto", "off"]


class Parameters(TypedDict, total=False):
    """What every request takes.

    max_tokens: where to stop at the latest.
    temperature: 0 takes the likeliest token each time.
    top_p, top_k, min_p: which tokens to sample from; 1, 0 and 0 are off.
    seed: makes a sampled result repeatable; without it the server draws one and the receipt names it.
    stop: texts that end the output; they are not part of it.
    repetition_penalty: above 1 makes tokens that the prompt or the output has less likely; None is off.
    presence_penalty, frequency_penalty: take this from the logit of a token that the output has: once, and for each
        time; None is off.
    logit_bias: what to add to the logits of tokens, by their ids; -100 all but forbids one.
    logprobs: asks for the log probability of each token, and of so many of the likeliest (0 to 20). Not for edits.
    speculation: "off" to compute every token by itself. The text is the same either way.
    replay: for benchmarks, on servers that allow it: the text to emit instead of the model's.
    traceparent: a W3C trace context, which the server's log lines about the request carry.
    """

    max_tokens: int | None
    temperature: float
    top_p: float
    top_k: int
    min_p: float
    seed: int | None
    stop: str | Iterable[str]
    repetition_penalty: float | None
    presence_penalty: float | None
    frequency_penalty: float | None
    logit_bias: Mapping[int, float] | None
    logprobs: int | None
    speculation: Speculation
    replay: str | None
    traceparent: str | None


def sampling_of(parameters: Parameters, max_tokens: int) -> Sampling:
    """The parameters as the wire has them, checked here so that a wrong one is reported where it was written.

    Args:
        parameters: what was given.
        max_tokens: what it is unless it was given.

    Raises:
        WrongType: there is no such parameter, or one is of a wrong type.
        InvalidArgument: a parameter is out of its range.

    """
    for name in parameters:
        if name not in Parameters.__annotations__:
            raise WrongType(f"there is no parameter {name!r}")
    for name in ("traceparent", "replay"):
        if (text := parameters.get(name)) is not None:
            check_text(name, text)
    check_bounded_text("traceparent", parameters.get("traceparent"))
    given, bias, stop = parameters.get("max_tokens"), parameters.get("logit_bias"), parameters.get("stop", ())
    if bias is not None and not isinstance(bias, Mapping):
        raise WrongType(f"logit_bias is of type {type(bias).__name__}, not a dict of token ids and numbers")
    if not isinstance(stop, Iterable) or isinstance(stop, bytes | bytearray | memoryview):
        raise WrongType(f"stop is of type {type(stop).__name__}, not a text or several")
    stops = [stop] if isinstance(stop, str) else [*stop]
    values = [
        max_tokens if given is None else given,
        parameters.get("temperature", 0.0),
        parameters.get("top_p", 1.0),
        parameters.get("top_k", 0),
        parameters.get("min_p", 0.0),
        parameters.get("seed"),
        [replace_lone_surrogates(text) if isinstance(text, str) else text for text in stops],
        parameters.get("speculation", "auto"),
        parameters.get("repetition_penalty"),
        parameters.get("presence_penalty"),
        parameters.get("frequency_penalty"),
        None if bias is None else dict(bias),
        parameters.get("logprobs"),
    ]
    try:
        return msgspec.convert(values, Sampling)
    except msgspec.ValidationError as error:
        for value, (name, wire) in zip(values, _SAMPLING.items(), strict=True):
            check_wire(name, value, wire)
        raise InvalidArgument(str(error)) from None


_SAMPLING: Final = wire_types(Sampling)
msgspec.convert([], Sampling)  # makes msgspec prepare the check now and not within the first request


def clean(text: str | None) -> str | None:
    """A text that can travel."""
    return None if text is None else replace_lone_surrogates(text)
