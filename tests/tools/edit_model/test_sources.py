"""Training sources: which packages may be used, how archives are fetched and checked, which files are read."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
import zipfile
from pathlib import Path

import pytest

from tools.edit_model import sources
from tools.edit_model.sources import EVALUATION_SET, Package, SourcesError

FILE = "".join(f"def function_{i}(value):\n    return value + {i}\n\n\n" for i in range(6))
ROW = '{ version = "1", license = "MIT" }'
METADATA = "Metadata-Version: 2.4\nName: x\nVersion: 1\n"
DEP5 = "Files: *\nCopyright: 2020 A. Person\n  and others\nLicense: {}\n\nFiles: debian/*\nLicense: GPL-3\n text\n"


def package(registry: str, name: str, license: str = "MIT", split: str = "train", **more: object) -> Package:
    """A row of the table."""
    include = ("*",)
    return Package(registry, name, "1", license, split, include, **more)  # type: ignore[arg-type]


def wheel(cache: Path, name: str, files: dict[str, str], metadata: str = "License-Expression: MIT\n") -> Path:
    """A wheel in the cache."""
    path = cache / f"pypi/{name}-1" / f"{name}-1-py3-none-any.whl"
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{name}-1.dist-info/METADATA", METADATA + metadata)
        for file, text in files.items():
            archive.writestr(file, text)
    return path


def tar(files: dict[str, str], mode: str = "w:gz") -> bytes:
    """A tar archive."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode=mode) as archive:  # type: ignore[call-overload]
        for file, text in files.items():
            info = tarfile.TarInfo(file)
            info.size = len(text.encode())
            archive.addfile(info, io.BytesIO(text.encode()))
    return data.getvalue()


def npm(cache: Path, name: str, files: dict[str, str], license: object = "MIT") -> Path:
    """An npm package in the cache."""
    path = cache / f"npm/{name}-1" / f"{name}-1.tgz"
    path.parent.mkdir(parents=True, exist_ok=True)
    manifest = {"package/package.json": json.dumps({"name": name, "license": license})}
    path.write_bytes(tar(manifest | {f"package/{file}": text for file, text in files.items()}))
    return path


def deb(cache: Path, name: str, files: dict[str, str], license: str = "Expat") -> Path:
    """A Debian package in the cache, whose control member has an odd size."""
    path = cache / f"debian/{name}-1" / f"{name}_1_all.deb"
    path.parent.mkdir(parents=True, exist_ok=True)
    copyright = {f"./usr/share/doc/{name}/copyright": DEP5.format(license)}
    members = {"debian-binary": b"2.0\n", "control.tar.xz": b"odd", "data.tar.xz": tar(copyright | files, "w:xz")}
    data = b"!<arch>\n"
    for member, content in members.items():
        data += f"{member:<16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(content):<10}`\n".encode() + content
        data += b"\n" * (len(content) % 2)
    path.write_bytes(data)
    return path


def table(folder: Path, text: str) -> Path:
    """A table file."""
    path = folder / "packages.toml"
    path.write_text(text)
    return path


def read(tmp_path: Path, split: str = "train", rows: str = "", languages: list[str] | None = None) -> list[str]:
    """The paths which the split has, each after its package's name."""
    rows = rows or '[pypi.train]\none = { version = "1", license = "MIT" }\n'
    files = sources.read_files(split, languages, table=table(tmp_path, rows), cache_folder=tmp_path)
    return [f"{file.package}:{file.path}" for file in files]


def test_every_package_of_the_table_is_locked() -> None:
    """The lock file names one archive for each package of the table, and no other."""
    folders = sorted(path.rpartition("/")[0] for path in sources.read_lock())
    assert folders == sorted(p.folder for p in sources.packages())


def test_the_table_holds_out_a_part_of_each_language_and_nothing_of_the_evaluation_set() -> None:
    """Both splits have packages of all registries, and none is one of the projects that models are compared on."""
    rows = sources.packages()
    assert {(p.registry, p.split) for p in rows} == {
        (r, s) for r in ("pypi", "npm", "debian") for s in sources.SPLITS
    }
    assert not {p.name for p in rows} & EVALUATION_SET


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ('[pypi.train]\nx = { version = "1", license = "GPL-3.0-only" }', "GPL-3.0-only is not among"),
        ('[pypi.train]\nx = { version = "1", license = "MIT AND MPL-2.0" }', "MPL-2.0 is not among"),
        ('[pypi.train]\nflask = { version = "1", license = "MIT" }', "evaluation set"),
        ('[pypi.test]\nx = { version = "1", license = "MIT" }', "unknown registry or split"),
        ('[cpan.train]\nx = { version = "1", license = "MIT" }', "unknown registry or split"),
        (
            '[npm]\ntrain.x = { version = "1", license = "MIT" }\nheld-out.x = { version = "2", license = "MIT" }',
            "both",
        ),
    ],
)
def test_a_table_with_a_package_that_may_not_be_used_is_refused(tmp_path: Path, rows: str, message: str) -> None:
    """Licences that are not permissive, evaluation projects and packages in two splits stop the reading at once."""
    with pytest.raises(SourcesError, match=message):
        sources.packages(table(tmp_path, rows))


@pytest.mark.parametrize(
    ("stated", "license", "agrees"),
    [
        ("License-Expression: MIT\n", "MIT", True),
        ("License-Expression: Apache-2.0 OR MIT\n", "MIT OR Apache-2.0", True),
        ("License-Expression: MIT AND LGPL-2.1-only\n", "MIT", False),
        ("Classifier: License :: OSI Approved :: BSD License\n", "BSD-3-Clause", True),
        ("Classifier: License :: OSI Approved :: BSD License\n", "MIT", False),
        (
            "Classifier: License :: OSI Approved :: MIT License\n"
            "Classifier: License :: OSI Approved :: GNU General Public License v3 (GPLv3)\n",
            "MIT",
            False,
        ),
        (
            "Classifier: License :: OSI Approved :: Apache Software License\n"
            "Classifier: License :: OSI Approved :: BSD License\n",
            "Apache-2.0 OR BSD-3-Clause",
            True,
        ),
        ("Classifier: License :: OSI Approved :: BSD License\n", "Apache-2.0 OR BSD-3-Clause", False),
        ("License: PSF-2.0\n", "PSF-2.0", True),
        ("License: Apache License, Version 2.0\n", "Apache-2.0", True),
        ("License: GNU LGPL\n", "MIT", False),
        ("", "MIT", False),
    ],
)
def test_the_licence_in_a_wheel_must_be_the_tables(tmp_path: Path, stated: str, license: str, agrees: bool) -> None:
    """A wheel's expression, classifiers or licence field are compared with the table, in this order."""
    wheel(tmp_path, "one", {}, stated)
    if agrees:
        sources.check_license(package("pypi", "one", license), tmp_path)
    else:
        with pytest.raises(SourcesError, match="the table says"):
            sources.check_license(package("pypi", "one", license), tmp_path)


def test_a_licence_file_counts_where_a_wheels_metadata_names_none(tmp_path: Path) -> None:
    """Without expression, classifier and field the text of the licence file is recognized."""
    text = "Permission is hereby granted, free of charge, to any person"
    wheel(tmp_path, "one", {"one-1.dist-info/licenses/LICENSE": text}, "")
    sources.check_license(package("pypi", "one", "MIT"), tmp_path)
    with pytest.raises(SourcesError, match="the table says ISC"):
        sources.check_license(package("pypi", "one", "ISC"), tmp_path)


@pytest.mark.parametrize("stated", ["mit", "(MIT)", {"type": "MIT", "url": "x"}, [{"type": "MIT"}]])
def test_the_licence_of_an_npm_package_is_read_in_its_old_forms_too(tmp_path: Path, stated: object) -> None:
    """A string, an object and a list of objects name the same licence."""
    npm(tmp_path, "one", {}, stated)
    sources.check_license(package("npm", "one", "MIT"), tmp_path)
    with pytest.raises(SourcesError, match="the table says ISC"):
        sources.check_license(package("npm", "one", "ISC"), tmp_path)


def test_the_licence_of_a_debian_package_is_that_of_its_upstream_files(tmp_path: Path) -> None:
    """The paragraph for all files decides, not the packaging's own, and Expat is MIT."""
    deb(tmp_path, "one", {})
    deb(tmp_path, "two", {}, "MPL-2.0")
    sources.check_license(package("debian", "one", "MIT"), tmp_path)
    with pytest.raises(SourcesError, match=r"says MPL-2\.0"):
        sources.check_license(package("debian", "two", "MIT"), tmp_path)


def test_fetched_archives_are_locked_kept_and_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first fetch records the hash, the second takes the cached file, and a changed file is a problem."""
    original = wheel(tmp_path / "registry", "one", {"one.py": FILE})
    calls = []

    def client(row: Package, folder: Path) -> list[str]:
        calls.append(row.name)
        return ["cp", str(original), str(folder)]

    monkeypatch.setitem(sources._CLIENTS, "pypi", client)
    cache, lock, rows = tmp_path / "cache", tmp_path / "lock", [package("pypi", "one")]
    assert sources.fetch(rows, cache, lock) == []
    digest = hashlib.sha256(original.read_bytes()).hexdigest()
    assert lock.read_text() == f"{digest}  pypi/one-1/{original.name}\n"
    assert sources.fetch(rows, cache, lock) == []
    assert calls == ["one"]
    wheel(cache, "one", {"one.py": FILE + "# changed\n"})
    (problem,) = sources.fetch(rows, cache, lock)
    assert "differs from lock" in problem
    assert lock.read_text() == f"{digest}  pypi/one-1/{original.name}\n"


@pytest.mark.parametrize("command", [["false"], ["true"], ["no-such-client"]])
def test_a_failed_fetch_is_told_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    """A client that fails, brings nothing or is missing leaves no archive, and the other packages are fetched."""
    original = npm(tmp_path / "registry", "two", {})
    monkeypatch.setitem(sources._CLIENTS, "pypi", lambda row, folder: command)
    monkeypatch.setitem(sources._CLIENTS, "npm", lambda row, folder: ["cp", str(original), str(folder)])
    rows = [package("pypi", "one"), package("npm", "two")]
    (problem,) = sources.fetch(rows, tmp_path, tmp_path / "lock")
    assert problem.startswith("one 1: ")
    assert [sources.archive_of(row, tmp_path) is not None for row in rows] == [False, True]
    assert "npm/two-1/two-1.tgz" in (tmp_path / "lock").read_text()


def test_reading_a_package_that_was_not_fetched_says_what_to_run(tmp_path: Path) -> None:
    """The error names the command."""
    with pytest.raises(SourcesError, match="run python -m tools"):
        read(tmp_path)


@pytest.mark.parametrize(
    "path",
    [
        "one/tests/a.py", "one/_vendor/b.py", "one/requests/c.py", "one/flask.py", "test_one.py", "one_test.py",
        "one/conftest.py", "one/data.txt", "one/x_pb2.py", "one/x.d.ts", "one/x.min.js", "one/x.test.js",
    ],
)  # fmt: skip
def test_tests_vendored_copies_and_evaluation_projects_are_not_read(tmp_path: Path, path: str) -> None:
    """By their path these files are left out, whatever they hold."""
    wheel(tmp_path, "one", {path: FILE, "one/core.py": "import os\n" + FILE.replace("value", "number")})
    rows = '[pypi.train]\none = { version = "1", license = "MIT", include = ["*"] }\n'
    assert read(tmp_path, rows=rows) == ["one:one/core.py"]


@pytest.mark.parametrize(
    "text",
    [
        "x = 1\n" * 8,
        "# Code generated by a tool. DO NOT EDIT.\n" + FILE,
        FILE + f"x = '{'y' * 400}'\n",
        FILE + "x = (\n",
        FILE + "x = 1\n" * 40_000,
        FILE + "\0",
        FILE + "# sourceMappingURL=x.map\n",
    ],
)
def test_what_no_person_wrote_or_reads_is_not_read(tmp_path: Path, text: str) -> None:
    """Tiny, generated, minified, broken, huge, binary and compiled files are left out."""
    wheel(tmp_path, "one", {"one.py": text})
    assert read(tmp_path) == []


def test_a_file_that_is_not_utf_8_is_not_read() -> None:
    """Latin-1 text is refused, the same text in UTF-8 is not."""
    assert not sources.is_hand_written((FILE + "# é\n").encode("latin-1"))
    assert sources.is_hand_written((FILE + "# é\n").encode())


def test_line_ends_become_lf_and_the_tree_is_there(tmp_path: Path) -> None:
    """A file with CRLF is read as if it had LF, in its language and with the member's path."""
    npm(tmp_path, "one", {"src/a.ts": "".join(f"const a{i}: number = {i};\r\n" for i in range(12))})
    rows = table(tmp_path, '[npm.train]\none = { version = "1", license = "MIT" }\n')
    (file,) = sources.read_files("train", table=rows, cache_folder=tmp_path)
    assert (file.package, file.path, file.language) == ("one", "src/a.ts", "typescript")
    assert file.data == b"".join(b"const a%d: number = %d;\n" % (i, i) for i in range(12))


def test_include_and_exclude_choose_files(tmp_path: Path) -> None:
    """Of an npm package only what the globs say is read, in the order of the paths."""
    texts = {name: FILE.replace("function", name) for name in ("b", "a", "c", "d")}
    wheel(
        tmp_path,
        "one",
        {"src/b.py": texts["b"], "src/x/a.py": texts["a"], "src/c.py": texts["c"], "d.py": texts["d"]},
    )
    rows = '[pypi.train]\none = { version = "1", license = "MIT", include = ["src/*"], exclude = ["*/c.py"] }\n'
    assert read(tmp_path, rows=rows) == ["one:src/b.py", "one:src/x/a.py"]


def test_debian_packages_are_read(tmp_path: Path) -> None:
    """Members of the data archive are found behind the other members, by their installed path."""
    code = "package one\n\n" + "".join(f"func F{i}() int {{\n\treturn {i}\n}}\n" for i in range(5))
    deb(tmp_path, "one", {"./usr/share/gocode/src/one/one.go": code, "./usr/share/gocode/src/one/one_test.go": code})
    rows = '[debian.train]\none = { version = "1", license = "MIT" }\n'
    assert read(tmp_path, rows=rows) == ["one:usr/share/gocode/src/one/one.go"]


def test_languages_are_chosen_by_name(tmp_path: Path) -> None:
    """Only files of the languages asked for come."""
    npm(tmp_path, "one", {"a.js": "let a = 1;\n" * 12, "b.ts": "let b: number = 1;\n" * 12})
    rows = '[npm.train]\none = { version = "1", license = "MIT" }\n'
    assert read(tmp_path, rows=rows) == ["one:a.js", "one:b.ts"]
    assert read(tmp_path, rows=rows, languages=["typescript"]) == ["one:b.ts"]


def test_a_held_out_file_that_stands_in_a_training_file_is_dropped(tmp_path: Path) -> None:
    """Equal, reindented or mostly equal files are dropped; one that shares only its licence comment is not."""
    header = "".join(f"# Licence text, line {i}.\n" for i in range(20))
    other = "".join(f"def other_{i}(value):\n    print(value, {i})\n\n\n" for i in range(20))
    wheel(tmp_path, "one", {"one.py": header + FILE + other})
    wheel(
        tmp_path,
        "two",
        {
            "equal.py": FILE,
            "commented.py": "# New.\n" + FILE.replace("\n\n\n", "\n\n"),
            "mostly.py": FILE + "x = 1\n" * 2,
            "new.py": header + FILE.replace("value", "thing"),
            "same.py": FILE.replace("value", "thing"),
        },
    )
    rows = (
        '[pypi]\ntrain.one = { version = "1", license = "MIT" }\nheld-out.two = { version = "1", license = "MIT" }\n'
    )
    assert read(tmp_path, "train", rows) == ["one:one.py"]
    assert read(tmp_path, "held-out", rows) == ["two:new.py"]


def test_an_unknown_split_is_an_error(tmp_path: Path) -> None:
    """A split's name is checked before anything is read."""
    with pytest.raises(ValueError, match="no such split"):
        read(tmp_path, "dev")


def test_licences_are_rows_for_the_model_card(tmp_path: Path) -> None:
    """Every package of both splits stands there with version and licence, sorted by name."""
    rows = f'[pypi.train]\nb = {ROW}\n[npm.held-out]\na = {{ version = "2", license = "ISC" }}\n'
    assert sources.licences(table(tmp_path, rows)) == [("a", "2", "ISC"), ("b", "1", "MIT")]
