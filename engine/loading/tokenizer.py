"""Text to tokens and back. The gateway tokenises, and the engine detokenises."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import tokenizers

from ..errors import ModelError
from .word_ends import word_ends


def _byte_level_alphabet() -> dict[str, int]:
    """The byte behind each character of a byte-level vocabulary (GPT-2's `bytes_to_unicode`, inverted)."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [byte for byte in range(0x100) if byte not in set(printable)]
    return {chr(byte): byte for byte in printable} | {chr(0x100 + i): byte for i, byte in enumerate(hidden)}


BYTE_OF_CHARACTER: Final = _byte_level_alphabet()
METASPACE: Final = "\u2581"

END_TOKENS: Final = frozenset({
    "<|im_end|>", "<|endoftext|>", "<|end_of_text|>", "<|eot_id|>", "<|eom_id|>", "<|end|>", "<|eot|>", "<EOT>",
    "<end_of_turn>", "</s>", "<｜end▁of▁sentence｜>", "<|file_sep|>", "<|repo_name|>", "<|fim_pad|>",
    "<file_sep>", "<repo_name>", "<fim_pad>", "<|file_separator|>", "\u2581<EOT>",
    "<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", "<fim_prefix>", "<fim_suffix>", "<fim_middle>",
})  # fmt: skip
"""Added tokens that end an answer whatever the model's files say: ends of turns, and starts of another file, or
of another text to fill in."""


@dataclass(frozen=True, slots=True)
class SpecialTokens:
    """What a model's files say about its special tokens."""

    special_ids: frozenset[int]
    bos_id: int | None = None
    adds_bos: bool = False
    end_ids: frozenset[int] = frozenset()
    eos_token: str = ""
    chat_template: str | None = None


class Tokenizer:
    """A model's tokenizer. Safe to use from several threads.

    Text never becomes an added token, such as a mark of a prompt: not all that act as one are called special by a
    model's files (Qwen's ``<|fim_prefix|>`` and ``<tool_call>`` are not). Only runs of white space are: those are
    text, which models with such tokens saw as these in their training.

    Attributes:
        vocab_size: number of token ids (the model's embedding may have more rows).
        bos_id: the token that starts a sequence, None where the model has none.
        adds_bos: plain text was trained to begin with it (chat templates write it themselves).
        eos_ids: every token that ends a generation.
        special_ids: tokens that stand for no text.
        chat_template: the model's Jinja template.
        bos_token, eos_token: as text, for chat templates ("" where there is none).
        word_ends: the characters before which text can be cut after an ASCII letter or digit, so that its tokens are
            those of the two parts ("" where that isn't known, see `word_ends`).

    """

    def __init__(self, tokenizer: tokenizers.Tokenizer, special: SpecialTokens) -> None:
        """Wrap a tokenizer of the `tokenizers` library.

        Raises:
            ModelError: its vocabulary is neither byte-level nor has it byte-fallback tokens.

        """
        tokenizer.no_truncation()
        tokenizer.no_padding()
        added = tokenizer.get_added_tokens_decoder()
        _make_special(tokenizer, [token for token in added.values() if not token.special and not _is_space(token)])
        tokenizer.encode_special_tokens = True  # never set again: threads tokenise without waiting for each other
        self._tokenizer = tokenizer
        self._bytes: dict[int, bytes] = {}
        self._literal = {id_: token.content for id_, token in added.items()}
        self._byte_level = tokenizer.token_to_id("Ġ") is not None
        if not self._byte_level and tokenizer.token_to_id("<0x0A>") is None:
            raise ModelError("the tokenizer is neither byte-level nor has it byte-fallback tokens; it can't be used")
        self.vocab_size = tokenizer.get_vocab_size(with_added_tokens=True)
        self.special_ids = special.special_ids
        self.bos_id = special.bos_id
        self.adds_bos = special.adds_bos and special.bos_id is not None
        named = {id_ for id_, content in self._literal.items() if content in END_TOKENS}
        self.eos_ids = special.end_ids | named
        self.bos_token = "" if self.bos_id is None else tokenizer.id_to_token(self.bos_id) or ""
        self.eos_token = special.eos_token
        self.chat_template = special.chat_template
        self.word_ends = word_ends(tokenizer)

    def encode(self, text: str) -> list[int]:
        """Tokens of document text: the text of an added token is text like any other, and no BOS is added."""
        return _ids(self._tokenizer, text)

    def encode_template(self, text: str) -> list[int]:
        """Tokens of a template's own text, in which added tokens count."""
        return _ids(self._template_tokenizer, text)

    @cached_property
    def _template_tokenizer(self) -> tokenizers.Tokenizer:
        """A copy that knows added tokens when it sees them."""
        copy = tokenizers.Tokenizer.from_str(self._tokenizer.to_str())
        copy.encode_special_tokens = False
        return copy

    def token_bytes(self, token_id: int) -> bytes:
        """The bytes a token stands for: none for a special token or an id beyond the vocabulary."""
        found = self._bytes.get(token_id)
        if found is None:
            found = self._bytes[token_id] = self._find_bytes(token_id)
        return found

    def _find_bytes(self, token_id: int) -> bytes:
        if token_id in self.special_ids:
            return b""
        literal = self._literal.get(token_id)
        if literal is not None:
            return literal.encode()
        token = self._tokenizer.id_to_token(token_id) or ""
        if self._byte_level:
            return b"".join(
                bytes((BYTE_OF_CHARACTER[char],)) if char in BYTE_OF_CHARACTER else char.encode() for char in token
            )
        if len(token) == len("<0x0A>") and token.startswith("<0x"):
            return bytes.fromhex(token[3:5])
        return token.replace(METASPACE, " ").encode()

    def decode(self, token_ids: Iterable[int]) -> str:
        """The text of tokens; bytes that are no UTF-8 become U+FFFD."""
        return b"".join(map(self.token_bytes, token_ids)).decode("utf-8", "replace")


def _is_space(token: tokenizers.AddedToken) -> bool:
    return not token.content.replace(METASPACE, " ").strip()


def _make_special(tokenizer: tokenizers.Tokenizer, tokens: Iterable[tokenizers.AddedToken]) -> None:
    """Have added tokens treated as special ones are, which ``encode_special_tokens`` takes for text."""
    tokenizer.add_special_tokens([
        tokenizers.AddedToken(
            token.content,
            single_word=token.single_word,
            lstrip=token.lstrip,
            rstrip=token.rstrip,
            normalized=token.normalized,
            special=True,
        )
        for token in tokens
    ])  # fmt: skip


def _ids(tokenizer: tokenizers.Tokenizer, text: str) -> list[int]:
    # Unlike `encode`, this lets other threads run meanwhile, and it computes no offsets.
    (encoding,) = tokenizer.encode_batch_fast([text], add_special_tokens=False)
    ids: list[int] = encoding.ids
    return ids
