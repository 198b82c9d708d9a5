"""Decide how much of a draft stands. A draft changes the time, never the tokens."""

from __future__ import annotations

from collections.abc import Callable


def verify(draft: list[int], target: Callable[[int], int]) -> list[int]:
    """Emit target tokens for as long as the draft foresaw them.

    ``target(i)`` is the token that the model gives after the first i draft tokens. It is sampled by the same keyed
    rule as without a draft, and a draft token is accepted only if it equals it, so greedy and sampled outputs are
    the same with any draft. The first mismatch is emitted too: it is what plain decoding would have given.

    Returns: the emitted tokens, at least one; all but the last are accepted draft tokens.
    """
    emitted = []
    for index, guess in enumerate(draft):
        emitted.append(target(index))
        if emitted[-1] != guess:
            return emitted
    emitted.append(target(len(draft)))
    return emitted
