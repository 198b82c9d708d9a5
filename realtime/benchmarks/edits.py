"""What `warmline bench edits` replays: a file's edits, and files of 200 lines of which three change."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from warmline.engine import EditReplay, EngineOptions, Tokenizer, run_edits_benchmark

from ..evaluation.planned import plan_if_it_fits
from ..evaluation.records import EditRecord
from ..prompting.prompts import PromptBuilder
from .copying import copies

LONG_LINES: Final = 200
_CHANGED: Final = (50, 100, 150)
"""The lines of a long file that change: the next from each with code on it."""
_CODE: Final = 20
"""Characters of a line that says something."""
_LONG_FILES: Final = 3


def run(
    options: EngineOptions,
    records: Sequence[EditRecord],
    long_from: Sequence[EditRecord],
    rounds: int,
    json: Path | None,
    llama_server: Path | None = None,
) -> None:
    """Replay ``records``, and long files made of the code of ``long_from``; generate them beside ``llama_server``.

    Raises:
        EngineError: the model or llama-server can't be run.

    """

    def plan(tokenizer: Tokenizer, max_tokens: int) -> list[EditReplay]:
        prompts = PromptBuilder(tokenizer, max_tokens)
        long = f"{LONG_LINES} lines, {len(_CHANGED)} changed"
        named = [("edits", record) for record in records] + [(long, record) for record in long_files(long_from)]
        return [replay for name, record in named if (replay := _planned(prompts, name, record)) is not None]

    beside = None if llama_server is None else (copies(records), llama_server)
    run_edits_benchmark(options, plan, rounds, json, beside)


def long_files(records: Sequence[EditRecord]) -> list[EditRecord]:
    """Edits of whole files of `LONG_LINES` lines, each of the code of one language, the largest languages first.

    Each changed line becomes another line of that code, which the file hasn't, with its indentation.
    """
    by_language: dict[str, list[str]] = {}
    for record in records:
        by_language.setdefault(record.language, []).extend(record.before.splitlines(keepends=True))
    files = []
    for language, lines in sorted(by_language.items(), key=lambda item: (-len(item[1]), item[0])):
        before, rest = lines[:LONG_LINES], lines[LONG_LINES:]
        shown = {line.strip() for line in before}
        new = [
            line.strip() for line in dict.fromkeys(rest) if len(line.strip()) > _CODE and line.strip() not in shown
        ]
        if len(before) < LONG_LINES or len(new) < len(_CHANGED):
            continue
        after = list(before)
        for least, line in zip(_CHANGED, new, strict=False):
            number = next((n for n in range(least, LONG_LINES) if len(before[n].strip()) > _CODE), least)
            indentation = after[number][: len(after[number]) - len(after[number].lstrip(" \t"))]
            after[number] = f"{indentation}{line}\n"
        files.append(
            EditRecord(
                id=f"{LONG_LINES} lines of {language}",
                language=language,
                kind="long",
                instructions=["Change three lines"],
                prefix="",
                before="".join(before),
                after="".join(after),
                suffix="",
            )
        )
    return files[:_LONG_FILES]


def _planned(prompts: PromptBuilder, group: str, record: EditRecord) -> EditReplay | None:
    """The edit's tokens as the service makes them; None if it has no room or nothing to say."""
    plan = plan_if_it_fits(prompts, record, max(len(record.before), len(record.after)), replayed=True)
    return None if plan is None else EditReplay(group, plan.prompt, plan.draft or [], plan.replay or [])
