"""The playground's answers: what is there, what browsers may keep, and what the page may do."""

from __future__ import annotations

import gzip
import re
import subprocess
import sys
from pathlib import Path

import pytest
from warmline.realtime.web import Playground, api_sources, committed
from warmline.realtime.web.playground import STATIC

ROOT = Path(__file__).parents[3]
FILES = ("playground.js", "playground.css", "icon.svg", "licences.txt")


@pytest.fixture(scope="module")
def playground() -> Playground:
    """The committed one."""
    return committed()


def header(answer, name: str) -> str | None:
    """The value of a header, which an answer has once or not at all."""
    values = [value for key, value in answer.headers if key == name]
    assert len(values) < 2
    return values[0] if values else None


def policy_of(answer) -> dict[str, list[str]]:
    """The content security policy, by directive."""
    directives = (directive.split() for directive in header(answer, "Content-Security-Policy").split(";"))
    return {name: values for name, *values in directives}


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/", "text/html; charset=utf-8"),
        ("/playground.js", "text/javascript; charset=utf-8"),
        ("/playground.css", "text/css; charset=utf-8"),
        ("/icon.svg", "image/svg+xml"),
        ("/licences.txt", "text/plain; charset=utf-8"),
    ],
)
def test_files_have_their_type_and_are_taken_for_nothing_else(playground, path, kind):
    """Whatever a browser thinks that they look like."""
    answer = playground.answer(path)
    assert (answer.status, header(answer, "Content-Type")) == (200, kind)
    assert header(answer, "X-Content-Type-Options") == "nosniff"
    assert header(answer, "X-Frame-Options") == "DENY"
    assert header(answer, "Referrer-Policy") == "no-referrer"
    assert header(answer, "Cross-Origin-Opener-Policy") == "same-origin"
    assert header(answer, "Cross-Origin-Resource-Policy") == "same-origin"


@pytest.mark.parametrize(
    "path",
    ["/index.html", "/static/playground.js", "/playground.py", "/../auth.py", "//playground.js", "/__init__.py", ""],
)
def test_nothing_else_is_there(playground, path):
    """Neither the page's template, nor what lies beside it."""
    assert playground.answer(path) is None


def test_the_page_runs_our_files_only_and_connects_only_here(playground):
    """No inline script or style, nobody's frame, no form that goes anywhere."""
    policy = policy_of(playground.answer("/"))
    assert policy["default-src"] == ["'none'"]
    assert policy["script-src"] == ["'self'"]
    assert policy["connect-src"] == ["'self'"]
    for name in ("base-uri", "form-action", "frame-ancestors"):
        assert policy[name] == ["'none'"]
    assert "unsafe" not in header(playground.answer("/"), "Content-Security-Policy")


def test_the_nonce_is_of_one_answer(playground):
    """The page has the one that its policy names, and no two have the same."""
    nonces = set()
    for _ in range(3):
        answer = playground.answer("/")
        (nonce,) = [value for value in policy_of(answer)["style-src"] if value.startswith("'nonce-")]
        assert f'nonce="{nonce[7:-1]}"' in answer.body.decode()
        nonces.add(nonce)
    assert len(nonces) == 3
    assert header(answer, "Cache-Control") == "no-store"


def test_the_page_knows_where_the_http_api_is(playground):
    """Its port, and that its policy lets the page ask there."""
    answer = playground.answer("/", http_port=8766, sources=("http://localhost:8766",))
    assert 'data-http-port="8766"' in answer.body.decode()
    assert policy_of(answer)["connect-src"] == ["'self'", "http://localhost:8766"]
    assert 'data-http-port=""' in playground.answer("/").body.decode()


def test_the_page_has_nothing_inline_and_names_files_that_are_there(playground):
    """Which its policy would refuse."""
    page = playground.answer("/").body.decode()
    assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=|javascript:|https?://", page)
    named = re.findall(r'(?:src|href)="([^"#]+)"', page)
    assert {"playground.js", "playground.css", "icon.svg", "licences.txt"} == set(named)
    assert all(playground.answer(f"/{name}") is not None for name in named)


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_sent_again_only_if_it_changed(playground, name):
    """A browser asks each time, and is told that what it has is right."""
    answer = playground.answer(f"/{name}")
    tag = header(answer, "ETag")
    assert (header(answer, "Cache-Control"), answer.body) == ("no-cache", (STATIC / name).read_bytes())
    for known in (tag, f'"other", {tag}', f"W/{tag}", "*"):
        again = playground.answer(f"/{name}", if_none_match=known)
        assert (again.status, again.body, header(again, "ETag")) == (304, b"", tag)
    assert playground.answer(f"/{name}", if_none_match='"other"').status == 200


@pytest.mark.parametrize(
    ("accepted", "zipped"),
    [
        ("gzip", True),
        ("br, gzip;q=0.8", True),
        ("GZIP", True),
        ("*", True),
        ("", False),
        ("br", False),
        ("gzip;q=0", False),
        ("gzip;q=0.000, br", False),
    ],
)
def test_who_takes_it_gets_a_file_compressed(playground, accepted, zipped):
    """With a tag of its own, so that caches between don't mix the two up."""
    answer = playground.answer("/playground.js", accept_encoding=accepted)
    plain = playground.answer("/playground.js")
    assert header(answer, "Content-Encoding") == ("gzip" if zipped else None)
    assert header(answer, "Vary") == "Accept-Encoding"
    assert (gzip.decompress(answer.body) if zipped else answer.body) == plain.body
    assert (header(answer, "ETag") == header(plain, "ETag")) is not zipped


def test_the_http_api_is_asked_on_the_hosts_of_pages_that_may():
    """With TLS or without, as the page."""
    origins = {
        "http://localhost:8765",
        "http://127.0.0.1:8765",
        "http://[::1]:8765",
        "https://code.example",
        "http://box",
    }
    assert api_sources(origins, 8766) == (
        "http://127.0.0.1:8766",
        "http://[::1]:8766",
        "http://box:8766",
        "http://localhost:8766",
        "https://code.example:8766",
    )
    assert api_sources(origins, None) == ()


def test_the_files_are_in_the_wheel(tmp_path):
    """Who installs it needs no npm. (What a wheel is made of, without packing it.)"""
    build = [
        sys.executable,
        "-c",
        "import setuptools; setuptools.setup()",
        "-q",
        "build_py",
        "--build-lib",
        str(tmp_path),
    ]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    packed = tmp_path / "warmline/realtime/web/static"
    assert {path.name: path.read_bytes() for path in packed.iterdir()} == {
        path.name: path.read_bytes() for path in STATIC.iterdir()
    }
