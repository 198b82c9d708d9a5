"""Log probabilities as the wire has them: with the text of each token."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from warmline.engine import TokenLogprobs

from .protocol import Delta, Logprob, ScoredDelta, TokenLogprob


def scored(delta: Delta, logprobs: Sequence[TokenLogprobs], token_bytes: Callable[[int], bytes]) -> ScoredDelta:
    """A delta with the log probabilities of its tokens, as the engine said them."""

    def text(token: int) -> str:
        return token_bytes(token).decode("utf-8", "replace")

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
