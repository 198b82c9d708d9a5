"""How long single pieces of work hold the gateway's event loop, in the cases that take longest.

    python -m tools.loop_holds

Milliseconds of the thread's own processor time, the least of several runs, so that other work on the machine doesn't
count. First single pieces of work, in documents of a million characters; then single messages to a session in which
many requests run; then what a client writes at once into a socket, documents as large as may be among it, or posts
over HTTP, and the longest turn of the loop meanwhile. The engine computes nothing: what is measured is the gateway's.
What threads do isn't seen here, so nothing may be given to one that keeps the interpreter lock for long.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import logging
import random
import socket
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final
from urllib.parse import urlsplit

import structlog
import uvloop
from warmline.engine import (
    EngineHandle,
    EngineStats,
    Finished,
    GenerationRequest,
    ModelInfo,
    OnEvent,
    SequenceEvent,
    WarmRequest,
    load_tokenizer,
)
from warmline.engine.loading.catalog import fetch_model
from warmline.realtime.documents.document import Document
from warmline.realtime.documents.text import content_hash, utf16_length
from warmline.realtime.documents.text_edits import MAX_NEAR
from warmline.realtime.editing.edits import EditAligner
from warmline.realtime.limits import Limits
from warmline.realtime.prompting.chat_prompts import ChatPrompts
from warmline.realtime.prompting.prompts import PromptBuilder
from warmline.realtime.protocol import (
    JSON,
    MSGPACK,
    Applied,
    Cancel,
    Change,
    Chat,
    ClientMessage,
    Close,
    Complete,
    Edit,
    Hello,
    Open,
    Ping,
    Pong,
    Steer,
    TextEdit,
    Warm,
    client_codec,
)
from warmline.realtime.server import GatewayServer, ServerConfig
from warmline.realtime.session import Service, Session
from warmline.realtime.telemetry.metrics import Metrics
from warmline.realtime.telemetry.tracing import clock
from websockets.frames import Frame, Opcode
from websockets.sync.client import connect
from websockets.typing import Subprotocol

CHARS: Final = 1_000_000
RUNS: Final = 5
FLOODS: Final = 2
REQUESTS: Final = 60
URI: Final = "file:///a"
JSON_TEXTS: Final = ("ASCII", "emoji")
TEXTS: Final = {"ASCII": "value = 1;\n", "accents": "value = é;\n", "emoji": "value = 🎉;\n"}
CJK: Final = "漢字かな交じり\n"

Case = Callable[[], float]


def held(work: Callable[[], object]) -> float:
    """Milliseconds of processor time."""
    start = time.thread_time_ns()
    work()
    return (time.thread_time_ns() - start) / 1e6


def changing(text: str, edits: list[TextEdit], result: str | None = None) -> Case:
    """A change of a document just opened, and finding a place in it afterwards; its hash is that of the result."""
    hashed = None if result is None else content_hash(result)

    def case() -> float:
        document = Document(Open("file:///a", 1, "python", text), Limits())
        document.range(document.length // 2, document.length // 2)

        def work() -> None:
            document.change(Change("file:///a", 1, 2, edits, None, None, hashed), Limits())
            document.range(document.length, document.length)

        return held(work)

    return case


def changes() -> Iterator[tuple[str, Case]]:
    """Changes of large documents."""
    for name, line in TEXTS.items():
        text = line * (CHARS // len(line))
        length, width = utf16_length(text), utf16_length(line)
        key = [TextEdit(length - 1, length - 1, "x")]
        yield f"a key behind everything, {name}", changing(text, key)
        yield f"a key with the content hash, {name}", changing(text, key, text[:-1] + "x\n")
        places = range(0, length - length % width, length // width // 4096 * width)[:4096]
        replaced = [TextEdit(place, place + 5, "total") for place in places]
        yield f"4,096 places replaced, {name}", changing(text, replaced[::-1])
        shuffled = random.Random(1).sample(replaced, len(replaced))
        yield f"512 places in no order, {name}", changing(text, shuffled[:512])


def rewriting(before: str, pieces: Iterable[str]) -> Case:
    """The longest step of an edit whose new text comes in pieces."""
    parts = list(pieces)

    def case() -> float:
        aligner: list[EditAligner] = []
        longest = held(lambda: aligner.append(EditAligner(before)))
        for part in parts:
            longest = max(longest, held(lambda part=part: aligner[0].feed(part)))  # type: ignore[misc]
        return max(longest, held(lambda: aligner[0].finish(True)))

    return case


def edits() -> Iterator[tuple[str, Case]]:
    """Edits of long lines, and of many."""
    source = random.Random(2)
    for size in (4_000, 7_500, 60_000):
        line = "".join(source.choices("abcdefgh ,()", k=size))
        changed = "".join("z" if source.random() < 0.1 else letter for letter in line)
        yield f"one line of {size:,} characters", rewriting(f"{line}\nend\n", [f"{changed}\n", "end\n"])
    lines = ["".join(source.choices("abcdefgh ,()", k=60)) + "\n" for _ in range(1000)]
    others = ["".join(source.choices("abcdefgh ,()", k=60)) + "\n" for _ in range(1000)]
    yield "1,000 lines, all of them other ones", rewriting("".join(lines), others)
    yield (
        "1,000 lines, half of each changed",
        rewriting("".join(lines), [old[:30] + new[30:] for old, new in zip(lines, others, strict=True)]),
    )
    yield "1,000 lines for one", rewriting("".join(lines), [lines[500].replace("a", "z")])


class StillEngine(EngineHandle):
    """Takes what it is given and says nothing until it is cancelled."""

    def __init__(self) -> None:
        self.model = ModelInfo("still", "none", 8192, "still", "", 1, 8192)
        self.stats = EngineStats(blocks_total=1)
        self._ids = itertools.count(1)
        self._running: dict[int, OnEvent] = {}

    async def start(self) -> None:
        pass

    async def close(self) -> None:
        for sequence in list(self._running):
            self._end(sequence)

    def submit(self, request: GenerationRequest, on_event: OnEvent) -> None:
        self._running[request.id] = on_event

    def warm(self, request: WarmRequest, on_event: OnEvent) -> None:
        self._running[request.id] = on_event

    def pause(self, sequence: int, paused: bool) -> None:
        pass

    def cancel(self, sequence: int) -> None:
        asyncio.get_running_loop().call_soon(self._end, sequence)

    def next_id(self) -> int:
        return next(self._ids)

    @property
    def heartbeat_age(self) -> float:
        return 0.0

    def _end(self, sequence: int) -> None:
        on_event = self._running.pop(sequence, None)
        if on_event is not None:
            on_event(SequenceEvent(sequence, "", b"", Finished("cancel")))


@dataclass(frozen=True, slots=True)
class Scene:
    """A message to a session, and what was sent before."""

    name: str
    before: Sequence[ClientMessage]
    message: ClientMessage


def scenes() -> Iterator[Scene]:
    """The messages that take longest while a session has nearly as many requests running as it may."""
    text = TEXTS["ASCII"] * 8000
    opened = Open(URI, 1, "python", text)
    place, width = len(text) // 2, 6_000
    edited: list[ClientMessage] = [opened]
    edited += (Edit(number, URI, 1, place, place + width, "x") for number in range(REQUESTS))
    completed: list[ClientMessage] = [opened]
    completed += (Complete(number, URI, 1, place, parallel=True) for number in range(REQUESTS))
    for what, before in (("edits", edited), ("completions", completed)):
        for where, at, step in (
            ("before", 0, 8),
            ("at the place of", place + (what == "edits"), 2),
            ("behind", place + width + 1, 8),
        ):
            for count in (MAX_NEAR, 4096):
                edits = [TextEdit(at + step * number, at + step * number, "#") for number in range(count)]
                name = f"{count:,} changes {where} {REQUESTS} {what}"
                yield Scene(name, before, Change(URI, 1, 2, edits))
        to_and_fro = [TextEdit(at, at, "#") for at in random.Random(3).sample(range(place - 10), 512)]
        yield Scene(f"512 in no order before {REQUESTS} {what}", before, Change(URI, 1, 2, to_and_fro))
    claim = [TextEdit(place + number, place + number, "#") for number in range(4096)]
    yield Scene("4,096 changes said to apply an edit", edited, Change(URI, 1, 2, claim, Applied(0, 0)))
    yield Scene(f"the document of {REQUESTS} edits closed", edited, Close(URI))
    yield Scene(f"the document of {REQUESTS} edits replaced", edited, Open(URI, 2, "python", text + "x"))
    yield Scene("one more completion", completed, Complete(99, URI, 1, place, parallel=True))
    large = TEXTS["ASCII"] * (CHARS // len(TEXTS["ASCII"]))
    many = [Open(f"file:///{number}", 1, "python", large) for number in range(16)]
    yield Scene(
        "a chat about 16 large documents", many, Chat(1, "c", "why?", tuple(opened.document for opened in many))
    )
    yield Scene("an edit of a large document", many, Edit(1, "file:///0", 1, 0, CHARS // 2, "x"))
    yield from steers()


def steers() -> Iterator[Scene]:
    """An edit in the middle of the largest documents is steered, some of them changed since it was asked for."""
    for name, line in (*TEXTS.items(), ("CJK", CJK)):
        text = line * (Limits().max_document_bytes // len(line.encode()) - 1)
        width = utf16_length(line)
        place = utf16_length(text) // width // 2 * width
        asked: list[ClientMessage] = [
            Open(URI, 1, "python", text),
            Edit(1, URI, 1, place, place + 4 * width, "x"),
        ]
        changed = Change(URI, 1, 2, [TextEdit(0, 0, "#")])
        for what, before in (("as it was", asked), ("changed since", [*asked, changed])):
            yield Scene(f"an edit steered in 4 MiB {what}, {name}", before, Steer(1, "and y"))


async def handled(service: Service, scene: Scene) -> float:
    """Milliseconds that a session holds the loop with a message."""
    session = Session(service, "", lambda _: clock())
    for message in scene.before:
        session.handle(message, clock(), clock())
    took = held(lambda: session.handle(scene.message, clock(), clock()))
    session.close()
    await asyncio.sleep(0.02)  # what was cancelled ends
    return took


@dataclass(frozen=True, slots=True)
class Flood:
    """What a client may send at once."""

    name: str
    before: Sequence[ClientMessage]
    data: bytes
    subprotocol: str = MSGPACK


def floods() -> Iterator[Flood]:
    """The ones that take longest."""
    opened: list[ClientMessage] = [Open(URI, 1, "python", TEXTS["ASCII"] * 1000)]
    encode = client_codec(MSGPACK).encode

    def framed(messages: Iterable[ClientMessage]) -> bytes:
        return b"".join(Frame(Opcode.BINARY, encode(message)).serialize(mask=True) for message in messages)

    yield Flood("60,000 empty pings in one write", [], Frame(Opcode.PING, b"").serialize(mask=True) * 60_000)
    yield Flood("60,000 cancels", [], framed(Cancel(number) for number in range(60_000)))
    yield Flood("20,000 warm", opened, framed(Warm(URI, 1, number % 10_000) for number in range(20_000)))
    yield Flood("20,000 bad messages", [], Frame(Opcode.BINARY, b"\xc1").serialize(mask=True) * 20_000)
    yield Flood(
        "20,000 completions", opened, framed(Complete(number, URI, 1, number % 10_000) for number in range(20_000))
    )
    yield from openings()


def openings() -> Iterator[Flood]:
    """The largest documents opened, and opened anew as after a nack; each with a completion at its end."""
    for name, line in (*TEXTS.items(), ("CJK", CJK)):
        text = line * (Limits().max_document_bytes // len(line.encode()))
        end = utf16_length(text)
        for subprotocol, opcode in ((MSGPACK, Opcode.BINARY), (JSON, Opcode.TEXT)):
            if subprotocol == JSON and name not in JSON_TEXTS:
                continue
            encode = client_codec(subprotocol).encode
            held = Open(URI, 1, "python", text[:-1] + "x")
            for what, before in (("opened", []), ("opened anew", [held])):
                messages: list[ClientMessage] = [Open(URI, 2, "python", text), Complete(1, URI, 2, end)]
                data = b"".join(Frame(opcode, encode(message)).serialize(mask=True) for message in messages)
                wire = subprotocol.rpartition(".")[2]
                yield Flood(f"4 MiB {what}, {name}, {wire}", before, data, subprotocol)


def posts() -> Iterator[tuple[str, str, bytes]]:
    """HTTP requests: what they hold, the path, and the body."""
    completion, chat = "/v1/completions", "/v1/chat/completions"
    message = {"role": "user", "content": ""}
    bodies: dict[str, tuple[str, dict[str, object]]] = {
        "900,000 tokens": (completion, {"prompt": [1] * 900_000}),
        "140,000 tokens": (completion, {"prompt": [1] * 140_000}),
        "8,192 tokens": (completion, {"prompt": [1] * 8192}),
        "140,000 prompts of none": (completion, {"prompt": [[]] * 140_000}),
        "140,000 prompts of text": (completion, {"prompt": [""] * 140_000}),
        "140,000 stop strings": (completion, {"prompt": "x", "stop": ["x"] * 140_000}),
        "140,000 biases": (completion, {"prompt": "x", "logit_bias": dict.fromkeys(range(140_000), 1)}),
        "50,000 messages": (chat, {"messages": [message] * 50_000}),
        "4,000 messages": (chat, {"messages": [message] * 4000}),
        "70,000 parts": (chat, {"messages": [{**message, "content": [{"type": "text"}] * 70_000}]}),
        "140,000 tools": (chat, {"messages": [message], "tools": [{}] * 140_000}),
        "a message of 1.5 MB": (chat, {"messages": [{**message, "content": "🎉" * 125_000}]}),
        "the longest prompt": (completion, {"prompt": "é🎉" * 32_000}),
    }
    for name, (path, body) in bodies.items():
        yield f"{name} posted", path, json.dumps(body, separators=(",", ":")).encode()


class Watch:
    """The longest turn of a running loop, in milliseconds of its thread's processor time."""

    def __init__(self) -> None:
        self.longest = 0.0

    async def run(self) -> None:
        """Watch until cancelled."""
        while True:
            began = time.thread_time_ns()
            await asyncio.sleep(0)
            self.longest = max(self.longest, (time.thread_time_ns() - began) / 1e6)


def send(url: str, flood: Flood, sending: Callable[[], None]) -> None:
    """A client's part of a flood, in a thread: it writes, and reads nothing."""
    codec = client_codec(flood.subprotocol)
    with connect(url, subprotocols=[Subprotocol(flood.subprotocol)], compression=None, close_timeout=0) as connection:
        for message in (Hello(), *flood.before, Ping(1)):
            connection.send(codec.encode(message), text=codec.text)
        while not isinstance(codec.decode(connection.recv()), Pong):
            pass
        sending()
        with contextlib.suppress(OSError):
            connection.socket.sendall(flood.data)
        time.sleep(1)


def post(port: int, path: str, body: bytes, sending: Callable[[], None]) -> None:
    """A client's part of an HTTP request, in a thread: the engine may say nothing, so it waits for no answer."""
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", port)) as connection:
        sending()
        connection.sendall(head.encode() + body)
        time.sleep(0.5)


async def longest_turn(work: Callable[[Callable[[], None]], None]) -> float:
    """Milliseconds of the longest turn while a client does that; it is given what to call when it begins."""
    watch = Watch()
    watching = asyncio.create_task(watch.run())
    loop = asyncio.get_running_loop()

    def begin() -> None:
        watch.longest = 0.0

    def begin_soon() -> None:
        loop.call_soon_threadsafe(begin)

    await asyncio.to_thread(work, begin_soon)
    watching.cancel()
    return watch.longest


def show(name: str, milliseconds: float) -> None:
    """A line of the table."""
    print(f"{name:52}{milliseconds:8.2f} ms", flush=True)


async def serve() -> None:
    """Measure sessions and sockets."""
    engine = StillEngine()
    tokenizer = load_tokenizer(fetch_model(quiet=True))
    service = Service(
        engine=engine,
        prompts=PromptBuilder(tokenizer, engine.model.max_sequence_tokens),
        chat=ChatPrompts(tokenizer, engine.model.max_sequence_tokens),
        metrics=Metrics(lambda: engine.stats, lambda: engine.heartbeat_age),
        limits=Limits(),
    )
    for scene in scenes():
        show(scene.name, min([await handled(service, scene) for _ in range(RUNS)]))
    async with GatewayServer(engine, tokenizer, ServerConfig(port=0, http_port=0)) as server:
        for flood in floods():
            show(flood.name, min([await longest_turn(partial(send, server.url, flood)) for _ in range(FLOODS)]))
        port = urlsplit(server.http_url).port
        assert port is not None
        for name, path, body in posts():
            show(name, min([await longest_turn(partial(post, port, path, body)) for _ in range(FLOODS)]))


def main() -> None:
    """Print the table."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    for name, case in [*changes(), *edits()]:
        show(name, min(case() for _ in range(RUNS)))
    uvloop.run(serve())


if __name__ == "__main__":
    main()
