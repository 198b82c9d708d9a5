"""The test data that other implementations of the wire are held to says what this one does."""

from __future__ import annotations

from collections import defaultdict

import msgspec
import pytest
from warmline.realtime import JSON, MSGPACK, client_codec, server_codec

from tools.wire_vectors import CLIENT, SERVER, described, files, wire_vectors

CODECS = {"client": server_codec, "server": client_codec}


@pytest.mark.parametrize("path", list(files()), ids=lambda path: path.name)
def test_the_files_are_up_to_date(path) -> None:
    """After a change of the wire: python -m tools.wire_vectors --write."""
    assert path.read_text() == files()[path]


def test_every_field_of_every_message_is_there_with_something_in_it() -> None:
    """So a field that is added and forgotten elsewhere is found."""
    seen: defaultdict[type, set[str]] = defaultdict(set)
    for message in (*CLIENT, *SERVER):
        defaults = dict(zip(reversed(message.__struct_fields__), reversed(message.__struct_defaults__), strict=False))
        seen[type(message)] |= {
            name for name in message.__struct_fields__ if getattr(message, name) != defaults.get(name, object())
        }
    assert {cls.__name__: fields for cls, fields in seen.items()} == {
        "".join(part.capitalize() for part in message["type"].split("_")): set(message["fields"])
        for message in described()
    }


@pytest.mark.parametrize("vector", [vector for vector in wire_vectors() if "type" in vector], ids=lambda v: v["type"])
def test_what_leaves_trailing_defaults_out_is_the_same_message(vector) -> None:
    """And so is what has more at its end."""
    for subprotocol, read in ((JSON, str.encode), (MSGPACK, bytes.fromhex)):
        codec = CODECS[vector["side"]](subprotocol)
        frames = [read(vector[kind]) for kind in (subprotocol, f"short {subprotocol}")]
        if subprotocol == JSON:
            frames = [frame.decode() for frame in [*frames, vector["longer"].encode()]]
        messages = [codec.decode(frame) for frame in frames]
        assert all(message == messages[0] for message in messages)
        assert codec.encode(messages[0]) == read(vector[subprotocol])
        assert isinstance(messages[0], msgspec.Struct)
