"""Build a byte-level BPE tokenizer from the metadata of a GGUF file, with the ids llama.cpp would give."""

from __future__ import annotations

from array import array
from pathlib import Path
from typing import Final

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers

from ..errors import ModelError
from .gguf_file import GgufFile
from .tokenizer import SpecialTokens
from .word_ends import PRE_TOKENIZERS

# Token types in tokenizer.ggml.token_type.
UNKNOWN, CONTROL, USER_DEFINED = 2, 3, 4

KEEPS_WHOLE_WORDS: Final = frozenset({"llama-bpe", "llama3", "llama-v3"})
"""Where a word that is in the vocabulary is one token, whatever the merges say."""


def read_gguf_tokenizer(path: Path) -> tuple[Tokenizer, SpecialTokens]:
    """The tokenizer described by a GGUF file's metadata.

    Raises:
        ModelError: it is no byte-level BPE, or its way to cut text into words is not known here.

    """
    file = GgufFile(path)
    model = file.require("tokenizer.ggml.model", str)
    if model != "gpt2":
        raise ModelError(f"{path} has a tokenizer of kind {model}; from GGUF only byte-level BPE (gpt2) can be used")
    pre = file.get("tokenizer.ggml.pre", str) or "default"
    if pre not in PRE_TOKENIZERS:
        known = ", ".join(PRE_TOKENIZERS)
        raise ModelError(f"{path} has the pre-tokenizer {pre}, which is not known here; known are {known}")
    tokens = file.require("tokenizer.ggml.tokens", list)
    types = file.get("tokenizer.ggml.token_type", array) or array("i", [1]) * len(tokens)
    merges = [tuple(merge.split(" ", 1)) for merge in file.require("tokenizer.ggml.merges", list)]
    vocabulary = {token: id_ for id_, token in enumerate(tokens)}
    if len(vocabulary) != len(tokens) or len(types) != len(tokens):
        raise ModelError(f"{path} is damaged: its vocabulary repeats a token, or lacks types")
    try:
        bpe = models.BPE(vocab=vocabulary, merges=merges, ignore_merges=pre in KEEPS_WHOLE_WORDS)
    except Exception as error:  # the library raises plain Exception
        raise ModelError(f"{path} is damaged: its merges don't fit its vocabulary ({error})") from error
    tokenizer = Tokenizer(bpe)
    cuts = [pre_tokenizers.Split(Regex(expression), "isolated") for expression in PRE_TOKENIZERS[pre]]
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([*cuts, byte_level])
    tokenizer.decoder = decoders.ByteLevel()
    special = [token for token, type_ in zip(tokens, types, strict=True) if type_ in (UNKNOWN, CONTROL)]
    defined = [token for token, type_ in zip(tokens, types, strict=True) if type_ == USER_DEFINED]
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in special])
    tokenizer.add_tokens([AddedToken(token, special=False, normalized=False) for token in defined])
    return tokenizer, _special_tokens(file, tokens, frozenset(vocabulary[token] for token in special))


def _special_tokens(file: GgufFile, tokens: list[str], special_ids: frozenset[int]) -> SpecialTokens:
    keys = ("eos", "eot", "eom")
    ends = [file.get(f"tokenizer.ggml.{key}_token_id", int) for key in keys]
    bos = file.get("tokenizer.ggml.bos_token_id", int)
    for id_ in (*ends, bos):
        if id_ is not None and not 0 <= id_ < len(tokens):
            raise ModelError(f"{file.path} is damaged: special token {id_} is beyond its {len(tokens)} tokens")
    eos = ends[0]
    return SpecialTokens(
        special_ids=special_ids,
        bos_id=bos,
        adds_bos=file.get("tokenizer.ggml.add_bos_token", bool) or False,
        end_ids=frozenset(id_ for id_ in ends if id_ is not None),
        eos_token="" if eos is None else tokens[eos],
        chat_template=file.get("tokenizer.chat_template", str),
    )
