"""What one client may use."""

from __future__ import annotations

from dataclasses import dataclass

from .protocol import MAX_STREAMS


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one session and its socket. Sizes are in bytes, times in seconds."""

    max_document_bytes: int = 4 << 20
    """The UTF-8 size of a document."""
    max_documents: int = 256
    max_requests: int = 64
    """Requests running at once; at most `MAX_STREAMS`."""
    remembered_requests: int = 4096
    """How many ended request ids are kept, to refuse their reuse."""
    max_edits: int = 4096
    """Edits in one change; above it the whole text is cheaper to send and to apply."""
    hello_timeout: float = 10.0
    max_errors_in_row: int = 16
    write_high_water: int = 64 << 10
    """Bytes waiting for the socket above which a stream's frames are merged instead of written."""
    max_unsent_bytes: int = 2 << 20
    """Bytes held for a slow reader before its requests are cancelled and its socket is closed."""
    stall_timeout: float = 30.0
    """How long a reader may leave what waits for its socket before the same happens."""

    def __post_init__(self) -> None:
        if not 1 <= self.max_requests <= MAX_STREAMS:
            raise ValueError(f"max_requests must be 1 to {MAX_STREAMS}, not {self.max_requests}")

    @property
    def max_frame_bytes(self) -> int:
        """The largest frame accepted: a whole document, with room for escapes and the other fields."""
        return 2 * self.max_document_bytes + (64 << 10)
