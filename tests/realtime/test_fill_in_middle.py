"""Which models are shown both sides of the cursor, and in which order."""

from __future__ import annotations

import pytest
from warmline.realtime.fill_in_middle import FAMILIES, FillForm, choose_form
from warmline.realtime.server import GatewayServer, ServerConfig

PIPES = ["<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"]
PLAIN = ["<fim_prefix>", "<fim_suffix>", "<fim_middle>"]
MISTRAL = ["[PREFIX]", "[SUFFIX]", "[MIDDLE]"]


class Vocabulary:
    """One token for each known mark, and one for each byte of anything else."""

    def __init__(self, *marks: str) -> None:
        self._marks = marks

    def encode_template(self, text: str) -> list[int]:
        return [1000] if text in self._marks else list(text.encode())


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
        ("granite-3.3-2b-base", PIPES, "<|fim_prefix|>p<|fim_suffix|>s<|fim_middle|>"),
        ("CodeLlama-7b-hf", ["▁<PRE>", "▁<SUF>", "▁<MID>"], "▁<PRE>p▁<SUF>s▁<MID>"),
        (
            "deepseek-coder-1.3b-base",
            ["<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>"],
            "<｜fim▁begin｜>p<｜fim▁hole｜>s<｜fim▁end｜>",
        ),
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
        ("spm", "CodeLlama-7b-hf", ["▁<PRE>", "▁<SUF>", "▁<MID>"], "▁<PRE>▁<SUF>s▁<MID>p"),
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
