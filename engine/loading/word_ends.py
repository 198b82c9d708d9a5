"""Where text can be cut without a change to its tokens, for the tokenizers that are known well enough.

Most vocabularies of today are applied to words: regular expressions cut the text first, from left to right, and no
token goes across a cut. All the expressions known here cut between a letter or digit and what is neither (both ASCII,
the apostrophe of "don't" left out), whatever stands before and after, and none looks behind. So for such a place
the tokens of a text are those of its two parts, one after the other.
"""

from __future__ import annotations

import json
from typing import Any, Final

from tokenizers import Tokenizer
from tokenizers.models import BPE

WORDS: Final = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
WORDS_LLAMA3: Final = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|"
    r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
WORDS_QWEN2: Final = WORDS_LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")

PRE_TOKENIZERS: Final[dict[str, tuple[str, ...]]] = {
    "default": (r"[\p{P}\$\+<=>\^~\|]+", WORDS, r"\p{N}+", r"[0-9][0-9][0-9]"),
    **dict.fromkeys(("gpt-2", "phi-2", "olmo", "mpt"), (WORDS,)),
    **dict.fromkeys(("smollm", "starcoder", "refact", "command-r", "codeshell"), (r"\p{N}", WORDS)),
    **dict.fromkeys(("llama-bpe", "llama3", "llama-v3", "dbrx", "smaug-bpe"), (WORDS_LLAMA3,)),
    **dict.fromkeys(("qwen2", "deepseek-r1-qwen"), (WORDS_QWEN2,)),
}
"""The expressions that cut text into words, one after the other, by `tokenizer.ggml.pre`."""

_AFTER_WORDS: Final = frozenset(
    character for character in map(chr, range(128)) if not character.isalnum() and character != "'"
)

_MARKED_LETTERS: Final = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|"
    r"\s*[\r\n]+|\s+(?!\S)|\s+"
)
_UPPER: Final = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
_LOWER: Final = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_SUFFIX: Final = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
_REST: Final = r" ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_LETTERS: Final = r"\s?\p{L}+"
_NUMBERS: Final = frozenset({r"\p{N}", r"\p{N}+", r"\p{N}{1,3}"})
EXPRESSIONS: Final = frozenset({
    *(expression for expressions in PRE_TOKENIZERS.values() for expression in expressions),
    _MARKED_LETTERS,  # Qwen 3.5
    rf"{_UPPER}*{_LOWER}+{_SUFFIX}|{_UPPER}+{_LOWER}*{_SUFFIX}|\p{{N}}{{1,3}}|{_REST}",  # o200k: gpt-oss, Llama 4
    rf"{_UPPER}*{_LOWER}+|{_UPPER}+{_LOWER}*|\p{{N}}|{_REST}",  # Tekken: Mistral's later models
    # DeepSeek-Coder and DeepSeek-V3
    "[\r\n]",
    r"[\r\n]",
    _LETTERS,
    r"\s?\p{P}+",
    *_NUMBERS,
    "[一-龥ࠀ-一가-퟿]+",
    "[一-龥぀-ゟ゠-ヿ]+",
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|"
    r"\s*[\r\n]+|\s+(?!\S)|\s+",
})  # fmt: skip
"""The expressions known to cut at the ends of words."""


def word_ends(tokenizer: Tokenizer) -> str:
    """The characters before which text can be cut after an ASCII letter or digit; none if that isn't known.

    The special tokens are taken not to be looked for in text (``encode_special_tokens``); other added ones are, and
    consist of white space (`Tokenizer`).
    """
    model = tokenizer.model
    if not isinstance(model, BPE) or model.dropout:
        return ""
    normalizer = _described(tokenizer.normalizer)
    if normalizer is not None and normalizer["type"] != "NFC":
        return ""
    cuts = _described(tokenizer.pre_tokenizer)
    if cuts is None:
        return ""
    parts = cuts["pretokenizers"] if cuts["type"] == "Sequence" else [cuts]
    if not all(map(_is_known, parts)) or not _cut_at_words(parts):
        return ""
    matched = [token for token in tokenizer.get_added_tokens_decoder().values() if not token.special]
    if any(token.lstrip or token.rstrip or token.single_word for token in matched):
        return ""
    return "".join(sorted(_AFTER_WORDS))


def _described(component: Any) -> Any:
    """A part of a tokenizer as tokenizer.json has it."""
    return None if component is None else json.loads(component.__getstate__())


def _is_known(part: dict[str, Any]) -> bool:
    match part:
        case {"type": "Split", "pattern": {"Regex": expression}, "behavior": "Isolated", "invert": False}:
            return expression in EXPRESSIONS
        case {"type": "ByteLevel", "add_prefix_space": False} | {"type": "Digits"}:
            return True
        case _:
            return False


def _cut_at_words(parts: list[dict[str, Any]]) -> bool:
    """Whether known parts together cut at the ends of all words, of letters and of digits."""
    expressions = {part["pattern"]["Regex"] for part in parts if part["type"] == "Split"}
    whole = any(expression.endswith(r"|\s+") for expression in expressions)
    gpt2 = any(part["type"] == "ByteLevel" and part["use_regex"] for part in parts)
    digits = any(part["type"] == "Digits" for part in parts) or not expressions.isdisjoint(_NUMBERS)
    return whole or gpt2 or (_LETTERS in expressions and digits)
