"""How much of its prompt each key leaves to be computed, typing files of the Python standard library.

    python -m tools.typing_replay [--files 12] [--keys 2000] [--rows]

Nothing is computed: prompts are compared with the one of the key before, and (behind the arrow) also with what is
warmed ahead of the key that moves a window. A line for each way in which a model may be shown the text around the
cursor, and for typing in the middle and at the end of a file. With ``--rows`` the files are made up of lines that
begin alike: SQL inserts, rows of GeoJSON, the same objects over several lines, registrations.
"""

from __future__ import annotations

import random
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from statistics import mean
from typing import Annotated, Final, NamedTuple

import typer
from warmline.engine import load_tokenizer
from warmline.engine.loading.catalog import fetch_model
from warmline.realtime.documents.document import Document
from warmline.realtime.documents.text import utf16_length
from warmline.realtime.limits import Limits
from warmline.realtime.prompting.fill_in_middle import FillForm
from warmline.realtime.prompting.prompts import PromptBuilder
from warmline.realtime.protocol import Change, Open, TextEdit

FORMS: Final[dict[str, FillForm | None]] = {
    "what is before": None,
    "what is after first": FillForm.taught(("<jupyter_text>", "<jupyter_code>")),
    "what is near last": FillForm.taught(("<jupyter_text>", "<jupyter_code>", "<jupyter_output>")),
}
CONTEXT: Final = 8192
TAIL: Final = 32
"""Tokens: a key that leaves no more to compute is warm."""
SMALLEST: Final = 60_000
ROWS: Final = (
    "INSERT INTO customers (identifier, first_name, last_name, city, postal_code, email) "
    "VALUES ({number}, 'name{one}', 'of{two}', 'city{three}', {two}, 'user{number}@example.org');\n",
    '    {{"type": "Feature", "geometry": {{"type": "Point", "coordinates": [{three}.{one}, {three}.{two}]}}, '
    '"properties": {{"name": "stop {number}"}}}},\n',
    '  {{\n    "type": "Feature",\n    "geometry": {{\n      "type": "Point",\n      "coordinates": [\n'
    "        {three}.{one},\n        {three}.{two}\n      ]\n    }}\n  }},\n",
    'application.router.register_request_handler(method="GET", version=2, '
    'path="/items/{one}", handler=on_{number})\n',
)
ROWS_CHARS: Final = 2 * SMALLEST


def rows(form: str) -> str:
    """So many characters of lines, or groups of them, that differ in their numbers."""
    lines: list[str] = []
    size = 0
    while size < ROWS_CHARS:
        number = len(lines)
        lines.append(
            form.format(number=number, one=number * 7919 % 10_007, two=number * 31 % 9973, three=number * 37 % 89)
        )
        size += len(lines[-1])
    return "".join(lines)


def library(files: int) -> list[str]:
    """So many large files of the standard library, the same each time."""
    found = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))
    texts = [path.read_text(encoding="utf-8") for path in found if path.stat().st_size > SMALLEST]
    return random.Random(1).sample(texts, min(files, len(texts)))


class Key(NamedTuple):
    """What a key costs, in tokens.

    Attributes:
        prompt: all of its prompt.
        left: those behind what it shares with the key before.
        left_ahead: the same if the next window was computed ahead.
        ahead: what that took after this key.
    """

    prompt: int
    left: int
    left_ahead: int
    ahead: int


def typed(builder: PromptBuilder, text: str, at: int, keys: int, cut: int) -> Iterator[Key]:
    """What each key costs."""
    document = Document(Open("file:///a.py", 0, "python", text[:at] + text[cut:]), Limits())
    before = builder.complete(document, at, 100, (), None).plan().prompt
    place = utf16_length(text[:at])
    following: list[int] = []
    for key in range(keys):
        letter = text[at + key]
        document.change(Change("file:///a.py", key, key + 1, [TextEdit(place, place, letter)]), Limits())
        place += utf16_length(letter)
        prompt = builder.complete(document, at + key + 1, 100, (), None).plan().prompt
        left = len(prompt) - shared(before, prompt)
        left_ahead = min(left, len(prompt) - shared(following, prompt))
        layout = builder.warm_ahead(document, at + key + 1)
        ahead = 0
        if layout is not None:
            next_prompt = layout.plan().prompt
            ahead = len(next_prompt) - max(shared(following, next_prompt), shared(prompt, next_prompt))
            following = next_prompt
        yield Key(len(prompt), left, left_ahead, ahead)
        before = prompt


def shared(one: list[int], other: list[int]) -> int:
    """How many tokens two prompts begin with that are the same."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((index for index, (old, new) in pairs if old != new), min(len(one), len(other)))


def moved(builder: PromptBuilder, text: str, at: int) -> float:
    """The part of a prompt in the middle of a file that stays when a line is added at its top."""
    line = "import warmline\n"
    prompts = [
        builder.complete(Document(Open("file:///a.py", 0, "python", shown), Limits()), index, 100, (), None)
        .plan()
        .prompt
        for shown, index in ((text, at), (line + text, at + len(line)))
    ]
    return shared(*prompts) / len(prompts[1])


def main(
    files: Annotated[int, typer.Option(help="How many files of the library.")] = 12,
    keys: Annotated[int, typer.Option(help="Keys typed into each.")] = 2000,
    alike: Annotated[bool, typer.Option("--rows", help="Type lines that begin alike, not the library.")] = False,
) -> None:
    """Print the table."""
    tokenizer = load_tokenizer(fetch_model(quiet=True))
    texts = [rows(form) for form in ROWS] if alike else library(files)
    print(f"{'':34}{'warm keys':>20}{'tokens a key':>16}{'cold per 1,000':>18}{'ahead':>8}{'prompt':>8}")
    for name, form in FORMS.items():
        builder = PromptBuilder(tokenizer, CONTEXT, form)
        for where, part in (("in the middle", 0.5), ("at the end", 1.0)):
            costs: list[Key] = []
            for text in texts:
                at = int((len(text) - keys) * part)
                costs += typed(builder, text, at, keys, at + keys)
            lefts = [(key.prompt, key.left) for key in costs], [(key.prompt, key.left_ahead) for key in costs]
            warm = " → ".join(f"{mean(left <= TAIL for _, left in way):.2%}" for way in lefts)
            computed = " → ".join(f"{mean(left for _, left in way):.2f}" for way in lefts)
            cold = " → ".join(f"{mean(1000 * (left > size / 2) for size, left in way):.2f}" for way in lefts)
            ahead, size = mean(key.ahead for key in costs), mean(key.prompt for key in costs)
            print(f"{f'{name}, {where}':34}{warm:>20}{computed:>16}{cold:>18}{ahead:8.2f}{size:8.0f}")
        stays = mean(moved(builder, text, len(text) // 2) for text in texts)
        print(f"{f'{name}, a line added on top':34}{stays:11.0%} of the prompt stays")


if __name__ == "__main__":
    typer.run(main)
