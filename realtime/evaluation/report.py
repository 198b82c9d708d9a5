"""Shows an evaluation: tables by kind and by language, speed, failures as diffs; and all of it as JSON."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, TypeAlias, TypeVar

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text
from warmline.engine import ModelInfo, print_table, table_console

from ..cli.report import printable
from ..documents.hunks import split_lines
from . import summary
from .records import EditRecord
from .run import Outcome, Speed
from .summary import DraftSummary, EditSummary, LikelihoodSummary, Share, Spread

PIPE_WIDTH: Final = 160
"""Columns of the tables where there is no terminal."""
DIFF_LINES: Final = 40
"""Lines of a failure's diff that are shown."""
_EDIT_LEGEND: Final = (
    "exact: the range is the reference, with Wilson's interval; but spaces: but for whitespace at the ends of lines. "
    "size: characters changed, relative to the reference (median). lines kept: of those that had to stay (mean). "
    "left alone: of ranges that had to be. similar: 1 is the reference, 0 doing nothing (mean, none below -1); worse "
    "is below 0. ln p: mean log-probability of the reference's tokens, and of those where it changes something."
)
_COMPLETION_LEGEND: Final = (
    "first line: the same as in the text that was there, with Wilson's interval. exact: all of the text, and ended "
    "there; begins: begins with it. chars right: before the first wrong one (mean)."
)
_UNPARSED: Final = (
    "whether it parses was not measured (the original doesn't, or nothing here parses the language: all but Python "
    "need the extra `training`) for some records in"
)
_EDIT_COLUMNS: Final = (
    "n", "exact", "95 %", "but spaces", "parses", "size", "lines kept", "all kept", "left alone", "similar", "worse",
    "ln p changed", "ln p token",
)  # fmt: skip
_COMPLETION_COLUMNS: Final = (
    "n", "first line", "95 %", "exact", "begins", "chars right", "share", "ln p token",
)  # fmt: skip
_SPEED_COLUMNS: Final = ("tokens/s", "quartiles", "n", "a pass", "times plain", "in all", "n plain")
_SPEED_LEGEND: Final = (
    "tokens/s, times plain: medians over the edits, and against the same ones without speculation (--plain N). "
    "in all: of their time together. accepted: of each source's drafted tokens."
)
_STYLES: Final = {"-": "red", "+": "green", "@": "cyan"}

_Summary = TypeVar("_Summary")
_Row: TypeAlias = tuple[str, list[str], str]
"""A name, the cells beside it, and their style."""


def console() -> Console:
    """Where results are printed: as wide as they need it in a pipe."""
    return table_console(PIPE_WIDTH)


def print_report(to: Console, model: ModelInfo, outcomes: Sequence[Outcome], tokens_per_second: float | None) -> None:
    """Print everything but the failures. ``tokens_per_second`` is that of all requests together."""
    edits, completions = of_type(outcomes, edit=True), of_type(outcomes, edit=False)
    to.print(
        f"{printable(model.name)}, {model.backend} backend, {model.threads} threads, {len(outcomes)} records",
        highlight=False,
        markup=False,
    )
    if edits:
        baseline = ("doing nothing", _edit_cells(summary.nothing(edits)), "dim")
        for title, key in (*_CATEGORY, *_GROUPINGS):
            rows = _rows(edits, key, _edits_of, baseline)
            if title != "category" or len(rows) > 3:  # commits have no category
                _print_table(to, f"edits by {title}", _EDIT_COLUMNS, rows)
        to.print(Text(_EDIT_LEGEND, style="dim"))
        unparsed = sorted({_language(o) for o in edits if o.edit is not None and o.edit.parses is None})
        if unparsed:
            to.print(Text(f"{_UNPARSED}: {printable(', '.join(unparsed))}", style="dim"))
    if completions:
        for title, key in _GROUPINGS:
            _print_table(to, f"completions by {title}", _COMPLETION_COLUMNS, _rows(completions, key, _completions_of))
        to.print(Text(_COMPLETION_LEGEND, style="dim"))
    _print_ends(to, outcomes)
    _print_speed(to, outcomes, tokens_per_second)
    _print_speed_by_kind(to, edits)


def print_failures(to: Console, outcomes: Iterable[Outcome], most: int) -> None:
    """Print the first so many that aren't exact: what was asked for, the right change and the answer's."""
    failed = [outcome for outcome in outcomes if not outcome.exact]
    for outcome in failed[:most]:
        record = outcome.record
        to.print()
        to.rule(Text(printable(f"{record.id}  {record.kind}  {record.language}")), align="left", characters="-")
        if isinstance(record, EditRecord):
            to.print(Text(printable(" / ".join(record.instructions)), style="bold"), soft_wrap=True)
            _print_diff(to, "asked for", record.before, record.after)
            _print_diff(to, f"answered ({outcome.reason})", record.before, outcome.answer)
        else:
            _print_diff(to, f"text that was there, and the answer ({outcome.reason})", record.middle, outcome.answer)
        if outcome.error:
            to.print(Text(printable(outcome.error), style="red"), soft_wrap=True)


def as_json(about: dict[str, Any], outcomes: Sequence[Outcome], tokens_per_second: float | None) -> bytes:
    """The summaries and each record's outcome."""
    edits, completions = of_type(outcomes, edit=True), of_type(outcomes, edit=False)
    report = about | {
        "edits": _summaries(edits, summary.edits) | {"nothing": summary.nothing(edits)} if edits else None,
        "completions": _summaries(completions, summary.completions) if completions else None,
        "speed": summary.speed(_speeds(outcomes)),
        "comparison": summary.comparison(outcomes),
        "edit_speed_by_kind": {
            name: {"speed": summary.speed(_speeds(group)), "comparison": summary.comparison(group)}
            for name, group in _groups(_measured(edits), _kind).items()
        },
        "tokens_per_second": tokens_per_second,
        "records": [_as_object(outcome) for outcome in outcomes],
    }
    return msgspec.json.format(msgspec.json.encode(_named(report)), indent=2) + b"\n"


def of_type(outcomes: Iterable[Outcome], *, edit: bool) -> list[Outcome]:
    """Those of edits, or those of completions."""
    return [outcome for outcome in outcomes if isinstance(outcome.record, EditRecord) == edit]


def _summaries(outcomes: Sequence[Outcome], sum_up: Callable[[Sequence[Outcome]], _Summary]) -> dict[str, Any]:
    return {
        "all": sum_up(outcomes),
        "categories": {name: sum_up(group) for name, group in _groups(outcomes, _category).items() if name},
        "kinds": {name: sum_up(group) for name, group in _groups(outcomes, _kind).items()},
        "languages": {name: sum_up(group) for name, group in _groups(outcomes, _language).items()},
    }


def _as_object(outcome: Outcome) -> dict[str, Any]:
    record = outcome.record
    about: dict[str, Any] = {"id": record.id, "kind": record.kind, "language": record.language}
    if isinstance(record, EditRecord):
        about |= {"category": record.category, "instructions": record.instructions}
    return about | {
        "reason": outcome.reason,
        "error": outcome.error,
        "exact": outcome.exact,
        "answer": outcome.answer,
        "scores": outcome.edit or outcome.completion,
        "likelihood": outcome.likelihood,
        "speed": outcome.speed,
        "plain_speed": outcome.plain,
        "plain_agrees": outcome.plain_agrees,
    }


def _named(value: Any) -> Any:
    """With arrays that have names (what crosses the engine's hop) as objects."""
    if isinstance(value, msgspec.Struct):
        return {name: _named(getattr(value, name)) for name in value.__struct_fields__}
    if isinstance(value, dict):
        return {key: _named(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_named(one) for one in value]
    return value


def _groups(outcomes: Iterable[Outcome], key: Callable[[Outcome], str]) -> dict[str, list[Outcome]]:
    groups: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        groups.setdefault(key(outcome), []).append(outcome)
    return dict(sorted(groups.items()))


def _kind(outcome: Outcome) -> str:
    return outcome.record.kind


def _language(outcome: Outcome) -> str:
    return outcome.record.language


def _category(outcome: Outcome) -> str:
    return outcome.record.category if isinstance(outcome.record, EditRecord) else ""


_CATEGORY: Final = (("category", _category),)
_GROUPINGS: Final = (("kind", _kind), ("language", _language))
_MOST_GROUPS: Final = 40


def _rows(
    outcomes: Sequence[Outcome],
    key: Callable[[Outcome], str],
    cells: Callable[[Sequence[Outcome]], list[str]],
    *last: _Row,
) -> list[_Row]:
    """A row for each group (of many, the largest), one for all of them, and those given."""
    found = _groups(outcomes, key)
    shown = sorted(found, key=lambda name: -len(found[name]))[:_MOST_GROUPS]
    groups = [(name, cells(group), "") for name, group in found.items() if name in shown]
    if len(shown) < len(found):
        rest = [outcome for name, group in found.items() if name not in shown for outcome in group]
        groups.append((f"{len(found) - len(shown)} others", cells(rest), "dim"))
    return [*groups, ("all", cells(outcomes), "bold"), *last]


def _print_table(to: Console, title: str, columns: Sequence[str], rows: Sequence[_Row]) -> None:
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    table.add_column("")
    for column in columns:
        table.add_column(column, justify="right")
    for name, cells, style in rows:
        table.add_row(Text(printable(name)), *cells, style=style)
    print_table(to, table)


def _edits_of(outcomes: Sequence[Outcome]) -> list[str]:
    return _edit_cells(summary.edits(outcomes))


def _edit_cells(edits: EditSummary) -> list[str]:
    return [
        str(edits.records),
        _percent(edits.exact.value),
        _interval(edits.exact),
        _percent(edits.exact_text.value),
        _percent(edits.parses.value),
        _number(edits.size),
        _percent(edits.lines_kept),
        _percent(edits.all_lines_kept.value),
        f"{edits.unchanged.count}/{edits.unchanged.of}" if edits.unchanged.of else "",
        _number(edits.similarity),
        _percent(edits.worse.value),
        *_likelihood_cells(edits.likelihood),
    ]


def _completions_of(outcomes: Sequence[Outcome]) -> list[str]:
    completions = summary.completions(outcomes)
    return [
        str(completions.records),
        _percent(completions.first_line.value),
        _interval(completions.first_line),
        _percent(completions.exact.value),
        _percent(completions.begins.value),
        _number(completions.right, 1),
        _percent(completions.right_share),
        _likelihood_cells(completions.likelihood)[1],
    ]


def _likelihood_cells(likelihood: LikelihoodSummary | None) -> tuple[str, str]:
    if likelihood is None:
        return "", ""
    return _number(likelihood.per_changed_token, 3), _number(likelihood.per_token, 3)


def _print_ends(to: Console, outcomes: Sequence[Outcome]) -> None:
    reasons = _groups(outcomes, lambda outcome: outcome.reason)
    to.print("ended: " + ", ".join(f"{len(group)} {reason}" for reason, group in reasons.items()), highlight=False)
    errors = sorted({outcome.error for outcome in outcomes if outcome.error})
    for error in errors[:3]:
        to.print(Text(printable(error), style="red"), soft_wrap=True)


def _print_speed(to: Console, outcomes: Sequence[Outcome], tokens_per_second: float | None) -> None:
    if tokens_per_second is not None:
        to.print(f"all together: {tokens_per_second:,.1f} tokens/s, prompts included", highlight=False)
    figures = summary.speed(_speeds(outcomes))
    if figures is None:
        return
    rows: list[_Row] = []
    for name, spread, digits in (
        ("tokens/s after the first token", figures.tokens_per_second, 1),
        ("prompt, tokens", figures.prompt_tokens, 0),
        ("prompt, ms", figures.prefill_ms, 1),
        ("first token, ms", figures.first_token_ms, 1),
        ("whole request, ms", figures.total_ms, 1),
    ):
        if spread is not None:
            rows.append((name, _spread_cells(spread, digits), ""))
    _print_table(to, "speed (one request at a time, nothing cached)", ("median", "quartiles", "n"), rows)
    drafts = "".join(
        f"; {d.source}: {d.accepted:,} of {d.proposed:,} drafted tokens accepted" for d in figures.drafts
    )
    to.print(
        f"{figures.output_tokens:,} tokens, {figures.decode_passes:,} passes after the first token, "
        f"{_number(figures.tokens_per_pass)} tokens a pass{drafts}",
        highlight=False,
        soft_wrap=True,
    )
    compared = summary.comparison(outcomes)
    if compared is not None:
        plain = compared.plain.tokens_per_second
        rate = "" if plain is None else f"plain {plain.median:,.1f} tokens/s (median); "
        to.print(
            f"without speculation, {compared.records} of them: {rate}with it, "
            f"{_number(compared.decode_ratio)} times as fast after the first token "
            f"(median {_number(compared.median_decode_ratio)}), {_number(compared.total_ratio)} times in whole; "
            f"{compared.agree.count} of {compared.agree.of} answers are the same",
            highlight=False,
            soft_wrap=True,
        )


def _print_speed_by_kind(to: Console, edits: Sequence[Outcome]) -> None:
    measured = _measured(edits)
    if not measured:
        return
    sources = sorted({draft.source for speed in _speeds(measured) for draft in speed.drafts})

    def cells(outcomes: Sequence[Outcome]) -> list[str]:
        figures, compared = summary.speed(_speeds(outcomes)), summary.comparison(outcomes)
        assert figures is not None
        spread, drafts = figures.tokens_per_second, {draft.source: draft for draft in figures.drafts}
        return [
            *(("-", "-") if spread is None else _spread_cells(spread, 1)[:2]),
            str(figures.records),
            _number(figures.tokens_per_pass),
            "-" if compared is None else _number(compared.median_decode_ratio),
            "-" if compared is None else _number(compared.decode_ratio),
            "0" if compared is None else str(compared.records),
            *(_accepted(drafts.get(source)) for source in sources),
        ]

    columns = (*_SPEED_COLUMNS, *(f"{source}: accepted" for source in sources))
    _print_table(to, "speed of edits by kind, after the first token", columns, _rows(measured, _kind, cells))
    to.print(Text(_SPEED_LEGEND, style="dim"))


def _accepted(drafts: DraftSummary | None) -> str:
    if drafts is None or not drafts.proposed:
        return "-"
    return f"{drafts.accepted / drafts.proposed:.0%} of {drafts.proposed:,}"


def _measured(outcomes: Iterable[Outcome]) -> list[Outcome]:
    return [outcome for outcome in outcomes if outcome.speed is not None]


def _speeds(outcomes: Iterable[Outcome]) -> list[Speed]:
    return [outcome.speed for outcome in outcomes if outcome.speed is not None]


def _spread_cells(spread: Spread, digits: int) -> list[str]:
    quartiles = f"{spread.low:,.{digits}f} to {spread.high:,.{digits}f}"
    return [f"{spread.median:,.{digits}f}", quartiles, str(spread.records)]


def _print_diff(to: Console, title: str, old: str, new: str) -> None:
    to.print(Text(title, style="dim"))
    if old == new:
        to.print(Text("  nothing changes", style="dim"))
    lines = list(difflib.unified_diff(split_lines(old), split_lines(new), n=2))[2:]
    for line in lines[:DIFF_LINES]:
        end = "" if line.endswith("\n") else "  (no line end)"
        shown = printable(line.removesuffix("\n")).expandtabs(4) + end
        to.print(Text("  " + shown, style=_STYLES.get(line[0], "")), soft_wrap=True)
    if len(lines) > DIFF_LINES:
        to.print(Text(f"  ... {len(lines) - DIFF_LINES} lines more", style="dim"))


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"


def _interval(share: Share) -> str:
    return f"{100 * share.low:.0f}-{100 * share.high:.0f}" if share.of else "-"


def _number(value: float | None, digits: int = 2) -> str:
    return "-" if value is None else f"{value:.{digits}f}"
