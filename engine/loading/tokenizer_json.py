"""Read the tokenizer of a model folder: `tokenizer.json` and the JSON files that say what its special tokens mean."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from ..errors import ModelError
from .json_file import read_json
from .tokenizer import SpecialTokens


def read_folder_tokenizer(folder: Path) -> tuple[Tokenizer, SpecialTokens]:
    """The tokenizer of a model folder.

    Raises:
        ModelError: there is no `tokenizer.json`, or a file is damaged.

    """
    path = folder / "tokenizer.json"
    if not path.is_file():
        raise ModelError(f"{folder} has no tokenizer.json; save it with the model's tokenizer (save_pretrained)")
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises plain Exception
        raise ModelError(f"{path} can't be read: {error}") from error
    described = read_json(folder / "tokenizer_config.json")
    bos, eos = _token_text(described.get("bos_token")), _token_text(described.get("eos_token"))
    end_ids = [tokenizer.token_to_id(eos)] if eos else []
    for name in ("generation_config.json", "config.json"):
        ids = read_json(folder / name).get("eos_token_id")
        end_ids.extend(ids if isinstance(ids, list) else [ids])
    special_ids = {id_ for id_, token in tokenizer.get_added_tokens_decoder().items() if token.special}
    bos_id = tokenizer.token_to_id(bos) if bos else None
    return tokenizer, SpecialTokens(
        special_ids=frozenset(special_ids),
        bos_id=bos_id,
        adds_bos=bos_id is not None and bos_id in tokenizer.encode("", add_special_tokens=True).ids,
        end_ids=frozenset(id_ for id_ in end_ids if isinstance(id_, int)),
        eos_token=eos,
        chat_template=_chat_template(folder, described),
    )


def _token_text(token: object) -> str:
    """A token as tokenizer_config.json writes it: its text, or an object with the text as content."""
    if isinstance(token, dict):
        token = token.get("content")
    return token if isinstance(token, str) else ""


def _chat_template(folder: Path, described: dict[str, Any]) -> str | None:
    file = folder / "chat_template.jinja"
    if file.is_file():
        return file.read_text(encoding="utf-8")
    template = described.get("chat_template")
    if isinstance(template, list):
        named = {entry.get("name"): entry.get("template") for entry in template if isinstance(entry, dict)}
        template = named.get("default")
    return template if isinstance(template, str) else None
