"""Requests as they are drawn, and what each of them says alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Final

from warmline.engine import (
    GenerationRequest,
    SamplingParams,
    SequenceEvent,
    TokenLogprobs,
    pack_tokens,
    unpack_tokens,
)
from warmline.engine.core import Engine
from warmline.engine.messages import Finished

from .worlds import LONGER_PROMPT, LONGEST_OUTPUT, LONGEST_PROMPT, World

_LENGTHS: Final = (24, 64, 64, 160, 300, LONGEST_PROMPT)
_LONG_LENGTHS: Final = (400, 640, 640, 700, LONGER_PROMPT, LONGER_PROMPT)
"""Of prompts at most, in half of them exactly. The second are of two, three and four partitions of keys."""
_NO_PENALTY: Final[tuple[dict[str, float], ...]] = ({},) * 4
_PENALTIES: Final[tuple[dict[str, float], ...]] = (
    {"repetition_penalty": 1.3},
    {"presence_penalty": 0.5, "frequency_penalty": 0.2},
    {"frequency_penalty": -0.4},
)


@dataclass
class Output:
    """What came of a request."""

    tokens: list[int] = field(default_factory=list)
    logprobs: list[TokenLogprobs] = field(default_factory=list)
    text: str = ""
    finished: Finished | None = None

    def take(self, event: SequenceEvent) -> None:
        """Take in an event.

        Raises:
            AssertionError: it comes after the last one.

        """
        assert self.finished is None, "an event after the last one"
        self.tokens += unpack_tokens(event.tokens)
        self.logprobs += event.logprobs
        self.text += event.text
        self.finished = event.finished

    def differs(self, alone: Output) -> bool:
        """Whether it is another output than alone or, if it was cancelled, not the beginning of that."""
        assert self.finished is not None and alone.finished is not None
        count = len(self.tokens)
        if self.finished.reason == "cancel":
            begins = alone.tokens[:count], alone.logprobs[:count]
            return (self.tokens, self.logprobs) != begins or not alone.text.startswith(self.text)
        mine = (self.finished.reason, self.tokens, self.logprobs, self.text)
        return mine != (alone.finished.reason, alone.tokens, alone.logprobs, alone.text)

    def __str__(self) -> str:
        """For people: all that is compared."""
        reason = self.finished.reason if self.finished else "running"
        return f"{reason} {self.text!r} {[(token.token, token.logprob) for token in self.logprobs]}"


@dataclass(frozen=True)
class Task:
    """A request without an id, and its output alone."""

    prompt: list[int]
    sampling: SamplingParams
    salt: str
    replay: list[int] | None
    alone: Output

    @property
    def most_tokens(self) -> int:
        """Of prompt and output."""
        return len(self.prompt) + self.sampling.max_tokens

    def request(self, id_: int, client: str, speculation: bool, draft: list[int] | None) -> GenerationRequest:
        """The request, of some client, with drafts or without."""
        return _request(id_, self.prompt, self.sampling, self.salt, self.replay, client, speculation, draft)


def draw_task(world: World, random: Random) -> Task:
    """Draw a request, and run it alone."""
    text = random.choice(world.texts)
    longest = random.choice(_LENGTHS if len(text) <= LONGEST_PROMPT else _LONG_LENGTHS)
    prompt = list(text[: random.choice([longest, random.randint(1, longest)])])
    vocabulary = world.backend.config.vocab_size
    if random.random() < 0.5:
        changed = random.randint(0, min(8, len(prompt) - 1))
        prompt[len(prompt) - changed :] = [random.randrange(2, vocabulary) for _ in range(changed)]
    else:  # the same text again behind another token: a prefix cache must not take it for known
        prompt[random.randrange(len(prompt))] = random.randrange(2, vocabulary)
    replay = None
    if random.random() < 0.3:
        start = random.randint(0, len(prompt) // 2)
        replay = prompt[start : start + LONGEST_OUTPUT + 8]
        for _ in range(random.randint(0, 3)):
            replay[random.randrange(len(replay))] = random.randrange(2, vocabulary)
    sampling = SamplingParams(
        max_tokens=random.randint(1, random.choice([8, 16, LONGEST_OUTPUT])),
        temperature=random.choice([0.0, 0.0, 0.7, 1.2]),
        top_p=random.choice([1.0, 0.9]),
        top_k=random.choice([0, 0, 5]),
        min_p=random.choice([0.0, 0.0, 0.05]),
        seed=random.randrange(1 << 32),
        stop=random.choice([(), (), (), ("Q",)]),
        logit_bias=random.choice([{}, {}, {2: 3.0, 9: -100.0}]),
        logprobs=random.choice([0, 0, 3]),
        **random.choice(_NO_PENALTY + _PENALTIES),
    )
    salt = random.choice("aab")
    alone = run_alone(world, _request(0, prompt, sampling, salt, replay))
    return Task(prompt, sampling, salt, replay, alone)


def run_alone(world: World, request: GenerationRequest) -> Output:
    """The yardstick: nobody beside it, nothing in the cache, nothing drafted."""
    engine, output = Engine(world.backend, world.tokenizer), Output()
    engine.add(request)
    while engine.has_work:
        for event in engine.step():
            output.take(event)
    assert output.finished is not None and output.finished.reason in ("stop", "length"), output.finished
    return output


def _request(
    id_: int,
    prompt: list[int],
    sampling: SamplingParams,
    salt: str,
    replay: list[int] | None,
    client: str = "",
    speculation: bool = False,
    draft: list[int] | None = None,
) -> GenerationRequest:
    return GenerationRequest(
        id_,
        pack_tokens(prompt),
        sampling,
        salt,
        speculation,
        None if draft is None else pack_tokens(draft),
        None if replay is None else pack_tokens(replay),
        client,
    )
