"""A document's tokens are those of its text, however it came about, and cost what was changed."""

from __future__ import annotations

import itertools
import random
import threading

import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import models, normalizers, pre_tokenizers, trainers
from warmline.engine import Tokenizer
from warmline.engine.loading.tokenizer import SpecialTokens
from warmline.engine.loading.word_ends import PRE_TOKENIZERS
from warmline.realtime.documents import tokens as tokens_module
from warmline.realtime.documents.document import Document
from warmline.realtime.documents.text import utf16_length
from warmline.realtime.documents.tokens import DocumentTokens
from warmline.realtime.limits import Limits
from warmline.realtime.protocol import Change, Open, TextEdit

CODE = (
    "def mean(values):\r\n    return sum(values) / len(values)\n\n\nif x_1 == 22:\n\tprint('<tool_call> done', x)\n"
)
PIECES = st.one_of(
    st.sampled_from(CODE.split(" ")),
    st.sampled_from(
        [CODE, "\n", "\r\n", " ", "    ", "\t", "don't", "I'LL", "12345", "_", "foo(", "::", "é", "漢字"]
    ),
    st.sampled_from(
        ["🎉", "👩‍💻", "e\u0301", "=\u0338", "\u0301", "\u2028", "\x00", "<tool_call>", "</think>", "x" * 40]
    ),
    st.text(max_size=6),
)
TEXTS = (
    st.lists(PIECES, max_size=12).map("".join).filter(lambda text: not any("\ud800" <= c <= "\udfff" for c in text))
)


def trained(pre_tokenizer, normalizer=None, added=()) -> Tokenizer:
    """A small byte-level BPE tokenizer with merges of code."""
    made = tokenizers.Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizer
    made.normalizer = normalizer
    trainer = trainers.BpeTrainer(
        vocab_size=700, show_progress=False, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
    )
    made.train_from_iterator([CODE, CODE.replace("\r", ""), "漢字 é " * 5, "foo();\n  bar"] * 3, trainer)
    made.add_tokens(list(added))
    return Tokenizer(made, SpecialTokens(frozenset()))


def splits(name: str):
    cuts = [pre_tokenizers.Split(tokenizers.Regex(expression), "isolated") for expression in PRE_TOKENIZERS[name]]
    return pre_tokenizers.Sequence([*cuts, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


MADE = {
    "gpt-2": trained(pre_tokenizers.ByteLevel(add_prefix_space=False)),
    "llama3": trained(splits("llama3")),
    "qwen": trained(splits("qwen2"), normalizers.NFC(), ["<tool_call>", "</think>"]),
    "default": trained(splits("default")),
    # Of these it isn't known where text can be cut.
    "no pre-tokenizer": trained(None),
    "space in front": trained(pre_tokenizers.ByteLevel(add_prefix_space=True)),
}


@pytest.fixture(scope="module")
def all_tokenizers(tokenizer):
    """The default model's tokenizer, and others."""
    return {"default model": tokenizer, **MADE}


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    """Short texts have many pieces, too."""
    monkeypatch.setattr(tokens_module, "PIECE_CHARS", 8)
    monkeypatch.setattr(tokens_module, "_LONGEST", 12)


def lf(text: str) -> str:
    return text.replace("\r\n", "\n")


def whole(document: Document, tokenizer) -> list[int]:
    everything = 0, len(document.text)
    return document.tokens.view(tokenizer, document.text, everything).encode(everything)


@given(st.data())
def test_tokens_stay_those_of_the_whole_text(all_tokenizers, data):
    """Through any changes, asked for after some of them, by any tokenizer."""
    name = data.draw(st.sampled_from(sorted(all_tokenizers)))
    made = all_tokenizers[name]
    document = Document(Open("file:///a", 0, "python", data.draw(TEXTS)), Limits())
    for version in range(1, data.draw(st.integers(1, 12))):
        if data.draw(st.booleans()):
            assert whole(document, made) == made.encode(lf(document.text))
        edits = []
        text = document.text
        for _ in range(data.draw(st.sampled_from([0, 1, 1, 1, 2, 10]))):
            start = data.draw(st.integers(0, len(text)))
            end = data.draw(st.integers(start, min(len(text), start + data.draw(st.sampled_from([0, 1, 5, 100])))))
            inserted = data.draw(TEXTS)
            edits.append(TextEdit(utf16_length(text[:start]), utf16_length(text[:end]), inserted))
            text = text[:start] + inserted + text[end:]
        document.change(Change("file:///a", version - 1, version, edits), Limits())
        assert document.text == text
    assert whole(document, made) == made.encode(lf(document.text))


@given(st.data())
def test_any_part_has_the_tokens_of_its_own_text(all_tokenizers, data):
    """With strings before, between and after, as in a prompt."""
    made = all_tokenizers[data.draw(st.sampled_from(["default model", "llama3", "qwen", "no pre-tokenizer"]))]
    text = data.draw(TEXTS)
    held = DocumentTokens(len(text))
    spans = [tuple(sorted(data.draw(st.tuples(*[st.integers(0, len(text))] * 2)))) for _ in range(2)]
    before, between, after = data.draw(st.tuples(TEXTS, TEXTS, TEXTS))
    shown = [lf(text[start:end]) for start, end in spans]
    view = held.view(made, text, *spans)
    before, between, after = map(lf, (before, between, after))
    assert view.encode(spans[0]) == made.encode(shown[0])
    assert view.encode(before, spans[0], between, spans[1], after) == made.encode(
        before + shown[0] + between + shown[1] + after
    )


@given(TEXTS, TEXTS, st.data())
def test_a_view_keeps_its_version_of_the_text(tokenizer, text, inserted, data):
    """What is changed after it was made isn't in it, whether it was used before or not."""
    document = Document(Open("file:///a", 0, "python", text), Limits())
    everything = 0, len(text)
    view = document.tokens.view(tokenizer, text, everything)
    at = data.draw(st.integers(0, document.length).filter(lambda at: _is_between(text, at)))
    document.change(Change("file:///a", 0, 1, [TextEdit(at, at, inserted)]), Limits())
    assert whole(document, tokenizer) == tokenizer.encode(lf(document.text))
    assert view.encode(everything) == tokenizer.encode(lf(text))


def _is_between(text: str, offset: int) -> bool:
    return offset in {utf16_length(text[:index]) for index in range(len(text) + 1)}


class Counting:
    """Counts the characters that a tokenizer is given."""

    def __init__(self, tokenizer) -> None:
        self.word_ends = tokenizer.word_ends
        self.chars = 0
        self._tokenizer = tokenizer

    def encode(self, text: str) -> list[int]:
        self.chars += len(text)
        return self._tokenizer.encode(text)


def test_a_change_costs_what_it_touches(tokenizer, monkeypatch):
    """In a large file some hundred characters are tokenised again for each key, wherever it is."""
    monkeypatch.undo()
    text = "def function(argument):\n    return argument + 1\n\n\n" * 500
    counting = Counting(tokenizer)
    document = Document(Open("file:///a", 0, "python", text), Limits())
    assert whole(document, counting) == tokenizer.encode(text)
    assert counting.chars == len(text)
    places = random.Random(1).sample(range(len(text)), 20)
    for version, at in enumerate(places, 1):
        document.change(Change("file:///a", version - 1, version, [TextEdit(at, at, "x = 🎉")]), Limits())
        counting.chars = 0
        assert whole(document, counting) == tokenizer.encode(document.text)
        assert counting.chars <= 4 * 192
    view = document.tokens.view(counting, document.text, (0, document.length))
    assert view.pending(0, len(document.text)) <= 192


def test_what_nobody_asks_for_is_not_tokenised(tokenizer, monkeypatch):
    """A part in the middle of a large file costs its own size."""
    monkeypatch.undo()
    counting = Counting(tokenizer)
    text = "value = compute(value)\n" * 20_000
    held = DocumentTokens(len(text))
    view = held.view(counting, text, (300_000, 302_000))
    assert counting.chars == 0
    assert 0 < 2000 - view.pending(0, 0) <= 2000
    assert view.pending(300_000, 302_000) == 2000
    assert view.encode((300_000, 302_000)) == tokenizer.encode(text[300_000:302_000])
    assert counting.chars == 2000
    assert held.view(counting, text, (300_000, 302_000)).pending(300_000, 302_000) < 2 * 192


def test_a_text_without_words_is_tokenised_whole(tokenizer, monkeypatch):
    """There is no place to cut it, and it is right all the same."""
    monkeypatch.undo()
    for text in ("漢字かな" * 800, "=" * 5000, "x" * 5000, " " * 5000):
        held = DocumentTokens(len(text))
        view = held.view(tokenizer, text, (100, 4000))
        assert view.encode((100, 4000)) == tokenizer.encode(text[100:4000])


def test_small_pieces_do_not_pile_up(tokenizer, monkeypatch):
    """A file of which most of each piece was deleted has few of them."""
    monkeypatch.undo()
    text = "value = compute(value)\n" * 4000
    document = Document(Open("file:///a", 0, "python", text), Limits())
    whole(document, tokenizer)
    starts = document.tokens._piece_starts()
    for version, (start, end) in enumerate(reversed([*itertools.pairwise(starts)])):
        document.change(Change("file:///a", version, version + 1, [TextEdit(start + 2, end - 2, "")]), Limits())
    assert whole(document, tokenizer) == tokenizer.encode(document.text)
    assert len(document.tokens._pieces) <= len(document.text) / 50


def test_threads_may_use_views_of_one_document_at_once(tokenizer):
    """Each gets the same tokens, and nothing is lost when both find a piece without any."""
    text = CODE * 200
    held = DocumentTokens(len(text))
    views = [held.view(tokenizer, text, (0, len(text))) for _ in range(4)]
    found: list[list[int]] = []
    threads = [threading.Thread(target=lambda view=view: found.append(view.encode((0, len(text))))) for view in views]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [tokenizer.encode(lf(text))] * 4


def test_another_tokenizer_starts_afresh(tokenizer):
    """Tokens of one model are never taken for another's."""
    document = Document(Open("file:///a", 0, "python", CODE * 3), Limits())
    for made in (tokenizer, MADE["llama3"], tokenizer):
        assert whole(document, made) == made.encode(lf(CODE * 3))
