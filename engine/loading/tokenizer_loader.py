"""Load a tokenizer whatever its files. Importable without torch, as the gateway must tokenise."""

from __future__ import annotations

from pathlib import Path

from ..errors import ModelError
from .gguf_tokenizer import read_gguf_tokenizer
from .tokenizer import Tokenizer
from .tokenizer_json import read_folder_tokenizer


def load_tokenizer(path: Path | str) -> Tokenizer:
    """The tokenizer of a GGUF file, or of a folder with `tokenizer.json`.

    Reads only metadata, no weights.

    Raises:
        ModelError: there is none, or it is of a kind that can't be reproduced.

    """
    path = Path(path)
    tokenizer, special = read_folder_tokenizer(path) if path.is_dir() else read_gguf_tokenizer(path)
    try:
        return Tokenizer(tokenizer, special)
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from error
