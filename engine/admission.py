"""Whether a request can run at all: checked before anything is made for it."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

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
    tokens = _whole("prompt", request.prompt)
    if not tokens:
        raise RefusedError("invalid_parameter", "the prompt has no tokens")
    if tokens >= most_tokens:
        raise RefusedError("prompt_too_long", f"the prompt has {tokens} tokens, but at most {most_tokens - 1} fit")
    _check_packed("prompt", request.prompt, vocabulary)
    if isinstance(request, GenerationRequest):
        _check_packed("draft", request.draft or b"", vocabulary)
        _check_packed("replay", request.replay or b"", vocabulary)
        bias = request.sampling.logit_bias
        if bias and not 0 <= min(bias) <= max(bias) < vocabulary:
            raise _outside("logit bias")
        _check_sampling(request.sampling)
    return unpack_tokens(request.prompt)


def _check_packed(name: str, packed: bytes, vocabulary: int) -> None:
    """Look at packed tokens as they are: whoever needs them unpacks them, a draft not all of it."""
    if _whole(name, packed):
        tokens = np.frombuffer(packed, dtype=np.intc)
        if tokens.min() < 0 or tokens.max() >= vocabulary:
            raise _outside(name)


def _whole(name: str, packed: bytes) -> int:
    """How many tokens are packed there."""
    tokens, rest = divmod(len(packed), TOKEN_BYTES)
    if rest:
        raise RefusedError("invalid_parameter", f"the {name} ends in the middle of a token")
    return tokens


def _outside(name: str) -> RefusedError:
    return RefusedError("invalid_parameter", f"the {name} has tokens outside the vocabulary")


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
