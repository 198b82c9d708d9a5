"""What the command line shows of a request: a diff that grows, and where the time went."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from rich.console import Console, Group, RenderableType
from rich.text import Text
from warmline.client import ClockSample, EditResult, Result

from .line_diff import DiffLine, LineDiff, near_changes
from .source_file import counted

_STYLES: Final = {" ": "", "-": "red", "+": "green", ".": "dim"}
_BAR: Final = 30


def printable(text: str) -> str:
    """Text that can't move the cursor or change colours: control characters become visible ones. Line ends stay."""
    return re.sub(r"[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]|\r(?!\n)", lambda match: _picture(ord(match[0])), text)


class PrintableStream:
    """`printable` for a text that comes in pieces: a line end may be divided among two."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, piece: str) -> str:
        """What can be shown once this piece is there."""
        text = self._held + piece
        self._held = "\r" if text.endswith("\r") else ""
        return printable(text.removesuffix("\r"))

    def finish(self) -> str:
        """What remains to be shown at the end."""
        held, self._held = self._held, ""
        return printable(held)


def _picture(code: int) -> str:
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else "\ufffd"


def diff_line(line: DiffLine | None, width: int) -> Text:
    """A line of a diff with its number; None is a gap."""
    if line is None:
        return Text(f"{'':{width}} \u22ee", style="dim")
    number = "" if line.number is None else line.number
    sign = " " if line.sign == "." else line.sign
    return Text(
        f"{number:>{width}} {sign} {printable(line.text).expandtabs(4)}",
        style=_STYLES[line.sign],
        no_wrap=True,
        overflow="ellipsis",
    )


def growing_diff(diff: LineDiff, height: int) -> RenderableType:
    """As much of a diff as fits, around the place that was reached last."""
    lines = diff.lines()
    width = len(str(max((line.number or 0 for line in lines), default=0)))
    reached = next((index for index, line in enumerate(lines) if line.sign == "."), len(lines))
    first = max(min(reached - max(height * 2 // 3, 1), len(lines) - height), 0)
    return Group(*(diff_line(line, width) for line in lines[first : first + height]))


def print_diff(console: Console, diff: LineDiff) -> None:
    """Print the changed lines of a finished diff."""
    lines = diff.lines()
    width = len(str(max((line.number or 0 for line in lines), default=0)))
    if all(line.sign == " " for line in lines):
        console.print("nothing changes", style="dim")
        return
    for line in near_changes(lines):
        console.print(diff_line(line, width), soft_wrap=True)


def print_summary(console: Console, result: Result, clock: ClockSample | None = None) -> None:
    """Print what a request cost, in a few sentences.

    ``clock`` is the reading of the server's clock by which the network's two ways were told apart.
    """
    for sentence in _sentences(result, clock):
        console.print(sentence, highlight=False, soft_wrap=True)


def print_hops(console: Console, result: Result) -> None:
    """Print where a request's time went, a line for each hop, however narrow the console."""
    timing = result.timing
    hops = {name: f"{microseconds:,} us" for name, microseconds in timing.hops.items()}
    hops["end to end"] = f"{timing.end_to_end:,} us"
    names, numbers = max(map(len, hops)), max(map(len, hops.values()))
    room = min(console.width - names - numbers - 3, _BAR) if console.is_terminal else 0
    for name, number in hops.items():
        share = timing.hops.get(name, 0) / max(timing.end_to_end, 1)
        line = Text(f"{name:{names}} {number:>{numbers}}", no_wrap=True, overflow="ignore")
        if bar := "\u2588" * round(room * share):
            line.append(f" {bar}", "cyan")
        console.print(line, soft_wrap=True)
    console.print()


def _sentences(result: Result, clock: ClockSample | None) -> Iterator[str]:
    receipt, timing = result.receipt, result.timing
    piece = "operation" if isinstance(result, EditResult) else "text"  # which has to wait for more than one token
    whole, split = timing.end_to_end / 1000, ""
    if result.ttft is not None:  # both by this machine's clock, so that they add up
        until_first = result.ttft / 1000
        rest = round(whole, 1) - round(until_first, 1)
        split = f": {until_first:.1f} ms to the first {piece}, {rest:.1f} ms from there to the end"
    yield (
        f"{result.reason}: {counted(receipt.output_tokens, 'token')} in {whole:.1f} ms "
        f"({result.tokens_per_second:,.0f} tokens/s){split}"
    )
    passes = f"{receipt.forward_passes} forward pass{'' if receipt.forward_passes == 1 else 'es'}"
    proposed = sum(draft.proposed for draft in receipt.drafts)
    accepted = sum(draft.accepted for draft in receipt.drafts)
    yield (
        f"prompt {counted(receipt.prompt_tokens, 'token')} "
        f"({receipt.warmed_tokens} warmed ahead, {receipt.cached_tokens} cached), "
        f"{passes}, {accepted} of {counted(proposed, 'drafted token')} accepted"
    )
    if clock is not None:
        yield (
            f"network {timing.net_up + timing.net_down:,} us there and back, told apart by the server's clock, "
            f"which is {clock.offset:+,.0f} us from this one's (to {clock.delay / 2:,.0f} us)"
        )
