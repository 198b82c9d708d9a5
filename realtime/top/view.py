"""How a service is shown: one screen, made of what its metrics say."""

from __future__ import annotations

from typing import Final

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from ..telemetry.tracing import HOPS
from .figures import Distribution, Figures

_BAR: Final = 24
_TTFT: Final = "gen_ai_server_time_to_first_token_seconds"
_TPOT: Final = "gen_ai_server_time_per_output_token_seconds"
_WHOLE: Final = "gen_ai_server_request_duration_seconds"


def render(url: str, now: Figures, recent: Figures, seconds: float | None) -> RenderableType:
    """Show a service: ``now`` for what it has, ``recent`` for what came in these seconds (None: since its start)."""
    parts = [_head(url, now, recent, seconds), _requests(recent, seconds), _hops(recent), _tokens(recent, seconds)]
    parts += [_drafts(recent), _refusals(recent)]
    return Group(*(part for part in parts if part is not None))


def _head(url: str, now: Figures, recent: Figures, seconds: float | None) -> RenderableType:
    about = now.labels("warmline_info")
    adapter = f" with {about['adapter']}" if about.get("adapter") else ""
    model, backend, threads = (about.get(name, "?") for name in ("model", "backend", "threads"))
    runs = f"{model}{adapter}, {backend} backend, {threads} threads"
    window = "since its start" if seconds is None else f"the last {seconds:.0f} s"
    grid = Table.grid(padding=(0, 2))
    grid.add_row("[bold]warmline[/]", f"{escape(about.get('version', ''))} at {escape(url)}  [dim]({window})[/]")
    grid.add_row("model", escape(runs))
    sessions, documents = now.total("warmline_sessions"), now.total("warmline_documents")
    grid.add_row("sessions", f"{sessions:.0f}, with {documents:.0f} documents{_resumes(now, recent)}")
    states = ("running", "waiting", "warming")
    engine = ", ".join(f"{now.total(f'warmline_engine_sequences_{state}'):.0f} {state}" for state in states)
    age = now.total("warmline_engine_heartbeat_age_seconds")
    late = f"; [red]no sign of life for {age:.0f} s[/]" if age > 2 else ""
    grid.add_row("sequences", engine + late)
    blocks = now.by("warmline_engine_kv_blocks", "state")
    grid.add_row("KV cache", _shares({name: blocks.get(name, 0.0) for name in ("used", "cached", "free")}))
    lag = recent.distribution("warmline_event_loop_lag_seconds")
    stalls = recent.total("warmline_event_loop_stalls_total")
    grid.add_row(
        "event loop", f"late by {_time(lag.quantile(0.99))} at the 99th percentile, {stalls:.0f} times over 5 ms"
    )
    return grid


def _resumes(now: Figures, recent: Figures) -> str:
    """What waits for another socket, and how resumes came out; nothing where there is neither."""
    parked, outcomes = now.total("warmline_sessions_parked"), recent.by("warmline_session_resumes_total", "outcome")
    said = [f"{parked:.0f} without a socket"] if parked else []
    said += [f"{count:.0f} {escape(outcome.replace('_', ' '))}" for outcome, count in outcomes.items() if count]
    return "".join(f", {part}" for part in said)


def _requests(recent: Figures, seconds: float | None) -> RenderableType | None:
    ended = recent.by("warmline_requests_total", "kind")
    table = _table("requests", "ended", "a second", "cut", "failed")
    for name in ("first text", "a token", "whole"):
        table.add_column(f"{name}: p50", justify="right")
        table.add_column("p95", justify="right")
    for kind, count in ended.items():
        if not count:
            continue
        outcomes = recent.by("warmline_requests_total", "outcome", kind=kind)
        failed = outcomes.get("error", 0.0)
        cut = count - failed - outcomes.get("stop", 0.0) - outcomes.get("length", 0.0)
        rate = "" if seconds is None else f"{count / seconds:.2f}"
        spreads = (recent.distribution(name, kind=kind) for name in (_TTFT, _TPOT, _WHOLE))
        times = [_time(spread.quantile(part)) for spread in spreads for part in (0.5, 0.95)]
        table.add_row(escape(kind), f"{count:.0f}", rate, f"{cut:.0f}", f"{failed:.0f}", *times)
    return table if table.row_count else None


def _hops(recent: Figures) -> RenderableType | None:
    names = [name.replace("_", ".", 1) for name in HOPS]
    spreads = {name: recent.distribution("warmline_hop_seconds", hop=name) for name in names}
    whole = sum(spread.seconds for spread in spreads.values())
    if not whole:
        return None
    table = _table("hops", "p50", "p95", "mean", "of the time")
    table.add_column("", justify="left")
    for name, spread in spreads.items():
        share = spread.seconds / whole
        table.add_row(name, *_row(spread), f"{share:.1%}", _bar(share))
    return table


def _row(spread: Distribution) -> tuple[str, str, str]:
    return _time(spread.quantile(0.5)), _time(spread.quantile(0.95)), _time(spread.mean)


def _tokens(recent: Figures, seconds: float | None) -> RenderableType | None:
    tokens = recent.by("warmline_tokens_total", "kind")
    prompt = {name: tokens.get(name, 0.0) for name in ("warmed", "cached", "computed")}
    output = tokens.get("output", 0.0)
    if not output and not any(prompt.values()):
        return None
    grid = Table.grid(padding=(0, 2))
    grid.add_row("[bold]prompts[/]", f"{sum(prompt.values()):.0f} tokens: {_shares(prompt)}")
    rate = "" if seconds is None else f", {output / seconds:.0f} a second"
    grid.add_row("[bold]output[/]", f"{output:.0f} tokens{rate}")
    return grid


def _drafts(recent: Figures) -> RenderableType | None:
    proposed = recent.by("warmline_draft_tokens_total", "source", outcome="proposed")
    accepted = recent.by("warmline_draft_tokens_total", "source", outcome="accepted")
    table = _table("drafts by source", "proposed", "accepted", "")
    table.add_column("", justify="left")
    for source, count in proposed.items():
        if count:
            stood = accepted.get(source, 0.0)
            table.add_row(escape(source), f"{count:.0f}", f"{stood:.0f}", f"{stood / count:.0%}", _bar(stood / count))
    return table if table.row_count else None


def _refusals(recent: Figures) -> RenderableType | None:
    refused = recent.by("warmline_refused_messages_total", "code")
    for code, count in recent.by("warmline_refused_http_requests_total", "code").items():
        refused[code] = refused.get(code, 0.0) + count
    said = ", ".join(f"{escape(code)} {count:.0f}" for code, count in refused.items() if count)
    scopes = recent.by("warmline_limited_total", "scope")
    limits = {
        f"{scope}.{limit}": count
        for scope in scopes
        for limit, count in recent.by("warmline_limited_total", "limit", scope=scope).items()
    }
    limited = ", ".join(f"{escape(limit)} {count:.0f}" for limit, count in limits.items() if count)
    lines = [("refused", said), ("by limits", limited)]
    found = "\n".join(f"[bold]{name}[/]  [yellow]{text}[/]" for name, text in lines if text)
    return Text.from_markup(found) if found else None


def _table(title: str, *columns: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(title, no_wrap=True)
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    return table


def _shares(amounts: dict[str, float]) -> str:
    whole = sum(amounts.values())
    return ", ".join(f"{name} {amount / whole:.0%}" if whole else f"{name} 0" for name, amount in amounts.items())


def _bar(share: float) -> str:
    """A bar, of eighths of a character."""
    eighths = round(min(max(share, 0.0), 1.0) * _BAR * 8)
    full, rest = divmod(eighths, 8)
    return "█" * full + ("▏▎▍▌▋▊▉"[rest - 1] if rest else "")


def _time(seconds: float | None) -> str:
    """With three digits or so, in the unit that suits."""
    if seconds is None:
        return "-"
    if seconds < 1e-3:
        return f"{seconds * 1e6:.0f} us"
    return f"{seconds * 1e3:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"
