"""How long single pieces of work hold the gateway's event loop, in the cases that take longest.

    python -m tools.loop_holds

Milliseconds of the thread's own processor time, the least of several runs, so that other work on the machine doesn't
count. The documents have a million characters.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from warmline.realtime.document import Document
from warmline.realtime.edits import EditAligner
from warmline.realtime.limits import Limits
from warmline.realtime.protocol import Change, Open, TextEdit
from warmline.realtime.text import content_hash, utf16_length

CHARS: Final = 1_000_000
RUNS: Final = 5
TEXTS: Final = {"ASCII": "value = 1;\n", "accents": "value = é;\n", "emoji": "value = 🎉;\n"}

Case = Callable[[], float]


def held(work: Callable[[], object]) -> float:
    """Milliseconds of processor time."""
    start = time.thread_time_ns()
    work()
    return (time.thread_time_ns() - start) / 1e6


def changing(text: str, edits: list[TextEdit], result: str | None = None) -> Case:
    """A change of a document just opened, and finding a place in it afterwards; its hash is that of the result."""
    hashed = None if result is None else content_hash(result)

    def case() -> float:
        document = Document(Open("file:///a", 1, "python", text), Limits())
        document.range(document.length // 2, document.length // 2)

        def work() -> None:
            document.change(Change("file:///a", 1, 2, edits, None, None, hashed), Limits())
            document.range(document.length, document.length)

        return held(work)

    return case


def changes() -> Iterator[tuple[str, Case]]:
    """Changes of large documents."""
    for name, line in TEXTS.items():
        text = line * (CHARS // len(line))
        length, width = utf16_length(text), utf16_length(line)
        key = [TextEdit(length - 1, length - 1, "x")]
        yield f"a key behind everything, {name}", changing(text, key)
        yield f"a key with the content hash, {name}", changing(text, key, text[:-1] + "x\n")
        places = range(0, length - length % width, length // width // 4096 * width)[:4096]
        replaced = [TextEdit(place, place + 5, "total") for place in places]
        yield f"4,096 places replaced, {name}", changing(text, replaced[::-1])
        shuffled = random.Random(1).sample(replaced, len(replaced))
        yield f"512 places in no order, {name}", changing(text, shuffled[:512])


def rewriting(before: str, pieces: Iterable[str]) -> Case:
    """The longest step of an edit whose new text comes in pieces."""
    parts = list(pieces)

    def case() -> float:
        aligner: list[EditAligner] = []
        longest = held(lambda: aligner.append(EditAligner(before)))
        for part in parts:
            longest = max(longest, held(lambda part=part: aligner[0].feed(part)))  # type: ignore[misc]
        return max(longest, held(lambda: aligner[0].finish(True)))

    return case


def edits() -> Iterator[tuple[str, Case]]:
    """Edits of long lines, and of many."""
    source = random.Random(2)
    for size in (4_000, 7_500, 60_000):
        line = "".join(source.choices("abcdefgh ,()", k=size))
        changed = "".join("z" if source.random() < 0.1 else letter for letter in line)
        yield f"one line of {size:,} characters", rewriting(f"{line}\nend\n", [f"{changed}\n", "end\n"])
    lines = ["".join(source.choices("abcdefgh ,()", k=60)) + "\n" for _ in range(1000)]
    others = ["".join(source.choices("abcdefgh ,()", k=60)) + "\n" for _ in range(1000)]
    yield "1,000 lines, all of them other ones", rewriting("".join(lines), others)
    yield (
        "1,000 lines, half of each changed",
        rewriting("".join(lines), [old[:30] + new[30:] for old, new in zip(lines, others, strict=True)]),
    )
    yield "1,000 lines for one", rewriting("".join(lines), [lines[500].replace("a", "z")])


def main() -> None:
    """Print the table."""
    for name, case in [*changes(), *edits()]:
        print(f"{name:44}{min(case() for _ in range(RUNS)):8.2f} ms")


if __name__ == "__main__":
    main()
