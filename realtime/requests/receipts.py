"""What a request cost, from what the engine says of its sequences."""

from __future__ import annotations

from collections.abc import Iterable

from warmline.engine import Finished

from ..protocol import Drafts, Receipt


def receipt_of(sequences: Iterable[Finished], seed: int | None) -> Receipt:
    """The costs of all sequences added up.

    Of a prompt that was given up before the engine had computed it, only what was computed counts.
    """
    prompt = warmed = cached = computed = output = passes = 0
    drafts: dict[str, tuple[int, int]] = {}
    for finished in sequences:
        counted = finished.warmed_tokens + finished.cached_tokens + finished.computed_tokens
        prompt += counted if finished.reason == "cancel" else finished.prompt_tokens
        warmed += finished.warmed_tokens
        cached += finished.cached_tokens
        computed += finished.computed_tokens
        output += finished.output_tokens
        passes += finished.forward_passes
        for draft in finished.drafts:
            proposed, accepted = drafts.get(draft.source, (0, 0))
            drafts[draft.source] = proposed + draft.proposed, accepted + draft.accepted
    return Receipt(
        prompt_tokens=prompt,
        warmed_tokens=warmed,
        cached_tokens=cached,
        computed_tokens=computed,
        output_tokens=output,
        forward_passes=passes,
        drafts=[Drafts(source, *counts) for source, counts in drafts.items()],
        seed=seed,
    )
