"""The examples that the README shows come out as it shows them."""

from __future__ import annotations

import asyncio
import html
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from warmline.client import connect
from warmline.engine.kernels.cpu import EIGHT_BIT, exact_levels
from warmline.realtime.cli.source_file import SourceFile

DEMO = Path(__file__).parents[2] / "docs" / "demo"
SHOWN = tomllib.loads((DEMO / "examples.toml").read_text())
EXAMPLES: list[dict[str, Any]] = SHOWN["edit"]
(COMPLETION,) = SHOWN["completion"]
PICTURED = [example for example in EXAMPLES if example.get("picture")]


def region(example: dict[str, Any]) -> tuple[str, int, int]:
    """The file's text and the indices of the example's lines."""
    text = (DEMO / example["file"]).read_text()
    first, last = map(int, example["lines"].split(":"))
    lines = text.splitlines(keepends=True)
    return text, len("".join(lines[: first - 1])), len("".join(lines[:last]))


@pytest.fixture(scope="module")
def answers(default_model: Path, serve: Callable[..., Any]) -> dict[str, str]:
    """What `warmline serve` makes of each example, by instruction; of the completion, by its place."""
    del default_model  # is only to be here

    async def ask(url: str) -> dict[str, str]:
        found = {}
        async with connect(url) as session:
            for number, example in enumerate(EXAMPLES):
                text, start, end = region(example)
                language = {"py": "python", "ts": "typescript"}[Path(example["file"]).suffix[1:]]
                document = await session.open(f"file:///{number}", text, language)
                result = await session.edit(document, (start, end), example["instruction"]).result()
                assert result.reason == "stop"
                found[example["instruction"]] = result.text
            source = SourceFile.read(DEMO / COMPLETION["file"])
            document = await session.open(source.uri, source.text, source.language)
            position = source.index(*map(int, COMPLETION["place"].split(":")))
            completed = await session.complete(document, position, max_tokens=64).result()
            found[COMPLETION["place"]] = completed.text
        return found

    with serve() as server:
        return asyncio.run(ask(server.url))


needs_exact_products = pytest.mark.skipif(
    exact_levels() != EIGHT_BIT, reason="activations have 7 bits here, so the model is less exact than what is shown"
)


@needs_exact_products
@pytest.mark.parametrize("example", EXAMPLES, ids=[example["instruction"] for example in EXAMPLES])
def test_the_default_model_edits_as_shown(answers: dict[str, str], example: dict[str, Any]) -> None:
    """To the letter."""
    assert answers[example["instruction"]] == example["after"]


def test_nearly_all_edits_are_as_shown_on_any_machine(answers: dict[str, str]) -> None:
    """Where the processor's products have fewer bits, too."""
    others = [one["instruction"] for one in EXAMPLES if answers[one["instruction"]] != one["after"]]
    assert len(others) <= len(EXAMPLES) // 5, others


@needs_exact_products
def test_the_default_model_completes_as_shown(answers: dict[str, str]) -> None:
    """The body of a function, from the one beside it; the README names the place."""
    assert answers[COMPLETION["place"]] == COMPLETION["text"]
    readme = (DEMO.parent.parent / "README.md").read_text()
    assert f"warmline complete docs/demo/{COMPLETION['file']}:{COMPLETION['place']}\n" in readme


def picture() -> str:
    """The text in the picture, a line a line."""
    svg = (DEMO / "edit.svg").read_text()
    lines: dict[float, str] = {}
    for x, y, text in re.findall(r'<text[^>]* x="([\d.]+)" y="([\d.]+)"[^>]*>([^<]*)</text>', svg):
        del x
        lines[float(y)] = lines.get(float(y), "") + html.unescape(text).replace("\xa0", " ")
    return "\n".join(line.rstrip() for _, line in sorted(lines.items()))


@pytest.mark.parametrize("example", PICTURED, ids=[example["instruction"] for example in PICTURED])
def test_the_picture_shows_these_edits(example: dict[str, Any]) -> None:
    """The command and each line that comes or goes."""
    shown = picture()
    assert f'"{example["instruction"]}"' in shown
    text, start, end = region(example)
    before, after = text[start:end].splitlines(), example["after"].splitlines()
    for sign, lines, others in (("-", before, after), ("+", after, before)):
        for line in lines:
            if line.strip() and line not in others:
                assert re.search(rf"^ *\d* *{re.escape(sign)} {re.escape(line)}$", shown, re.M), (sign, line)
