"""What is printed and written of an evaluation, from start to end or to Ctrl-C."""

from __future__ import annotations

import io
import json

import msgspec
import pytest
from rich.console import Console
from warmline.engine import DraftCount, ModelInfo
from warmline.realtime.cli.app import run
from warmline.realtime.evaluation import report
from warmline.realtime.evaluation.command import What, evaluate_model
from warmline.realtime.evaluation.run import Outcome, Speed

TOLD = ModelInfo("told", "none", 8192, "told", "", 1, 8192)
RIGHT = "b = 1\nprint(b)\n```"


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """What is printed, as into a pipe."""
    text = io.StringIO()
    monkeypatch.setattr(
        "warmline.realtime.evaluation.command.console", lambda: Console(file=text, width=report.PIPE_WIDTH)
    )
    return text


def row(text: str, name: str) -> list[str]:
    """The cells of the first row with this name."""
    return next(line for line in text.splitlines() if line.startswith(name)).removeprefix(name).split()


def test_everything_is_shown_and_written(told, edit, completion, shown, tmp_path) -> None:
    """Tables by kind and language, the baseline, speed, the comparison and the failure."""
    told.answers += [RIGHT, RIGHT, "a = 1\x1b[31m\nprint(b)\n```", "    return a + b"]
    records = [edit(id="1"), edit(id="2", kind="rename-function", language="cobol"), completion()]
    path = tmp_path / "out.json"
    assert evaluate_model(told, records, What(plain=1, failures=5, json=path), {"file": "r.jsonl"})
    text = shown.getvalue()
    assert row(text, "rename-variable")[:3] == ["1", "100.0%", "21-100"]
    assert row(text, "rename-function")[:3] == ["1", "0.0%", "0-79"]
    assert row(text, "cobol")[0] == "1"
    assert row(text, "all")[:3] == ["2", "50.0%", "9-91"]
    assert row(text, "doing nothing")[:2] == ["2", "0.0%"]
    assert row(text, "fill-line")[:2] == ["1", "100.0%"]
    assert "some records in: cobol" in " ".join(text.split())
    assert "1 of 1 answers are the same" in text
    assert "edit: 18 of 24 drafted tokens accepted" in text
    failures = text[text.index("2  rename-function") :]
    assert "rename a to b" in failures and "  -a = 1\n" in failures and "  +b = 1\n" in failures
    assert "\x1b" not in text and "\u241b[31m" in failures

    written = json.loads(path.read_bytes())
    assert (written["file"], written["complete"], written["model"]["name"]) == ("r.jsonl", True, "told")
    assert written["edits"]["all"]["exact"]["count"] == 1
    assert set(written["edits"]["kinds"]) == {"rename-variable", "rename-function"}
    assert written["edits"]["nothing"]["similarity"] == 0
    assert written["completions"]["languages"]["python"]["first_line"]["count"] == 1
    assert written["comparison"]["agree"]["count"] == 1
    assert [record["id"] for record in written["records"]] == ["1", "2", "c1"]
    assert written["records"][0]["answer"] == "b = 1\nprint(b)\n"
    assert written["records"][0]["scores"]["similarity"] == 1
    assert written["records"][0]["speed"]["drafts"][0] == {"source": "edit", "proposed": 8, "accepted": 6}


def test_the_speed_of_edits_is_shown_by_kind(edit, completion, shown, tmp_path) -> None:
    """Tokens a second, how many times plain decoding that is, and what of each source's drafts was accepted."""

    def outcome(kind: str, milliseconds: float, plain: float | None, *drafts: DraftCount) -> Outcome:
        speeds = [
            None if took is None else Speed(100, 21, 40.0, 50.0, took, 10, 20, drafts)
            for took in (milliseconds, plain)
        ]
        return Outcome(edit(kind=kind), "", "stop", speed=speeds[0], plain=speeds[1], plain_agrees=True)

    outcomes = [
        outcome("rename", 100, 300, DraftCount("edit", 16, 12), DraftCount("suffix", 4, 1)),
        outcome("rename", 200, 800, DraftCount("edit", 4, 3)),
        outcome("rename", 400, None, DraftCount("edit", 20, 10)),
        outcome("guard", 50, 100, DraftCount("suffix", 10, 9)),
        outcome("comment", 50, None),
        Outcome(completion(), "", "stop", speed=Speed(100, 21, 40.0, 50.0, 1.0, 10, 20)),
    ]
    report.print_report(Console(file=shown, width=report.PIPE_WIDTH), TOLD, outcomes, None)
    text = shown.getvalue()
    text = text[text.index("speed of edits by kind") :]
    assert " ".join(text.splitlines()[1].split()) == (
        "tokens/s quartiles n a pass times plain in all n plain edit: accepted suffix: accepted"
    )
    assert " ".join(row(text, "rename")) == "100.0 50.0 to 200.0 3 2.00 3.50 3.67 2 62% of 40 25% of 4"
    assert " ".join(row(text, "guard")) == "400.0 400.0 to 400.0 1 2.00 2.00 2.00 1 - 90% of 10"
    assert " ".join(row(text, "comment")) == "400.0 400.0 to 400.0 1 2.00 - - 0 - -"
    assert row(text, "all")[4] == "5"
    written = json.loads(report.as_json({}, outcomes, None))["edit_speed_by_kind"]
    assert sorted(written) == ["comment", "guard", "rename"]
    assert written["rename"]["speed"]["tokens_per_second"]["median"] == 100
    assert written["rename"]["comparison"]["median_decode_ratio"] == 3.5
    assert written["comment"]["comparison"] is None


def test_ctrl_c_shows_what_was_done(told, edit, shown, tmp_path) -> None:
    """In the report and in the file."""
    told.answers += [RIGHT, KeyboardInterrupt()]
    path = tmp_path / "out.json"
    assert not evaluate_model(told, [edit(id="1"), edit(id="2")], What(json=path), {})
    assert "interrupted: 1 of 2 records" in shown.getvalue()
    assert row(shown.getvalue(), "rename-variable")[0] == "1"
    assert json.loads(path.read_bytes())["complete"] is False


def test_ctrl_c_before_anything_was_done(told, edit, shown) -> None:
    """There is nothing to show but that."""
    told.answers.append(KeyboardInterrupt())
    assert not evaluate_model(told, [edit()], What(), {})
    assert shown.getvalue() == "interrupted: 0 of 1 records\n"


def test_together_there_is_one_rate(told, edit, shown) -> None:
    """Speed of single requests is not shown."""
    told.answers += [RIGHT] * 4
    assert evaluate_model(told, [edit(id=str(n)) for n in range(4)], What(concurrency=2), {})
    assert "all together: " in shown.getvalue()
    assert "first token, ms" not in shown.getvalue()


def test_steered_edits_are_left_out(told, edit, shown, capsys) -> None:
    """And said to be."""
    told.answers.append(RIGHT)
    assert evaluate_model(told, [edit(), edit(instructions=["a", "b"])], What(), {})
    assert "left out: 1 steered edits" in capsys.readouterr().err
    assert "1 records" in shown.getvalue()


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ("missing.jsonl", 1, "can't read missing.jsonl: No such file"),
        ("{file}", 1, "r.jsonl, line 2: Object missing required field `language`"),
        ("{good} --kind poem", 1, "no record is of kind poem; there are: rename-variable"),
        ("{good} --json missing/out.json", 1, "there is no folder"),
        ("{good} --model missing.gguf", 1, "no model at missing.gguf"),
        ("{good} --adapter missing.safetensors --model {good}", 1, "no adapter at missing.safetensors"),
        ("{good} --plain 3 --concurrency 2", 2, "--plain"),
        ("{good} --limit 0", 2, "--limit"),
    ],
)
def test_what_is_wrong_is_one_line(capsys, tmp_path, edit, arguments: str, code: int, message: str) -> None:
    """Before a model is loaded."""
    good, file = tmp_path / "good.jsonl", tmp_path / "r.jsonl"
    good.write_bytes(msgspec.json.encode(edit()))
    file.write_bytes(msgspec.json.encode(edit()) + b'\n{"id": "a"}\n')
    assert run(["eval", "edits", *arguments.format(good=good, file=file).split()]) == code
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("warmline: ") and err.count("\n") == 1
    assert message in err


def test_a_narrow_terminal(told, edit, monkeypatch) -> None:
    """Columns without room follow in another table; no cell is cut."""
    text = io.StringIO()
    monkeypatch.setattr("warmline.realtime.evaluation.command.console", lambda: Console(file=text, width=60))
    told.answers.append(RIGHT)
    assert evaluate_model(told, [edit()], What(), {})
    scores, _, speeds = text.getvalue().partition("speed of edits by kind")
    rows = [line for line in scores.splitlines() if line.startswith("rename-variable")]
    assert rows[0].split()[1:4] == ["1", "100.0%", "21-100"]
    assert "75% of 8" in speeds
    assert sum(len(row.split()) - 1 for row in rows) == 12  # "left alone" is empty
    assert max(map(len, rows)) <= 60 and "…" not in text.getvalue()


def test_categories_have_a_table_of_their_own(told, edit, shown, tmp_path) -> None:
    """Where the records have several; what is known of each is written, too."""
    told.answers += [RIGHT, "a = 1\nprint(b)\n```"]
    records = [edit(id="1", category="mechanical"), edit(id="2", category="semantic")]
    path = tmp_path / "out.json"
    assert evaluate_model(told, records, What(json=path, likelihood=False), {})
    assert row(shown.getvalue(), "mechanical")[:2] == ["1", "100.0%"]
    assert row(shown.getvalue(), "semantic")[:2] == ["1", "0.0%"]
    assert json.loads(path.read_bytes())["edits"]["categories"]["mechanical"]["exact"]["count"] == 1


def test_of_many_kinds_the_largest_are_shown(told, edit, shown, monkeypatch) -> None:
    """The others share a row, so that the table stays readable; all of them are in the file."""
    monkeypatch.setattr(report, "_MOST_GROUPS", 2)
    told.answers += [RIGHT] * 5
    records = [edit(id=str(n), kind=kind) for n, kind in enumerate(["few", "many", "many", "one", "some"])]
    assert evaluate_model(told, records, What(likelihood=False), {})
    assert row(shown.getvalue(), "many")[0] == "2"
    assert row(shown.getvalue(), "2 others")[:2] == ["2", "100.0%"]
