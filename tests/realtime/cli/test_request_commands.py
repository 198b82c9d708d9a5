"""`warmline complete` and `warmline edit` against a server with a scripted engine."""

from __future__ import annotations

import asyncio
import io
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import structlog
from warmline.client import EngineUnavailable
from warmline.realtime.cli import request_commands
from warmline.realtime.cli.request_commands import EditCut, Service, complete, edit

OLD = "one\r\ntwo 😀\r\nthree\r\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "app.py"
    path.write_bytes(OLD.encode())
    return path


@pytest.fixture
async def service(serve) -> Service:
    return Service((await serve()).url, None)


class Terminal(io.StringIO):
    """A terminal that keeps what is written to it."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Callable[[], Terminal]:
    """Make standard output a terminal."""
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "100")

    def install() -> Terminal:
        screen = Terminal()
        monkeypatch.setattr("sys.stdout", screen)
        return screen

    return install


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """The server's log is not what is looked at here."""
    with structlog.testing.capture_logs():
        yield


def plain(text: str) -> str:
    """What stays on a terminal's lines, without colours and cursor movements."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)


async def test_a_completion_goes_to_stdout_as_it_is(service, engine, file, capsys) -> None:
    """Into a pipe there is the text and nothing else, in the document's line ends."""
    engine.scripts.append(["pass", "\n\x1b[31m", "x"])
    await complete(service, file, 1, 4, {"max_tokens": 5})
    out, err = capsys.readouterr()
    assert (out, err) == ("pass\r\n\x1b[31mx", "")
    assert engine.requests[0].sampling.max_tokens == 5


async def test_into_a_pipe_the_hops_are_shown_on_request(service, engine, file, capsys) -> None:
    """On stderr, so that the text stays the text."""
    engine.scripts.append(["pass"])
    await complete(service, file, 1, 4, {}, timing=True)
    out, err = capsys.readouterr()
    assert out == "pass"
    assert all(hop in err for hop in ("client.queue", "net.up", "engine.step", "net.down", "end to end"))
    assert "warmed ahead" in err


async def test_a_completion_on_a_terminal_shows_what_it_cost(service, engine, file, terminal, capsys) -> None:
    """Control characters become visible, and a summary follows; the hops only if they are asked for."""
    engine.scripts.append(["a\x1b[31mb"])
    screen = terminal()
    await complete(service, file, 1, 1, {})
    assert screen.getvalue() == "a\u241b[31mb\n"
    err = capsys.readouterr().err
    assert "stop: 1 token in " in err and "network " in err and "client.queue" not in err


async def test_an_empty_file_has_nothing_to_go_on_with(service, engine, tmp_path, capsys) -> None:
    """Stderr says that what follows is made up; the text is the text."""
    path = tmp_path / "empty.py"
    path.write_text("\n \n")
    engine.scripts.append(["import os"])
    await complete(service, path, 1, 1, {})
    out, err = capsys.readouterr()
    assert out == "import os" and err.startswith(f"{path} is empty, so the model makes something up")


async def test_line_ends_on_a_terminal_are_line_ends(service, engine, file, terminal) -> None:
    """In a file with \\r\\n, too."""
    engine.scripts.append(["a\n", "b"])
    screen = terminal()
    await complete(service, file, 1, 1, {})
    assert screen.getvalue() == "a\r\nb\n"


@pytest.mark.parametrize("on_terminal", [False, True])
async def test_a_completion_that_was_cut_says_so(service, engine, file, terminal, capsys, on_terminal) -> None:
    """On stderr, also when stdout is a pipe."""
    engine.reason = "length"
    engine.scripts.append(["a", "b"])
    if on_terminal:
        terminal()
    await complete(service, file, 1, 1, {"max_tokens": 2})
    assert "the completion was cut off after 2 tokens (--max-tokens N allows more" in capsys.readouterr().err


async def test_an_edit_into_a_pipe_is_a_diff_that_patch_takes(service, engine, file, capsys) -> None:
    """The file is as it was; the diff makes the new text of it."""
    engine.scripts.append(["zwei 😀\n", "drei"])
    await edit(service, file, 2, 3, "in German", False, {})
    assert file.read_bytes() == OLD.encode()
    out, err = capsys.readouterr()
    *_, last = err.splitlines()
    assert last == f"to apply this diff from here: git -C {file.parent} apply"
    subprocess.run(["git", "-C", file.parent, "apply"], input=out.encode(), check=True)
    assert file.read_bytes() == "one\r\nzwei 😀\r\ndrei\r\n".encode()


async def test_a_diff_for_the_current_folder_needs_no_explanation(service, engine, file, capsys, monkeypatch) -> None:
    """It is the whole output, and stderr has what it cost."""
    monkeypatch.chdir(file.parent)
    engine.scripts.append(["zwei"])
    await edit(service, Path(file.name), 2, 2, "in German", False, {}, timing=False)
    out, err = capsys.readouterr()
    assert err == ""
    subprocess.run(["git", "apply"], input=out.encode(), check=True)
    assert file.read_bytes() == b"one\r\nzwei\r\nthree\r\n"


async def test_a_diff_in_utf_16_is_said_to_be_none_for_git(service, engine, tmp_path, capsys) -> None:
    """Its bytes are those of UTF-8; --write keeps the file's encoding."""
    path = tmp_path / "wide.py"
    path.write_bytes("\ufeffone\n".encode("utf-16-le"))
    engine.scripts.append(["eins"])
    await edit(service, path, 1, 1, "in German", False, {})
    assert "is in UTF-16-LE, which git apply can't change; --write can" in capsys.readouterr().err


async def test_an_edit_on_a_terminal_grows_and_ends_as_a_diff(service, engine, file, terminal, capsys) -> None:
    """At the end the changed lines stand there with their numbers; the hops are on stderr, if they are asked for."""
    engine.scripts += [["one\n", "zwei 😀\n", "three"]] * 2
    screen = terminal()
    await edit(service, file, 1, 3, "in German", False, {})
    assert "client.queue" not in capsys.readouterr().err
    await edit(service, file, 1, 3, "in German", False, {}, timing=True)
    shown = plain(screen.getvalue())
    assert "1   one" in shown and "2 - two 😀" in shown and "  + zwei 😀" in shown
    err = capsys.readouterr().err
    assert "client.queue" not in shown
    assert err.index("client.queue") < err.index("end to end") < err.index("stop: 3 tokens")


@pytest.mark.parametrize("width", ["24", "40", "100"])
async def test_the_hops_are_a_line_each_however_narrow_the_terminal(
    service, engine, file, capsys, monkeypatch, width
) -> None:
    """Name and microseconds, and as much of a bar as there is room for; then what they come to."""
    monkeypatch.setenv("COLUMNS", width)
    monkeypatch.setenv("FORCE_COLOR", "1")  # as on a terminal
    monkeypatch.setenv("TERM", "xterm")
    engine.scripts.append(["zwei 😀\n", "drei"])
    await edit(service, file, 2, 3, "in German", False, {}, timing=True)
    table = plain(capsys.readouterr().err).lstrip("\n").partition("\n\n")[0].splitlines()
    names = [line.split()[0] for line in table]
    assert names[:3] == ["client.queue", "net.up", "server.parse"]
    assert {"engine.queue", "engine.prefill", "engine.first_token", "engine.step", "server.write", "net.down"} <= {
        *names
    }
    assert all(re.fullmatch(r"[a-z._ ]+ +[\d,]+ us( █*)?", line) for line in table)
    assert all(len(line) <= max(int(width), 34) for line in table)
    assert any("█" in line for line in table) == (int(width) > 34)


async def test_the_times_are_summed_up(service, engine, file, capsys) -> None:
    """What came before the first text and after it, and how well the network's two ways are told apart."""
    engine.scripts.append(["pass", " # a", " b"])
    await complete(service, file, 1, 4, {}, timing=True)
    err = capsys.readouterr().err
    assert re.search(
        r"stop: 3 tokens in [\d.]+ ms \([\d,]+ tokens/s\): [\d.]+ ms to the first text, "
        r"[\d.]+ ms from there to the end\n",
        err,
    )
    assert re.search(
        r"network [\d,]+ us there and back, told apart by the server's clock, which is [+-][\d,]+ us from", err
    )


async def test_the_times_of_an_edit_are_of_its_operations_and_add_up(service, engine, file, capsys) -> None:
    """Whose first may come with its last token: by one clock, the time before it and after it is all of it."""
    engine.scripts.append(["zw", "ei"])
    await edit(service, file, 2, 2, "in German", False, {})
    err = capsys.readouterr().err
    times = re.search(
        r"2 tokens in ([\d.]+) ms \(.*\): ([\d.]+) ms to the first operation, ([\d.]+) ms from there to the end\n",
        err,
    )
    assert times is not None
    whole, first, rest = (round(10 * float(time)) for time in times.groups())
    assert whole == first + rest


@pytest.mark.parametrize("on_terminal", [False, True])
async def test_nobody_has_to_see_what_it_cost(
    service, engine, file, terminal, capsys, monkeypatch, on_terminal
) -> None:
    """With --no-timing there is the result only."""
    monkeypatch.chdir(file.parent)
    engine.scripts += [["pass"], ["zwei"]]
    if on_terminal:
        terminal()
    await complete(service, file, 1, 4, {}, timing=False)
    await edit(service, file, 2, 2, "in German", False, {}, timing=False)
    assert capsys.readouterr().err == ""


async def test_an_edit_that_changes_nothing_says_so(service, engine, file, terminal) -> None:
    """Instead of an empty diff."""
    engine.scripts.append(["one"])
    screen = terminal()
    await edit(service, file, 1, 1, "leave it", False, {})
    assert "nothing changes" in plain(screen.getvalue())


async def test_of_an_edit_that_was_cut_before_it_changed_anything_the_cause_is_said(
    service, engine, file, capsys
) -> None:
    """And not that it changes nothing: nobody knows that."""
    engine.reason = "length"
    engine.scripts.append(["one\n"])
    with pytest.raises(EditCut, match="cut off after 1 token"):
        await edit(service, file, 1, 3, "in German", False, {})
    out, err = capsys.readouterr()
    assert out == "" and "nothing changes" not in err


async def test_of_an_edit_that_was_cut_the_cause_comes_first(service, engine, file) -> None:
    """And then how what there is can be applied."""
    engine.reason = "length"
    engine.scripts.append(["eins\n", "two 😀\n", "three\n"])
    with pytest.raises(EditCut, match=r"^the edit was cut off .* as it was; to apply this diff from here: git -C "):
        await edit(service, file, 1, 3, "in German", False, {})


@pytest.mark.parametrize("asked", ["edit", "complete"])
async def test_who_waits_before_a_pipe_is_told_what_for(service, engine, file, capsys, monkeypatch, asked) -> None:
    """Once, after a moment in which nothing came, and on stderr."""
    monkeypatch.setattr(request_commands, "PATIENCE_SECONDS", 0.0)
    monkeypatch.chdir(file.parent)
    file = Path(file.name)
    said = f"waiting for the edit of lines 1 to 2 of {file}; the diff comes at its end\n"
    if asked == "complete":
        said = f"waiting for the completion at {file}:1:4\n"
    engine.scripts.append(["eins\n", "zwei\n"])
    engine.paused = True
    if asked == "edit":
        request = asyncio.create_task(edit(service, file, 1, 2, "in German", False, {}, timing=False))
    else:
        request = asyncio.create_task(complete(service, file, 1, 4, {}))
    err = ""
    async with asyncio.timeout(30):
        while said not in err:
            await asyncio.sleep(0.001)
            err += capsys.readouterr().err
        engine.paused = False
        await request
    assert err == said


@pytest.mark.parametrize("write", [False, True])
async def test_an_edit_that_changes_nothing_says_so_beside_a_pipe(service, engine, file, capsys, write) -> None:
    """The diff is empty, and the file is not touched."""
    engine.scripts.append(["one"])
    before = file.stat()
    await edit(service, file, 1, 1, "leave it", write, {})
    out, err = capsys.readouterr()
    assert out == "" and "written" not in err
    assert err.endswith("\nnothing changes, so the diff is empty (git apply --allow-empty takes it)\n")
    assert (file.stat().st_ino, file.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


async def test_write_keeps_the_line_ends(service, engine, file, capsys) -> None:
    """With --write the file has the new text."""
    engine.scripts.append(["zwei"])
    await edit(service, file, 2, 2, "in German", True, {})
    assert file.read_bytes() == b"one\r\nzwei\r\nthree\r\n"
    assert f"{file} was written" in capsys.readouterr().err


async def test_an_edit_that_was_cut_is_not_written(service, engine, file) -> None:
    """Half an edit never reaches the file."""
    engine.reason = "length"
    engine.scripts.append(["zwei"])
    with pytest.raises(EditCut, match=r"cut off after 1 token \(--max-tokens N .*app\.py was not written"):
        await edit(service, file, 2, 2, "in German", True, {})
    assert file.read_bytes() == OLD.encode()


@pytest.mark.parametrize("on_terminal", [False, True])
async def test_an_edit_that_was_cut_fails_without_write_too(service, engine, file, terminal, on_terminal) -> None:
    """What there is of it was shown; the error says what became of the rest."""
    engine.reason = "length"
    engine.scripts.append(["eins\n", "zw"])
    if on_terminal:
        terminal()
    with pytest.raises(EditCut, match=r"cut off after 2 tokens .*; the rest of the range is as it was$"):
        await edit(service, file, 1, 2, "in German", False, {})


async def test_a_service_that_stops_is_said_to_have_stopped(serve, engine, file, capsys) -> None:
    """Nobody cancelled: what to do is to start it, and to ask again."""
    server = await serve()
    engine.paused = True
    asked = asyncio.create_task(edit(Service(server.url, None), file, 2, 2, "in German", True, {}))
    while not engine.requests:
        await asyncio.sleep(0.001)
    await server.close()
    with pytest.raises(EditCut, match=r"the service stopped or was restarted; .*`warmline serve`.*ask again") as cut:
        await asked
    assert "cancel" not in str(cut.value)
    assert file.read_bytes() == OLD.encode()


async def test_an_engine_that_fails_is_an_error(service, engine, file) -> None:
    """Its message and when it is back reach the person, and nothing is written."""
    engine.retry_after = 2.2
    engine.scripts.append(["zwei"])
    engine.paused = True
    engine.submit, submit = lambda *arguments: (submit(*arguments), engine.fail("it died")), engine.submit
    with pytest.raises(EngineUnavailable, match="it died; try again in 3 s") as unavailable:
        await edit(service, file, 2, 2, "in German", True, {})
    assert unavailable.value.retry_after == 2.2
    assert file.read_bytes() == OLD.encode()


async def test_an_empty_file_can_be_edited(service, engine, tmp_path) -> None:
    """Its one line is replaced."""
    path = tmp_path / "empty.py"
    path.touch()
    engine.scripts.append(["print(1)"])
    await edit(service, path, 1, 1, "print one", True, {})
    assert path.read_text() == "print(1)"
