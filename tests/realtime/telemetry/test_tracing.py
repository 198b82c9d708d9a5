"""The hops of a request sum to its time, whatever was missing."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from warmline.engine import Finished
from warmline.realtime.protocol import Timing
from warmline.realtime.telemetry.tracing import HOPS, Stretch, Trace

DELAYS = st.lists(st.integers(0, 10**7), min_size=10, max_size=10)


def trace_of(delays: list[int], start: int = 10**12) -> tuple[Trace, Finished]:
    """A request that spent these nanoseconds in its hops."""
    marks = [start]
    for delay in delays:
        marks.append(marks[-1] + delay)
    trace = Trace(marks[0], marks[1])
    trace.submitted = marks[2]
    trace.ended, trace.encoded, trace.sent = marks[8:]
    queue, prefill, first, step = delays[3:7]
    return trace, Finished(
        "stop", received_ns=marks[3], queue_ns=queue, prefill_ns=prefill, first_token_ns=first, step_ns=step
    )


@given(DELAYS)
def test_hops_sum_to_the_whole(delays):
    """In whole microseconds, without a rest."""
    trace, finished = trace_of(delays)
    timing = trace.timing(finished)
    assert sum(getattr(timing, hop) for hop in HOPS) == timing.sent - timing.received
    assert all(abs(getattr(timing, hop) - delay / 1000) <= 1 for hop, delay in zip(HOPS, delays, strict=True))


@given(DELAYS, st.sampled_from(range(len(HOPS))))
def test_a_delay_shows_in_its_own_hop_alone(delays, hop):
    """One hop made longer by 5 ms changes that hop by 5 ms and no other."""
    slow = list(delays)
    slow[hop] += 5_000_000
    before, after = (trace.timing(finished) for trace, finished in (trace_of(delays), trace_of(slow)))
    for name in HOPS:
        assert getattr(after, name) - getattr(before, name) == (5000 if name == HOPS[hop] else 0)


def test_the_hops_are_those_of_the_wire_in_its_order():
    """They are put into `Timing` by their place."""
    assert Timing.__struct_fields__ == ("received", "first_sent", "sent", *HOPS)


@given(DELAYS, st.integers(0, 10**8))
def test_nothing_counts_after_a_sequence_was_left(delays, into):
    """However long the engine went on with it: that time is the next sequence's."""
    trace, finished = trace_of(delays)
    before = trace.submitted - 10**9
    left = before + into
    stretch = Stretch(before, left, trace_of(delays, before - delays[0] - delays[1])[1])
    trace.parsed, trace.received = before, before
    timing = trace.timing(finished, [stretch])
    assert sum(getattr(timing, hop) for hop in HOPS) == timing.sent - timing.received
    engine = sum(getattr(timing, hop) for hop in HOPS[2:8])
    later = trace.ended // 1000 - trace.submitted // 1000
    assert engine == left // 1000 - before // 1000 + later


def test_waiting_for_another_prompt_is_queueing_not_prompt_making():
    """A completion whose prompt is ready, and that waits for the one before it in the engine."""
    trace, finished = trace_of([1_000_000] * 10)
    trace.ready = trace.submitted - 400_000
    timing = trace.timing(finished)
    assert (timing.session_prompt, timing.engine_queue) == (600, 1400)
    assert sum(getattr(timing, hop) for hop in HOPS) == timing.sent - timing.received


def test_hops_that_were_never_reached_take_no_time():
    """A request that ended before the engine saw it."""
    trace = Trace(10_000, 12_000)
    trace.submitted, trace.ended, trace.encoded, trace.sent = 15_000, 20_000, 20_000, 21_000
    timing = trace.timing(Finished("error"))
    assert [getattr(timing, hop) for hop in HOPS] == [2, 3, 0, 0, 0, 0, 0, 5, 0, 1]
    assert (timing.received, timing.sent, timing.first_sent) == (10, 21, 0)
