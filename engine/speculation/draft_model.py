"""A drafter that computes: a smaller model of the same vocabulary."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from ..batch import BLOCK_SIZE, Batch, SequenceSlice
from ..errors import ModelError
from ..kv_cache import BlockTable, KVCache
from ..options import EngineOptions
from .drafter import NO_DRAFT, CostlyDrafter, Draft

if TYPE_CHECKING:
    from ..backends.base import Backend

_CATCHING_UP: Final = 64
"""Known tokens that are computed at a time, before the first draft: the other model's pass waits for them."""
_LONGEST: Final = 16
"""Tokens of a draft. Each takes a pass, during which nothing else happens."""
_KV_SHARE: Final = 4
"""The part of the memory for keys and values that it has, beyond it."""


class DraftModel:
    """A model that drafts greedily, with keys and values of its own, for any number of sequences.

    Attributes:
        effort: what a pass of it costs, in passes of the model it drafts for. To be measured.
        vocabulary: the token ids that it may draft are below this.
        drafters: how many are open.
    """

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.cache = KVCache(backend.num_blocks)
        self.max_tokens = min(backend.config.context_length, backend.num_blocks * BLOCK_SIZE)
        self.effort = 0.25
        self.vocabulary = backend.config.vocab_size
        self.drafters = 0

    def next_token(self, tokens: list[int], position: int, table: BlockTable) -> int:
        """Compute tokens from a position on; returns the likeliest to follow, of equals the lowest."""
        part = SequenceSlice(0, len(tokens), position, table.blocks)
        (row,) = self.backend.forward(Batch(tokens, [part], [len(tokens) - 1])).numpy()
        return int(row[: self.vocabulary].argmax())


class ModelDrafter(CostlyDrafter):
    """What a draft model would say."""

    source = "model"

    def __init__(self, model: DraftModel, prompt: list[int], salt: str) -> None:
        """``salt`` says with whom keys and values may be shared."""
        model.drafters += 1
        self._model = model
        self._tokens = list(prompt)
        self._table = model.cache.open(salt)
        self._computed = model.cache.match(self._table, prompt)
        self._readable = self._reads(prompt)
        self._draft: list[int] = []  # the last one, whose keys and values follow those of the tokens
        self._foreseen = 0

    @property
    def effort(self) -> float:
        """A pass of the draft model for each sequence that has one, as all of them wait for each other's."""
        return self._model.effort * self._model.drafters

    @property
    def evidence(self) -> int:
        """The last tokens in a row that were foreseen."""
        return self._foreseen

    def observe(self, emitted: list[int]) -> None:
        """Take the tokens that the last pass brought; what was computed of them in the draft stays."""
        standing = 0
        for guess, token in zip(self._draft, emitted, strict=False):
            if guess != token:
                self._foreseen = 0
                break
            standing += 1
            self._foreseen += 1
        self._computed = min(self._computed, len(self._tokens) + standing)
        self._tokens += emitted
        self._readable = self._readable and self._reads(emitted)
        self._draft = []

    def propose(self, budget: int) -> Draft:
        """The likeliest tokens, one after the other; none while what is known is not computed, or has no room."""
        known, model = len(self._tokens), self._model
        budget = min(budget, _LONGEST, model.max_tokens - known)
        # The last known token is computed again if need be, for what follows it.
        self._computed = min(self._computed, known - 1)
        self._draft = []
        if budget <= 0 or not self._readable or not model.cache.reserve(self._table, known + budget):
            return NO_DRAFT
        rows = self._tokens[self._computed : self._computed + _CATCHING_UP]
        token = self._compute(rows)
        if self._computed < known:
            return NO_DRAFT
        draft = [token]
        while len(draft) < budget:
            draft.append(self._compute(draft[-1:]))
        self._draft = draft
        return Draft(draft, self.source, self._foreseen)

    def close(self) -> None:
        """Leave the keys and values to others of the same salt, for as long as there is room."""
        self._model.drafters -= 1
        self._model.cache.commit(self._table, self._tokens, min(self._computed, len(self._tokens)))
        self._model.cache.release(self._table)

    def _reads(self, tokens: list[int]) -> bool:
        """Whether the draft model has all of the tokens: models of one vocabulary differ in how they pad it."""
        return max(tokens, default=0) < self._model.backend.config.vocab_size

    def _compute(self, tokens: list[int]) -> int:
        following = self._model.next_token(tokens, self._computed, self._table)
        self._computed += len(tokens)
        return following


def load_draft_model(options: EngineOptions) -> DraftModel | None:
    """The draft model that the options name, if any.

    Raises:
        ModelError: it can't be read or run, or has another vocabulary.

    """
    if options.draft_model is None:
        return None
    from ..backends import create_backend
    from ..loading.tokenizer_loader import load_tokenizer

    tokenizer = load_tokenizer(options.model)
    kv_memory = options.kv_memory // _KV_SHARE
    own = msgspec.structs.replace(options, model=options.draft_model, adapter=None, kv_memory=kv_memory)
    backend, its_tokenizer = create_backend(own)
    same = its_tokenizer.eos_ids == tokenizer.eos_ids and its_tokenizer.vocab_size == tokenizer.vocab_size
    if not same or any(
        its_tokenizer.token_bytes(token) != tokenizer.token_bytes(token) for token in range(tokenizer.vocab_size)
    ):
        raise ModelError(f"{options.draft_model} can't draft for {options.model}: they have other vocabularies")
    return DraftModel(backend)
