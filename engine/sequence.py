"""The state of one sequence, from its arrival to its last token."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass, field

from .batch import BLOCK_SIZE
from .detokenizer import Detokenizer
from .kv_cache import BlockTable
from .messages import (
    DraftCount,
    Finished,
    FinishReason,
    GenerationRequest,
    SamplingParams,
    TokenLogprobs,
    WarmRequest,
    unpack_tokens,
)
from .sampling import Adjustments, Logits
from .speculation.create import CreateDrafter, create_drafter
from .speculation.drafter import NO_DRAFT, Draft, Drafter

logger = logging.getLogger(__name__)

END_OF_REPLAY = -1
"""What a replay gives after its last token; equal to no token, and ends the sequence as an end-of-text token does."""


@dataclass(slots=True, eq=False)
class Sequence:
    """Tokens with ``computed`` chasing ``len(tokens)``: prefill and decode differ only in how far behind it is.

    ``tokens`` is the prompt and what was emitted. The keys and values of the first ``computed`` are final and lie in
    the blocks of ``table``, which is None while the sequence waits.
    """

    request: GenerationRequest
    message: GenerationRequest | WarmRequest
    """What it came by: the request, unless it is warm."""
    max_tokens: int
    received_ns: int
    tokens: list[int]
    prompt_tokens: int
    detokenizer: Detokenizer
    drafter: Drafter | None = None
    replay: list[int] | None = None
    table: BlockTable | None = None
    computed: int = 0
    unsent: list[int] = field(default_factory=list)
    """Emitted tokens whose text is still held back."""
    unsent_logprobs: list[TokenLogprobs] = field(default_factory=list)
    """Theirs, if they were asked for."""
    adjustments: Adjustments | None = None
    warm: bool = False
    """Computed for the cache alone; nothing is sampled."""
    paused: bool = False
    arrival: int = 0
    """Its place among all requests, by which those of a client start."""
    turn: int = 0
    """Its place among all that have started, by which those that run are ordered; 0 before."""
    charged: int = 0
    """What its client's account was charged for it."""
    ended: bool = False

    # The receipt. Prompt tokens that are computed again after a preemption are not counted again.
    cached_tokens: int = 0
    warmed_tokens: int = 0
    computed_tokens: int = 0
    forward_passes: int = 0
    drafts: dict[str, tuple[int, int]] = field(default_factory=dict)
    started_ns: int = 0
    prefilled_ns: int = 0
    first_token_ns: int = 0
    last_token_ns: int = 0

    @classmethod
    def create(
        cls,
        request: GenerationRequest,
        prompt: list[int],
        max_tokens: int,
        received_ns: int,
        drafting: CreateDrafter = create_drafter,
    ) -> Sequence:
        """A sequence that is to be computed from its beginning."""
        drafter = None
        if request.speculation:
            try:
                drafter = drafting(request, prompt, len(prompt) + max_tokens)
            except Exception:  # it may cost time, never a request
                logger.exception("nothing can draft for sequence %d", request.id)
        return cls(
            request=request,
            message=request,
            max_tokens=max_tokens,
            received_ns=received_ns,
            tokens=prompt,
            prompt_tokens=len(prompt),
            detokenizer=Detokenizer(request.sampling.stop),
            drafter=drafter,
            replay=unpack_tokens(request.replay) if request.replay is not None else None,
            adjustments=Adjustments.of(request.sampling, prompt),
        )

    @classmethod
    def create_warm(cls, request: WarmRequest, prompt: list[int], received_ns: int) -> Sequence:
        """The full blocks of a prompt, to be computed for the cache: it keeps no others."""
        tokens = prompt[: len(prompt) // BLOCK_SIZE * BLOCK_SIZE]
        nothing = GenerationRequest(request.id, b"", SamplingParams(max_tokens=0), request.salt, speculation=False)
        sequence = cls.create(nothing, tokens, 0, received_ns)
        sequence.message = request
        sequence.warm = True
        return sequence

    @property
    def remaining(self) -> int:
        """Known tokens that are still to be computed: at least 1, but for a warm one that is done."""
        return len(self.tokens) - self.computed

    @property
    def output_tokens(self) -> int:
        """How many tokens were emitted."""
        return len(self.tokens) - self.prompt_tokens

    def prepare(self, limit: int) -> None:
        """A draft of at most ``limit`` tokens will be asked for next: see `Drafter.prepare`."""
        limit = min(limit, self.max_tokens - self.output_tokens - 1)
        if self.drafter is not None and limit > 0:
            try:
                self.drafter.prepare(limit)
            except Exception:
                self._go_on_without_drafts()

    def propose(self, limit: int) -> Draft:
        """A draft of at most ``limit`` tokens, none beyond what may still be emitted."""
        limit = min(limit, self.max_tokens - self.output_tokens - 1)
        if self.drafter is None or limit <= 0:
            return NO_DRAFT
        try:
            draft = self.drafter.propose(limit)
        except Exception:
            if not self.ended:  # it can end while something drafts for it, which that may not get over
                self._go_on_without_drafts()
            return NO_DRAFT
        return NO_DRAFT if self.ended else draft

    def adjusted(self, row: Logits, ahead: list[int]) -> Logits:
        """The logits to choose from behind the known tokens and those ``ahead``: bias and penalties applied."""
        return row if self.adjustments is None else self.adjustments.apply(row, ahead)

    def target(self, sampled: int, ahead: int) -> int:
        """The token to emit ``ahead`` tokens from here where the model sampled ``sampled``."""
        if self.replay is None:
            return sampled
        index = self.output_tokens + ahead
        return self.replay[index] if index < len(self.replay) else END_OF_REPLAY

    def reuse(self, tokens: int, warmed: Iterable[int] = ()) -> None:
        """The first ``tokens`` were found in the cache; the blocks ``warmed`` among them nobody had used before."""
        counted, new = self.counted_tokens, self._new_prompt_tokens(tokens)
        ahead = 0
        for block in warmed:
            end = min((block + 1) * BLOCK_SIZE, self.prompt_tokens)
            ahead += max(0, end - max(block * BLOCK_SIZE, counted))
        self.warmed_tokens += ahead
        self.cached_tokens += new - ahead
        self.computed = tokens

    def advance(self, rows: int, draft: Draft, accepted: int, emitted: list[int]) -> None:
        """A pass computed ``rows`` known tokens and ``draft``, the first ``accepted`` tokens of which stand."""
        self.computed_tokens += self._new_prompt_tokens(self.computed + rows)
        self.tokens += emitted
        if self.adjustments is not None:
            self.adjustments.emitted(emitted)
        # The keys and values of accepted drafts are final; those of rejected ones will be written over.
        self.computed += rows + accepted
        if draft.tokens:
            before = self.drafts.get(draft.source, (0, 0))
            self.drafts[draft.source] = (before[0] + len(draft.tokens), before[1] + accepted)
        if self.drafter is not None and emitted:
            try:
                self.drafter.observe(emitted)
            except Exception:
                self._go_on_without_drafts()

    def close_drafter(self) -> None:
        """Free what its drafters hold. Idempotent."""
        drafter, self.drafter = self.drafter, None
        if drafter is not None:
            try:
                drafter.close()
            except Exception:
                logger.exception("a drafter could not be closed")

    def _go_on_without_drafts(self) -> None:
        """A fault of a drafter may cost time, never a request."""
        logger.exception("a drafter failed; sequence %d goes on without", self.request.id)
        self.close_drafter()

    @property
    def counted_tokens(self) -> int:
        """Prompt tokens that the receipt accounts for by now."""
        return self.warmed_tokens + self.cached_tokens + self.computed_tokens

    def _new_prompt_tokens(self, upto: int) -> int:
        return max(0, min(upto, self.prompt_tokens) - self.counted_tokens)

    def finished(self, reason: FinishReason, sent_ns: int, error_code: str = "", error: str = "") -> Finished:
        """The receipt. Stages that were not reached took no time."""
        started = self.started_ns or sent_ns
        prefilled = self.prefilled_ns or sent_ns
        first_token = self.first_token_ns or sent_ns
        return Finished(
            reason=reason,
            prompt_tokens=self.prompt_tokens,
            cached_tokens=self.cached_tokens,
            computed_tokens=self.computed_tokens,
            output_tokens=self.output_tokens,
            forward_passes=self.forward_passes,
            drafts=tuple(DraftCount(source, *counts) for source, counts in self.drafts.items()),
            received_ns=self.received_ns,
            queue_ns=started - self.received_ns,
            prefill_ns=prefilled - started,
            first_token_ns=first_token - prefilled,
            step_ns=sent_ns - first_token,
            sent_ns=sent_ns,
            error_code=error_code,
            error=error,
            warmed_tokens=self.warmed_tokens,
        )
