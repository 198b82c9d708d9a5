"""Whether a request can run at all: checked before anything is made for it."""

from __future__ import annotations

import math
from typing import Final

from .messages import GenerationRequest, SamplingParams, WarmRequest, pack_tokens, unpack_tokens

TOKEN_BYTES: Final = len(pack_tokens([0]))


class RefusedError(Exception):
    """A request that can't run; its message and ``code`` go to whoever sent it."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def check_request(request: GenerationRequest | WarmRequest, vocabulary: int, most_tokens: int) -> list[int]:
    """The prompt of a request that an engine can run which has so many tokens and room for so many.

    Raises:
        RefusedError: it never can. If it is too long, the message has its length and what fits.

    """
    prompt = _unpack("prompt", request.prompt)
    if not prompt:
        raise RefusedError("invalid_parameter", "the prompt has no tokens")
    if len(prompt) >= most_tokens:
        raise RefusedError(
            "prompt_too_long", f"the prompt has {len(prompt)} tokens, but at most {most_tokens - 1} fit"
        )
    _check_vocabulary("prompt", prompt, vocabulary)
    if isinstance(request, GenerationRequest):
        _check_vocabulary("draft", _unpack("draft", request.draft or b""), vocabulary)
        _check_vocabulary("replay", _unpack("replay", request.replay or b""), vocabulary)
        _check_vocabulary("logit bias", list(request.sampling.logit_bias), vocabulary)
        _check_sampling(request.sampling)
    return prompt


def _check_vocabulary(name: str, tokens: list[int], vocabulary: int) -> None:
    if tokens and not 0 <= min(tokens) <= max(tokens) < vocabulary:
        raise RefusedError("invalid_parameter", f"the {name} has tokens outside the vocabulary")


def _unpack(name: str, packed: bytes) -> list[int]:
    if len(packed) % TOKEN_BYTES:
        raise RefusedError("invalid_parameter", f"the {name} ends in the middle of a token")
    return unpack_tokens(packed)


def _check_sampling(params: SamplingParams) -> None:
    """Refuse what no distribution comes of. Written so that NaN is outside of every range."""
    demands = {
        "max_tokens must not be negative": params.max_tokens >= 0,
        "temperature must not be negative or NaN": params.temperature >= 0,
        "top_p must be from 0 to 1": 0 <= params.top_p <= 1,
        "min_p must be from 0 to 1": 0 <= params.min_p <= 1,
        "repetition_penalty must be above 0 and finite": 0 < params.repetition_penalty < math.inf,
        "presence_penalty must be finite": math.isfinite(params.presence_penalty),
        "frequency_penalty must be finite": math.isfinite(params.frequency_penalty),
        "logprobs must not be negative": params.logprobs is None or params.logprobs >= 0,
        "logit_bias must be finite": all(map(math.isfinite, params.logit_bias.values())),
    }
    for demand, met in demands.items():
        if not met:
            raise RefusedError("invalid_parameter", demand)
