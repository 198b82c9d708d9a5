"""What a request has done to logits before a token is chosen: a bias, and penalties for the tokens before it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..messages import SamplingParams
from .filters import Logits
from .scratch import scratch


class Adjustments:
    """The logit bias and the penalties of one sequence, with what they need to know of its tokens.

    Each is computed in float64, for the tokens that it concerns alone, and rounded to float32:

    - *logit bias*: adds its number to a token's logit.
    - *repetition penalty* r (Keskar et al. 2019; as in Hugging Face's and vLLM's): the logit of a token that the
      prompt or the output has is divided by r if it is positive, and multiplied by r if not. 1 is off.
    - *frequency penalty* f and *presence penalty* p (as in OpenAI's API): a token that the output has n > 0 times
      loses n * f + p. The prompt doesn't count. 0 is off.

    `apply` says itself which tokens come before its row, so a draft token that is rejected never counts.
    """

    def __init__(self, params: SamplingParams, prompt: Sequence[int]) -> None:
        bias = params.logit_bias
        self._biased = np.fromiter(bias, dtype=np.intp, count=len(bias))
        self._bias = np.fromiter(bias.values(), dtype=np.float64, count=len(bias))
        self._repetition = params.repetition_penalty
        self._frequency = params.frequency_penalty
        self._presence = params.presence_penalty
        self._penalises = self._repetition != 1 or self._frequency != 0 or self._presence != 0
        known = np.unique(np.asarray(prompt, dtype=np.intp)) if self._repetition != 1 else self._biased[:0]
        self._prompt = len(known)
        # The tokens that penalties concern, in the order in which they were first seen, and how often the output
        # has each; there is room for more behind them.
        self._tokens = known
        self._counts = np.zeros(len(known))
        self._places = {token: place for place, token in enumerate(known.tolist())}
        self._ahead: list[int] = []  # counted, though they may not stand

    @classmethod
    def of(cls, params: SamplingParams, prompt: Sequence[int]) -> Adjustments | None:
        """Those that a request asks for; None if it asks for none."""
        off = params.repetition_penalty == 1 and params.frequency_penalty == 0 and params.presence_penalty == 0
        return None if off and not params.logit_bias else cls(params, prompt)

    def apply(self, row: Logits, ahead: Sequence[int] = ()) -> Logits:
        """The adjusted copy of a row that comes after the emitted tokens and those ``ahead`` of them.

        The copy is good until this thread makes the next one, for whatever sequence.
        """
        given, row = row, scratch("row", len(row))
        row[:] = given
        with np.errstate(over="ignore", invalid="ignore"):
            if len(self._biased):
                row[self._biased] = (row[self._biased] + self._bias).astype(np.float32)
            if self._penalises:
                self._count_ahead(list(ahead))
                self._penalise(row)
        return row

    def emitted(self, tokens: Sequence[int]) -> None:
        """The output goes on with these tokens."""
        if self._penalises:
            self._count_ahead([])
            for token in tokens:
                self._count(token)

    def _penalise(self, row: Logits) -> None:
        tokens, counts = self._tokens[: len(self._places)], self._counts[: len(self._places)]
        logits: NDArray[np.float64] = row[tokens].astype(np.float64)
        if self._repetition != 1:
            logits = np.where(logits > 0, logits / self._repetition, logits * self._repetition)
        if self._frequency or self._presence:
            logits -= self._frequency * counts + self._presence * (counts > 0)
        row[tokens] = logits.astype(np.float32)

    def _count_ahead(self, ahead: list[int]) -> None:
        """Count these behind the emitted tokens, and no others."""
        counted = self._ahead
        if ahead[: len(counted)] != counted:
            for token in reversed(counted):
                self._uncount(token)
            counted.clear()
        for token in ahead[len(counted) :]:
            self._count(token)
            counted.append(token)

    def _count(self, token: int) -> None:
        place = self._places.setdefault(token, len(self._places))
        if place == len(self._tokens):
            room = max(64, place)
            self._tokens = np.concatenate([self._tokens, np.zeros(room, dtype=np.intp)])
            self._counts = np.concatenate([self._counts, np.zeros(room)])
        self._tokens[place] = token
        self._counts[place] += 1

    def _uncount(self, token: int) -> None:
        """Forget the token that was counted last."""
        place = self._places[token]
        self._counts[place] -= 1
        if not self._counts[place] and place >= self._prompt:  # then it is the one seen last
            del self._places[token]
