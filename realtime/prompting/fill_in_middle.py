"""How a model is shown the text on both sides of a cursor, if it was trained to fill in what is missing between them.

Such models mark the two sides by tokens of their own. Most were trained with the text before the cursor first (PSM:
prefix, suffix, middle), some with the text after it first (SPM). SPM keeps typing cheap, as each key then adds to the
end of the prompt; after a key PSM has the text after the cursor computed again. Having the tokens isn't enough:
general Qwen models have them and never saw them in training. So models are known by name, each family as its makers
describe it, at the address given with it. Their marks for repositories and file names are left out, which none needs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal, Protocol

Order = Literal["psm", "spm"]
FillMode = Literal["auto", "psm", "spm", "off"]


_TAUGHT_WINDOW: Final = 1024


class FillTokenizer(Protocol):
    """What is needed of a tokenizer to find its marks."""

    def encode_template(self, text: str) -> list[int]:
        """Tokens of text in which special tokens count."""


@dataclass(frozen=True, slots=True)
class FillForm:
    """The marks of a prompt, as the texts of their tokens.

    Attributes:
        order: which side comes first.
        first: what stands before that side.
        second: what stands before the other one.
        end: what stands behind both, before the answer.
        near: what stands before the part of the text after the cursor that is near it, if that comes last; before the
            line of the cursor then ``second`` stands again. See `NearLast`.
        window: how many tokens of the text before the cursor are shown at most; None: as many as fit.
        ends: texts that end an answer, unless the text around the cursor has them, too.
    """

    order: Order
    first: tuple[str, ...]
    second: tuple[str, ...]
    end: tuple[str, ...] = ()
    near: tuple[str, ...] = ()
    window: int | None = None
    ends: tuple[str, ...] = ()

    @classmethod
    def taught(cls, marks: tuple[str, ...]) -> FillForm:
        """The form that an adapter teaches: marks before the text after the cursor, and before the text before it.

        A third one stands before the text near the cursor. Models with an adapter are small, and trained on short
        windows. They learnt edits, too, whose answers a code fence ends, and close one behind some completions.
        """
        return cls("spm", (marks[0],), (marks[1],), near=marks[2:], window=_TAUGHT_WINDOW, ends=("\n```", "```"))

    @property
    def marks(self) -> tuple[str, ...]:
        """All of them."""
        return self.first + self.second + self.end + self.near


@dataclass(frozen=True, slots=True)
class _Family:
    """Models that were trained with the same marks.

    Attributes:
        names: finds them by their names, in lower case.
        forms: what they were trained with, the one to take by itself first.
        source: where their makers say so.
    """

    names: re.Pattern[str]
    forms: tuple[FillForm, ...]
    source: str


def _psm(prefix: str, suffix: str, middle: str) -> FillForm:
    return FillForm("psm", (prefix,), (suffix,), (middle,))


def _spm(prefix: str, suffix: str, middle: str) -> FillForm:
    return FillForm("spm", (suffix,), (prefix,), (middle,))


def _spm_after_prefix_mark(prefix: str, suffix: str, middle: str) -> FillForm:
    """The marks of PSM with an empty prefix, so that both orders learn from each other (arXiv 2207.14255)."""
    return FillForm("spm", (prefix, suffix), (middle,))


_PIPES: Final = "<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"
_PLAIN: Final = "<fim_prefix>", "<fim_suffix>", "<fim_middle>"
_CODE_LLAMA: Final = "\u2581<PRE>", "\u2581<SUF>", "\u2581<MID>"

FAMILIES: Final = (
    _Family(
        re.compile(r"qwen-?2\.5-?coder"),
        (_psm(*_PIPES),),
        "https://github.com/QwenLM/Qwen3-Coder/blob/main/examples/Qwen2.5-Coder.md",
    ),
    _Family(
        re.compile(r"qwen-?3-?coder"),
        (_psm(*_PIPES),),
        "https://github.com/QwenLM/Qwen3-Coder#fill-in-the-middle-with-qwen3-coder",
    ),
    _Family(re.compile(r"codeqwen"), (_psm(*_PLAIN),), "https://huggingface.co/Qwen/CodeQwen1.5-7B"),
    _Family(  # not the instruction-tuned one
        re.compile(r"codegemma(?!.*\bit\b)"),
        (_psm(*_PIPES),),
        "https://ai.google.dev/gemma/docs/codegemma/prompt-structure",
    ),
    _Family(
        re.compile(r"granite-4"),
        (_psm(*_PIPES),),
        "https://www.ibm.com/granite/docs/use-cases/prompt-engineering",
    ),
    _Family(re.compile(r"granite-\d+b-code"), (_psm(*_PLAIN),), "https://arxiv.org/abs/2405.04324"),
    _Family(
        re.compile(r"starcoder"),
        (_psm(*_PLAIN), _spm_after_prefix_mark(*_PLAIN)),
        "https://github.com/nuprl/MultiPL-E/blob/main/starcoder2.py",
    ),
    _Family(re.compile(r"stable-code"), (_psm(*_PLAIN),), "https://huggingface.co/stabilityai/stable-code-3b"),
    _Family(re.compile(r"refact"), (_psm(*_PLAIN),), "https://huggingface.co/smallcloudai/Refact-1_6B-fim"),
    _Family(  # neither the 34B nor the Python ones
        re.compile(r"code-?llama-?(7|13)b(?!.*python)"),
        (_psm(*_CODE_LLAMA), _spm_after_prefix_mark(*_CODE_LLAMA)),
        "https://github.com/meta-llama/codellama/blob/main/llama/generation.py",
    ),
    _Family(  # not v1.5, which was trained to predict the next token only; of V2 the Lite ones
        re.compile(r"deepseek-?coder(?!.*v1\.5)(?!-v2(?!-lite))"),
        (_psm("<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>"),),
        "https://github.com/deepseek-ai/DeepSeek-Coder#2-code-insertion",
    ),
    _Family(  # not Mamba-Codestral
        re.compile(r"(?<!mamba-)codestral"),
        (FillForm("spm", ("[SUFFIX]",), ("[PREFIX]",)),),
        "https://github.com/mistralai/mistral-common/blob/main/src/mistral_common/tokens/tokenizers/instruct.py",
    ),
    _Family(
        re.compile(r"seed-?coder.*base"),
        (_spm("<[fim-prefix]>", "<[fim-suffix]>", "<[fim-middle]>"),),
        "https://arxiv.org/abs/2506.03524",
    ),
    _Family(re.compile(r"mellum-4b"), (_spm(*_PLAIN),), "https://huggingface.co/JetBrains/Mellum-4b-base"),
)
"""The models known to fill in."""


def choose_form(
    mode: FillMode, model: str, tokenizer: FillTokenizer, taught: tuple[str, ...] | None = None
) -> FillForm | None:
    """How to show a model both sides of the cursor; None: it sees only what stands before.

    ``taught`` are the marks that the model's adapter says it learnt; they go first. ``auto`` takes what the model was
    trained with; ``psm`` and ``spm`` take that order with the marks that the vocabulary has.

    Raises:
        ValueError: that can't be; the message says what can.

    """
    if mode == "off":
        return None
    forms = [FillForm.taught(taught)] if taught is not None else []
    known = [form for family in FAMILIES if family.names.search(model.lower()) for form in family.forms]
    forms += [form for form in known if _has(tokenizer, form)]
    if mode == "auto":
        return forms[0] if forms else None
    if not known:
        forms += [form for family in FAMILIES for form in family.forms if _has(tokenizer, form)]
    for form in forms:
        if form.order == mode:
            return form
    if forms:
        raise ValueError(f"{model} takes the two sides of the cursor as {forms[0].order} only; use --fim auto")
    raise ValueError(f"{model} has no tokens for filling in the middle, which --fim {mode} needs; use --fim auto")


def _has(tokenizer: FillTokenizer, form: FillForm) -> bool:
    """Whether each mark is one token."""
    return all(len(tokenizer.encode_template(mark)) == 1 for mark in form.marks)
