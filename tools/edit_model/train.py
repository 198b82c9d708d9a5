"""Train the adapter: one command that can be stopped and started again at any time.

::

    python -m tools.edit_model.train --data train.jsonl --held-out held_out.jsonl --output RUN --steps 1200

The learning rate rises for some steps, stays, and falls to zero over the last part of the run (the
warmup-stable-decay schedule of MiniCPM, arXiv 2404.06395), so that a run can be prolonged from a checkpoint taken
before the fall.
"""

from __future__ import annotations

import json
import math
import os
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

import torch
import typer
from rich.console import Console
from torch import distributed
from torch.multiprocessing.spawn import spawn
from warmline.engine import DEFAULT_MODEL, find_compiler, resolve_model
from warmline.engine.backends.calibration import CALIBRATION_TEXT, CALIBRATION_TOKENS
from warmline.engine.loading.model import load_model
from warmline.engine.loading.tokenizer_loader import load_tokenizer
from warmline.realtime.errors import Refused

from .batches import Batches, pack
from .compiled import use_compiler
from .encode import FILL_MARKS, Encoded, RecordEncoder
from .lora import Lora
from .network import Network
from .record import EditRecord, Record, read_records
from .working import TYPES, fastest_type

console = Console()
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Recipe:
    """What decides a run's result, beside its data."""

    steps: int
    tokens: int
    workers: int
    short: int
    longest: int
    long_from: float
    rank: int
    alpha: float
    learning_rate: float
    warmup: int
    decay: float
    seed: int
    b_ratio: float = 1.0
    cut_share: float = 0.0

    def longest_at(self, step: int) -> int:
        """How many tokens a record of a step may have: short ones teach more in the same time, so they come first."""
        return self.short if step < self.long_from * self.steps else self.longest

    def rate(self, step: int) -> float:
        """The learning rate of a step, counted from 0."""
        rising = min(1.0, (step + 1) / self.warmup)
        left = (self.steps - step) / max(1.0, self.decay * self.steps)
        return self.learning_rate * rising * min(1.0, left)


class Workers:
    """The processes of a run, each with one thread: together they are a third faster than one with as many threads,
    whose many small operations wait for each other.

    Attributes:
        rank: this process, counted from 0.
    """

    def __init__(self, rank: int, count: int, meeting: Path) -> None:
        self.rank, self.count = rank, count
        distributed.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=count)

    def mean(self, tensors: Iterable[torch.Tensor]) -> torch.Tensor:
        """The tensors end to end, each number the mean over all processes."""
        flat = torch.cat([tensor.flatten() for tensor in tensors])
        distributed.all_reduce(flat)
        return flat.div_(self.count)

    def gather(self, items: list[Item]) -> list[Item]:
        """The items of all processes."""
        lists: list[Any] = [None] * self.count
        distributed.all_gather_object(lists, items)
        return [item for part in lists for item in part]


class Trainer:
    """A run: the adapter, its optimiser and where in the data it is."""

    def __init__(self, recipe: Recipe, network: Network, output: Path, workers: Workers) -> None:
        self.recipe, self.network, self._output, self._workers = recipe, network, output, workers
        self.step = self.groups_done = 0
        self._parameters = list(network.lora.parameters())
        for parameter, gradient in zip(self._parameters, network.parameter_gradients(), strict=True):
            parameter.grad = torch.zeros_like(gradient)
        # B may learn faster than A, as LoRA+ proposes (arXiv 2402.12354).
        groups = [
            {"params": self._parameters[0::2], "ratio": 1.0},
            {"params": self._parameters[1::2], "ratio": recipe.b_ratio},
        ]
        self._optimizer = torch.optim.AdamW(
            groups, lr=recipe.learning_rate, betas=(0.9, 0.98), weight_decay=0.0, fused=True
        )

    @property
    def _checkpoint(self) -> Path:
        return self._output / "checkpoint.pt"

    def restore(self) -> bool:
        """Go on from the last checkpoint, if there is one.

        Raises:
            ValueError: it is of a run with another recipe.

        """
        if not self._checkpoint.exists():
            return False
        state = torch.load(self._checkpoint, weights_only=True)
        kept = {name: value for name, value in state["recipe"].items() if name not in ("steps", "decay", "long_from")}
        asked = {
            name: value for name, value in asdict(self.recipe).items() if name not in ("steps", "decay", "long_from")
        }
        if kept != asked:
            raise ValueError(f"{self._checkpoint} is of another run: {kept}; choose another --output")
        with torch.no_grad():
            for parameter, value in zip(self._parameters, state["parameters"], strict=True):
                parameter.copy_(value)
        self._optimizer.load_state_dict(state["optimizer"])
        self.step, self.groups_done = state["step"], state["groups_done"]
        self.network.merge()
        return True

    def save(self) -> None:
        """Write a checkpoint and the adapter as it is."""
        state = {
            "recipe": asdict(self.recipe),
            "parameters": self._parameters,
            "optimizer": self._optimizer.state_dict(),
            "step": self.step,
            "groups_done": self.groups_done,
        }
        partial = self._checkpoint.with_suffix(".partial")
        torch.save(state, partial)
        partial.replace(self._checkpoint)
        self.network.lora.save(self._output / "adapter.safetensors", FILL_MARKS)

    def update(self, groups: list[list[Encoded]], groups_done: int) -> tuple[float, float]:
        """One step on a batch. Returns the mean loss of the answers' tokens and the gradient's norm."""
        packed = pack(groups)
        self.network.zero_gradients()
        loss, _, _ = self.network.loss(packed)
        loss.backward()  # type: ignore[no-untyped-call]
        mean = self._workers.mean([*self.network.parameter_gradients(), loss.detach()[None]])
        at = 0
        for parameter in self._parameters:
            assert parameter.grad is not None
            parameter.grad.copy_(mean[at : at + parameter.numel()].view_as(parameter))
            at += parameter.numel()
        norm = torch.nn.utils.clip_grad_norm_(self._parameters, 1.0)
        for group in self._optimizer.param_groups:
            group["lr"] = group["ratio"] * self.recipe.rate(self.step)
        self._optimizer.step()
        self.network.merge()
        self.step += 1
        self.groups_done = groups_done
        return mean[-1].item(), norm.item()


@torch.no_grad()
def evaluate(network: Network, sequences: Sequence[tuple[Record, Encoded]], workers: Workers) -> dict[str, Any]:
    """Loss and exact answers of held-out records.

    An answer is exact if every token is the most likely one after the right ones before it: just then greedy
    decoding gives the answer.
    """
    mine: list[tuple[str, float, bool]] = []
    for record, encoded in sequences[workers.rank :: workers.count]:
        _, every, hits = network.loss(pack([[encoded]]), train=False)
        group: str = record.category if isinstance(record, EditRecord) else record.kind
        mine.append((group, every[encoded.given :].mean().item(), bool(hits[encoded.given :].all())))
    found = workers.gather(mine)
    exact: defaultdict[str, list[bool]] = defaultdict(list)
    for group, _, hit in found:
        exact[group].append(hit)
    return {
        "loss": sum(loss for _, loss, _ in found) / len(found),
        "exact": {group: [sum(hits), len(hits)] for group, hits in sorted(exact.items())},
    }


def _encoded(records: Iterable[Record], encoder: RecordEncoder, longest: int) -> list[tuple[Record, Encoded]]:
    found = []
    for record in records:
        try:
            encoded = encoder.encode(record)
        except Refused:
            continue
        if len(encoded.prompt) + len(encoded.answer) <= longest:
            found.append((record, encoded))
    return found


def main(
    data: Annotated[Path, typer.Option(help="Records to train on, as make_data writes them.")],
    held_out: Annotated[Path, typer.Option(help="Records of other packages, to see how it goes.")],
    output: Annotated[Path, typer.Option(help="Folder of the run; a run found there goes on.")],
    steps: Annotated[int, typer.Option(help="Steps in all.")] = 1200,
    tokens: Annotated[int, typer.Option(help="Tokens a step of each worker.")] = 2048,
    short: Annotated[int, typer.Option(help="Tokens of the longest record of the run's first part.")] = 768,
    longest: Annotated[int, typer.Option(help="Tokens of the longest record of its second part.")] = 1536,
    long_from: Annotated[float, typer.Option(help="Where the second part begins, 0 to 1.")] = 0.55,
    rank: Annotated[int, typer.Option(help="Rank of the adapter.")] = 32,
    alpha: Annotated[float, typer.Option(help="The adapter counts alpha / rank times.")] = 64.0,
    learning_rate: Annotated[float, typer.Option(help="The highest learning rate.")] = 1e-3,
    warmup: Annotated[int, typer.Option(help="Steps it rises.")] = 30,
    decay: Annotated[float, typer.Option(help="The part of the run in which it falls.")] = 0.3,
    b_ratio: Annotated[float, typer.Option(help="How many times as fast as A the matrices B learn.")] = 1.0,
    cut_share: Annotated[
        float, typer.Option(help="Part of the edits whose answer ends soon after its last change.")
    ] = 0.5,
    seed: Annotated[int, typer.Option(help="Decides the start and the order of the records.")] = 1,
    start: Annotated[Path | None, typer.Option(help="Adapter to start from, instead of nothing.")] = None,
    save_every: Annotated[int, typer.Option(help="Steps between checkpoints.")] = 25,
    evaluate_every: Annotated[int, typer.Option(help="Steps between looks at the held-out records.")] = 150,
    evaluate_records: Annotated[int, typer.Option(help="How many of them.")] = 96,
    workers: Annotated[int, typer.Option(help="Processes, of one thread each.")] = 2,
    working_type: Annotated[
        str, typer.Option(help="bfloat16 or float32; by default the one this machine is faster with.")
    ] = "",
    model: Annotated[str, typer.Option(help="The model the adapter is for.")] = DEFAULT_MODEL,
) -> None:
    """Train the adapter, or go on training it."""
    recipe = Recipe(
        steps,
        tokens,
        workers,
        short,
        longest,
        long_from,
        rank,
        alpha,
        learning_rate,
        warmup,
        decay,
        seed,
        b_ratio,
        cut_share,
    )
    working_type = working_type or fastest_type()
    if working_type not in TYPES:
        raise typer.BadParameter(f"{working_type} is neither of {', '.join(TYPES)}")
    output.mkdir(parents=True, exist_ok=True)
    run = Run(
        recipe, data, held_out, output, start, save_every, evaluate_every, evaluate_records, working_type, model
    )
    with tempfile.TemporaryDirectory() as folder:
        spawn(work, (run, Path(folder) / "meeting"), workers)  # type: ignore[no-untyped-call]


@dataclass(frozen=True, slots=True)
class Run:
    """A run's recipe and what it needs on this machine."""

    recipe: Recipe
    data: Path
    held_out: Path
    output: Path
    start: Path | None
    save_every: int
    evaluate_every: int
    evaluate_records: int
    working_type: str
    model: str


def _end_with_parent() -> None:
    """End this process when its parent has ended, however that came: it would hold gigabytes and a core."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def work(rank: int, run: Run, meeting: Path) -> None:
    """One process of a run."""
    _end_with_parent()
    torch.set_num_threads(1)
    use_compiler(find_compiler() is not None)
    recipe = run.recipe
    workers = Workers(rank, recipe.workers, meeting)
    path = resolve_model(run.model)
    tokenizer = load_tokenizer(path)
    config, weights = load_model(path)
    lora = Lora(config, recipe.rank, recipe.alpha, recipe.seed)
    if run.start is not None:
        lora.load(run.start)
    encoder = RecordEncoder(tokenizer)
    calibration = tokenizer.encode_template(CALIBRATION_TEXT)[:CALIBRATION_TOKENS]
    network = Network(config, weights, lora, calibration, dtype=TYPES[run.working_type])
    trainer = Trainer(recipe, network, run.output, workers)
    goes_on = trainer.restore()
    records = list(read_records(run.data))
    judged = _encoded(list(read_records(run.held_out))[: run.evaluate_records], encoder, recipe.longest)
    report = Report(run.output / "log.jsonl", recipe) if rank == 0 else None
    if report is not None:
        console.print(
            f"{len(records)} records, {len(judged)} to judge by; {recipe.steps} steps in {run.working_type}"
        )
        if goes_on:
            console.print(f"going on after step {trainer.step}")
    data_order = Batches(records, encoder, recipe.tokens, recipe.seed, recipe.cut_share)
    allowed = recipe.longest_at(trainer.step)
    batches = data_order.iterate(trainer.groups_done, allowed)
    while trainer.step < recipe.steps:
        if judged and trainer.step % run.evaluate_every == 0:
            found = evaluate(network, judged, workers)
            if report is not None:
                report.judged(trainer.step, found)
        if recipe.longest_at(trainer.step) != allowed:
            allowed = recipe.longest_at(trainer.step)
            batches = data_order.iterate(trainer.groups_done, allowed)
        parts = [next(batches) for _ in range(workers.count)]
        loss, norm = trainer.update(parts[rank][1], parts[-1][0])
        if report is not None:
            report.stepped(trainer.step, loss, norm, [group for _, groups in parts for group in groups])
            if trainer.step % run.save_every == 0 or trainer.step == recipe.steps:
                trainer.save()
    if judged:
        found = evaluate(network, judged, workers)
        if report is not None:
            report.judged(trainer.step, found)


class Report:
    """What is written of a run: a line of JSON a step, and now and then a line for people.

    Answers and tokens count from the start of this process; tokens as if each answer had its prompt to itself.
    """

    def __init__(self, path: Path, recipe: Recipe) -> None:
        self._path = path
        self._recipe = recipe
        self._began, self._first_step, self._smooth = time.monotonic(), -1, math.nan
        self._tokens = self._answers = 0

    def stepped(self, step: int, loss: float, norm: float, groups: list[list[Encoded]]) -> None:
        """A step was made, with these groups of records."""
        if self._first_step < 0:
            self._began, self._first_step = time.monotonic(), step  # the first one compiles
            return
        self._answers += sum(map(len, groups))
        self._tokens += sum(len(encoded.prompt) + len(encoded.answer) for group in groups for encoded in group)
        self._smooth = loss if math.isnan(self._smooth) else 0.95 * self._smooth + 0.05 * loss
        seconds = time.monotonic() - self._began
        speed, rate = round(self._tokens / seconds), round(self._answers / seconds, 2)
        self._note(
            {
                "step": step,
                "loss": loss,
                "norm": norm,
                "answers": self._answers,
                "answers_per_s": rate,
                "tokens_per_s": speed,
            }
        )
        if step % 10 == 0:
            left = (self._recipe.steps - step) * seconds / (step - self._first_step) / 60
            console.print(
                f"step {step}/{self._recipe.steps}  loss {self._smooth:.4f}  norm {norm:.2f}  "
                f"{self._answers} answers, {rate} a second  {speed} tok/s  about {left:.0f} min left"
            )

    def judged(self, step: int, found: dict[str, Any]) -> None:
        """Held-out records were looked at."""
        self._note({"step": step, "held_out": found})
        console.print(f"step {step}  held out: loss {found['loss']:.3f}  exact {found['exact']}")

    def _note(self, entry: dict[str, Any]) -> None:
        with self._path.open("a") as log:
            log.write(json.dumps(entry) + "\n")


if __name__ == "__main__":
    typer.run(main)
