"""GGUF files: number formats, shapes, rotary order, and what a damaged or foreign file gets."""

from __future__ import annotations

import struct
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
import torch
from gguf import GGMLQuantizationType, GGUFWriter
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from warmline.engine.errors import ModelError
from warmline.engine.loading.gguf import LAYER_TENSORS, load_gguf
from warmline.engine.loading.gguf_file import GgufFile
from warmline.engine.loading.gguf_tensor import read_tensor
from warmline.engine.loading.tokenizer_loader import load_tokenizer
from warmline.engine.models.config import ModelConfig
from warmline.engine.models.llama import ModelWeights


def permute(weight: torch.Tensor, heads: int) -> torch.Tensor:
    """Half-split rotary order to GGUF's interleaved one, as llama.cpp's converter does it."""
    rows, columns = weight.shape
    return weight.reshape(heads, 2, rows // heads // 2, columns).swapaxes(1, 2).reshape(rows, columns)


def write_model(
    path: Path,
    config: ModelConfig,
    weights: ModelWeights,
    type_: GGMLQuantizationType = GGMLQuantizationType.F32,
    architecture: str = "llama",
    change: Callable[[GGUFWriter], Any] = lambda writer: None,
) -> Path:
    """A GGUF file of a model; matrices are stored as ``type_``."""
    writer = GGUFWriter(path, architecture)
    writer.add_context_length(config.context_length)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_layers)
    writer.add_feed_forward_length(config.ffn_size)
    writer.add_head_count(config.num_heads)
    writer.add_head_count_kv(config.num_kv_heads)
    writer.add_rope_freq_base(config.rope_theta)
    writer.add_layer_norm_rms_eps(config.norm_eps)

    def add(name: str, tensor: torch.Tensor) -> None:
        stored = GGMLQuantizationType.F32 if tensor.dim() == 1 else type_
        data = gguf.quants.quantize(tensor.numpy(), stored)
        writer.add_tensor(name, data, raw_dtype=stored)

    add("token_embd.weight", weights.embedding)
    add("output_norm.weight", weights.final_norm)
    if not config.tie_embeddings:
        add("output.weight", weights.head)
    for index, layer in enumerate(weights.layers):
        for field, name in LAYER_TENSORS.items():
            tensor = getattr(layer, field)
            heads = {"query": config.num_heads, "key": config.num_kv_heads}.get(field)
            add(f"blk.{index}.{name}.weight", permute(tensor, heads) if heads else tensor)
    change(writer)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.mark.parametrize("tie", [False, True])
def test_a_written_model_comes_back(tmp_path: Path, make_tiny_model: Callable[..., Any], tie: bool) -> None:
    """Shape and weights survive, q and k in half-split order again."""
    config, weights = make_tiny_model(tie_embeddings=tie, rope_theta=5000.0)
    found_config, found = load_gguf(write_model(tmp_path / "tiny.gguf", config, weights))
    assert found_config.norm_eps == pytest.approx(config.norm_eps)
    assert {**vars_of(found_config), "norm_eps": 0} == {**vars_of(config), "norm_eps": 0}
    assert torch.equal(found.embedding, weights.embedding)
    assert torch.equal(found.head, weights.head)
    assert (found.head is found.embedding) == tie
    assert torch.equal(found.final_norm, weights.final_norm)
    for layer, expected in zip(found.layers, weights.layers, strict=True):
        for field in LAYER_TENSORS:
            assert torch.equal(getattr(layer, field), getattr(expected, field)), field


def vars_of(config: ModelConfig) -> dict[str, Any]:
    """The fields of a slotted dataclass."""
    return {name: getattr(config, name) for name in ModelConfig.__dataclass_fields__}


@pytest.mark.parametrize("name", ["F32", "F16", "BF16", "Q4_0", "Q4_1", "Q8_0", "Q5_0"])
def test_numbers_equal_those_of_the_gguf_package(
    tmp_path: Path, make_tiny_model: Callable[..., Any], name: str
) -> None:
    """Each stored format decodes to exactly what the reference implementation makes of it."""
    config, weights = make_tiny_model()
    type_ = GGMLQuantizationType[name]
    path = write_model(tmp_path / "tiny.gguf", config, weights, type_)
    expected = gguf.quants.dequantize(gguf.quants.quantize(weights.embedding.numpy(), type_), type_)
    found = read_tensor(GgufFile(path), "token_embd.weight")
    assert found.dtype == torch.float32
    assert np.array_equal(found.numpy(), expected)


def test_metadata_equals_that_of_the_gguf_package(default_model: Path) -> None:
    """Keys, values and tensor shapes of the real file are those the reference reader sees."""
    file = GgufFile(default_model)
    reader = gguf.GGUFReader(default_model)
    for key in (
        "llama.rope.freq_base",
        "tokenizer.ggml.pre",
        "tokenizer.chat_template",
        "tokenizer.ggml.add_bos_token",
    ):
        assert file.metadata[key] == reader.fields[key].contents()
    assert list(file.metadata["tokenizer.ggml.token_type"]) == reader.fields["tokenizer.ggml.token_type"].contents()
    for tensor in reader.tensors:
        assert file.tensors[tensor.name].shape == tuple(reversed(tensor.shape.tolist()))
        assert file.tensors[tensor.name].start == tensor.data_offset


def test_a_foreign_architecture_is_named(tmp_path: Path, make_tiny_model: Callable[..., Any]) -> None:
    """The error names the architecture."""
    path = write_model(tmp_path / "m.gguf", *make_tiny_model(), architecture="qwen2")
    with pytest.raises(ModelError, match="architecture qwen2"):
        load_gguf(path)


def test_a_foreign_quantisation_is_named(tmp_path: Path, make_tiny_model: Callable[..., Any]) -> None:
    """The error names the quantisation and the tensor."""
    config, weights = make_tiny_model(hidden_size=256, num_heads=16, ffn_size=256)
    path = write_model(tmp_path / "m.gguf", config, weights, GGMLQuantizationType.F32)
    data = bytearray(path.read_bytes())
    at = data.index(b"token_embd.weight") + len("token_embd.weight") + 4 + 16
    data[at : at + 4] = int(GGMLQuantizationType.Q8_K).to_bytes(4, "little")
    path.write_bytes(data)
    with pytest.raises(ModelError, match=r"Q8_K \(tensor token_embd.weight\)"):
        load_gguf(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda writer: writer.add_rope_scaling_type(gguf.RopeScalingType.YARN), "yarn rope scaling"),
        (lambda writer: writer.add_expert_count(8), "mixture of experts"),
        (lambda writer: writer.add_rope_dimension_count(8), "rotates 8 of 16"),
        (lambda writer: writer.add_tensor("rope_freqs.weight", np.ones(8, np.float32)), "rope_freqs.weight"),
        (lambda writer: writer.add_tensor("blk.0.attn_q.bias", np.ones(64, np.float32)), "blk.0.attn_q.bias"),
    ],
)
def test_what_would_be_computed_wrongly_is_refused(
    tmp_path: Path, make_tiny_model: Callable[..., Any], change: Callable[[GGUFWriter], Any], message: str
) -> None:
    """A variant of Llama that isn't implemented gets an error that names what is different."""
    path = write_model(tmp_path / "m.gguf", *make_tiny_model(), change=change)
    with pytest.raises(ModelError, match=message):
        load_gguf(path)


def test_a_tensor_of_the_wrong_shape_is_named(tmp_path: Path, make_tiny_model: Callable[..., Any]) -> None:
    """A file whose tensors don't fit its metadata gets an error that names the tensor and both shapes."""
    config, weights = make_tiny_model()
    weights.layers[1].down = weights.layers[1].down[:, :32].contiguous()
    path = write_model(tmp_path / "m.gguf", config, weights)
    with pytest.raises(ModelError, match=r"blk\.1\.ffn_down\.weight has shape \[64, 32\], not \[64, 128\]"):
        load_gguf(path)


@pytest.mark.parametrize("content", [b"", b"GGUF", b"\x7fELF" + bytes(200), b"GGUF" + b"\xff" * 400, b"{}" * 100])
def test_garbage_is_an_error_to_act_on(tmp_path: Path, content: bytes) -> None:
    """An empty file, a foreign file and noise are ModelErrors for model and tokenizer alike."""
    path = tmp_path / "model.gguf"
    path.write_bytes(content)
    for load in (load_gguf, load_tokenizer):
        with pytest.raises(ModelError, match=r"model\.gguf"):
            load(path)


@settings(max_examples=60, deadline=None)
@given(share=st.floats(0, 0.999), noise=st.binary(max_size=8))
def test_a_cut_or_scribbled_file_is_an_error_to_act_on(
    tmp_path_factory: pytest.TempPathFactory, make_tiny_model: Callable[..., Any], share: float, noise: bytes
) -> None:
    """Cutting a file anywhere, or writing over its head, never gives a raw traceback."""
    folder = tmp_path_factory.mktemp("cut")
    whole = write_model(folder / "m.gguf", *make_tiny_model()).read_bytes()
    cut = folder / "cut.gguf"
    cut.write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(ModelError):
        load_gguf(cut)
    scribbled = bytearray(whole)
    at = int(2000 * share)
    scribbled[at : at + len(noise)] = noise
    cut.write_bytes(scribbled)
    with suppress(ModelError):
        load_gguf(cut)


def bpe_metadata(writer: GGUFWriter) -> None:
    """A tokenizer of a few tokens."""
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    tokens = [*"abcdeĠĊ", "ab", "Ġa", "<|im_end|>"]
    writer.add_token_list(tokens)
    writer.add_token_types([1] * (len(tokens) - 1) + [3])
    writer.add_token_merges(["a b", "Ġ a"])
    writer.add_eos_token_id(len(tokens) - 1)
    writer.add_add_bos_token(False)


def load_both(path: Path) -> None:
    """What a start loads of a file."""
    load_tokenizer(path)
    load_gguf(path)


@pytest.fixture(scope="module")
def whole_file(tmp_path_factory: pytest.TempPathFactory, make_tiny_model: Callable[..., Any]) -> Path:
    """A sound file with model and tokenizer."""
    model = make_tiny_model(num_layers=1, num_heads=2, num_kv_heads=1, hidden_size=32, ffn_size=32, vocab_size=64)
    path = write_model(tmp_path_factory.mktemp("whole") / "whole.gguf", *model, change=bpe_metadata)
    load_both(path)
    return path


@settings(max_examples=300, deadline=2000, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_corrupt_header_is_an_error_or_harmless(whole_file: Path, tmp_path: Path, data: st.DataObject) -> None:
    """Bits flipped, numbers overwritten, bytes cut: a ModelError or a model, soon, and without much memory."""
    content = bytearray(whole_file.read_bytes())
    header = content.index(b"output_norm.weight") + 500
    place = st.integers(0, header)
    for _ in range(data.draw(st.integers(0, 3))):
        content[data.draw(place)] ^= 1 << data.draw(st.integers(0, 7))
    if data.draw(st.booleans()):
        at = data.draw(place)
        size = data.draw(st.sampled_from([4, 8]))
        content[at : at + size] = data.draw(st.integers(0, 256**size - 1)).to_bytes(size, "little")
    if data.draw(st.booleans()):
        del content[data.draw(st.integers(0, len(content))) :]
    path = tmp_path / "corrupt.gguf"
    path.write_bytes(content)
    tracemalloc.start()
    try:
        for load in (load_tokenizer, load_gguf):
            with suppress(ModelError):
                load(path)
        assert tracemalloc.get_traced_memory()[1] < 64 << 20
    finally:
        tracemalloc.stop()


def nested_arrays(depth: int) -> bytes:
    """A value of arrays of one array each."""
    return (struct.pack("<IQ", 9, 1) * depth) + struct.pack("<IQ", 4, 0)


@pytest.mark.parametrize(
    ("type_number", "value", "message"),
    [
        (9, nested_arrays(100_000), "array of metadata type 9"),
        (9, struct.pack("<IQ", 8, 1 << 40), "array of"),
        (9, struct.pack("<IQ", 10, 1 << 61), "array of"),
        (8, struct.pack("<Q", 1 << 63), "bytes announced"),
        (99, b"", "metadata type 99"),
    ],
    ids=["nested arrays", "strings", "numbers", "a string", "an unknown type"],
)
def test_an_absurd_value_is_an_error(tmp_path: Path, type_number: int, value: bytes, message: str) -> None:
    """Sizes beyond the file and nesting without end are refused before anything is allocated."""
    path = tmp_path / "absurd.gguf"
    header = struct.pack("<4sIQQ", b"GGUF", 3, 0, 1) + struct.pack("<Q", 3) + b"key"
    path.write_bytes(header + struct.pack("<I", type_number) + value)
    with pytest.raises(ModelError, match=message):
        GgufFile(path)


@pytest.mark.parametrize("types", [7, "text"])
def test_token_types_of_another_kind_are_an_error(
    tmp_path: Path, make_tiny_model: Callable[..., Any], types: Any
) -> None:
    """A number or a text where the list of types should be."""

    def change(writer: GGUFWriter) -> None:
        bpe_metadata(writer)
        del writer.kv_data[0]["tokenizer.ggml.token_type"]
        (writer.add_string if isinstance(types, str) else writer.add_uint32)("tokenizer.ggml.token_type", types)

    path = write_model(tmp_path / "m.gguf", *make_tiny_model(), change=change)
    with pytest.raises(ModelError, match=r"tokenizer\.ggml\.token_type is a"):
        load_tokenizer(path)


def test_a_foreign_tokenizer_is_named(tmp_path: Path, make_tiny_model: Callable[..., Any]) -> None:
    """A tokenizer kind or pre-tokenizer that isn't known is refused by name rather than guessed."""

    def sentencepiece(writer: GGUFWriter) -> None:
        writer.add_tokenizer_model("llama")

    def unknown_words(writer: GGUFWriter) -> None:
        writer.add_tokenizer_model("gpt2")
        writer.add_tokenizer_pre("tekken")

    for change, message in ((sentencepiece, "kind llama"), (unknown_words, "tekken")):
        path = write_model(tmp_path / "m.gguf", *make_tiny_model(), change=change)
        with pytest.raises(ModelError, match=message):
            load_tokenizer(path)
