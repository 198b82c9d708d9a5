"""What one client may use."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from .access.quotas import Quota, Scope
from .protocol import MAX_STREAMS


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one session and its socket. Sizes are in bytes, times in seconds."""

    max_document_bytes: int = 4 << 20
    """The UTF-8 size of a document."""
    document_bytes_scope: Scope = "connection"
    """Whose limit that is."""
    max_documents: int = 256
    max_conversations: int = 32
    max_requests: int = 64
    """Requests running at once; at most `MAX_STREAMS`."""
    remembered_requests: int = 4096
    """How many ended request ids are kept, to refuse their reuse."""
    max_edits: int = 4096
    """Edits in one change; above it the whole text is cheaper to send and to apply."""
    max_unordered_edits: int = 512
    """The same where they don't go through the text in one direction, which takes longer to apply."""
    hello_timeout: float = 10.0
    max_errors_in_row: int = 16
    write_high_water: int = 32 << 10
    """Bytes waiting for the socket above which frames are held and merged, until a quarter is left."""
    pause_unsent_bytes: int = 64 << 10
    """Bytes held for a slow reader above which its requests pause in the engine, until a quarter is left."""
    max_unsent_bytes: int = 2 << 20
    """Bytes held for a slow reader before its requests are cancelled and its socket is closed."""
    stall_timeout: float = 75.0
    """The same happens to a reader that takes less than ``write_high_water`` bytes of it in so long."""

    resume_seconds: float = 30.0
    """How long a session whose socket was lost goes on without one; 0: it ends at once, and none can be resumed."""
    max_kept_bytes: int = 1 << 20
    """What is kept of results until the client says that it has them; above it the oldest are given up. No more than
    ``max_unsent_bytes`` is, as all of it may have to be sent at once."""
    keep_seconds: float = 120.0
    """How long a result is kept after its request's end."""

    warm_tokens_per_second: int = 1024
    """Prompt tokens that may be computed ahead of requests, in the long run. Typing takes under 200: a key costs a
    block of 16 at most, as long as the cursor stays where it is."""
    warm_burst_tokens: int = 16384
    """How many at once: some places of a whole context, for a person who looks around."""

    def __post_init__(self) -> None:
        if not 1 <= self.max_requests <= MAX_STREAMS:
            raise ValueError(f"max_requests must be 1 to {MAX_STREAMS}, not {self.max_requests}")
        if min(self.warm_tokens_per_second, self.warm_burst_tokens) < 1:
            raise ValueError("warm_tokens_per_second and warm_burst_tokens must be at least 1")

    def within(self, quota: Quota) -> Limits:
        """These, with what a quota says of a connection.

        Raises:
            ValueError: there can't be so many.

        """
        found: dict[str, Any] = {
            "max_documents": quota.documents,
            "max_document_bytes": quota.document_bytes,
            "max_requests": quota.requests,
        }
        return replace(self, **{name: value for name, value in found.items() if value is not None})

    @property
    def max_frame_bytes(self) -> int:
        """The largest frame accepted: a whole document, with room for escapes and the other fields."""
        return 2 * self.max_document_bytes + (64 << 10)
