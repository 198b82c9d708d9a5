"""Tokens of records, with a tokenizer that has one token per byte."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import msgspec
import pytest
from warmline.engine import Tokenizer

from tools.edit_model.encode import Encoded, RecordEncoder, cut_after_changes
from tools.edit_model.record import CompletionRecord, EditRecord

MARKS = {"<|im_end|>": 1002, "<jupyter_text>": 1012, "<jupyter_code>": 1013, "<jupyter_output>": 1014}


def encode(text: str) -> list[int]:
    """One token per byte, except that a newline and the blanks after it are one, as merges make them."""
    tokens = []
    data = text.encode()
    position = 0
    while position < len(data):
        end = position + 1
        if data[position] == 10:
            while end < len(data) and data[end] == 32:
                end += 1
        tokens.append(data[position] if end == position + 1 else 2000 + end - position)
        position = end
    return tokens


def token_bytes(token: int) -> bytes:
    """What `encode` made a token of."""
    return bytes((token,)) if token < 256 else b"\n" + b" " * (token - 2001)


def decoded(tokens: list[int]) -> str:
    """The text of tokens, marks by name."""
    names = {number: name for name, number in MARKS.items()}
    return b"".join(names[t].encode() if t in names else token_bytes(t) for t in tokens).decode()


@pytest.fixture
def encoder() -> RecordEncoder:
    """An encoder without a chat template."""
    tokenizer = SimpleNamespace(
        encode=encode,
        encode_template=lambda text: [MARKS[text]] if text in MARKS else encode(text),
        token_bytes=token_bytes,
        bos_id=None,
        adds_bos=False,
        word_ends="",
        bos_token="",
        eos_token="",
        chat_template=None,
    )
    return RecordEncoder(cast(Tokenizer, tokenizer))


EDIT = EditRecord(
    id="1",
    split="train",
    language="python",
    kind="two-edits",
    category="semantic",
    package="p",
    path="a.py",
    instructions=["rename a to b", "and c to d"],
    prefix="import os\n\n",
    before="def f():\n    a = 1\n    c = 2\n",
    after="def f():\n    b = 1\n    d = 2\n",
    suffix="\nx = 1\n",
)


def test_an_edit_is_laid_out_as_when_serving(encoder: RecordEncoder) -> None:
    """Context, range and all instructions are in the prompt; the answer ends with the fence and the end token."""
    encoded = encoder.encode(EDIT)
    prompt = decoded(encoded.prompt)
    assert prompt.startswith("Code before:\n```python\nimport os\n\n```\n\nCode after:\n```python\n\nx = 1\n```\n\n")
    assert prompt.endswith(
        "Code to rewrite:\n```python\ndef f():\n    a = 1\n    c = 2\n```\n\n"
        "Instruction: rename a to b\nInstruction: and c to d\n\n```python\n"
    )
    assert decoded(encoded.answer) == "def f():\n    b = 1\n    d = 2\n```<|im_end|>"
    assert encoded.given == 0


def test_given_tokens_lie_within_what_was_accepted(encoder: RecordEncoder) -> None:
    """A token that goes beyond the accepted lines, here a newline with the next line's indent, isn't given."""
    accepted = "def f():\n    b = 1\n"
    encoded = encoder.encode(msgspec.structs.replace(EDIT, accepted=accepted))
    assert decoded(encoded.answer[: encoded.given]) == "def f():\n    b = 1"


def test_a_range_within_a_line_gets_a_newline_before_the_fence(encoder: RecordEncoder) -> None:
    """The answer's text stands alone in its lines though the range doesn't."""
    record = msgspec.structs.replace(
        EDIT, instructions=["double it"], prefix="x = ", before="1", after="2", suffix="\n"
    )
    assert decoded(encoder.encode(record).answer) == "2\n```<|im_end|>"


def test_tsx_is_named_as_editors_name_it(encoder: RecordEncoder) -> None:
    """The fence carries the language identifier an editor sends."""
    prompt = decoded(encoder.encode(msgspec.structs.replace(EDIT, language="tsx")).prompt)
    assert prompt.endswith("```typescriptreact\n")


def test_a_completion_has_its_suffix_first(encoder: RecordEncoder) -> None:
    """What is typed is appended to the prompt, so the suffix comes before the prefix."""
    record = CompletionRecord(
        id="1", split="train", language="python", kind="fill-line", package="p", path="a.py",
        prefix="def f():\n    re", suffix="\n\nx = 1\n", middle="turn 1",
    )  # fmt: skip
    encoded = encoder.encode(record)
    assert decoded(encoded.prompt) == (
        "<jupyter_text><jupyter_code>def f():\n<jupyter_output>\n\nx = 1\n<jupyter_code>    re"
    )
    assert decoded(encoded.answer) == "turn 1<|im_end|>"


def test_a_completion_at_the_end_has_the_same_marks(encoder: RecordEncoder) -> None:
    """With nothing between them, so that the first text after the cursor leaves what is before it in its place."""
    record = CompletionRecord(
        id="1", split="train", language="python", kind="continue", package="p", path="a.py",
        prefix="x = ", suffix="", middle="1",
    )  # fmt: skip
    expected = "<jupyter_text><jupyter_code><jupyter_output><jupyter_code>x = "
    assert decoded(encoder.encode(record).prompt) == expected


def test_what_is_copied_after_the_last_change_can_be_cut() -> None:
    """Some of it is kept, the end goes with the rest."""
    tail = list(range(100, 200))
    cut = cut_after_changes(Encoded([1], [5, 9, *tail, 2], 0, (5, 8, *tail)), 24)
    assert cut.cut and cut.answer == [5, 9, *tail[:24]]
    assert cut_after_changes(cut, 24) is cut
    deleted = cut_after_changes(Encoded([1], [5, *tail, 2], 0, (5, 8, *tail)), 24)
    assert deleted.answer == [5, *tail[:24]]


def test_answers_with_nothing_to_cut_stay_whole() -> None:
    """Completions, answers that change nothing, and those that change near their end; what was given stays, too."""
    tail = list(range(100, 200))
    for encoded in (
        Encoded([1], [*tail, 2]),
        Encoded([1], [*tail, 2], 0, tuple(tail)),
        Encoded([1], [*tail, 9, 2], 0, tuple(tail)),
    ):
        assert cut_after_changes(encoded, 24) is encoded
    given = cut_after_changes(Encoded([1], [9, *tail, 2], 50, (8, *tail)), 24)
    assert len(given.answer) == 74
