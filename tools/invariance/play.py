"""Play scenarios: requests that come, wait, share passes, give way, pause and are cancelled, on one engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from random import Random
from typing import Final

import torch
from warmline.engine import GenerationRequest, SequenceEvent, WarmRequest, pack_tokens
from warmline.engine.batch import BLOCK_SIZE
from warmline.engine.budget import StepBudget
from warmline.engine.core import Engine
from warmline.engine.scheduler import Scheduled, Scheduler
from warmline.engine.sequence import Sequence
from warmline.engine.speculation.cost import USUAL_COST, PassCost
from warmline.engine.speculation.draft_model import DraftModel
from warmline.engine.speculation.drafter import Drafter

from .oracle import Oracle
from .tally import Difference, Tally
from .tasks import Output, Task, draw_task
from .worlds import BLOCKS, DRAFT_BLOCKS, LONGEST_OUTPUT, PartOfCache, World, tiny_world

COSTS: Final = (USUAL_COST, PassCost(((1, 1.0), (2, 1.0))), PassCost(((1, 1.0), (2, 1.6), (9, 4.0)), per_key=1e-3))
"""Of passes: by which drafts get their lengths. In the second, whatever is foreseen is verified."""
THREADS: Final = (1, 2, 3)
CLIENTS: Final = ("one", "another")
_WARM_IDS: Final = 1000
_MOST_STEPS: Final = 20_000


class ObservedScheduler(Scheduler):
    """Counts what it does to requests."""

    def __init__(self, engine: Engine, budget: StepBudget, cost: PassCost) -> None:
        super().__init__(engine.cache, budget, cost)
        self.chunked: set[int] = set()
        self.preemptions = 0

    def schedule(self, between: Callable[[], object] | None = None) -> list[Scheduled]:
        """See `Scheduler.schedule`."""
        plan = super().schedule(between)
        self.chunked.update(item.sequence.request.id for item in plan if not (item.samples or item.sequence.warm))
        return plan

    def _put_back(self, sequence: Sequence) -> None:
        self.preemptions += 1
        super()._put_back(sequence)


class Stage:
    """A world and the tasks drawn for it; each scenario takes some of these, on a new engine or on the last one's."""

    def __init__(self, world: World, seed: int, tasks: int, threaded: float = 0.03) -> None:
        """Draw so many tasks and run each alone; ``threaded`` is the part of the scenarios with several threads."""
        random = Random(f"tasks {world.name} {seed}")
        self.world = world
        self.tasks = [draw_task(world, random) for _ in range(tasks)]
        self.engine: Engine | None = None
        self._seed = seed
        self._threaded = threaded

    def play(self, number: int) -> Tally:
        """Play a scenario; its tally has the differences. The cache may have what scenarios before it left."""
        random = Random(f"scenario {self.world.name} {self._seed} {number}")
        chosen = [random.choice(self.tasks) for _ in range(random.randint(2, 5))]
        blocks = -(-max(task.most_tokens for task in chosen) // BLOCK_SIZE)
        engine = self.engine
        if engine is None or engine.backend.num_blocks < blocks or random.random() < 0.5:
            engine = self.engine = self._new_engine(blocks, random)
        threads = random.choice(THREADS) if random.random() < self._threaded else 1
        with thread_count(threads):
            return Scenario(self.world, engine, chosen, number, random).play()

    def _new_engine(self, blocks: int, random: Random) -> Engine:
        blocks = min(blocks + random.choice([0, 0, 1, 4, BLOCKS]), BLOCKS)
        drafting = None
        if random.random() < 0.4:
            drafting = DraftModel(PartOfCache(self.world.drafting, random.choice([4, DRAFT_BLOCKS])))
            drafting.effort = random.choice([0.02, 0.2])
        return Engine(PartOfCache(self.world.backend, blocks), self.world.tokenizer, draft_model=drafting)


def play_tiny(seeds: Iterable[int], scenarios: int, tasks: int) -> Tally:
    """So many scenarios on the tiny world of each seed, of so many tasks; every twelfth has torch's kernels.

    Raises:
        AssertionError: see `Scenario.play`.

    """
    tally = Tally()
    with thread_count(1):
        for seed in seeds:
            world = tiny_world(seed, "torch" if seed % 12 == 7 else "auto")
            tally.add(play_stage(Stage(world, seed, tasks), scenarios))
    return tally


def play_stage(stage: Stage, scenarios: int) -> Tally:
    """So many scenarios on a stage, one after the other.

    Raises:
        AssertionError: see `Scenario.play`.

    """
    tally = Tally(alone=len(stage.tasks))
    for number in range(scenarios):
        tally.add(stage.play(number))
    return tally


class Scenario:
    """Requests on an engine, and what happens to them."""

    def __init__(self, world: World, engine: Engine, tasks: list[Task], number: int, random: Random) -> None:
        self.world, self.engine, self.tasks, self.number, self.random = world, engine, tasks, number, random
        self.scheduler = engine.scheduler = ObservedScheduler(
            engine, _draw_budget(random), random.choice([*COSTS, COSTS[1]])
        )
        self.tally = Tally(scenarios=1, kernels={world.kernels: 1})
        self.outputs: dict[int, Output] = {}
        self.cancelled: set[int] = set()
        self.warmed: set[int] = set()
        self.waiting = list(enumerate(tasks))
        self.layers = world.backend.config.num_layers
        self.eagerness = random.choice([0.05, 0.2, 0.5, 1.0])
        self.cancels = random.random() < 0.4
        self.pauses = random.random() < 0.3
        self.threads = torch.get_num_threads() > 1
        self._own_drafting = engine.drafting
        self.oracle = random.random() < 0.65
        self.errors = random.choice([0.0, 0.01, 0.03, 0.1, 0.3])
        self.longest = random.choice([4, 16, LONGEST_OUTPUT])
        engine.drafting = self._create_drafter
        self._set_threads(torch.get_num_threads())

    def play(self) -> Tally:
        """Play it to its end, and compare every output with that of its request alone.

        Raises:
            AssertionError: a request has no end, blocks are lost, or a drafter was left open.

        """
        passes = self.engine.stats().forward_passes
        self._arrive()
        steps = 0
        while self.waiting or self.engine.has_work:
            if not self.engine.has_work or self.random.random() < self.eagerness:
                self._arrive()
            self._step()
            steps += 1
            assert steps < _MOST_STEPS, "starved"
            if not self.waiting and not self.engine.has_work:
                self._go_on()
        self.engine.drafting = self._own_drafting
        self.engine.check_integrity()
        assert self.engine.stats().blocks_used == 0
        assert self.engine.draft_model is None or self.engine.draft_model.drafters == 0
        self.tally.passes = self.engine.stats().forward_passes - passes
        self.tally.chunked = len(self.scheduler.chunked)
        self.tally.preemptions = self.scheduler.preemptions
        for id_, task in enumerate(self.tasks):
            self._compare(id_, task, self.outputs[id_])
        return self.tally

    def _arrive(self) -> None:
        if not self.waiting:
            return
        id_, task = self.waiting.pop(0)
        self.outputs[id_] = Output()
        speculation = self.random.random() < 0.94
        draft = self._spoilt(task.alone.tokens) if self.random.random() < 0.75 else None
        self.engine.add(task.request(id_, self.random.choice(CLIENTS), speculation, draft))

    def _spoilt(self, output: list[int]) -> list[int]:
        """An output with a few changes, as an original that is edited into it has."""
        draft, vocabulary = list(output), self.world.backend.config.vocab_size
        for _ in range(self.random.randint(0, 3)):
            at = self.random.randint(0, len(draft))
            changed = [self.random.randrange(vocabulary) for _ in range(self.random.randint(0, 3))]
            draft[at : at + self.random.randint(0, 3)] = changed
        return draft

    def _create_drafter(self, request: GenerationRequest, prompt: list[int], most_tokens: int) -> Drafter:
        if not self.oracle:
            return self._own_drafting(request, prompt, most_tokens)
        task = self.tasks[request.id]
        vocabulary, seed = self.world.backend.config.vocab_size, self.random.randrange(1 << 32)
        return Oracle(task.alone.tokens, vocabulary, self.errors, self.longest, seed)

    def _step(self) -> None:
        """A step, and perhaps something that happens in it, between two layers or before."""
        layer = self.random.randrange(4 * self.layers)
        asked = 0

        def between_layers() -> bool:
            nonlocal asked
            asked += 1
            if asked - 1 != layer:
                return False
            if self.random.random() < 0.2:
                self.tally.aborted += 1
                return True
            self._happen()
            return False

        self._take(self.engine.step(between_layers))
        if self.random.random() < 0.2:
            self._happen()

    def _happen(self) -> None:
        self._take(self.engine.take_events())
        live = [id_ for id_, output in self.outputs.items() if id_ < _WARM_IDS and output.finished is None]
        what = self.random.choice(["arrive", "warm", "pause", "pause all", "resume", "cancel", "threads"])
        if what == "arrive":
            self._arrive()
        elif what == "warm":
            task, id_ = self.random.choice(self.tasks), _WARM_IDS + len(self.outputs)
            self.outputs[id_] = Output()
            self.engine.warm(WarmRequest(id_, pack_tokens([*task.prompt, *task.alone.tokens]), task.salt))
        elif what == "threads" and self.threads:
            self._set_threads(self.random.choice(THREADS))
        elif what == "cancel" and live and self.cancels and self.random.random() < 0.5:
            id_ = self.random.choice(live)
            self.cancelled.add(id_)
            self.engine.cancel(id_)
        elif what == "resume":
            self._go_on()
        elif what in ("pause", "pause all") and live and self.pauses:
            for id_ in live if what == "pause all" else [self.random.choice(live)]:
                self.tally.pauses += 1
                self.engine.pause(id_, True)

    def _go_on(self) -> None:
        for id_, output in self.outputs.items():
            if output.finished is None:
                self.engine.pause(id_, False)

    def _take(self, events: list[SequenceEvent]) -> None:
        for event in events:
            self.outputs[event.id].take(event)

    def _set_threads(self, count: int) -> None:
        torch.set_num_threads(count)
        self.tally.threads.setdefault(count, 1)

    def _compare(self, id_: int, task: Task, output: Output) -> None:
        finished, tally = output.finished, self.tally
        assert finished is not None, "a request without an end"
        assert finished.reason != "cancel" or id_ in self.cancelled
        if output.differs(task.alone):
            difference = Difference(self.world.name, self.number, id_, str(task.alone), str(output))
            tally.differences = [*tally.differences, difference]
        drafted = sum(draft.accepted for draft in finished.drafts)
        tally.requests += 1
        tally.cancelled += finished.reason == "cancel"
        tally.tokens += len(output.tokens)
        tally.drafted += drafted
        if task.replay is not None:
            tally.replayed += len(output.tokens)
            tally.replayed_drafted += drafted
        tally.cache_hits += finished.cached_tokens > 0
        tally.warm_hits += finished.warmed_tokens > 0
        for draft in finished.drafts:
            tally.proposed[draft.source] = tally.proposed.get(draft.source, 0) + draft.proposed
            tally.accepted[draft.source] = tally.accepted.get(draft.source, 0) + draft.accepted


@contextmanager
def thread_count(count: int) -> Iterator[None]:
    """So many threads for torch within."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _draw_budget(random: Random) -> StepBudget:
    if random.random() < 0.2:
        return StepBudget()
    sequences = random.randint(1, 4)
    return StepBudget(
        sequences,
        decode=random.choice([sequences, 12, 40, 128]),
        prefill=random.choice([16, 50, 130, 512]),
        prefill_beside_decode=random.choice([4, 11, 64]),
        warm=random.choice([16, 64]),
        warm_beside_decode=random.choice([0, 2, 7, 40]),
        warm_requests=random.choice([1, 4]),
    )
