"""An editor that speaks LSP, so that the language server is tested as editors use it.

It shares no code with the server: what lines and columns are is written here once more.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from typing import Any

UNITS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}


class Answered(Exception):
    """A request that was answered with an error."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error["message"])
        self.error = error
        self.number = error["code"]
        self.code = (error.get("data") or {}).get("code")


class Buffer:
    """A text as an editor holds it."""

    def __init__(self, text: str, encoding: str) -> None:
        self.text = text
        self.version = 1
        self.encoding = encoding

    def position(self, index: int) -> dict[str, int]:
        """The position of an index."""
        before = re.split(r"\r\n|\r(?!\n)|\n", self.text[:index])
        name, size = UNITS[self.encoding]
        return {"line": len(before) - 1, "character": len(before[-1].encode(name)) // size}

    def index(self, position: dict[str, int]) -> int:
        """The index of a position."""
        lines = re.split(r"(?<=\n)|(?<=\r)(?!\n)", self.text)
        start = sum(len(line) for line in lines[: position["line"]])
        name, size = UNITS[self.encoding]
        return start + len(self.text[start:].encode(name)[: size * position["character"]].decode(name))

    def range(self, start: int, end: int) -> dict[str, Any]:
        """The range of two indices."""
        return {"start": self.position(start), "end": self.position(end)}

    def edit(self, edits: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Make edits that all count the text as it is; returns them as the changes to report."""
        places = [
            (self.index(edit["range"]["start"]), self.index(edit["range"]["end"]), edit["newText"]) for edit in edits
        ]
        assert all(one[1] <= other[0] for one, other in zip(sorted(places), sorted(places)[1:], strict=False))
        changes = []
        for start, end, text in sorted(places, reverse=True):
            changes.append({"range": self.range(start, end), "text": text})
            self.text = self.text[:start] + text + self.text[end:]
        self.version += 1
        return changes


class Editor:
    """The editor's end of a connection.

    Attributes:
        buffers: the open texts, by URI.
        heard: the notifications that came, each with its parameters.
        answers: what is answered to a request of the server, by its method; an `Answered` is answered as an error.
        unread: the errors that came for messages whose id the server could not read.
    """

    def __init__(self, write: Callable[[bytes], object]) -> None:
        self.buffers: dict[str, Buffer] = {}
        self.heard: list[tuple[str, Any]] = []
        self.answers: dict[str, Callable[[Any], object]] = {
            "workspace/applyEdit": self.applied,
            "window/workDoneProgress/create": lambda params: None,
        }
        self.unread: list[dict[str, Any]] = []
        self.encoding = "utf-16"
        self.asked = 0
        self._write = write
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._news = asyncio.Event()

    async def read(self, reader: asyncio.StreamReader) -> None:
        """Take what the server sends until it ends. Anything else than LSP is an error."""
        while header := await reader.readline():
            length = int(re.fullmatch(rb"Content-Length: (\d+)\r\n", header)[1])  # type: ignore[index]
            while (await reader.readline()).strip():
                pass
            self._take(json.loads(await reader.readexactly(length)))

    def _take(self, message: dict[str, Any]) -> None:
        if "method" not in message and message["id"] is None:
            self.unread.append(message["error"])
            self._news.set()
        elif "method" not in message:
            waiting = self._waiting.pop(message["id"])
            if waiting.cancelled():
                return
            if "error" in message:
                waiting.set_exception(Answered(message["error"]))
            else:
                waiting.set_result(message.get("result"))
        elif "id" in message:
            result = self.answers[message["method"]](message["params"])
            failed = isinstance(result, Answered)
            self._send({"id": message["id"], **({"error": result.error} if failed else {"result": result})})
        else:
            self.heard.append((message["method"], message.get("params")))
            self._news.set()

    def _send(self, message: dict[str, Any]) -> None:
        self.send_body(json.dumps({"jsonrpc": "2.0", **message}).encode())

    def send_body(self, body: bytes) -> None:
        """Send what may be no message behind a header."""
        self._write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))

    def notify(self, method: str, params: object = None) -> None:
        """Send a notification."""
        self._send({"method": method, "params": params})

    def ask(self, method: str, params: object = None) -> asyncio.Future[Any]:
        """Send a request; the answer is awaited or not."""
        self.asked += 1
        future = self._waiting[self.asked] = asyncio.get_running_loop().create_future()
        self._send({"id": self.asked, "method": method, "params": params})
        return future

    def cancel(self) -> None:
        """Cancel the newest request."""
        self.notify("$/cancelRequest", {"id": self.asked})

    async def refused(self, count: int) -> list[int]:
        """The codes of what came for messages without an id that could be read, once there are so many."""
        while len(self.unread) < count:
            self._news.clear()
            await self._news.wait()
        return [error["code"] for error in self.unread]

    async def hear(self, method: str, count: int = 1) -> list[Any]:
        """The parameters of the notifications of a method, once there are so many."""
        while len(said := [params for heard, params in self.heard if heard == method]) < count:
            self._news.clear()
            await self._news.wait()
        return said

    async def initialize(self, options: object = None, encodings: object = None, **capabilities: Any) -> Any:
        """The handshake; returns the server's capabilities."""
        capabilities = {
            "general": {"positionEncodings": encodings},
            "workspace": {"workspaceEdit": {"documentChanges": True}},
            **capabilities,
        }
        params = {"processId": None, "rootUri": None, "capabilities": capabilities, "initializationOptions": options}
        result = await self.ask("initialize", params)
        self.encoding = result["capabilities"]["positionEncoding"]
        self.notify("initialized", {})
        return result["capabilities"]

    # Documents --------------------------------------------------------------------------------------------------

    def open(self, uri: str, text: str, language: str = "python") -> Buffer:
        """Open a document."""
        buffer = self.buffers[uri] = Buffer(text, self.encoding)
        item = {"uri": uri, "languageId": language, "version": 1, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": item})
        return buffer

    def type(self, uri: str, start: int, end: int, text: str) -> None:
        """Replace [start, end) by hand."""
        buffer = self.buffers[uri]
        self.report(uri, buffer.edit([{"range": buffer.range(start, end), "newText": text}]))

    def report(self, uri: str, changes: list[dict[str, Any]]) -> None:
        """Tell the server of changes that were made."""
        document = {"uri": uri, "version": self.buffers[uri].version}
        self.notify("textDocument/didChange", {"textDocument": document, "contentChanges": changes})

    def close(self, uri: str) -> None:
        """Close a document."""
        del self.buffers[uri]
        self.notify("textDocument/didClose", {"textDocument": {"uri": uri}})

    def applied(self, params: Any) -> object:
        """Make an edit, unless it is of another version; the change is reported before the answer."""
        for change in params["edit"]["documentChanges"]:
            uri, version = change["textDocument"]["uri"], change["textDocument"]["version"]
            if self.buffers[uri].version != version:
                return {"applied": False, "failureReason": f"version {version} is not the current one"}
            self.report(uri, self.buffers[uri].edit(change["edits"]))
        return {"applied": True}

    # What is asked ----------------------------------------------------------------------------------------------

    def complete(self, uri: str, index: int, *, explicit: bool = False, **context: Any) -> asyncio.Future[Any]:
        """Ask for an inline completion."""
        params = {
            "textDocument": {"uri": uri},
            "position": self.buffers[uri].position(index),
            "context": {"triggerKind": 1 if explicit else 2, **context},
        }
        return self.ask("textDocument/inlineCompletion", params)

    async def suggested(self, uri: str, index: int, *, explicit: bool = False) -> str | None:
        """What is suggested at a place, put into the text as accepting it would; None if nothing is."""
        items = (await self.complete(uri, index, explicit=explicit))["items"]
        if not items:
            return None
        (item,) = items
        text = self.buffers[uri].text
        start, end = (self.buffers[uri].index(item["range"][side]) for side in ("start", "end"))
        assert start <= index <= end
        return text[:start] + "[" + item["insertText"] + "]" + text[end:]

    def command(self, name: str, *arguments: object, **params: object) -> asyncio.Future[Any]:
        """Run a command of the server's."""
        return self.ask("workspace/executeCommand", {"command": name, "arguments": list(arguments), **params})

    def edit(self, uri: str, start: int, end: int, instruction: str, **params: object) -> asyncio.Future[Any]:
        """Run the edit command."""
        given = {"uri": uri, "range": self.buffers[uri].range(start, end), "instruction": instruction}
        return self.command("warmline.edit", given, **params)
