"""TLS of both listeners: a certificate and its key from files, read again without a restart."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from pathlib import Path


class TlsError(ValueError):
    """A certificate or its key can't be used; the message says which file and why."""


class Certificate:
    """A certificate whose files may be replaced while connections stand.

    Args:
        certificate: a PEM file, the server's own certificate first, then those between it and the root.
        key: the PEM file of its private key, not encrypted; None if ``certificate`` has that, too.

    Raises:
        TlsError: they can't be used.

    """

    def __init__(self, certificate: Path, key: Path | None = None) -> None:
        self._certificate = certificate
        self._key = key
        self._current = _loaded(certificate, key)
        self.context = _loaded(certificate, key)
        """What listeners are given. Each handshake takes the newest certificate that could be read."""
        self.context.sni_callback = self._choose

    @property
    def files(self) -> tuple[Path, ...]:
        """What it is read from."""
        return (self._certificate,) if self._key is None else (self._certificate, self._key)

    def reload(self) -> None:
        """Read the files again; if they can't be used, what was read before stays.

        Raises:
            TlsError: they can't.

        """
        self._current = _loaded(self._certificate, self._key)

    def _choose(self, connection: ssl.SSLObject, name: str | None, context: ssl.SSLContext) -> None:
        # Called in every handshake, also without a name. Loading into the context itself would not be atomic.
        connection.context = self._current


def _loaded(certificate: Path, key: Path | None) -> ssl.SSLContext:
    for file, what in ((certificate, "certificate"), (key, "key")):
        if file is not None:
            _check_readable(file, what)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(certificate, key, password=_refuse_password(key or certificate))
    except ssl.SSLError as error:
        raise TlsError(_explained(error, certificate, key)) from None
    except OSError as error:
        raise TlsError(f"{certificate} can't be read: {error.strerror or error}") from None
    return context


def _check_readable(file: Path, what: str) -> None:
    try:
        with file.open("rb"):
            pass
    except OSError as error:
        raise TlsError(f"the TLS {what} {file} can't be read: {error.strerror or error}") from None


def _refuse_password(file: Path) -> Callable[[], str]:
    """Without it, OpenSSL asks on the terminal."""

    def refuse() -> str:
        raise TlsError(
            f"the TLS key in {file} is encrypted; write one that is not "
            f"(openssl pkey -in {file.name} -out plain.pem), readable by the service alone"
        )

    return refuse


def _explained(error: ssl.SSLError, certificate: Path, key: Path | None) -> str:
    if error.reason == "KEY_VALUES_MISMATCH":
        return f"the TLS key in {key or certificate} is not that of the certificate in {certificate}"
    if key is None:
        return f"{certificate} has no certificate and key in PEM format: name the key's file with --tls-key"
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(certificate)
    except ssl.SSLError:
        return f"{certificate} is no certificate in PEM format"
    return f"{key} is no private key in PEM format, or of a kind that TLS can't use"
