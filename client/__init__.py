"""The async SDK of Warmline.

async with connect("ws://127.0.0.1:8765") as session:
    document = await session.open("file:///app.py", text, language="python")
    async for operation in session.edit(document, (0, 120), "add type hints"):
        print(operation)
"""

from warmline.realtime import JSON, MSGPACK, Drafts, ErrorCode, Reason, Receipt

from .document import Document
from .errors import (
    ConnectionFailed,
    ConnectionLost,
    DocumentChanged,
    DocumentClosed,
    EngineUnavailable,
    OutOfSync,
    PromptTooLong,
    RequestError,
    ServerMisbehaved,
    SessionClosed,
    TooManyRequests,
    Unauthorized,
    WarmlineError,
)
from .handshake import connect
from .operations import Delete, EditOperation, Insert, Keep
from .session import Session
from .streams import Completion, CompletionResult, EditResult, EditStream, Result
from .timing import HopTiming

__all__ = [
    "JSON",
    "MSGPACK",
    "Completion",
    "CompletionResult",
    "ConnectionFailed",
    "ConnectionLost",
    "Delete",
    "Document",
    "DocumentChanged",
    "DocumentClosed",
    "Drafts",
    "EditOperation",
    "EditResult",
    "EditStream",
    "EngineUnavailable",
    "ErrorCode",
    "HopTiming",
    "Insert",
    "Keep",
    "OutOfSync",
    "PromptTooLong",
    "Reason",
    "Receipt",
    "RequestError",
    "Result",
    "ServerMisbehaved",
    "Session",
    "SessionClosed",
    "TooManyRequests",
    "Unauthorized",
    "WarmlineError",
    "connect",
]
