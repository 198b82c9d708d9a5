"""What is answered to a browser that asks for the playground, without I/O."""

from __future__ import annotations

import functools
import gzip
import hashlib
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

STATIC: Final = Path(__file__).parent / "static"
"""The committed bundle: `npm run build:playground` in `editor-plugin` makes it anew."""

_PAGE: Final = "index.html"
_TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}
_SECURITY: Final = (
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "DENY"),
    ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
)


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP response, but for the headers that every response has."""

    status: HTTPStatus
    headers: tuple[tuple[str, str], ...]
    body: bytes = field(default=b"", repr=False)


class Playground:
    """The files of the page, read once.

    The page itself is made for each request: it names a fresh nonce, which the editor's own style sheets carry, and
    the port of the HTTP API. The others stay the same while the server runs; a browser only asks whether they do.

    Raises:
        OSError: the files aren't there.
    """

    def __init__(self, folder: Path = STATIC) -> None:
        self._files = {f"/{path.name}": _File(path) for path in sorted(folder.iterdir()) if path.suffix in _TYPES}
        self._page = self._files.pop(f"/{_PAGE}").content.decode()

    def has_file(self, path: str) -> bool:
        """Whether a path is that of a file of the page, the same for everybody; not of the page itself."""
        return path in self._files

    def answer(
        self,
        path: str,
        *,
        accept_encoding: str = "",
        if_none_match: str = "",
        http_port: int | None = None,
        sources: Iterable[str] = (),
    ) -> Answer | None:
        """The answer to a GET of a path without its query; None if nothing of the playground is there.

        ``http_port`` is where the HTTP API listens, and ``sources`` are the origins of it that the page may ask.
        """
        if path == "/":
            return self._make_page(http_port, sources)
        file = self._files.get(path)
        return None if file is None else file.answer(accept_encoding, if_none_match)

    def _make_page(self, http_port: int | None, sources: Iterable[str]) -> Answer:
        nonce = secrets.token_urlsafe(18)
        page = self._page.replace("{nonce}", nonce).replace(
            "{http_port}", "" if http_port is None else str(http_port)
        )
        headers = (
            ("Content-Type", _TYPES[".html"]),
            ("Cache-Control", "no-store"),
            ("Content-Security-Policy", _policy(nonce, sources)),
            *_SECURITY,
        )
        return Answer(HTTPStatus.OK, headers, page.encode())


class _File:
    """A file that stays the same, and its compressed form for those who take that."""

    def __init__(self, path: Path) -> None:
        self.content = path.read_bytes()
        self._type = _TYPES[path.suffix]
        self._hash = hashlib.sha256(self.content).hexdigest()[:20]
        self._zipped = gzip.compress(self.content, mtime=0)  # now: the event loop has no time for it later

    def answer(self, accept_encoding: str, if_none_match: str) -> Answer:
        zipped = _takes_gzip(accept_encoding)
        tag = f'"{self._hash}-gzip"' if zipped else f'"{self._hash}"'
        common = (
            ("Cache-Control", "no-cache"),
            ("ETag", tag),
            ("Vary", "Accept-Encoding"),
            *_SECURITY,
        )
        if _matches(if_none_match, tag):
            return Answer(HTTPStatus.NOT_MODIFIED, common)
        headers = (("Content-Type", self._type), *common)
        if zipped:
            return Answer(HTTPStatus.OK, (*headers, ("Content-Encoding", "gzip")), self._zipped)
        return Answer(HTTPStatus.OK, headers, self.content)


@functools.cache
def committed() -> Playground:
    """The one that belongs to this version; the same for all servers of a process."""
    return Playground()


def api_sources(origins: Iterable[str], http_port: int | None) -> tuple[str, ...]:
    """Where pages of these origins find the HTTP API of this server: on the same host, with TLS if they are."""
    if http_port is None:
        return ()
    parts = [urlsplit(origin) for origin in sorted(origins)]
    hosts = dict.fromkeys((part.scheme, part.netloc.removesuffix(f":{part.port}")) for part in parts)
    return tuple(f"{scheme}://{host}:{http_port}" for scheme, host in hosts if host and scheme in ("http", "https"))


def _policy(nonce: str, sources: Iterable[str]) -> str:
    """Scripts and pictures are files of ours; so are style sheets, or they carry the nonce; no more is loaded."""
    return "; ".join(
        (
            "default-src 'none'",
            "script-src 'self'",
            f"style-src 'self' 'nonce-{nonce}'",
            "img-src 'self'",
            " ".join(("connect-src 'self'", *sources)),
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
            "require-trusted-types-for 'script'",
        )
    )


def _takes_gzip(accept_encoding: str) -> bool:
    for entry in accept_encoding.split(","):
        coding, *parameters = (part.strip().lower() for part in entry.split(";"))
        if coding in ("gzip", "*"):
            quality = next((part[2:] for part in parameters if part.startswith("q=")), "1")
            return quality.strip("0.") != ""
    return False


def _matches(if_none_match: str, tag: str) -> bool:
    tags = [one.strip().removeprefix("W/") for one in if_none_match.split(",")]
    return tag in tags or "*" in tags
