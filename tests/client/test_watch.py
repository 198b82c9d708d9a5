"""A connection that is dead and doesn't say so."""

from __future__ import annotations

from warmline.client.watch import Watch


class Days:
    """A watch that looks at every tick, and two clocks; ``asked`` are the times at which it asked."""

    def __init__(self, interval: float = 20.0) -> None:
        self.now, self.wall = 100.0, 1_000_000.0
        self.watch = Watch(interval, self.now, self.wall)
        self.heard = self.now
        self.asked: list[float] = []
        self.died: float | None = None

    def pass_by(self, seconds: float, *, answers: bool = False) -> None:
        until = self.now + seconds
        while self.now < until and self.died is None:
            self.now += self.watch.every
            self.wall += self.watch.every
            match self.watch.look(self.now, self.wall, self.heard):
                case "ask":
                    self.asked.append(self.now)
                    if answers:
                        self.heard = self.now + 0.01
                case "dead":
                    self.died = self.now

    def sleep(self, seconds: float) -> None:
        """The machine sleeps: only the wall clock goes on."""
        self.wall += seconds


def test_an_idle_connection_is_asked_now_and_then_and_lives() -> None:
    """Once an interval."""
    days = Days()
    days.pass_by(100, answers=True)
    assert days.died is None
    assert 4 <= len(days.asked) <= 5


def test_what_says_something_is_not_asked() -> None:
    """Whatever it is."""
    days = Days()
    for _ in range(30):
        days.pass_by(10)
        days.heard = days.now
    assert days.asked == []


def test_one_that_says_nothing_is_dead_after_two_intervals() -> None:
    """It is asked after the first, and given as long again."""
    days = Days()
    days.pass_by(60)
    assert days.asked == [120.0]
    assert days.died == 140.0


def test_after_a_sleep_it_is_asked_at_once_and_has_less_time() -> None:
    """Most connections don't survive one, and say nothing."""
    days = Days()
    days.pass_by(5)
    days.sleep(600)
    days.pass_by(10)
    assert days.asked == [106.0]
    assert days.died == 111.0


def test_one_that_survived_the_sleep_goes_on() -> None:
    """It answers, and all is as before."""
    days = Days()
    days.sleep(600)
    days.pass_by(15, answers=True)
    assert (days.asked, days.died) == ([101.0], None)


def test_a_process_that_was_stopped_asks_too() -> None:
    """There both clocks went on, and nobody looked."""
    days = Days()
    days.now += 60
    days.wall += 60
    days.pass_by(1, answers=True)
    assert len(days.asked) == 1
    assert days.died is None
