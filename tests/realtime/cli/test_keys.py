"""`warmline keys`: a key is shown once, and the file has its digest."""

from __future__ import annotations

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from warmline.realtime.access.keys import PREFIX, KeysError, digest_of, entry_of, new_key, parse_keys, read_keys
from warmline.realtime.cli import keys
from warmline.realtime.cli.app import run
from warmline.realtime.cli.keys import _add
from warmline.realtime.cli.options import CommandFailed


def test_a_new_key_is_printed_apart_from_its_entry(capsys: pytest.CaptureFixture[str]) -> None:
    """The entry goes to the file, and so to stdout; the key to the person."""
    assert run(["keys", "new", "alice"]) == 0
    out, err = capsys.readouterr()
    key = next(line for line in err.splitlines() if line.startswith(PREFIX))
    assert key not in out
    (found,) = parse_keys(out, "stdout")
    assert (found.name, found.digest) == ("alice", digest_of(key))


def test_a_new_key_is_added_to_a_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Which is made for its owner alone, keeps what it has, comments and all, and is replaced at once."""
    file = tmp_path / "keys.toml"
    assert run(["keys", "new", "alice", "--add-to", str(file)]) == 0
    first = capsys.readouterr().out.strip()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    file.write_text("# ours\n" + file.read_text().rstrip())
    file.chmod(0o640)
    assert run(["keys", "new", "bob@laptop", "--add-to", str(file)]) == 0
    second = capsys.readouterr().out.strip()
    assert file.read_text().startswith("# ours\n")
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert [(key.name, key.digest) for key in read_keys(file)] == [
        ("alice", digest_of(first)),
        ("bob@laptop", digest_of(second)),
    ]
    assert [entry.name for entry in tmp_path.iterdir()] == ["keys.toml"]


@pytest.mark.parametrize(
    ("content", "name", "said"),
    [
        ('[keys.alice]\nkey = "x"\n', "alice", "has a key called alice already"),
        ("[keys", "alice", "is no TOML"),
        ("", "two words", "a name has 1 to 64"),
    ],
)
def test_what_does_not_fit_changes_nothing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, content: str, name: str, said: str
) -> None:
    """One line says why, and no key is shown."""
    file = tmp_path / "keys.toml"
    file.write_text(content)
    assert run(["keys", "new", name, "--add-to", str(file)]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("warmline: ") and err.count("\n") == 1 and said in err
    assert file.read_text() == content


def test_a_link_stays_one(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """What it leads to is written."""
    file, link = tmp_path / "keys.toml", tmp_path / "link"
    file.touch()
    link.symlink_to(file)
    assert run(["keys", "new", "alice", "--add-to", str(link)]) == 0
    assert link.is_symlink()
    assert [key.name for key in read_keys(file)] == ["alice"]


def test_a_folder_that_is_not_there_is_said_plainly(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """In one line."""
    assert run(["keys", "new", "alice", "--add-to", str(tmp_path / "none" / "keys.toml")]) == 1
    assert "can't be written: No such file or directory" in capsys.readouterr().err


def test_the_keys_of_a_file_are_listed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """With their ends and limits; a file that is wrong is explained, by which one checks it before a reload."""
    file = tmp_path / "keys.toml"
    file.write_text(
        '[keys.alice]\nkey = "x"\nlimits = { requests = 8 }\n[keys.bob]\nkey = "y"\nexpires = 2020-01-31\n'
        '[keys.carol]\nkey = "z"\nexpires = 2999-01-31\n'
    )
    assert run(["keys", "list", str(file)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "alice  never expires  requests=8",
        "bob  expired 2020-01-31 00:00 UTC",
        "carol  expires 2999-01-31 00:00 UTC",
    ]
    file.write_text("[keys.alice]")
    assert run(["keys", "list", str(file)]) == 1
    assert "keys.alice needs sha256" in capsys.readouterr().err


def test_keys_that_are_added_at_once_are_all_there(tmp_path: Path) -> None:
    """Nobody is told "ok" of one that is lost."""
    file = tmp_path / "keys.toml"
    names = [f"user-{number}" for number in range(12)]
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda name: _add(entry_of(name, new_key()), name, file), names))
    assert sorted(key.name for key in read_keys(file)) == sorted(names)
    assert [path.name for path in tmp_path.iterdir()] == ["keys.toml"]


def test_a_file_that_somebody_else_is_adding_to_is_waited_for_only_so_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who was killed in the midst of it leaves a file that has to be deleted."""
    monkeypatch.setattr(keys, "_PATIENCE_SECONDS", 0.05)
    left = tmp_path / ".keys.toml.new"
    left.touch()
    with pytest.raises(CommandFailed, match=f"delete {left}"):
        _add(entry_of("alice", new_key()), "alice", tmp_path / "keys.toml")
    assert left.exists()


def test_what_is_no_regular_file_has_no_keys(tmp_path: Path) -> None:
    """Reading a pipe would wait for whoever writes to it; a number may have too many digits for Python."""
    pipe, digits = tmp_path / "pipe", tmp_path / "digits.toml"
    os.mkfifo(pipe)
    digits.write_text(f"[keys.a]\nkey = {'1' * 5000}\n")
    for path, problem in ((pipe, "is no regular file"), (tmp_path, "is no regular file"), (digits, "is no TOML")):
        with pytest.raises(KeysError, match=problem):
            read_keys(path)
