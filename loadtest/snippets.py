"""Code that the simulated editors have open, and what they ask of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Snippet:
    """A document in ASCII, so that offsets are string indices; ``target`` is a part of it to be edited."""

    name: str
    language: str
    text: str
    target: str
    instruction: str

    @property
    def span(self) -> tuple[int, int]:
        """Where the target stands in the text."""
        start = self.text.index(self.target)
        return start, start + len(self.target)


_STATISTICS = '''"""Small statistics over lists of numbers."""


def mean(values):
    total = 0
    for value in values:
        total = total + value
    return total / len(values)


def variance(values):
    center = mean(values)
    return mean([(value - center) ** 2 for value in values])


def spread(values):
    ordered = sorted(values)
    return ordered[-1] - ordered[0]
'''

_INVENTORY = """class Inventory {
  constructor() {
    this.items = new Map();
  }

  add(name, count) {
    const held = this.items.get(name) || 0;
    this.items.set(name, held + count);
  }

  remove(name, count) {
    const held = this.items.get(name) || 0;
    this.items.set(name, held - count);
  }

  total() {
    let sum = 0;
    for (const count of this.items.values()) {
      sum += count;
    }
    return sum;
  }
}
"""

_QUEUE = """package queue

type Queue struct {
	items []string
	limit int
}

func New(limit int) *Queue {
	return &Queue{limit: limit}
}

func (q *Queue) Push(item string) {
	q.items = append(q.items, item)
}

func (q *Queue) Pop() string {
	item := q.items[0]
	q.items = q.items[1:]
	return item
}
"""


def _part(text: str, first: str, last: str) -> str:
    start = text.index(first)
    end = text.index(last, start) + len(last)
    return text[start:end]


SNIPPETS: Final = (
    Snippet(
        "statistics.py",
        "python",
        _STATISTICS,
        _part(_STATISTICS, "def mean", "len(values)\n"),
        "return 0 for an empty list",
    ),
    Snippet(
        "inventory.js",
        "javascript",
        _INVENTORY,
        _part(_INVENTORY, "  remove(", "  }\n"),
        "throw an error if there are not enough items",
    ),
    Snippet("queue.go", "go", _QUEUE, _part(_QUEUE, "func (q *Queue) Push", "}\n"), "drop the oldest item when full"),
)
