"""Every way to cut text into words that is offered for GGUF gives llama.cpp's ids."""

from __future__ import annotations

import json
import random
from pathlib import Path
from urllib.request import Request, urlopen

import numpy as np
import pytest
from gguf import GGUFWriter
from warmline.engine.loading.gguf_file import GgufFile
from warmline.engine.loading.gguf_tokenizer import PRE_TOKENIZERS
from warmline.engine.loading.tokenizer_loader import load_tokenizer

PIECES = (
    *("def", " x", "X", "'s", "'LL", "don't", "1", "23", "4567", " 89", "\t", "  ", "\n", "\r\n", "\n\n  "),
    *("é", " ñ", "日本", "한글", "😀", "👩‍💻", "\u2028", "\u00a0", "\u3000", "²", "Ⅷ", "٣", "e\u0301"),
    *("(", ");", " !=", "...", "_", "$a", "+=", "<|im_end|>", "^", "~|"),
)


def write_model_with(pre: str, source: GgufFile, path: Path) -> Path:
    """A tiny model with the default model's vocabulary and another pre-tokenizer."""
    size, vocabulary = 32, source.metadata["tokenizer.ggml.tokens"]
    writer = GGUFWriter(path, "llama")
    writer.add_context_length(64)
    writer.add_embedding_length(size)
    writer.add_block_count(1)
    writer.add_feed_forward_length(size)
    writer.add_head_count(1)
    writer.add_head_count_kv(1)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(pre)
    writer.add_token_list(vocabulary)
    writer.add_token_types(list(source.metadata["tokenizer.ggml.token_type"]))
    writer.add_token_merges(source.metadata["tokenizer.ggml.merges"])
    writer.add_eos_token_id(2)
    writer.add_tensor("token_embd.weight", np.zeros((len(vocabulary), size), np.float16))
    writer.add_tensor("output_norm.weight", np.ones(size, np.float32))
    for name in ("attn_norm", "ffn_norm"):
        writer.add_tensor(f"blk.0.{name}.weight", np.ones(size, np.float32))
    for name in ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"):
        writer.add_tensor(f"blk.0.{name}.weight", np.zeros((size, size), np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


QUICK = ("default", "gpt-2", "starcoder", "llama-bpe", "dbrx", "qwen2")


@pytest.mark.parametrize(
    "pre", [pytest.param(pre, marks=() if pre in QUICK else pytest.mark.verify) for pre in PRE_TOKENIZERS]
)
def test_ids_equal_llama_cpp(tmp_path: Path, default_model: Path, pre: str) -> None:
    """Random joins of tricky pieces are tokenised as llama.cpp does under this name."""
    xllamacpp = pytest.importorskip("xllamacpp")
    params = xllamacpp.CommonParams()
    params.model.path = str(write_model_with(pre, GgufFile(default_model), tmp_path / "m.gguf"))
    params.n_ctx, params.warmup = 64, False
    server = xllamacpp.Server(params)
    tokenizer = load_tokenizer(params.model.path)
    chance = random.Random(pre)
    for _ in range(150):
        text = "".join(chance.choices(PIECES, k=chance.randint(1, 12)))
        body = json.dumps({"content": text, "parse_special": False}).encode()
        request = Request(server.listening_address + "/tokenize", body, {"Content-Type": "application/json"})
        with urlopen(request) as response:
            assert tokenizer.encode(text) == json.load(response)["tokens"], text
