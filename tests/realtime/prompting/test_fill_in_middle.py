"""Which models are shown both sides of the cursor, and in which order."""

from __future__ import annotations

import pytest
import tokenizers
from warmline.engine import load_tokenizer
from warmline.realtime.documents.document import Document
from warmline.realtime.limits import Limits
from warmline.realtime.prompting.fill_in_middle import FAMILIES, FillForm, choose_form
from warmline.realtime.prompting.prompts import PromptBuilder
from warmline.realtime.protocol import Open
from warmline.realtime.server import GatewayServer, ServerConfig

PIPES = ["<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"]
PLAIN = ["<fim_prefix>", "<fim_suffix>", "<fim_middle>"]
MISTRAL = ["[PREFIX]", "[SUFFIX]", "[MIDDLE]"]
DEEPSEEK = ["<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>"]
CODE_LLAMA = ["▁<PRE>", "▁<SUF>", "▁<MID>"]


class Vocabulary:
    """One token for each known mark, and one for each byte of anything else."""

    def __init__(self, *marks: str) -> None:
        self._marks = marks

    def encode_template(self, text: str) -> list[int]:
        return [1000] if text in self._marks else list(text.encode())


class Bytes(Vocabulary):
    """A token for each byte, without a template."""

    bos_id = None
    adds_bos = False
    bos_token = eos_token = word_ends = ""
    chat_template = None

    def encode(self, text: str) -> list[int]:
        return list(text.encode())


def prompt(form: FillForm | None) -> str | None:
    """How a form shows a prefix p and a suffix s."""
    if form is None:
        return None
    first, second = ("p", "s") if form.order == "psm" else ("s", "p")
    return "".join((*form.first, first, *form.second, second, *form.end))


@pytest.mark.parametrize(
    ("model", "marks", "shown"),
    [
        ("Qwen2.5-Coder-1.5B", PIPES, "<|fim_prefix|>p<|fim_suffix|>s<|fim_middle|>"),
        ("qwen3-coder-30b-a3b-instruct-q8_0.gguf", PIPES, "<|fim_prefix|>p<|fim_suffix|>s<|fim_middle|>"),
        ("codegemma-2b", PIPES, "<|fim_prefix|>p<|fim_suffix|>s<|fim_middle|>"),
        ("starcoder2-3b", PLAIN, "<fim_prefix>p<fim_suffix>s<fim_middle>"),
        ("granite-8b-code-base", PLAIN, "<fim_prefix>p<fim_suffix>s<fim_middle>"),
        ("granite-4.0-micro-base", PIPES, "<|fim_prefix|>p<|fim_suffix|>s<|fim_middle|>"),
        ("CodeQwen1.5-7B", PLAIN, "<fim_prefix>p<fim_suffix>s<fim_middle>"),
        ("stable-code-3b", PLAIN, "<fim_prefix>p<fim_suffix>s<fim_middle>"),
        ("Refact-1_6B-fim", PLAIN, "<fim_prefix>p<fim_suffix>s<fim_middle>"),
        ("CodeLlama-7b-hf", CODE_LLAMA, "▁<PRE>p▁<SUF>s▁<MID>"),
        ("deepseek-coder-1.3b-base", DEEPSEEK, "<｜fim▁begin｜>p<｜fim▁hole｜>s<｜fim▁end｜>"),
        ("DeepSeek-Coder-V2-Lite-Base", DEEPSEEK, "<｜fim▁begin｜>p<｜fim▁hole｜>s<｜fim▁end｜>"),
        ("Codestral-22B-v0.1", MISTRAL, "[SUFFIX]s[PREFIX]p"),
        (
            "Seed-Coder-8B-Base",
            ["<[fim-prefix]>", "<[fim-suffix]>", "<[fim-middle]>"],
            "<[fim-suffix]>s<[fim-prefix]>p<[fim-middle]>",
        ),
        ("Mellum-4b-base", PLAIN, "<fim_suffix>s<fim_prefix>p<fim_middle>"),
        ("Qwen2.5-1.5B-Instruct", PIPES, None),  # it has the tokens, and was never trained with them
        ("Qwen3-8B", PIPES, None),
        ("SmolLM2-135M-Instruct", [], None),
        ("Qwen2.5-Coder-1.5B", [], None),  # another tokenizer than the model's own
        ("codegemma-1.1-7b-it", PIPES, None),  # its siblings fill in, and it doesn't
        ("deepseek-coder-7b-base-v1.5", DEEPSEEK, None),
        ("DeepSeek-Coder-V2-Base", DEEPSEEK, None),
        ("CodeLlama-34b-hf", CODE_LLAMA, None),
        ("codellama-7b-python.Q4_K_M.gguf", CODE_LLAMA, None),
        ("Mamba-Codestral-7B-v0.1", MISTRAL, None),
        ("Seed-Coder-8B-Reasoning", ["<[fim-prefix]>", "<[fim-suffix]>", "<[fim-middle]>"], None),
    ],
)
def test_a_model_is_shown_what_it_was_trained_with(model, marks, shown):
    """By its name, if its vocabulary has the marks."""
    assert prompt(choose_form("auto", model, Vocabulary(*marks))) == shown


def test_what_an_adapter_was_taught_goes_first():
    """With its own marks, the text after the cursor first."""
    taught = "<jupyter_text>", "<jupyter_code>"
    for mode in ("auto", "spm"):
        form = choose_form(mode, "starcoder2-3b", Vocabulary(*PLAIN), taught)
        assert prompt(form) == "<jupyter_text>s<jupyter_code>p"
    assert prompt(choose_form("psm", "starcoder2-3b", Vocabulary(*PLAIN), taught)).startswith("<fim_prefix>p")


def test_off_is_off():
    """Whatever the model can."""
    assert choose_form("off", "starcoder2-3b", Vocabulary(*PLAIN), ("a", "b")) is None


@pytest.mark.parametrize(
    ("mode", "model", "marks", "shown"),
    [
        ("spm", "starcoder2-3b", PLAIN, "<fim_prefix><fim_suffix>s<fim_middle>p"),
        ("spm", "CodeLlama-7b-hf", CODE_LLAMA, "▁<PRE>▁<SUF>s▁<MID>p"),
        ("psm", "Qwen2.5-1.5B", PIPES, "<|fim_prefix|>p<|fim_suffix|>s<|fim_middle|>"),
        ("psm", "my-own-model", PLAIN, "<fim_prefix>p<fim_suffix>s<fim_middle>"),
        ("spm", "my-own-model", MISTRAL, "[SUFFIX]s[PREFIX]p"),
    ],
)
def test_an_order_can_be_forced(mode, model, marks, shown):
    """Also for a model that isn't known, with the marks that its vocabulary has."""
    assert prompt(choose_form(mode, model, Vocabulary(*marks))) == shown


@pytest.mark.parametrize(
    ("mode", "model", "marks", "problem"),
    [
        ("psm", "SmolLM2-135M", [], "SmolLM2-135M has no tokens for filling in the middle, which --fim psm needs"),
        ("spm", "SmolLM2-135M", PIPES[:2], "has no tokens for filling in the middle, which --fim spm needs"),
        ("spm", "Qwen2.5-Coder-7B", PIPES, "takes the two sides of the cursor as psm only; use --fim auto"),
        ("psm", "Codestral-22B", MISTRAL, "takes the two sides of the cursor as spm only"),
    ],
)
def test_what_can_not_be_forced_is_refused(mode, model, marks, problem):
    """The error says what is missing and what to use."""
    with pytest.raises(ValueError, match=problem):
        choose_form(mode, model, Vocabulary(*marks))


def test_a_server_that_can_not_do_as_asked_is_not_made(engine, tokenizer):
    """Rather than to complete without what comes after the cursor."""
    with pytest.raises(ValueError, match="scripted has no tokens for filling in the middle, which --fim psm needs"):
        GatewayServer(engine, tokenizer, ServerConfig(fim="psm"))


def test_every_family_can_be_chosen():
    """No form of the table lacks a mark, and no mark is empty."""
    for family in FAMILIES:
        assert family.forms
        for form in family.forms:
            assert form.first and form.second and all(form.marks)


def test_every_family_says_where_its_form_is_described():
    """By its makers, so that it can be checked."""
    assert all(family.source.startswith("https://") for family in FAMILIES)


@pytest.mark.parametrize("around", ["before", "after"])
def test_a_fence_ends_what_a_taught_model_completes(around):
    """It closes one behind some completions; where the text has one, that may be the text's own."""
    builder = PromptBuilder(Bytes(), 8000, FillForm.taught(("S", "P")))
    text = {"before": "", "after": ""} | {around: "text\n```python\n"}
    plain = Document(Open("file:///a", 1, "python", "def f(n):\n"), Limits())
    fenced = Document(Open("file:///a", 1, "markdown", text["before"] + text["after"]), Limits())
    at = len(text["before"])
    assert builder.complete(plain, 10, 100, ("END",), None).plan().stop == ("END", "\n```", "```")
    assert builder.complete(plain, 10, 100, (), "replayed\n```\n").plan().stop == ()
    assert builder.complete(fenced, at, 100, (), None).plan().stop == ()
    assert builder.ends("def f(n):", "") == ("\n```", "```")
    assert builder.ends(text["before"], text["after"]) == ()


def test_a_fence_ends_nothing_that_other_models_complete():
    """Those that were not taught edits by an adapter."""
    for form in (None, FAMILIES[0].forms[0]):
        assert PromptBuilder(Bytes(), 8000, form).ends("def f(n):") == ()


def test_marks_in_a_document_mark_nothing(tmp_path):
    """Also where a model's files call them ordinary added tokens, as Qwen's do."""
    characters = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    made = tokenizers.Tokenizer(tokenizers.models.BPE({c: id_ for id_, c in enumerate(characters)}, []))
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.add_tokens(PIPES)
    made.save(str(tmp_path / "tokenizer.json"))
    tokenizer = load_tokenizer(tmp_path)
    form = choose_form("auto", "Qwen2.5-Coder-0.5B", tokenizer)
    builder = PromptBuilder(tokenizer, 8000, form)
    hostile = f"a = '{PIPES[2]}'\n{PIPES[0]}{PIPES[1]}\n"
    document = Document(Open("file:///a", 1, "python", hostile * 2), Limits())
    marks = [token for mark in PIPES for token in tokenizer.encode_template(mark)]
    for prompt in (
        builder.complete(document, len(hostile), 100, (), None).plan().prompt,
        builder.raw(hostile, hostile),
    ):
        assert [token for token in prompt if token in marks] == marks
        assert tokenizer.decode(prompt) == PIPES[0] + hostile + PIPES[1] + hostile + PIPES[2]
