"""The cost of a pass, and its measurement."""

from __future__ import annotations

import statistics
from random import Random

import pytest
from warmline.engine.core import Engine
from warmline.engine.speculation import measuring
from warmline.engine.speculation.cost import USUAL_COST, PassCost
from warmline.engine.speculation.measuring import measure_cost


def test_between_and_beyond_the_points_are_lines():
    """Each piece has its own slope; the last one goes on."""
    cost = PassCost(((1, 1.0), (11, 2.0), (21, 4.0)))
    assert [cost.seconds(rows) for rows in (1, 6, 11, 16, 21, 31)] == pytest.approx([1, 1.5, 2, 3, 4, 6])


def test_keys_cost_by_their_number():
    """Attention adds to whatever the rows cost."""
    cost = PassCost(((1, 1.0), (2, 1.0)), per_key=0.01)
    assert cost.seconds(2, 300) == pytest.approx(4)


@pytest.mark.parametrize(
    "curve", [(), ((1, 1.0),), ((2, 1.0), (1, 2.0)), ((1, 1.0), (1, 2.0)), ((1, 2.0), (2, 1.0)), ((1, 0.0), (2, 1.0))]
)
def test_a_curve_ascends(curve):
    """Rows and times are in order, and there are two points at least."""
    with pytest.raises(ValueError, match="ascends"):
        PassCost(curve)


def test_more_rows_cost_more():
    """The usual cost does too, though much less than as many passes."""
    assert 1 < USUAL_COST.seconds(32) / USUAL_COST.seconds(1) < 8


class FakeClock:
    """A clock that passes move by what they cost, and by noise."""

    def __init__(self, monkeypatch, seconds, noise=(0.0,)):
        self.now, self.passes, self.seconds, self.noise = 0.0, [], seconds, noise
        monkeypatch.setattr(measuring, "_pass", self.run)

    def run(self, backend, rows, position):
        """Take the time of a pass."""
        self.now += self.seconds(rows, position) + self.noise[len(self.passes) % len(self.noise)]
        self.passes.append((rows, position))

    def __call__(self):
        return self.now

    def measure(self):
        """Measure by it."""
        measure_cost(None, 8192, self)
        return self


def test_a_busy_machine_is_measured_for_longer(monkeypatch):
    """Where seven of ten passes take up to six times as long, most measurements find the true one all the same."""
    random = Random(4)

    def noisy(rows, position):
        true = 0.004 + rows * 1e-4 + rows * position * 1e-8
        return true * (random.uniform(1, 1.03) if random.random() < 0.3 else random.uniform(1.5, 6))

    ratios = []
    for _ in range(40):
        clock = FakeClock(monkeypatch, noisy)
        cost = measure_cost(None, 8192, clock)
        assert clock.now < 2.1
        ratios.append(cost.seconds(64) / cost.seconds(1))
    third, *_, seventh = statistics.quantiles(ratios, n=10)[2:7]
    assert third == pytest.approx(10.4 / 4.1, rel=0.05) and seventh == pytest.approx(10.4 / 4.1, rel=0.05)


def test_it_finds_the_cost_that_is_there(monkeypatch):
    """Rows and keys are told apart, whatever disturbed single passes; undisturbed, three passes of each size do."""

    def seconds(rows, keys):
        return 0.002 + rows * 1e-4 + rows * keys * 1e-8

    assert len(FakeClock(monkeypatch, seconds).measure().passes) == 15
    clock = FakeClock(monkeypatch, seconds, noise=(0, 0.003, 0.001, 0.02))
    cost = measure_cost(None, 8192, clock)
    assert cost.seconds(1) == pytest.approx(0.0021)
    assert cost.seconds(48) == pytest.approx(0.0068)
    assert cost.per_key == pytest.approx(1e-8)


def test_a_slow_model_does_not_keep_one_waiting(monkeypatch):
    """Where all sizes take longer than there is, each is timed once; what is deep has few rows."""
    clock = FakeClock(monkeypatch, lambda rows, position: 0.4 + rows / 100 + rows * position * 4e-5)
    cost = measure_cost(None, 8192, clock)
    assert len(clock.passes) == len({*clock.passes}) == 5
    assert clock.now < 4
    assert cost.seconds(64) == pytest.approx(1.04)
    assert cost.per_key == pytest.approx(4e-5)


def test_a_small_machine_has_time_for_three_passes_of_each_size(monkeypatch):
    """Where 64 rows take a quarter of a second, undisturbed, all are over within two seconds."""
    curve = PassCost(((1, 0.045), (8, 0.065), (32, 0.14), (64, 0.24)), 6e-6)
    clock = FakeClock(monkeypatch, lambda rows, position: curve.seconds(rows, rows * position))
    cost = measure_cost(None, 8192, clock)
    assert sorted(clock.passes) == sorted(3 * [*{*clock.passes}]) and len(clock.passes) == 15
    assert clock.now < 2
    assert cost.per_key == pytest.approx(6e-6)


def test_no_pass_is_repeated_that_would_end_too_late(monkeypatch):
    """Twice as slow, the passes that still fit are repeated, and none goes beyond."""
    clock = FakeClock(monkeypatch, lambda rows, position: 0.1 + rows / 150 + rows * position * 1.2e-5)
    measure_cost(None, 8192, clock)
    assert len({*clock.passes}) == 5 < len(clock.passes)
    assert clock.now <= 2


def test_a_disturbed_measurement_still_ascends(monkeypatch):
    """A pass of one row that was slow makes no curve that falls, nor attention that gives time back."""
    clock = FakeClock(monkeypatch, lambda rows, position: 0.5 if rows == 1 else 0.01 * (position == 0) + 1e-5 * rows)
    cost = measure_cost(None, 8192, clock)
    assert cost.seconds(1) <= cost.seconds(64)
    assert cost.per_key == 0


@pytest.mark.parametrize("blocks", [1, 2, 4, 10, 200])
def test_it_stays_within_the_cache(fake, blocks):
    """Also in the smallest one; each pass has rows that fit."""
    backend = fake.FakeBackend(blocks)
    cost = measure_cost(backend, blocks * 16)
    assert max(backend.passes) <= 64
    assert 0 < cost.seconds(1) <= cost.seconds(8)


def test_nothing_before_the_first_request_has_more_rows(fake):
    """A prompt's many rows take seconds on a slow machine."""
    backend = fake.FakeBackend(200)
    Engine(backend, fake.FakeTokenizer()).warm_up()
    assert max(backend.passes) == 64
