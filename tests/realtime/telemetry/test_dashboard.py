"""The dashboard and the page about metrics name what there is."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families
from warmline.engine import EngineStats
from warmline.realtime.protocol import Drafts, Receipt, Timing
from warmline.realtime.telemetry.metrics import Metrics

DOCS = Path(__file__).parents[3] / "docs"
DASHBOARD = json.loads((DOCS / "grafana" / "warmline.json").read_text())


@pytest.fixture(scope="module")
def series() -> dict[str, set[str]]:
    """The names that Prometheus has, and the labels of each."""
    metrics = Metrics(EngineStats, lambda: 0.0, {"model": "smol"})
    drafts = [Drafts("edit", 4, 3)]
    metrics.request_ended("edit", "stop", Receipt(1, output_tokens=3, drafts=drafts), Timing(0, 1, 3))
    metrics.change_taken(applied=False)
    metrics.message_refused("x")
    metrics.http_refused("x")
    metrics.limited("key", "requests")
    metrics.resumes.of("resumed").inc()
    found: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(metrics.render().decode()):
        found.setdefault(family.name, set())
        for sample in family.samples:
            found.setdefault(sample.name, set()).update(sample.labels)
    return found


def expressions() -> Iterator[Any]:
    for panel in DASHBOARD["panels"]:
        for target in panel["targets"]:
            yield pytest.param(target["expr"], target["legendFormat"], id=f"{panel['title']} {target['refId']}")


@pytest.mark.parametrize(("expression", "legend"), list(expressions()))
def test_panels_show_what_there_is(series: dict[str, set[str]], expression: str, legend: str) -> None:
    """Series that exist, by labels that they have."""
    names = set(re.findall(r"\b(?:warmline|gen_ai)_[a-z_]*[a-z](?=\{)", expression))
    assert names and names <= series.keys()
    have = set.intersection(*(series[name] for name in names)) | {"instance"}
    asked = set(re.findall(r"(\w+)=~?\"", expression)) | set(re.findall(r"\{\{(\w+)\}\}", legend))
    for group in re.findall(r"by \(([^)]*)\)", expression):
        asked |= {name.strip() for name in group.split(",")}
    assert asked <= have
    assert all(f"{{{{{name}}}}}" in legend for name in asked - {"le", "instance"} if f"{name}=" not in expression)


@pytest.mark.parametrize(
    "name", ["warmline_sessions_parked", "warmline_session_resumes_total", "warmline_limited_total"]
)
def test_what_became_of_sessions_and_limits_is_shown(name: str) -> None:
    """Lost sockets and refusals by limits have panels, with their labels."""
    assert any(name in target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"])


def test_every_metric_is_explained(series: dict[str, set[str]]) -> None:
    """On the page about them."""
    page = (DOCS / "observability.md").read_text()
    shortened = {"warmline_engine_sequences_waiting", "warmline_engine_sequences_warming"}
    ends = "_(total|bucket|sum|count|info|created)$"
    families = {re.sub(ends, "", name) for name in series if name != "warmline_info"} - {"warmline"}
    ours = {name for name in families if not name.startswith("process_")}
    missing = {name for name in ours if f"`{name}" not in page} - shortened
    assert missing <= {
        "warmline_engine_sequences_ended",
        "warmline_engine_sequences_cancelled",
        "warmline_engine_warm_dropped",
    }


def test_panels_do_not_overlap() -> None:
    """Each has its own place in the grid of 24 columns."""
    taken: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        place = panel["gridPos"]
        cells = {(place["x"] + column, place["y"] + row) for column in range(place["w"]) for row in range(place["h"])}
        assert not cells & taken and place["x"] + place["w"] <= 24
        taken |= cells
