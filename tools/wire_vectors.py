"""Writes the test data that every implementation of the wire shares, or checks that it is up to date.

    python -m tools.wire_vectors [--write]

`tests/data/wire_vectors.json` has messages, each as its fields and as the frames that stand for it;
`tests/data/operation_vectors.json` has documents that change while an edit or a completion is under way, and what
follows from that (`tools.operation_vectors` makes them).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Final, get_args

import msgspec
import typer
from warmline.realtime import (
    JSON,
    MSGPACK,
    Accepted,
    Ack,
    Applied,
    Cancel,
    Change,
    Chat,
    ClientMessage,
    Close,
    Codec,
    Complete,
    Continued,
    Delta,
    Done,
    Drafts,
    Edit,
    EndChat,
    Error,
    HeldDocument,
    HeldRequest,
    HeldVersion,
    Hello,
    Interrupt,
    Logprob,
    Nack,
    Notice,
    Open,
    Ops,
    Ping,
    Pong,
    ProtocolError,
    Receipt,
    Resume,
    Resumed,
    Sampling,
    ScoredDelta,
    ServerMessage,
    Steer,
    Steered,
    TextEdit,
    Timing,
    TokenLogprob,
    Warm,
    Welcome,
    client_codec,
)
from warmline.realtime.protocol import MAX_INT

from tools.operation_vectors import operation_vectors

DATA: Final = Path(__file__).parent.parent / "tests" / "data"

SAMPLING: Final = Sampling(
    64, 0.7, 0.9, 40, 0.05, 17, ("\n\n", "é😀"), "off", 1.1, 0.5, -0.25, {7: -100.0, 50256: 1.5}, 3
)
TIMING: Final = Timing(1000, 1100, 1200, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
RECEIPT: Final = Receipt(100, 60, 30, 10, 24, 1, 9, [Drafts("copy", 20, 15), Drafts("ngram", 4, 1)], MAX_INT)
TRACE: Final = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

CLIENT: Final[tuple[msgspec.Struct, ...]] = (
    Hello(),
    Hello("key", "an editor"),
    Hello(None, "", True),
    Hello(None, "", True, Resume("session", "secret")),
    Hello(
        "key",
        "an editor",
        True,
        Resume("s", "t", [HeldDocument("u", 3, 0)], [HeldRequest(1), HeldRequest(2, 9, 4, 1, 3)]),
    ),
    Open("file:///a.py", 0, "python", 'a = 1\r\n\t# é 😀 \u2028 \x7f \x00 "\\\n'),
    Change("file:///a.py", 1, 2, [TextEdit(10, 11, "5"), TextEdit(0, 0, "😀")]),
    Change("file:///a.py", 2, 3, [TextEdit(0, 2, "")], Applied(7, 4), 4_294_967_296, 4_294_967_295),
    Change("u", 127, 128, [], None, 255, 256),
    Close("file:///a.py"),
    Warm("file:///a.py", 3, 65_535),
    Warm("file:///a.py", 3, 65_536, 70_000),
    Complete(1, "file:///a.py", 3, 18),
    Complete(2, "file:///a.py", 3, 18, Sampling(32)),
    Complete(3, "file:///a.py", 3, 18, SAMPLING, "d = 4\n", TRACE, True),
    Edit(4, "file:///a.py", 3, 0, 18, "b is 5"),
    Edit(5, "file:///a.py", 3, 0, 18, "b is 5", SAMPLING, "replayed", TRACE, "a = 1\n"),
    Chat(6, "talk", "hello"),
    Chat(7, "talk", "hello", ("file:///a.py", "file:///b.py"), SAMPLING, "hi", TRACE),
    Steer(4, "and c is 6"),
    Steer(4, "and c is 6", 2),
    Interrupt(4),
    Cancel(MAX_INT),
    Ack([1, 2, MAX_INT]),
    Ping(1_753_000_000_000_000),
    EndChat("talk"),
)
SERVER: Final[tuple[msgspec.Struct, ...]] = (
    Welcome("session", "warmline 1", "model", 8192, 4 << 20, 64),
    Welcome("session", "warmline 1", "model", 8192, 4 << 20, 64, "secret", 30_000),
    Welcome("session", "warmline 1", "model", 8192, 4 << 20, 64, "secret", 30_000, Resumed()),
    Welcome("s", "w", "m", 1, 2, 3, "t", 4, Resumed(17, [HeldVersion("u", 3)], [1, 2])),
    Accepted(1, 0),
    Accepted(2, 127, Continued(1, 3, 4)),
    Accepted(3, 1, Continued(2, 3, 4, 1)),
    Delta(0, "d = 4\n"),
    Delta(127, "x" * 300),
    ScoredDelta(1, ""),
    ScoredDelta(1, "ab", [TokenLogprob(5, "a", -0.5, [Logprob(5, "a", -0.5), Logprob(9, "\ufffd", -9999.0)])]),
    Ops(0, [10, -1, "5", 7]),
    Ops(0, [-32, -33, -128, -129, -32_768, -32_769, -(2**31), -(2**31) - 1, -MAX_INT, 128, MAX_INT, ""]),
    Done(1, "stop"),
    Done(2, "conflict", RECEIPT, TIMING, 3),
    Error(None, "malformed_message", "the frame can't be read"),
    Error(8, "engine_unavailable", "the engine is starting", True, 1500),
    Nack("file:///a.py", None, "unknown_document", "it is not open"),
    Nack("file:///a.py", 4, "hash_mismatch", "the hash differs"),
    Pong(1, 2, 3),
    Notice("draining", 30_000),
    Notice("later"),
    Steered(4, 2),
)
REFUSED: Final = (
    "[]",
    "{}",
    "[3,0",
    "null",
    '["delta",0,"x"]',
    "[3]",
    '[3,"0","x"]',
    '[3,-1,"x"]',
    '[3,0.5,"x"]',
    "[3,0,1]",
    '[4,0,"ops"]',
    "[4,0,[null]]",
    "[4,0,[1.5]]",
    '[5,1,"maybe"]',
    '[5,1,"stop",{}]',
    "[2,1]",
    "[2,1,0,[1]]",
    '[6,"1","code","message"]',
)
"""Frames that no client may take for messages of a server."""


def wire_vectors() -> list[dict[str, Any]]:
    """Messages as fields and frames: those that we send, and what a side may send that leaves defaults out."""
    vectors = [_vector("client", message) for message in CLIENT]
    vectors += [_vector("server", message) for message in SERVER]
    codec: Codec[Any] = client_codec(JSON)
    for frame in REFUSED:
        try:
            codec.decode(frame)
        except ProtocolError:
            vectors.append({"side": "server", "refused": frame})
        else:
            raise ValueError(f"{frame} is a message")
    vectors.append({"side": "server", "unknown": "[99,1]"})
    return vectors


def described() -> list[dict[str, Any]]:
    """Every message with its tag and its fields in order, so that none is missed."""
    return [
        {"side": side, "type": _name(cls), "tag": cls.__struct_config__.tag, "fields": list(cls.__struct_fields__)}
        for side, union in (("client", ClientMessage), ("server", ServerMessage))
        for cls in get_args(union)
    ]


def fields_of(value: object) -> Any:
    """A message as JSON has it, its records as objects."""
    if isinstance(value, msgspec.Struct):
        return {name: fields_of(getattr(value, name)) for name in value.__struct_fields__}
    if isinstance(value, list | tuple):
        return [fields_of(item) for item in value]
    return {str(key): item for key, item in value.items()} if isinstance(value, dict) else value


def _vector(side: str, message: msgspec.Struct) -> dict[str, Any]:
    short = _short(message)
    full = msgspec.json.decode(msgspec.json.encode(message))
    return {
        "side": side,
        "type": _name(type(message)),
        "fields": fields_of(message),
        JSON: msgspec.json.encode(message).decode(),
        MSGPACK: msgspec.msgpack.encode(message).hex(),
        f"short {JSON}": msgspec.json.encode(short).decode(),
        f"short {MSGPACK}": msgspec.msgpack.encode(short).hex(),
        "longer": json.dumps([*full, "what a later version adds", {"to": "it"}]),
    }


def _short(value: object) -> Any:
    """A record without its trailing defaults; whole numbers without a point, as JavaScript writes them."""
    if isinstance(value, msgspec.Struct):
        names = value.__struct_fields__
        defaults = dict(zip(reversed(names), reversed(value.__struct_defaults__), strict=False))
        while names and names[-1] in defaults and _same(getattr(value, names[-1]), defaults[names[-1]]):
            names = names[:-1]
        tag = value.__struct_config__.tag
        return [*([] if tag is None else [tag]), *(_short(getattr(value, name)) for name in names)]
    if isinstance(value, list | tuple):
        return [_short(item) for item in value]
    if isinstance(value, dict):
        return {key: _short(item) for key, item in value.items()}
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _same(value: object, default: object) -> bool:
    if hasattr(default, "factory"):
        default = default.factory()
    return value == default or (not value and not default and isinstance(value, list | tuple))


def _name(cls: type) -> str:
    """As in docs/protocol.md: ``EndChat`` is ``end_chat``."""
    return "".join("_" * (at > 0 and letter.isupper()) + letter.lower() for at, letter in enumerate(cls.__name__))


def _lines(items: Iterable[object]) -> str:
    return "[\n" + ",\n".join("  " + json.dumps(item) for item in items) + "\n]\n"


def files() -> dict[Path, str]:
    """What the files should have in them."""
    return {
        DATA / "wire_vectors.json": _lines([{"described": described()}, *wire_vectors()]),
        DATA / "operation_vectors.json": _lines(operation_vectors()),
    }


def main(write: Annotated[bool, typer.Option("--write", help="Write the files.")] = False) -> None:
    """Check the shared test data, or write it."""
    for path, text in files().items():
        if write:
            path.write_text(text)
        elif path.read_text() != text:
            sys.exit(f"{path} is out of date: python -m tools.wire_vectors --write")


if __name__ == "__main__":
    typer.run(main)
