"""What crosses the hop between the gateway and the engine process, typed.

One length-prefixed MessagePack message each. Clock readings are `time.monotonic_ns`, which all processes of one
machine share; the hop never leaves the machine.
"""

from __future__ import annotations

from array import array
from typing import Final, Literal

import msgspec

FinishReason = Literal["stop", "length", "cancel", "error"]

GAP_SECONDS: Final = (200e-6, 500e-6, 1e-3, 2e-3, 5e-3, 10e-3, 20e-3, 50e-3, 0.1, 0.2, 0.5, 1.0, 2.0)
"""Bounds of the buckets that `EngineStats.gaps` counts in."""
FREE_SECONDS: Final = (100e-6, 200e-6, 500e-6, 1e-3, 2e-3, 5e-3, 10e-3, 20e-3, 50e-3, 0.1, 0.2, 0.5, 1.0)
"""The bounds by which `EngineStats.freed` counts."""


def pack_tokens(tokens: list[int]) -> bytes:
    """Token ids as little-endian int32."""
    return array("i", tokens).tobytes()


def unpack_tokens(packed: bytes) -> list[int]:
    """The inverse of `pack_tokens`."""
    return array("i", packed).tolist()


class _Array(msgspec.Struct, array_like=True, frozen=True, gc=False):
    pass


class SamplingParams(_Array, frozen=True):
    """How the next token is chosen: temperature 0 is greedy; top_p 1, top_k 0, min_p 0 are off.

    Random numbers are keyed by (seed, position), so batch mates and drafts don't change them. Penalties of 1
    (repetition) and 0 (the others) are off; see `warmline.engine.sampling` for what each does, and in which order.
    ``logit_bias`` maps tokens to what is added to their logits. With ``logprobs`` each token comes with its log
    probability and those of so many of the likeliest; None is off.
    """

    max_tokens: int = 512
    temperature: float = 0.0
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0
    seed: int = 0
    stop: tuple[str, ...] = ()
    repetition_penalty: float = 1.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    logit_bias: dict[int, float] = {}
    logprobs: int | None = None


class GenerationRequest(_Array, tag=1, frozen=True):
    """One sequence to generate.

    ``salt`` keys the prefix cache (one value per API key). ``client`` tells those apart, within a salt, between whom
    the engine's time is shared evenly: sessions, for one. ``draft`` is the text that the output will probably
    repeat, as tokens: it changes the time, never the result. With ``replay`` (tokens) each pass and each sample
    is computed, and the emitted token is then taken from it; drafters don't see it.
    """

    id: int
    prompt: bytes
    sampling: SamplingParams = SamplingParams()
    salt: str = ""
    speculation: bool = True
    draft: bytes | None = None
    replay: bytes | None = None
    client: str = ""


class CancelRequest(_Array, tag=2, frozen=True):
    """Free a sequence now, in whatever state. Unknown ids are ignored (it may just have ended).

    ``sent_ns`` is a clock reading, from which the time to free counts; 0 is none.
    """

    id: int
    sent_ns: int = 0


class WarmRequest(_Array, tag=3, frozen=True):
    """Compute a prompt's keys and values into the prefix cache, in time that nobody else needs.

    Its one event has ``finished`` set: reason "stop" when all is computed (full blocks are what the cache keeps),
    "cancel" when it was cancelled or dropped because room or time went to requests, "error" when no request could
    have this prompt. Its receipt is about full blocks alone.
    """

    id: int
    prompt: bytes
    salt: str = ""


class PauseRequest(_Array, tag=4, frozen=True):
    """Compute nothing more for a sequence, or go on with it. It keeps its blocks. Unknown ids are ignored."""

    id: int
    paused: bool


ToEngine = GenerationRequest | CancelRequest | WarmRequest | PauseRequest


class DraftCount(_Array, frozen=True):
    """Draft tokens of one source."""

    source: str
    proposed: int
    accepted: int


class Finished(_Array, frozen=True):
    """How a sequence ended, what it cost and where the time went.

    The durations are contiguous: ``received_ns`` + queue + prefill + first_token + step = ``sent_ns``, in
    nanoseconds. ``error_code`` and ``error`` are set when the reason is "error".
    """

    reason: FinishReason
    prompt_tokens: int = 0
    cached_tokens: int = 0
    computed_tokens: int = 0
    output_tokens: int = 0
    forward_passes: int = 0
    drafts: tuple[DraftCount, ...] = ()
    received_ns: int = 0
    queue_ns: int = 0
    prefill_ns: int = 0
    first_token_ns: int = 0
    step_ns: int = 0
    sent_ns: int = 0
    error_code: str = ""
    error: str = ""
    warmed_tokens: int = 0
    """Prompt tokens that warm work had computed and that no request had used before; not among ``cached_tokens``."""


class TokenLogprobs(_Array, frozen=True):
    """A token's log probability (natural), and the likeliest tokens at its position with theirs, likeliest first.

    They are of the model's own distribution: no temperature, bias, penalty or filter. The least is -9999.
    """

    token: int
    logprob: float
    top: tuple[tuple[int, float], ...] = ()


class SequenceEvent(_Array, frozen=True):
    """What one step brought to one sequence: its new tokens (packed) and the text that can be shown.

    ``logprobs`` has one for each of the tokens, if they were asked for.
    """

    id: int
    text: str
    tokens: bytes = b""
    finished: Finished | None = None
    logprobs: tuple[TokenLogprobs, ...] = ()


class EngineStats(_Array, frozen=True):
    """Counters since start and gauges of now."""

    running: int = 0
    waiting: int = 0
    blocks_used: int = 0  # held by running sequences and by warm requests that were begun
    blocks_cached: int = 0  # held by the prefix cache alone
    blocks_total: int = 0
    forward_passes: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    draft_tokens: int = 0
    accepted_tokens: int = 0
    finished: int = 0
    cancelled: int = 0
    warming: int = 0  # warm requests that have not ended
    warm_computed_tokens: int = 0
    warm_used_tokens: int = 0
    warm_dropped: int = 0
    freed: tuple[int, ...] = (0,) * (len(FREE_SECONDS) + 1)
    """Cancelled requests by the smallest of `FREE_SECONDS` that the time from the cancel's sending to their blocks
    being free does not exceed; the last are beyond all."""
    free_seconds: float = 0.0  # all those times together
    gaps: tuple[int, ...] = (0,) * (len(GAP_SECONDS) + 1)
    """Inter-token latency: the times between two passes that brought a sequence tokens, by the smallest of
    `GAP_SECONDS` that they don't exceed. Tokens of one pass come together and have none between them."""
    gap_seconds: float = 0.0  # all those times together


class StepOutput(_Array, tag=1, frozen=True):
    """Everything one step brought, in one message; with no events it is a heartbeat.

    ``stats`` come as often as heartbeats, and only when they have changed.
    """

    events: list[SequenceEvent]
    stats: EngineStats | None = None


class ModelInfo(_Array, tag=2, frozen=True):
    """The engine is ready: what it runs and how."""

    name: str
    architecture: str
    context_length: int
    backend: str
    kernels: str
    threads: int
    max_sequence_tokens: int  # the smaller of the context and what the KV memory holds
    fill_marks: tuple[str, ...] | None = None  # see `read_fill_marks`; None if it was not taught to fill in
    adapter: str = ""  # its file's name
    vocabulary: int = 1 << 31  # what every token is below


class StartFailed(_Array, tag=3, frozen=True):
    """The engine can't start; ``message`` says why and what to do."""

    message: str


FromEngine = StepOutput | ModelInfo | StartFailed
