"""Builders that the tests of prompts share: documents, requests, and tokenizers whose tokens are plain."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from hypothesis import strategies as st
from warmline.realtime.documents.document import Document
from warmline.realtime.limits import Limits
from warmline.realtime.prompting.fill_in_middle import FillForm
from warmline.realtime.prompting.prompts import PromptBuilder
from warmline.realtime.protocol import Open

CONTEXT = 8192
TAUGHT = [
    FillForm.taught(("<jupyter_text>", "<jupyter_code>")),
    FillForm.taught(("<jupyter_text>", "<jupyter_code>", "<jupyter_output>")),
]
CODE = st.lists(
    st.text(st.sampled_from("ab_1 é漢🎉\t`('\r:"), max_size=20)
    | st.sampled_from(["def f(x):", "    return x", "\r"]),
    max_size=30,
).map("\n".join)


class ByteTokenizer:
    """One token for each byte, so that sizes are plain; template text is marked by negative numbers."""

    bos_id: int | None = 300
    adds_bos = False
    bos_token = "<s>"
    eos_token = "</s>"
    word_ends = ""

    def __init__(self, chat_template: str | None = None) -> None:
        self.chat_template = chat_template
        self.encoded = 0  # characters so far

    def encode(self, text: str) -> list[int]:
        self.encoded += len(text)
        return list(text.encode())

    def encode_template(self, text: str) -> list[int]:
        return [-byte for byte in text.encode()]


class Whole:
    """A tokenizer of which it isn't known where a text can be cut."""

    word_ends = ""

    def __init__(self, tokenizer) -> None:
        self._tokenizer = tokenizer

    def __getattr__(self, name: str):
        return getattr(self._tokenizer, name)


class Counting(Whole):
    """Counts the characters that a tokenizer is given."""

    def __init__(self, tokenizer) -> None:
        super().__init__(tokenizer)
        self.word_ends = tokenizer.word_ends
        self.encoded = 0

    def encode(self, text: str) -> list[int]:
        self.encoded += len(text)
        return self._tokenizer.encode(text)


def document(text: str, language: str = "python") -> Document:
    return Document(Open("file:///a", 1, language, text), Limits())


def complete(builder: PromptBuilder, text: str, index: int | None = None, max_tokens: int = 100, **fields):
    at = len(text) if index is None else index
    held = document(text, fields.get("language", ""))
    return builder.complete(held, at, max_tokens, fields.get("stop", ()), fields.get("replay")).plan()


def edit(builder: PromptBuilder, text: str, start: int, end: int, instruction: str = "do it", **fields):
    return builder.edit(
        document(text, fields.get("language", "python")),
        start,
        end,
        instruction,
        fields.get("max_tokens", 512),
        fields.get("stop", ()),
        fields.get("replay"),
        fields.get("accepted", ""),
        fields.get("remaining"),
    ).plan()


@pytest.fixture(scope="module")
def real(tokenizer):
    """The default model's prompts, with a way to read them."""
    return SimpleNamespace(builder=PromptBuilder(tokenizer, CONTEXT), read=tokenizer.decode, encode=tokenizer.encode)
