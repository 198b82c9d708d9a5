"""Tokens equal those of llama.cpp and transformers, and say which bytes they stand for."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer as FastTokenizer
from transformers import PreTrainedTokenizerFast
from warmline.engine.errors import ModelError
from warmline.engine.loading.tokenizer import Tokenizer
from warmline.engine.loading.tokenizer_loader import load_tokenizer

Encode = Callable[[str], list[int]]

TEXTS = st.one_of(
    st.text(max_size=60),
    st.text("abcXYZ 0123456789\t\r\n'éñß日本語한글😀👩‍💻\u2028\u00a0.,;(){}[]<>|_", max_size=80),
    st.lists(st.sampled_from(["<|im_end|>", "<|endoftext|>", "\r\n", "    ", "\t", "def ", "123", "'s", "é"])).map(
        "".join
    ),
)


@pytest.fixture(scope="module")
def tokenizer(default_model: Path) -> Tokenizer:
    """The default model's tokenizer."""
    return load_tokenizer(default_model)


def test_tokenising_lets_other_threads_run(tokenizer: Tokenizer) -> None:
    """Python's other threads go on meanwhile: an event loop can tokenise long text in a thread."""
    text = "def mean(values):\n    return sum(values) / len(values)\n" * 20_000
    wake_ups = 0
    with ThreadPoolExecutor(1) as pool:
        tokens = pool.submit(tokenizer.encode, text)
        while not tokens.done():
            time.sleep(0.001)
            wake_ups += 1
    assert len(tokens.result()) > 100_000
    assert wake_ups > 20


@pytest.fixture(scope="module")
def llama_cpp(default_model: Path) -> Iterator[Encode]:
    """llama.cpp's tokenizer, through the /tokenize of a server inside the xllamacpp wheel."""
    xllamacpp = pytest.importorskip("xllamacpp")
    params = xllamacpp.CommonParams()
    params.model.path = str(default_model)
    params.n_ctx, params.warmup = 64, False
    server = xllamacpp.Server(params)

    def encode(text: str) -> list[int]:
        body = json.dumps({"content": text, "parse_special": False}).encode()
        request = Request(server.listening_address + "/tokenize", body, {"Content-Type": "application/json"})
        with urlopen(request) as response:
            tokens: list[int] = json.load(response)["tokens"]
        return tokens

    yield encode


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, tokenizer: Tokenizer) -> Path:
    """The default model's tokenizer saved in a folder."""
    path = tmp_path_factory.mktemp("tokenizer")
    tokenizer._tokenizer.save(str(path / "tokenizer.json"))
    config = {"bos_token": {"content": "<|im_start|>"}, "eos_token": "<|im_end|>"}
    (path / "tokenizer_config.json").write_text(json.dumps(config))
    return path


@pytest.fixture(scope="module")
def transformers_encode(folder: Path) -> Encode:
    """The tokenizer that transformers makes of the folder."""
    fast = PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"))
    return lambda text: fast(text, add_special_tokens=False, split_special_tokens=True)["input_ids"]  # type: ignore[no-any-return]


def test_ids_of_all_edits_equal_llama_cpp(tokenizer: Tokenizer, llama_cpp: Encode, edit_records: list) -> None:
    """Every text of the edits has the ids that llama.cpp gives it."""
    for record in edit_records:
        for text in (record.context, record.before, record.after, record.instruction):
            assert tokenizer.encode(text) == llama_cpp(text), record.id


@settings(max_examples=300, deadline=None)
@given(text=TEXTS.filter(lambda text: "\0" not in text))
def test_ids_of_any_text_equal_llama_cpp(tokenizer: Tokenizer, llama_cpp: Encode, text: str) -> None:
    """Digits, emoji, line ends, odd spaces and special-token text get llama.cpp's ids."""
    assert tokenizer.encode(text) == llama_cpp(text)


def test_ids_of_a_folder_equal_transformers(folder: Path, transformers_encode: Encode, edit_records: list) -> None:
    """Every text of the edits has the ids that transformers gives it."""
    tokenizer = load_tokenizer(folder)
    for record in edit_records:
        for text in (record.context, record.before, record.after, record.instruction):
            assert tokenizer.encode(text) == transformers_encode(text), record.id


@settings(max_examples=200, deadline=None)
@given(text=TEXTS)
def test_ids_of_any_text_in_a_folder_equal_transformers(tiny_folder: Path, text: str) -> None:
    """The tiny folder's tokenizer gives transformers' ids."""
    fast = PreTrainedTokenizerFast(tokenizer_file=str(tiny_folder / "tokenizer.json"))
    expected = fast(text, add_special_tokens=False, split_special_tokens=True)["input_ids"]
    assert load_tokenizer(tiny_folder).encode(text) == expected


@settings(max_examples=200, deadline=None)
@given(text=TEXTS)
def test_token_bytes_spell_the_text(tiny_folder: Path, text: str) -> None:
    """The bytes of the tokens of a text, joined, are the text's bytes."""
    tokenizer = load_tokenizer(tiny_folder)
    tokens = tokenizer.encode(text)
    assert b"".join(map(tokenizer.token_bytes, tokens)) == text.encode()
    assert tokenizer.decode(tokens) == text


def test_special_tokens_are_text_in_documents_and_tokens_in_templates(tokenizer: Tokenizer) -> None:
    """A document that contains a special token's text can't end a turn; a template can."""
    text = "a<|im_end|>b"
    assert not tokenizer.special_ids & set(tokenizer.encode(text))
    assert tokenizer.decode(tokenizer.encode(text)) == text
    assert 2 in tokenizer.encode_template(text)
    assert not tokenizer.special_ids & set(tokenizer.encode(text)), "the template call must leave no trace"


MARKS = ["<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", "<tool_call>", "<|file_sep|>"]


@pytest.fixture(scope="module")
def marking_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tokenizer like Qwen's: its marks are added tokens that aren't special. Two are runs of white space."""
    bytes_ = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    fast = FastTokenizer(tokenizers.models.BPE({character: id_ for id_, character in enumerate(bytes_)}, []))
    fast.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    fast.add_special_tokens(["<|im_end|>"])
    fast.add_tokens([tokenizers.AddedToken(text, normalized=False) for text in (*MARKS, "    ", "\t\t")])
    folder = tmp_path_factory.mktemp("marking")
    fast.save(str(folder / "tokenizer.json"))
    return folder


@given(
    text=st.lists(st.sampled_from([*MARKS, "<|im_end|>", "<|fim_", "prefix|>", "<", "|>", "x", " ", "\n"])).map(
        "".join
    )
)
def test_no_text_becomes_an_added_token(marking_folder: Path, text: str) -> None:
    """Special or not; a template that has the same text has the tokens."""
    tokenizer = load_tokenizer(marking_folder)
    added = {tokenizer.encode_template(mark)[0] for mark in (*MARKS, "<|im_end|>")}
    assert len(added) == len(MARKS) + 1
    assert added.isdisjoint(tokenizer.encode(text))
    assert tokenizer.decode(tokenizer.encode(text)) == text
    assert sum(token in added for token in tokenizer.encode_template(text)) == sum(
        text.count(mark) for mark in (*MARKS, "<|im_end|>")
    )


def test_runs_of_white_space_stay_the_tokens_that_they_are(marking_folder: Path) -> None:
    """They are text, as the model saw it, and mark nothing."""
    tokenizer = load_tokenizer(marking_folder)
    assert len(tokenizer.encode("    x")) == 2
    assert len(tokenizer.encode("\t\tx")) == 2


def test_a_mark_of_another_file_ends_an_answer_also_if_it_is_not_special(marking_folder: Path) -> None:
    """Models go on with one behind the text that they fill in."""
    tokenizer = load_tokenizer(marking_folder)
    for mark in ("<|file_sep|>", "<|fim_prefix|>"):
        assert tokenizer.encode_template(mark)[0] in tokenizer.eos_ids
    assert tokenizer.encode_template("<tool_call>")[0] not in tokenizer.eos_ids


def test_threads_do_not_disturb_each_other(tokenizer: Tokenizer) -> None:
    """Documents and templates can be tokenised at the same time."""
    text = "x = '<|im_end|>'\n" * 500
    document, template = tokenizer.encode(text), tokenizer.encode_template(text)
    assert document != template
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda encode: encode(text), [tokenizer.encode, tokenizer.encode_template] * 20))
    assert found == [document, template] * 20


def test_special_tokens_of_the_default_model(tokenizer: Tokenizer) -> None:
    """The default model's end tokens, template and names come from its metadata."""
    assert tokenizer.vocab_size == 49152
    assert (tokenizer.bos_id, tokenizer.bos_token, tokenizer.eos_token) == (1, "<|im_start|>", "<|im_end|>")
    assert {0, 2} <= tokenizer.eos_ids
    assert tokenizer.token_bytes(2) == b""
    assert tokenizer.chat_template is not None
    assert "<|im_start|>" in tokenizer.chat_template


def test_special_tokens_of_a_folder(tiny_folder: Path) -> None:
    """A folder's end tokens come from all of its files, and a generation_config may list several."""
    tokenizer = load_tokenizer(tiny_folder)
    assert tokenizer.eos_ids == {0, 2}
    assert tokenizer.bos_id == 1
    assert tokenizer.chat_template is not None


def test_byte_fallback_tokens_stand_for_their_bytes(tmp_path: Path) -> None:
    """In a metaspace vocabulary ▁ is a space and <0xE2> one byte."""
    vocabulary = {"<unk>": 0, **{f"<0x{byte:02X}>": byte + 1 for byte in range(256)}, "▁": 257, "a": 258, "▁a": 259}
    model = tokenizers.models.BPE(vocabulary, [("▁", "a")], byte_fallback=True, unk_token="<unk>")
    fast = FastTokenizer(model)
    fast.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    fast.add_special_tokens(["<unk>"])
    fast.save(str(tmp_path / "tokenizer.json"))
    tokenizer = load_tokenizer(tmp_path)
    assert [tokenizer.token_bytes(id_) for id_ in (0, 0xE2 + 1, 257, 259)] == [b"", b"\xe2", b" ", b" a"]
    assert tokenizer.decode(tokenizer.encode("a é")) == " a é"


def test_an_id_beyond_the_vocabulary_is_no_text(tokenizer: Tokenizer) -> None:
    """Embeddings may be padded beyond the vocabulary; such ids decode to nothing."""
    assert tokenizer.token_bytes(10**6) == b""


def test_loading_needs_no_torch(tiny_folder: Path, default_model: Path) -> None:
    """The gateway tokenises without importing torch."""
    code = (
        "import sys; from warmline.engine import load_tokenizer\n"
        f"load_tokenizer({str(tiny_folder)!r}); load_tokenizer({str(default_model)!r})\n"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("content", ["", "not json", "[]", '{"model": {}}'])
def test_a_broken_tokenizer_file_is_named(tmp_path: Path, content: str) -> None:
    """A damaged tokenizer.json gives an error that names the file."""
    (tmp_path / "tokenizer.json").write_text(content)
    with pytest.raises(ModelError, match=r"tokenizer\.json"):
        load_tokenizer(tmp_path)


def test_a_folder_without_tokenizer_says_so(tmp_path: Path) -> None:
    """A folder that isn't a model's gives an error that says what is missing."""
    with pytest.raises(ModelError, match=r"no tokenizer\.json"):
        load_tokenizer(tmp_path)
