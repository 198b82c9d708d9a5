"""What the pages name is there: files, commands with their options, make targets, and all of the SDK."""

from __future__ import annotations

import ast
import inspect
import re
import shlex
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer.main
from warmline import client
from warmline.realtime.cli.app import app

ROOT = Path(__file__).parent.parent
PAGES = ["README.md", *sorted(str(page.relative_to(ROOT)) for page in (ROOT / "docs").glob("*.md"))]
TOP = {"realtime", "engine", "client", "loadtest", "tools", "tests", "docs"}
TARGETS = set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(), re.M))


def text_of(page: str) -> str:
    return (ROOT / page).read_text()


def code_of(page: str) -> Iterator[str]:
    """What a page has in code: the spans, and the lines of the blocks that are for a shell."""
    text = text_of(page)
    for language, block in re.findall(r"^ *```(\w*)\n(.*?)^ *```", text, re.S | re.M):
        if language in ("console", "sh"):
            joined = re.sub(r"\\\n\s*", "", block)
            yield from (line.removeprefix("$ ").strip() for line in joined.splitlines())
    prose = re.sub(r"^ *```.*?^ *```", "", text, flags=re.S | re.M)
    yield from re.findall(r"(?<!`)`([^`\n]+)`(?!`)", prose)
    yield from re.findall(r"<code>([^<]+)</code>", prose)


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    """To files, and to headings where they name one."""
    for target in re.findall(r"\]\((?!https?:)([^)\s]+)\)", text_of(page)):
        name, _, heading = target.partition("#")
        path = (ROOT / page).parent / name if name else ROOT / page
        assert path.exists(), target
        if heading:
            slugs = {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles(path)}
            assert heading in slugs, target


def titles(path: Path) -> list[str]:
    return re.findall(r"^#+ (.+)$", path.read_text(), re.M)


@pytest.mark.parametrize("page", PAGES)
def test_files_that_are_named_exist(page: str) -> None:
    """Those of this repository; a pattern names at least one."""
    missing = []
    for code in code_of(page):
        for word in re.findall(r"[\w./*-]+", code):
            path = word.rstrip(".").partition("::")[0]
            if path.split("/")[0] in TOP and "/" in path and not any(ROOT.glob(path.rstrip("/"))):
                missing.append(path)
    assert missing == []


@pytest.mark.parametrize("page", PAGES)
def test_make_targets_that_are_named_exist(page: str) -> None:
    """In code, wherever."""
    named = {match for code in code_of(page) for match in re.findall(r"(?:^|\s)make ([a-z][a-z-]*)", code)}
    assert named <= TARGETS


def command_of(words: list[str]) -> tuple[object, list[str]]:
    """The command that words begin with, and the words behind its name."""
    command = typer.main.get_command(app)
    while words and getattr(command, "commands", None) and words[0] in command.commands:  # type: ignore[attr-defined]
        command, words = command.commands[words[0]], words[1:]  # type: ignore[attr-defined]
    return command, words


def commands_in(page: str) -> Iterator[tuple[str, list[str]]]:
    """What a page has people type: the command lines, and their words behind `warmline`."""
    for code in code_of(page):
        for line in re.findall(r"(?:^|[|;] ?|/)warmline ((?:[a-z]|--).*)", code.replace("\\|", "/")):
            try:
                yield code, shlex.split(line.partition(" | ")[0], comments=True)
            except ValueError:
                yield code, line.split()


@pytest.mark.parametrize("page", PAGES)
def test_commands_that_are_named_exist_with_their_options(page: str) -> None:
    """As `warmline --help` has them."""
    for code, words in commands_in(page):
        command, rest = command_of(words)
        assert command is not typer.main.get_command(app) or not rest or rest[0].startswith("-"), code
        options = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}  # type: ignore[attr-defined]
        for word in rest:
            if re.fullmatch(r"--[a-z][a-z-]*", word):
                assert word in options | {"--help"}, code


def test_the_pages_name_commands_at_all() -> None:
    """Or the test above would hold of nothing."""
    named = {" ".join(words[:1]) for page in PAGES for _, words in commands_in(page)}
    assert {"serve", "edit", "complete", "doctor", "model", "bench", "eval"} <= named


def test_the_sdk_page_names_everything() -> None:
    """Each class that the SDK offers for use, each error, and each public name of the classes that one holds."""
    page = text_of("docs/sdk.md")
    words = set(re.findall(r"\w+", page))
    held = [client.Session, client.Document, client.Conversation, client.Completion, client.EditStream, client.Reply]
    results = [client.CompletionResult, client.EditResult, client.ChatResult]
    errors = [
        kind for kind in vars(client).values() if inspect.isclass(kind) and issubclass(kind, client.WarmlineError)
    ]
    missing = {kind.__name__ for kind in [*held, *results, *errors]} - words
    for kind in held:
        missing |= {name for name in vars_of(kind) if not name.startswith("_")} - words
    for kind in results:
        missing |= set(kind.__dataclass_fields__) - words  # type: ignore[attr-defined]
    missing |= set(client.Parameters.__annotations__) - words
    missing |= {name for name in inspect.signature(client.connect.__init__).parameters if name != "self"} - words
    inner = {"check_size", "send_change", "forget", "usable_mirror"}  # of one part of the SDK for another
    assert missing - inner == set()


def vars_of(kind: type) -> set[str]:
    """The names of a class's methods and properties, and of what its constructor sets."""
    names = {name for base in kind.__mro__ if base is not object for name in vars(base)}
    constructor = ast.parse(textwrap.dedent(inspect.getsource(kind.__init__)))
    return names | {
        node.attr
        for node in ast.walk(constructor)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    }


@pytest.mark.parametrize("page", PAGES)
def test_examples_are_python_and_import_what_there_is(page: str) -> None:
    """`tests/integration/test_docs.py` runs those that need no more than a service."""
    for example in re.findall(r"^```python\n(.*?)^```", text_of(page), re.S | re.M):
        for node in ast.walk(ast.parse(example)):
            if isinstance(node, ast.ImportFrom) and node.module == "warmline.client":
                assert {alias.name for alias in node.names} <= set(client.__all__)


@pytest.mark.parametrize("page", PAGES)
def test_tests_that_are_named_exist(page: str) -> None:
    """By file and function."""
    missing = []
    for file, name in re.findall(r"`(tests/[\w/.]+\.py)::(\w+)`", text_of(page)):
        path = ROOT / file
        if not path.is_file() or not re.search(rf"^(async )?def {name}\(", path.read_text(), re.M):
            missing.append(f"{file}::{name}")
    assert not missing
