"""Log probabilities with the text of each token: as the wire has them, and what of that the HTTP API shares."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from warmline.engine import TokenLogprobs

from ..protocol import Delta, Logprob, ScoredDelta, TokenLogprob

TokenBytes = Callable[[int], bytes]
"""The bytes that a token stands for; none for a special one."""


def text_alone(token_bytes: TokenBytes, token: int) -> str:
    """What a token stands for alone: a part of a character is U+FFFD, a special token nothing."""
    return token_bytes(token).decode("utf-8", "replace")


def scored(delta: Delta, logprobs: Sequence[TokenLogprobs], token_bytes: TokenBytes) -> ScoredDelta:
    """A delta with the log probabilities of its tokens, as the engine said them."""

    def text(token: int) -> str:
        return text_alone(token_bytes, token)

    return ScoredDelta(
        delta.stream,
        delta.text,
        [
            TokenLogprob(
                chosen.token,
                text(chosen.token),
                chosen.logprob,
                [Logprob(token, text(token), logprob) for token, logprob in chosen.top],
            )
            for chosen in logprobs
        ],
    )
