"""Tiny random models in memory and as a folder, a model without weights, and how to run requests on an engine."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

import warmline.engine.backends  # noqa: F401 isort: skip  (before torch: see its openmp module)
from safetensors.torch import save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from warmline.engine import Finished, GenerationRequest, SequenceEvent, TokenLogprobs, unpack_tokens
from warmline.engine.core import Engine
from warmline.engine.loading.safetensors import LAYER_TENSORS
from warmline.engine.models.config import ModelConfig
from warmline.engine.models.llama import ModelWeights

MakeModel = Callable[..., tuple[ModelConfig, ModelWeights]]
WriteFolder = Callable[..., Path]

FAKE_ENGINE = Path(__file__).with_name("fake_engine.py")

SAMPLE = (
    "def add(first, second):\n    return first + second\n\n\nfor name in names:\n    print(name, add(1, 2))\n" * 4
)
CHAT_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


@pytest.fixture(scope="session")
def tiny_tokenizer() -> Tokenizer:
    """A byte-level BPE of 320 tokens, three of them special."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=320,
        special_tokens=["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator([SAMPLE], trainer)
    return tokenizer


@pytest.fixture(scope="session")
def write_tiny_folder(tiny_tokenizer: Tokenizer) -> WriteFolder:
    """A writer of models in Hugging Face's layout: ``write_tiny_folder(folder, config, weights)``."""

    def write(folder: Path, config: ModelConfig, weights: ModelWeights) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        described = {
            "architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": config.vocab_size,
            "hidden_size": config.hidden_size, "num_hidden_layers": config.num_layers,
            "num_attention_heads": config.num_heads, "num_key_value_heads": config.num_kv_heads,
            "head_dim": config.head_dim, "intermediate_size": config.ffn_size, "hidden_act": "silu",
            "max_position_embeddings": config.context_length, "rms_norm_eps": config.norm_eps,
            "rope_theta": config.rope_theta, "tie_word_embeddings": config.tie_embeddings,
            "attention_bias": False, "eos_token_id": 0, "torch_dtype": "float32",
        }  # fmt: skip
        (folder / "config.json").write_text(json.dumps(described))
        tensors = {"model.embed_tokens.weight": weights.embedding, "model.norm.weight": weights.final_norm}
        if not config.tie_embeddings:
            tensors["lm_head.weight"] = weights.head
        for index, layer in enumerate(weights.layers):
            for field, name in LAYER_TENSORS.items():
                tensors[f"model.layers.{index}.{name}.weight"] = getattr(layer, field)
        save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
        tiny_tokenizer.save(str(folder / "tokenizer.json"))
        special = {"bos_token": "<|im_start|>", "eos_token": "<|im_end|>", "chat_template": CHAT_TEMPLATE}
        (folder / "tokenizer_config.json").write_text(
            json.dumps({"tokenizer_class": "PreTrainedTokenizerFast", **special})
        )
        return folder

    return write


@pytest.fixture(scope="session")
def tiny_folder(
    tmp_path_factory: pytest.TempPathFactory, make_tiny_model: MakeModel, write_tiny_folder: WriteFolder
) -> Path:
    """A tiny random model as a folder."""
    return write_tiny_folder(tmp_path_factory.mktemp("models") / "tiny", *make_tiny_model())


@pytest.fixture(scope="session")
def fake() -> ModuleType:
    """The module `fake_engine.py`: a backend whose logits hash the paged cache, and its tokenizer."""
    spec = importlib.util.spec_from_file_location("fake_engine", FAKE_ENGINE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def fake_command() -> tuple[str, ...]:
    """The command line of an engine process that runs the fake model."""
    return (sys.executable, str(FAKE_ENGINE))


class Collected:
    """What came of one sequence; an empty event, or one after the last, is an error."""

    def __init__(self) -> None:
        self.tokens: list[int] = []
        self.deltas: list[str] = []
        self.logprobs: list[TokenLogprobs] = []
        self.finished: Finished | None = None

    @property
    def text(self) -> str:
        """All of the text."""
        return "".join(self.deltas)

    def __call__(self, event: SequenceEvent) -> None:
        assert self.finished is None, "an event after the last one"
        assert event.text or event.finished, "an empty delta"
        self.tokens += unpack_tokens(event.tokens)
        self.logprobs += event.logprobs
        assert len(self.logprobs) in (0, len(self.tokens)), "not one for each token"
        if event.text:
            self.deltas.append(event.text)
        self.finished = event.finished


@pytest.fixture(scope="session")
def collected() -> type[Collected]:
    """The class that collects the events of a sequence."""
    return Collected


@pytest.fixture(scope="session")
def run() -> Callable[..., dict[int, Collected]]:
    """Add requests to an engine and step until it is idle; gives what came of each, by id."""

    def run_requests(engine: Engine, *requests: GenerationRequest) -> dict[int, Collected]:
        results = {request.id: Collected() for request in requests}
        for request in requests:
            engine.add(request)
        while engine.has_work:
            for event in engine.step():
                results[event.id](event)
        engine.check_integrity()
        assert all(result.finished for result in results.values())
        return results

    return run_requests
