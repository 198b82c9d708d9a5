"""What the outcomes of many records say together."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence

import msgspec

from .records import EditRecord
from .run import Outcome, Speed
from .scores import EditScores, wilson_interval


class Share(msgspec.Struct, frozen=True):
    """So many of some, with Wilson's 95 % interval."""

    count: int
    of: int
    low: float
    high: float

    @classmethod
    def among(cls, values: Iterable[bool | None]) -> Share:
        """How many are true among those that were measured."""
        measured = [value for value in values if value is not None]
        return cls(sum(measured), len(measured), *wilson_interval(sum(measured), len(measured)))

    @property
    def value(self) -> float | None:
        """The share itself; None of none."""
        return self.count / self.of if self.of else None


class LikelihoodSummary(msgspec.Struct, frozen=True):
    """Mean log-probabilities of all tokens of the right answers together, in nats."""

    per_token: float | None
    per_changed_token: float | None
    tokens: int
    changed_tokens: int


class EditSummary(msgspec.Struct, frozen=True):
    """Of some edits.

    Attributes:
        size: the median of what was changed, relative to the reference.
        lines_kept: the mean share of the lines that had to stay and did.
        all_lines_kept: edits in which all of them did.
        unchanged: edits left alone, of those that had to be.
        similarity: the mean, in which no edit counts less than -1; and the median.
        worse: edits further from the reference than the range as it was.
    """

    records: int
    exact: Share
    exact_text: Share
    parses: Share
    size: float | None
    lines_kept: float | None
    all_lines_kept: Share
    unchanged: Share
    similarity: float | None
    similarity_median: float | None
    worse: Share
    likelihood: LikelihoodSummary | None = None


class CompletionSummary(msgspec.Struct, frozen=True):
    """Of some completions; ``right`` is the mean number of characters before the first wrong one."""

    records: int
    first_line: Share
    exact: Share
    begins: Share
    right: float | None
    right_share: float | None
    likelihood: LikelihoodSummary | None = None


class Spread(msgspec.Struct, frozen=True):
    """The median and the quartiles of a figure over the records."""

    median: float
    low: float
    high: float
    records: int

    @classmethod
    def over(cls, values: Iterable[float | None]) -> Spread | None:
        """Of those that were measured; None if none was."""
        measured = [value for value in values if value is not None]
        if not measured:
            return None
        low, median, high = statistics.quantiles(measured, n=4) if len(measured) > 1 else measured * 3
        return cls(median, low, high, len(measured))


class DraftSummary(msgspec.Struct, frozen=True):
    """Tokens of one source."""

    source: str
    proposed: int
    accepted: int


class SpeedSummary(msgspec.Struct, frozen=True):
    """Of requests that ran alone, each with a cold prompt; times are in milliseconds."""

    records: int
    tokens_per_second: Spread | None
    prefill_ms: Spread | None
    first_token_ms: Spread | None
    total_ms: Spread | None
    prompt_tokens: Spread | None
    output_tokens: int
    decode_passes: int
    tokens_per_pass: float | None
    drafts: list[DraftSummary]


class Comparison(msgspec.Struct, frozen=True):
    """The same requests with and without speculation.

    Attributes:
        decode_ratio, total_ratio: how many times as long the plain ones took, all together, after the first token
            and in whole.
        median_decode_ratio: the median over the requests.
        agree: the answers were the same.
    """

    records: int
    plain: SpeedSummary
    speculative: SpeedSummary
    decode_ratio: float | None
    total_ratio: float | None
    median_decode_ratio: float | None
    agree: Share


def edits(outcomes: Sequence[Outcome]) -> EditSummary:
    """Sum up edits."""
    scores = [outcome.edit for outcome in outcomes if outcome.edit is not None]
    return _edits([o for o in outcomes if o.edit is not None], scores, likelihood(outcomes))


def nothing(outcomes: Sequence[Outcome]) -> EditSummary:
    """Sum up what leaving every range as it was would have scored."""
    kept = [outcome for outcome in outcomes if outcome.nothing is not None]
    return _edits(kept, [outcome.nothing for outcome in kept if outcome.nothing is not None], None)


def _edits(
    outcomes: Sequence[Outcome], scores: Sequence[EditScores], likely: LikelihoodSummary | None
) -> EditSummary:
    similarities = [s.similarity for s in scores if s.similarity is not None]
    untouched = (
        s.exact
        for outcome, s in zip(outcomes, scores, strict=True)
        if isinstance(outcome.record, EditRecord) and outcome.record.before == outcome.record.after
    )
    return EditSummary(
        records=len(scores),
        exact=Share.among(s.exact for s in scores),
        exact_text=Share.among(s.exact_text for s in scores),
        parses=Share.among(s.parses for s in scores),
        size=_median(s.size for s in scores),
        lines_kept=_mean(s.lines_kept for s in scores),
        all_lines_kept=Share.among(None if s.lines_kept is None else s.lines_kept == 1 for s in scores),
        unchanged=Share.among(untouched),
        similarity=_mean(max(similarity, -1.0) for similarity in similarities),
        similarity_median=_median(similarities),
        worse=Share.among(similarity < 0 for similarity in similarities),
        likelihood=likely,
    )


def completions(outcomes: Sequence[Outcome]) -> CompletionSummary:
    """Sum up completions."""
    scores = [outcome.completion for outcome in outcomes if outcome.completion is not None]
    return CompletionSummary(
        records=len(scores),
        first_line=Share.among(s.first_line for s in scores),
        exact=Share.among(s.exact for s in scores),
        begins=Share.among(s.begins for s in scores),
        right=_mean(s.right for s in scores),
        right_share=_mean(s.right / s.length if s.length else None for s in scores),
        likelihood=likelihood(outcomes),
    )


def likelihood(outcomes: Iterable[Outcome]) -> LikelihoodSummary | None:
    """Of all tokens together; None if it wasn't measured."""
    found = [outcome.likelihood for outcome in outcomes if outcome.likelihood is not None]
    if not found:
        return None
    tokens, changed = sum(one.tokens for one in found), sum(one.changed for one in found)
    return LikelihoodSummary(
        per_token=sum(one.total for one in found) / tokens if tokens else None,
        per_changed_token=sum(one.changed_total for one in found) / changed if changed else None,
        tokens=tokens,
        changed_tokens=changed,
    )


def speed(speeds: Sequence[Speed]) -> SpeedSummary | None:
    """Sum up speeds; None of none."""
    if not speeds:
        return None
    drafts: dict[str, tuple[int, int]] = {}
    for one in speeds:
        for draft in one.drafts:
            proposed, accepted = drafts.get(draft.source, (0, 0))
            drafts[draft.source] = (proposed + draft.proposed, accepted + draft.accepted)
    passes, tokens = sum(s.decode_passes for s in speeds), sum(s.decode_tokens for s in speeds)
    return SpeedSummary(
        records=len(speeds),
        tokens_per_second=Spread.over(s.tokens_per_second for s in speeds),
        prefill_ms=Spread.over(s.prefill_ms for s in speeds),
        first_token_ms=Spread.over(s.first_token_ms for s in speeds),
        total_ms=Spread.over(s.total_ms for s in speeds),
        prompt_tokens=Spread.over(float(s.prompt_tokens) for s in speeds),
        output_tokens=sum(s.output_tokens for s in speeds),
        decode_passes=passes,
        tokens_per_pass=tokens / passes if passes else None,
        drafts=[DraftSummary(source, *counts) for source, counts in sorted(drafts.items())],
    )


def comparison(outcomes: Iterable[Outcome]) -> Comparison | None:
    """Compare the requests that ran both ways; None if none did."""
    both = [outcome for outcome in outcomes if outcome.plain is not None and outcome.speed is not None]
    pairs = [(o.speed, o.plain) for o in both if o.speed is not None and o.plain is not None]
    fast, slow = speed([pair[0] for pair in pairs]), speed([pair[1] for pair in pairs])
    if fast is None or slow is None:
        return None
    return Comparison(
        records=len(pairs),
        plain=slow,
        speculative=fast,
        decode_ratio=_ratio(pairs, lambda s: s.decode_ms),
        total_ratio=_ratio(pairs, lambda s: s.total_ms),
        median_decode_ratio=_median(
            plain.decode_ms / drafted.decode_ms if drafted.decode_tokens and drafted.decode_ms else None
            for drafted, plain in pairs
        ),
        agree=Share.among(outcome.plain_agrees for outcome in both),
    )


def _ratio(pairs: Sequence[tuple[Speed, Speed]], time: Callable[[Speed], float]) -> float | None:
    fast, slow = sum(time(drafted) for drafted, _ in pairs), sum(time(plain) for _, plain in pairs)
    return slow / fast if fast else None


def _mean(values: Iterable[float | None]) -> float | None:
    measured = [value for value in values if value is not None]
    return statistics.fmean(measured) if measured else None


def _median(values: Iterable[float | None]) -> float | None:
    measured = [value for value in values if value is not None]
    return statistics.median(measured) if measured else None
