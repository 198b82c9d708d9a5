"""LSP's base protocol: messages behind their headers. What can't be carried out is answered, each in its turn."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any, Final

from cattrs import transform_error
from lsprotocol import types
from pygls.exceptions import (
    JsonRpcException,
    JsonRpcInvalidParams,
    JsonRpcInvalidRequest,
    JsonRpcParseError,
    JsonRpcServerNotInitialized,
)
from pygls.protocol import LanguageServerProtocol
from pygls.protocol.json_rpc import JsonRPCNotification, JsonRPCRequestMessage, JsonRPCResponseMessage

MOST_FAULTS: Final = 3
"""Faults of one message's parameters that its answer names."""

_log = logging.getLogger(__name__)


async def read_message(reader: asyncio.StreamReader) -> bytes | None:
    """The content of the next message; None: there is no more. Lines that are no header are skipped.

    Raises:
        asyncio.IncompleteReadError: the source ended within it.
        ValueError: a line is longer than the reader takes.

    """
    length: int | None = None
    while line := await reader.readline():
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length" and value.strip().isdigit():
            length = int(value)
        elif not line.strip() and length is not None:
            return await reader.readexactly(length)
    return None


class StrictProtocol(LanguageServerProtocol):
    """The library's, which leaves requests unanswered that it can't read, and takes any at any time.

    Its log of what was wrong has people's text, so this one's has none.

    Attributes:
        initialized: whether the handshake has succeeded; whoever carries it out says so.
        ended: whether the editor has said ``shutdown``.
        left: whether the editor has said ``exit``.
    """

    initialized = False
    ended = False
    left = False

    def take(self, body: bytes) -> None:
        """Handle a message, or answer what is wrong with it: by its id, or null where none can be read.

        Raises:
            BrokenPipeError: the editor has gone.

        """
        try:
            message = json.loads(body)
        except (ValueError, RecursionError):
            self._refuse(None, JsonRpcParseError("The message is no JSON.", data={"code": "invalid_json"}))
            return
        if not isinstance(message, dict):
            self._refuse(None, _invalid_request("A message is one object; LSP has no batches."))
            return
        method = message.get("method")
        identity = message["id"] if type(message.get("id")) in (int, str) else None
        if message.get("jsonrpc") != self.VERSION:
            self._refuse(identity, _invalid_request('"jsonrpc" has to be "2.0".'))
        elif method is None and ("result" in message or "error" in message):
            if identity is not None:  # an answer is never answered
                self._take_answer(identity, message)
        elif not isinstance(method, str):
            self._refuse(identity, _invalid_request("The message has no method."))
        elif identity is not None:
            self._take_request(identity, method, message)
        elif "id" in message:
            self._refuse(None, _invalid_request("A request's id is a number or a string."))
        else:
            self._take_notification(method, message)

    def _take_request(self, identity: int | str, method: str, message: dict[str, Any]) -> None:
        try:
            self._check_turn(method)
            self._get_handler(method)
            structured = self._structured(method, message, JsonRPCRequestMessage)
        except JsonRpcException as refusal:
            self._refuse(identity, refusal)
            return
        self.ended = self.ended or method == types.SHUTDOWN
        self.handle_message(structured)

    def _take_notification(self, method: str, message: dict[str, Any]) -> None:
        if method == types.EXIT:
            self.left = True
        elif self.initialized and not self.ended:
            try:
                structured = self._structured(method, message, JsonRPCNotification)
            except JsonRpcException:
                _log.warning("a notification is not as LSP has it, and is left out: %s", method[:80])
            else:
                self.handle_message(structured)

    def _take_answer(self, identity: int | str, message: dict[str, Any]) -> None:
        kind = self._result_types.pop(identity, None) or JsonRPCResponseMessage
        if message.get("error") is not None:
            kind = types.ResponseErrorMessage
        else:
            message.pop("error", None)  # null, beside a result
        try:
            structured = self._converter.structure(message, kind)
        except Exception:  # whatever a converter raises: whoever waits for it has to hear of it
            wrong = types.ResponseError(JsonRpcInvalidRequest.CODE, "the editor's answer is not as LSP has it")
            structured = types.ResponseErrorMessage(identity, wrong)
        self.handle_message(structured)

    def _check_turn(self, method: str) -> None:
        if self.ended:
            raise _invalid_request("The server was shut down; nothing but exit follows.", "shut_down")
        if method == types.INITIALIZE and self.initialized:
            raise _invalid_request("The handshake was made already.", "initialized_already")
        if method != types.INITIALIZE and not self.initialized:
            raise JsonRpcServerNotInitialized(
                "Nothing can be asked before initialize is answered.", data={"code": "not_initialized"}
            )

    def _structured(self, method: str, message: dict[str, Any], otherwise: type[Any]) -> Any:
        """A message as the type that LSP has for its method.

        Raises:
            JsonRpcInvalidParams: it is none.

        """
        kind = self.get_message_type(method)
        if kind is None:
            message.setdefault("params", None)
        try:
            return self._converter.structure(message, kind or otherwise)
        except Exception as error:  # not only those of the converter: lsprotocol's checks raise others
            faults = "; ".join(transform_error(error, path="")[:MOST_FAULTS]).replace("@ .", "at ")
            said = f"The parameters of {method[:80]} are not as LSP has them: {faults}"
            raise JsonRpcInvalidParams(said, data={"code": "invalid_parameter"}) from None

    def _refuse(self, identity: int | str | None, refusal: JsonRpcException) -> None:
        _log.info("a message was refused (%d)", refusal.code)
        error = {"code": refusal.code, "message": refusal.message, "data": refusal.data}
        if refusal.data is None:
            del error["data"]
        self._send_data({"jsonrpc": self.VERSION, "id": identity, "error": error})


def _invalid_request(said: str, code: str = "invalid_request") -> JsonRpcInvalidRequest:
    return JsonRpcInvalidRequest(said, data={"code": code})
