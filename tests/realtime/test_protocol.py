"""Every message survives its trip in both subprotocols, and nothing else gets through."""

from __future__ import annotations

import re
import struct
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec import inspect
from warmline.realtime.protocol import (
    JSON,
    MAX_INT,
    MSGPACK,
    SUBPROTOCOLS,
    ClientMessage,
    Complete,
    Delta,
    Edit,
    ErrorCode,
    Logprob,
    Open,
    Ops,
    Ping,
    ProtocolError,
    Reason,
    Sampling,
    ScoredDelta,
    ServerMessage,
    TokenLogprob,
    client_codec,
    server_codec,
)

TEXT = st.characters(exclude_categories=["Cs"])
both = pytest.mark.parametrize("subprotocol", SUBPROTOCOLS)


def values(kind: Any) -> st.SearchStrategy[Any]:
    """Values of a field's type, within its constraints, that both formats carry exactly."""
    match kind:
        case inspect.StructType():
            return st.tuples(*(values(field.type) for field in kind.fields)).map(lambda fields: kind.cls(*fields))
        case inspect.UnionType():
            return st.one_of([values(option) for option in kind.types])
        case inspect.ListType() | inspect.VarTupleType():
            items = st.lists(values(kind.item_type), max_size=min(kind.max_length or 4, 4))
            return items if isinstance(kind, inspect.ListType) else items.map(tuple)
        case inspect.DictType():
            return st.dictionaries(values(kind.key_type), values(kind.value_type), max_size=4)
        case inspect.StrType():
            return st.text(TEXT, min_size=kind.min_length or 0, max_size=20)
        case inspect.IntType():
            return st.integers(-MAX_INT if kind.ge is None else kind.ge, MAX_INT if kind.le is None else kind.le)
        case inspect.FloatType():
            return st.floats(kind.ge or 0, kind.le or 1, exclude_min=kind.gt is not None)
        case inspect.LiteralType():
            return st.sampled_from(kind.values)
        case inspect.BoolType():
            return st.booleans()
        case inspect.NoneType():
            return st.none()
    raise NotImplementedError(kind)


def as_frame(codec, data: bytes) -> str | bytes:
    return data.decode() if codec.text else data


@both
@given(values(inspect.type_info(ClientMessage)), values(inspect.type_info(ServerMessage)))
def test_messages_survive_the_trip(subprotocol, from_client, from_server):
    """What one side encodes is what the other decodes."""
    client, server = client_codec(subprotocol), server_codec(subprotocol)
    assert server.decode(as_frame(server, client.encode(from_client))) == from_client
    assert client.decode(as_frame(client, server.encode(from_server))) == from_server


@both
@given(st.binary(max_size=60))
@example(b"\x92\x0d" * 3000)
@example(b"[" * 100_000)
@example(b"\x91" * 100_000)
@example(b'[13,"\xff"]')
@example(b"[6,1e999]")
@example(b"\xc1")
def test_no_frame_does_more_than_fail(subprotocol, frame):
    """Whatever arrives is a message or a protocol error with a code."""
    codec = server_codec(subprotocol)
    try:
        text: str | bytes = frame.decode() if codec.text else frame
    except UnicodeDecodeError:
        return  # the WebSocket library closes the connection
    try:
        assert isinstance(codec.decode(text), get_args(ClientMessage))
    except ProtocolError as error:
        assert error.code in ErrorCode


@both
@given(st.integers(0, 20), st.lists(st.none() | st.integers() | st.text("ab") | st.lists(st.integers()), max_size=8))
def test_no_array_does_more_than_fail(subprotocol, tag, fields):
    """The same for arrays that look like messages."""
    codec = server_codec(subprotocol)
    encode = msgspec.json.encode if codec.text else msgspec.msgpack.encode
    try:
        frame = as_frame(codec, encode([tag, *fields]))
    except OverflowError:
        return  # not an integer that MessagePack has
    try:
        assert isinstance(codec.decode(frame), get_args(ClientMessage))
    except ProtocolError as error:
        assert error.code in (ErrorCode.UNKNOWN_MESSAGE, ErrorCode.INVALID_MESSAGE)


@both
@pytest.mark.parametrize(
    ("fields", "code", "request_id"),
    [
        ({}, ErrorCode.MALFORMED_MESSAGE, None),
        ([], ErrorCode.MALFORMED_MESSAGE, None),
        (["6", 1], ErrorCode.MALFORMED_MESSAGE, None),
        ([True], ErrorCode.MALFORMED_MESSAGE, None),
        ([99], ErrorCode.UNKNOWN_MESSAGE, None),
        ([13], ErrorCode.INVALID_MESSAGE, None),
        ([6, 7], ErrorCode.INVALID_MESSAGE, 7),
        ([6, -7, "a", 1, 2], ErrorCode.INVALID_MESSAGE, None),
        ([6, 7, "a", 1, -2], ErrorCode.INVALID_MESSAGE, 7),
        ([6, 7, "", 1, 2], ErrorCode.INVALID_MESSAGE, 7),
        ([6, MAX_INT + 1, "a", 1, 2], ErrorCode.INVALID_MESSAGE, None),
        ([7, 7, "a", 1, 0, 1, "x" * 20_000], ErrorCode.INVALID_MESSAGE, 7),
        ([6, 7, "a", 1, 2, [0]], ErrorCode.INVALID_MESSAGE, 7),
        ([6, 7, "a", 1, 2, [1, -0.5]], ErrorCode.INVALID_MESSAGE, 7),
        ([6, 7, "a", 1, 2, [1, 0, 1, 0, 0, None, ["a"] * 17]], ErrorCode.INVALID_MESSAGE, 7),
        ([6, 7, "a", 1, 2, [1, 0, 1, 0, 0, None, [], "maybe"]], ErrorCode.INVALID_MESSAGE, 7),
        ([6, 7, "a", 1, 2, [1, 0, 1, 0, 0, None, [], "auto", 0]], ErrorCode.INVALID_MESSAGE, 7),
        ([6, 7, "a", 1, 2, [1, 0, 1, 0, 0, None, [], "auto", 1, 2.5]], ErrorCode.INVALID_MESSAGE, 7),
        ([6, 7, "a", 1, 2, [1, 0, 1, 0, 0, None, [], "auto", 1, 0, -2.5]], ErrorCode.INVALID_MESSAGE, 7),
        ([6, 7, "a", 1, 2, [1, 0, 1, 0, 0, None, [], "auto", 1, 0, 0, {1: 101}]], ErrorCode.INVALID_MESSAGE, 7),
        ([6, 7, "a", 1, 2, [1, 0, 1, 0, 0, None, [], "auto", 1, 0, 0, {-1: 1}]], ErrorCode.INVALID_MESSAGE, 7),
        ([6, 7, "a", 1, 2, [1, 0, 1, 0, 0, None, [], "auto", 1, 0, 0, None, 21]], ErrorCode.INVALID_MESSAGE, 7),
    ],
)
def test_what_is_wrong_is_said(subprotocol, fields, code, request_id):
    """Each way to be no message has its code, and names the request where it can be read."""
    codec = server_codec(subprotocol)
    encode = msgspec.json.encode if codec.text else msgspec.msgpack.encode
    with pytest.raises(ProtocolError) as error:
        codec.decode(as_frame(codec, encode(fields)))
    assert (error.value.code, error.value.request) == (code, request_id)


def test_frames_of_the_other_type_are_refused():
    """Text on the binary subprotocol and the reverse are not even looked at."""
    for subprotocol, frame in ((MSGPACK, "[13,1]"), (JSON, b"\x92\x0d\x01")):
        with pytest.raises(ProtocolError) as error:
            server_codec(subprotocol).decode(frame)
        assert error.value.code == ErrorCode.WRONG_FRAME_TYPE


def test_lone_surrogates_do_not_get_in():
    """JSON can spell a lone surrogate; a document never holds one."""
    with pytest.raises(ProtocolError) as error:
        server_codec(JSON).decode(r'[2,"file:///a",1,"python","\ud83d"]')
    assert error.value.code == ErrorCode.MALFORMED_MESSAGE


@both
def test_newer_peers_are_understood(subprotocol):
    """Fields that this version doesn't know are ignored, missing ones have their defaults."""
    codec = server_codec(subprotocol)
    encode = msgspec.json.encode if codec.text else msgspec.msgpack.encode
    assert codec.decode(as_frame(codec, encode([13, 5, "new"]))) == Ping(5)
    assert codec.decode(as_frame(codec, encode([6, 1, "a", 2, 3]))) == Complete(1, "a", 2, 3)
    assert codec.decode(as_frame(codec, encode([7, 1, "a", 2, 3, 4, "x", [9]]))) == Edit(
        1, "a", 2, 3, 4, "x", Sampling(max_tokens=9)
    )


def test_the_arrays_are_those_of_the_documentation():
    """The layout is public: a change here breaks clients."""
    encode = client_codec(JSON).encode
    assert encode(Open("file:///a", 1, "python", "x")) == b'[2,"file:///a",1,"python","x"]'
    assert (
        encode(Edit(1, "a", 2, 3, 4, "x"))
        == b'[7,1,"a",2,3,4,"x",[512,0.0,1.0,0,0.0,null,[],"auto",null,null,null,null,null],null,null,""]'
    )
    scored = ScoredDelta(3, "x", [TokenLogprob(5, "x", -0.5, [Logprob(6, "y", -0.25)])])
    assert server_codec(JSON).encode(scored) == b'[11,3,"x",[[5,"x",-0.5,[[6,"y",-0.25]]]]]'
    assert server_codec(JSON).encode(Ops(3, [4, -5, "x"])) == b'[4,3,[4,-5,"x"]]'


PAGE = (Path(__file__).parents[2] / "docs" / "protocol.md").read_text()


@pytest.mark.parametrize(
    ("heading", "union"), [("Client to server", ClientMessage), ("Server to client", ServerMessage)]
)
def test_the_page_has_every_message(heading, union):
    """With its name, its tag and as many fields as it has; those with a default are marked in what clients send."""
    section = PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
    rows = dict(re.findall(r"^\| `(\w+)` \| `\[(\d.*)\]` \|$", section, re.MULTILINE))
    kinds = {re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__).lower(): kind for kind in get_args(union)}
    assert sorted(rows) == sorted(kinds)
    for name, kind in kinds.items():
        tag, *fields = re.sub(r"\[(\[.*?\]|[^\]])*\]", "list", rows[name]).split(", ")
        assert int(tag) == kind.__struct_config__.tag
        assert len(fields) == len(kind.__struct_fields__), name
        if union is ClientMessage:
            assert sum(field.endswith("?") for field in fields) == len(kind.__struct_defaults__), name


def test_the_page_has_every_error_code_and_reason():
    """Each in a table."""
    names = set(re.findall(r"`(\w+)`", "".join(line for line in PAGE.splitlines() if line.startswith("| "))))
    assert {*ErrorCode, *get_args(Reason)} - {"error"} <= names


@pytest.mark.parametrize("length", [1, 31, 100, 110])
@pytest.mark.parametrize("stream", [0, 127])
def test_a_delta_costs_few_bytes(stream, length):
    """At most 7 bytes beyond the text, counting the 2 of the WebSocket header of a frame under 126 bytes."""
    payload = server_codec(MSGPACK).encode(Delta(stream, "x" * length))
    assert len(payload) < 126
    assert 2 + len(payload) - length <= 7


def test_the_envelope_is_big_enough_for_every_stream():
    """A stream number is one byte of MessagePack."""
    assert struct.unpack("4B", server_codec(MSGPACK).encode(Delta(127, "")))[2] == 127
