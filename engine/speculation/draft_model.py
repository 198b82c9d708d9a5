"""A drafter that computes: a smaller model of the same vocabulary."""

from __future__ import annotations

import logging
import time
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from ..batch import BLOCK_SIZE, Batch, SequenceSlice
from ..budget import attended
from ..errors import ModelError
from ..kv_cache import KVCache
from ..options import EngineOptions
from .cost import USUAL_COST, PassCost
from .drafter import NO_DRAFT, CostlyDrafter, Draft
from .learning import LearnedCost

if TYPE_CHECKING:
    from ..backends.base import Backend

_CATCHING_UP: Final = 64
"""Known tokens of a sequence that are computed in a pass: the other model's waits for it."""
_ROWS: Final = 128
"""Known tokens of all sequences that are computed in a pass."""
_LEVEL: Final = 2
"""Tokens that a sequence is behind at most where all of the last draft stood."""
_LONGEST: Final = 16
"""Tokens of a draft. Each takes a pass."""
_KV_SHARE: Final = 4
"""The part of the memory for keys and values that it has, beyond it."""

logger = logging.getLogger(__name__)


class DraftModel:
    """A model that drafts greedily, with keys and values of its own, for any number of sequences at once.

    Attributes:
        effort: what a pass of one row costs, in such passes of the model it drafts for. To be measured.
        cost: that of its passes, for what more rows add. To be measured.
        learned: what its passes correct, and where ``cost`` comes from then; none as long as nothing was measured.
        vocabulary: the token ids that it may draft are below this.
        drafters: how many are open.
    """

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.cache = KVCache(backend.num_blocks)
        self.max_tokens = min(backend.config.context_length, backend.num_blocks * BLOCK_SIZE)
        self.effort = 0.25
        self.cost: PassCost = USUAL_COST
        self.learned: LearnedCost | None = None
        self.vocabulary = backend.config.vocab_size
        self.drafters = 0
        self.wanting: list[ModelDrafter] = []
        """Those that want tokens of the next `draft`."""

    def draft(self, waiting: int, should_abort: Callable[[], bool] | None = None) -> None:
        """Compute what is wanted, as far as it pays: a pass for each place in the drafts, over all sequences.

        The first pass computes the known tokens that are not computed yet, too, up to `_ROWS` in all, those of
        whom has fewest first. ``waiting`` is how many sequences the next pass of the other model brings a token:
        all of them wait, so a pass must save more than its rows cost for each. To catch up is worth as much as all
        that its sequence wants now, as it will want the like later; but no pass that catches up is longer than one of
        the other model's. A pass that fails ends the drafts of those in it, and nothing else.

        ``should_abort`` is asked before each pass and between its layers, and must not raise; sequences may end in
        it. What the passes before computed stands.
        """
        drafting, self.wanting = self.wanting, []
        for place in range(_LONGEST):
            planned = self._plan([drafter for drafter in drafting if drafter.wants(place)], place, waiting)
            if not planned or (should_abort is not None and should_abort()):
                return
            # Some may have ended while that was asked.
            drafting = self._pass([part for part in planned if part[0].wants(place)], should_abort)

    def price(self, rows: int, keys: int = 0) -> float:
        """What a pass costs that has so many rows, which attend to so many keys together; see `effort`."""
        return self.effort * self.cost.seconds(rows, keys) / self.cost.seconds(1)

    def _plan(self, drafters: list[ModelDrafter], place: int, waiting: int) -> list[tuple[ModelDrafter, int]]:
        """Whose rows, and how many, to compute for a place in the drafts; none if that doesn't pay."""
        planned: list[tuple[ModelDrafter, int]] = []
        worth, rows, keys, price = 0.0, 0, 0, self.price(1)
        for drafter in sorted(drafters, key=lambda drafter: drafter.behind):
            level = drafter.behind <= _LEVEL
            saved = drafter.wanted[place] if level else sum(drafter.wanted)
            # A part of what catching up is worth is left for the pass as such.
            dearest = price + saved / waiting if level else min(price + saved / waiting / 2, 1.0)
            sizes = range(1, min(drafter.behind, _CATCHING_UP, _ROWS - rows) + 1)
            prices = [self.price(rows + size, keys + attended(drafter.computed, size)) for size in sizes]
            count = bisect_right(prices, dearest)
            if count == drafter.behind or (count and not level):
                planned.append((drafter, count))
                worth, rows, keys, price = (
                    worth + saved,
                    rows + count,
                    keys + attended(drafter.computed, count),
                    prices[count - 1],
                )
        return planned if worth > waiting * price else []

    def _pass(
        self, planned: list[tuple[ModelDrafter, int]], should_abort: Callable[[], bool] | None
    ) -> list[ModelDrafter]:
        """One pass over the next rows of the drafters; returns those that have another token drafted now."""
        from ..backends.base import PassAborted  # imports torch, as whoever made the backend has

        batch, parts = Batch([], []), []
        for drafter, limit in planned:
            rows = drafter.next_rows(limit)
            if rows:
                first = len(batch.token_ids)
                batch.token_ids += rows
                batch.slices.append(SequenceSlice(first, len(rows), drafter.computed, drafter.table.blocks))
                batch.logit_rows.append(len(batch.token_ids) - 1)
                parts.append((drafter, len(rows)))
        if not parts:
            return []
        began = time.perf_counter()
        try:
            logits = self.backend.forward(batch, should_abort).numpy()
        except PassAborted:
            return []
        except Exception:
            logger.exception("a pass of the draft model failed; %d sequences go on without it", len(parts))
            for drafter, _ in parts:
                drafter.give_up()
            return []
        if self.learned is not None:
            self.learned.observe_pass(batch, time.perf_counter() - began)
            self.cost = self.learned.cost
        ahead = []
        for (drafter, rows_computed), row in zip(parts, logits, strict=True):
            # Of equals the lowest.
            if drafter.take(rows_computed, int(row[: self.vocabulary].argmax())):
                ahead.append(drafter)
        return ahead


class ModelDrafter(CostlyDrafter):
    """What a draft model would say.

    Attributes:
        table: the blocks of its keys and values.
        computed: how many tokens have them, those drafted included.
        wanted: what each token saves that it is to draft; see `CostlyDrafter.want`.
    """

    source = "model"

    def __init__(self, model: DraftModel, tokens: Sequence[int], salt: str) -> None:
        """``tokens`` are the sequence's (see `Drafter`); ``salt`` says with whom keys and values may be shared."""
        model.drafters += 1
        self._model = model
        self._tokens = tokens
        self._known = len(tokens)  # those that were observed: what was computed behind them is of the draft
        self.table = model.cache.open(salt)
        self.computed = model.cache.match(self.table, tokens)
        self.wanted: Sequence[float] = ()
        self._usable = self._reads(tokens)
        self._draft: list[int] = []  # the last one, whose keys and values follow those of the tokens
        self._foreseen = 0

    @property
    def effort(self) -> float:
        """A pass of the draft model of one row, as further ones add little."""
        return self._model.effort

    @property
    def evidence(self) -> int:
        """The last tokens in a row that were foreseen."""
        return self._foreseen

    @property
    def behind(self) -> int:
        """Known and drafted tokens that are still to be computed; at least 1 while there is more to draft."""
        return self._known + len(self._draft) - self.computed

    def want(self, saved: Sequence[float]) -> None:
        """Ask for so many tokens, as far as there is room. Not for any behind tokens that the model doesn't have."""
        known, model = self._known, self._model
        room = (len(self.table.blocks) + model.cache.available) * BLOCK_SIZE
        budget = min(len(saved), _LONGEST, min(model.max_tokens, room) - known)
        # The last known token is computed again if need be, for what follows it.
        self.computed = min(self.computed, known - 1)
        self._draft = []
        if budget > 0 and self._usable and model.cache.reserve(self.table, known + budget):
            self.wanted = saved[:budget]
            model.wanting.append(self)

    def wants(self, place: int) -> bool:
        """Whether a token in this place of the draft is wanted."""
        return place < len(self.wanted)

    def next_rows(self, limit: int) -> list[int]:
        """At most so many of the tokens that are to be computed next."""
        known = self._tokens[self.computed : min(self.computed + limit, self._known)]
        return [*known, *self._draft[max(self.computed - self._known, 0) :]][:limit]

    def take(self, rows: int, token: int) -> bool:
        """A pass computed ``rows`` tokens, and ``token`` is likeliest to follow; returns whether that is drafted."""
        if not self.wanted:  # it ended during the pass
            return False
        self.computed += rows
        if self.behind:
            return False
        self._draft.append(token)
        return True

    def give_up(self) -> None:
        """Draft no more: the model failed on it."""
        self._usable, self.wanted, self._draft = False, (), []

    def observe(self, emitted: list[int]) -> None:
        """Take the tokens that the last pass brought; what was computed of them in the draft stays."""
        standing = 0
        for guess, token in zip(self._draft, emitted, strict=False):
            if guess != token:
                self._foreseen = 0
                break
            standing += 1
            self._foreseen += 1
        self.computed = min(self.computed, self._known + standing)
        self._known += len(emitted)
        self._usable = self._usable and self._reads(emitted)
        self.wanted, self._draft = (), []

    def propose(self, budget: int) -> Draft:
        """What was computed of the likeliest tokens, one after the other."""
        return Draft(self._draft[:budget], self.source, self._foreseen) if self._draft else NO_DRAFT

    def close(self) -> None:
        """Leave the keys and values to others of the same salt, for as long as there is room."""
        self._model.drafters -= 1
        self.wanted = ()
        self._model.cache.commit(self.table, self._tokens, min(self.computed, self._known))
        self._model.cache.release(self.table)

    def _reads(self, tokens: Sequence[int]) -> bool:
        """Whether the draft model has all of the tokens: models of one vocabulary differ in how they pad it."""
        return max(tokens, default=0) < self._model.backend.config.vocab_size


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
