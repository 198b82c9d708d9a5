"""Where text can be cut without a change to its tokens, for all the ways to cut text into words that are known."""

from __future__ import annotations

import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers
from warmline.engine import Tokenizer, load_tokenizer
from warmline.engine.loading.tokenizer import SpecialTokens
from warmline.engine.loading.word_ends import EXPRESSIONS, PRE_TOKENIZERS

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


def trained(pre_tokenizer, normalizer=None, added=(), **fields) -> Tokenizer:
    """A small byte-level BPE tokenizer with merges of code."""
    made = tokenizers.Tokenizer(models.BPE(**fields))
    made.pre_tokenizer = pre_tokenizer
    made.normalizer = normalizer
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=700, show_progress=False, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
    )
    made.train_from_iterator(
        [CODE, CODE.replace("\r", "").replace("    ", "  "), "漢字 é " * 5, "foo();\n  bar"] * 3, trainer
    )
    made.add_tokens(list(added))
    return Tokenizer(made, SpecialTokens(frozenset()))


def splits(*expressions: str):
    cuts = [pre_tokenizers.Split(tokenizers.Regex(expression), "isolated") for expression in expressions]
    return pre_tokenizers.Sequence([*cuts, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def whole_expressions() -> dict[str, object]:
    """All the ways to cut text that are known, by name."""
    digits = pre_tokenizers.Digits(individual_digits=True)
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    deepseek = [r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", "[一-龥ࠀ-一가-퟿]+"]
    (deepseek_v3,) = [e for e in EXPRESSIONS if "[A-Za-z]+" in e]
    alone = [e for e in EXPRESSIONS if e.endswith(r"|\s+")]
    return {
        **{pre: splits(*expressions) for pre, expressions in PRE_TOKENIZERS.items()},
        **{e: splits(e) for e in alone},
        "gpt-2 itself": pre_tokenizers.ByteLevel(add_prefix_space=False),
        "starcoder": pre_tokenizers.Sequence([digits, pre_tokenizers.ByteLevel(add_prefix_space=False)]),
        "deepseek": pre_tokenizers.Sequence(
            [*(pre_tokenizers.Split(tokenizers.Regex(e), "isolated") for e in deepseek), digits, byte_level]
        ),
        "deepseek-v3": splits(r"\p{N}{1,3}", "[一-龥぀-ゟ゠-ヿ]+", deepseek_v3),
    }


MADE = {name: trained(cut) for name, cut in whole_expressions().items()}
MADE["qwen"] = trained(splits(*PRE_TOKENIZERS["qwen2"]), normalizers.NFC(), ["<tool_call>", "</think>"])
MADE["runs of space"] = trained(splits(*PRE_TOKENIZERS["gpt-2"]), added=["    ", "\n\n", "\t\t"])
UNKNOWN = {
    "no pre-tokenizer": trained(None),
    "unknown expression": trained(splits(r"\w+|\W+")),
    "space in front": trained(pre_tokenizers.ByteLevel(add_prefix_space=True)),
    "numbers only": trained(splits(r"\p{N}")),
    "greedy token": trained(
        splits(*PRE_TOKENIZERS["gpt-2"]), added=[tokenizers.AddedToken("\t\t", lstrip=True, rstrip=True)]
    ),
    "lower case": trained(splits(*PRE_TOKENIZERS["gpt-2"]), normalizers.Lowercase()),
}


@settings(max_examples=300)
@given(st.sampled_from(sorted(MADE)), TEXTS, TEXTS, st.data())
def test_text_can_be_cut_after_a_word(name, first, second, data):
    """Where a tokenizer says so, the tokens of the two parts are those of the whole."""
    made = MADE[name]
    left = first + data.draw(st.sampled_from("aZ7"))
    right = data.draw(st.sampled_from(made.word_ends)) + second
    assert made.encode(left + right) == made.encode(left) + made.encode(right)


def test_word_ends_are_found_for_known_tokenizers_only(default_model):
    """The apostrophe is never among them; added tokens don't matter, which text never becomes."""
    assert all({" ", "\n", "(", "_", ">"} <= set(made.word_ends) for made in MADE.values())
    assert " " in load_tokenizer(default_model).word_ends
    assert not any("'" in made.word_ends for made in MADE.values())
    assert {name: made.word_ends for name, made in UNKNOWN.items()} == dict.fromkeys(UNKNOWN, "")
