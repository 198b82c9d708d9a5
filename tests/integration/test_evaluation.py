"""`warmline eval edits` from the command line, over a tiny model."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

RECORDS = Path(__file__).parent.parent / "data" / "edits.jsonl"


def test_the_project_s_edits(tiny_model, tmp_path):
    """A random model gets none right; drafts change the time and not the answers."""
    path = tmp_path / "eval.json"
    command = [sys.executable, "-m", "warmline.realtime.main", "eval", "edits", str(RECORDS), "--threads", "1"]
    command += ["--model", str(tiny_model), "--limit", "3", "--plain", "2", "--failures", "1", "--json", str(path)]
    result = subprocess.run(command, check=True, capture_output=True, text=True, timeout=300)
    assert "doing nothing" in result.stdout and "2 of 2 answers are the same" in result.stdout
    written = json.loads(path.read_text())
    assert written["complete"] and len(written["records"]) == 3
    assert written["edits"]["all"]["exact"] == {"count": 0, "of": 3} | {
        name: written["edits"]["all"]["exact"][name] for name in ("low", "high")
    }
    for record in written["records"]:
        assert record["likelihood"]["total"] < 0
        assert record["speed"]["output_tokens"] > 0
