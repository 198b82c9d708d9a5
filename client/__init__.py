"""The async SDK of Warmline.

async with connect("ws://127.0.0.1:8765") as session:
    document = await session.open("file:///app.py", text, language="python")
    edit = session.edit(document, (0, 120), "add type hints")
    async for operation in edit:
        await document.apply(edit)  # what has come so far; the document may be changed meanwhile
    # from another task, while it runs: await edit.steer("and docstrings"), edit.interrupt(), edit.cancel()

    async with session.conversation() as chat:
        async for piece in chat.say("What does main do?", documents=[document]):
            print(piece, end="")
"""

from warmline.realtime import JSON, MSGPACK, Drafts, ErrorCode, Logprob, Reason, Receipt, TokenLogprob

from .clock import ClockFilter, ClockSample
from .conversation import Conversation
from .document import Document
from .errors import (
    Conflict,
    ConnectionFailed,
    ConnectionLost,
    DocumentClosed,
    EngineUnavailable,
    InvalidArgument,
    InvalidRange,
    OutOfSync,
    PromptTooLong,
    RateLimited,
    RequestError,
    ServerMisbehaved,
    SessionClosed,
    SessionLost,
    TooManyRequests,
    Unauthorized,
    WarmlineError,
    WrongType,
)
from .handshake import connect
from .lsp import run_language_server
from .operations import Delete, EditOperation, Insert, Keep, Replacement, Void
from .parameters import Parameters
from .reconnecting import ConnectionEvent, Reconnect
from .results import ChatResult, CompletionResult, EditResult, Result
from .session import Session
from .streams import Completion, EditStream, Reply
from .timing import HopTiming, measure_hops

__all__ = [
    "JSON",
    "MSGPACK",
    "ChatResult",
    "ClockFilter",
    "ClockSample",
    "Completion",
    "CompletionResult",
    "Conflict",
    "ConnectionEvent",
    "ConnectionFailed",
    "ConnectionLost",
    "Conversation",
    "Delete",
    "Document",
    "DocumentClosed",
    "Drafts",
    "EditOperation",
    "EditResult",
    "EditStream",
    "EngineUnavailable",
    "ErrorCode",
    "HopTiming",
    "Insert",
    "InvalidArgument",
    "InvalidRange",
    "Keep",
    "Logprob",
    "OutOfSync",
    "Parameters",
    "PromptTooLong",
    "RateLimited",
    "Reason",
    "Receipt",
    "Reconnect",
    "Replacement",
    "Reply",
    "RequestError",
    "Result",
    "ServerMisbehaved",
    "Session",
    "SessionClosed",
    "SessionLost",
    "TokenLogprob",
    "TooManyRequests",
    "Unauthorized",
    "Void",
    "WarmlineError",
    "WrongType",
    "connect",
    "measure_hops",
    "run_language_server",
]
