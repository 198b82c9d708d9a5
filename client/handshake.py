"""From a URL to a session: TCP, WebSocket upgrade, hello and welcome, each failure explained."""

from __future__ import annotations

import asyncio
import importlib.util
import ipaddress
import ssl as tls
from collections.abc import Generator
from types import TracebackType
from typing import Final, Literal, get_args
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from warmline.realtime import (
    MSGPACK,
    SUBPROTOCOLS,
    Codec,
    Error,
    Hello,
    Resume,
    ServerMessage,
    Welcome,
    client_codec,
    replace_lone_surrogates,
)
from warmline.realtime import ProtocolError as BadFrame

from .arguments import check_bounded_text, check_text
from .errors import (
    ConnectionFailed,
    ConnectionLost,
    InvalidArgument,
    Unauthorized,
    WarmlineError,
    WrongType,
    request_error,
)
from .reconnecting import OnConnection, Reconnect
from .session import Session
from .transport import NoProxy, NoWebSocket, Redirected, Refused, Transport, WebsocketsTransport

TransportName = Literal["auto", "websockets", "picows"]
_TRANSPORTS: Final = get_args(TransportName)
_NO_TLS: Final = (tls.SSLError, ConnectionResetError, ConnectionAbortedError)
"""How a TLS handshake ends with what speaks none, or another one."""
_AUTO: TransportName = "websockets"
"""What ``auto`` takes: `warmline bench transport` measures picows no faster on two cores, and slower on one."""


_RECONNECT: Reconnect | bool = True
"""What is done where a program doesn't say."""


class connect:
    """Connect to a Warmline server: ``async with connect(url) as session``, or ``session = await connect(url)``.

    Args:
        url: ``ws://HOST:PORT`` or ``wss://...``.
        token: the API key, if the server wants one.
        subprotocol: ``warmline.v1.msgpack`` (smaller) or ``warmline.v1.json`` (readable).
        client: what to call this program in the server's log.
        open_timeout: seconds until the session must stand.
        ping_interval: seconds between keep-alive pings; an unanswered one ends the connection after as long again.
            After the machine's sleep the server is asked at once.
        reconnect: what to do when the connection is lost. By default it is dialled again and all goes on: requests
            that run, documents, what is asked for meanwhile (see `Session`). `Reconnect` says how often and for how
            long; False ends the session.
        on_connection: called with each `ConnectionEvent`, for programs that want to know of it.
        transport: the library below: ``websockets``, which ``auto`` takes, or ``picows`` (the extra
            ``warmline[fast]``). The session is the same. Through a proxy that the environment names it is always
            ``websockets``, which asks the operating system which proxy is meant for which host and knows their kinds.
        ssl: what a server at ``wss://`` is trusted by, where its certificate is not from an authority that the system
            knows: ``ssl.create_default_context(cafile=...)``.

    Raises:
        InvalidArgument: the URL, the subprotocol or the transport is none, ``client`` is too long (256 characters),
            ``picows`` is asked for and not installed, or ``ssl`` is given for a URL without TLS.
        WrongType: the URL, the token or the client is no string.
        ConnectionFailed: there is no Warmline server, or it doesn't take new sessions.
        Unauthorized: the token is missing or wrong.

    """

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        subprotocol: str = MSGPACK,
        client: str = "warmline-python",
        open_timeout: float = 10.0,
        ping_interval: float | None = 20.0,
        transport: TransportName = "auto",
        ssl: tls.SSLContext | None = None,
        reconnect: Reconnect | bool | None = None,
        on_connection: OnConnection | None = None,
    ) -> None:
        for name, value in (("url", url), ("token", "" if token is None else token), ("client", client)):
            check_text(name, value)
        check_bounded_text("client", client)
        if transport not in _TRANSPORTS:
            raise InvalidArgument(f"transport {transport!r} is none of {', '.join(_TRANSPORTS)}")
        if transport == "auto":
            transport = _AUTO
        if transport == "picows" and not _has_picows():
            raise InvalidArgument(
                "picows is not installed (the extra `fast` has it); pip install picows, or leave transport= out"
            )
        if subprotocol not in SUBPROTOCOLS:
            raise InvalidArgument(f"subprotocol {subprotocol!r} is none of {', '.join(SUBPROTOCOLS)}")
        if token is not None and not (token.isascii() and token.isprintable()):
            raise InvalidArgument("a token consists of printable ASCII characters")
        host = _host(url)
        if host is None:
            raise InvalidArgument(f"{url!r} is no WebSocket URL; it looks like ws://127.0.0.1:8765")
        if ssl is not None and not url.lower().startswith("wss:"):
            raise InvalidArgument(f"ssl= is for wss:// URLs, and {url!r} is none")
        self._url = url
        self._ssl = ssl
        self._proxy = not _is_loopback(host) and _has_proxy(host)
        self._fast = transport == "picows" and not self._proxy
        self._token = token
        self._subprotocol = subprotocol
        self._client = replace_lone_surrogates(client)
        self._open_timeout = open_timeout
        self._ping_interval = ping_interval
        self._reconnect = _plan_of(_RECONNECT if reconnect is None else reconnect)
        self._on_connection = on_connection
        self._session: Session | None = None

    def __await__(self) -> Generator[object, None, Session]:
        return self._open().__await__()

    async def __aenter__(self) -> Session:
        self._session = await self._open()
        return self._session

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._session is not None
        await self._session.close()

    async def _open(self) -> Session:
        transport, welcome = await self._dial(None)
        return Session(
            transport,
            client_codec(self._subprotocol),
            welcome,
            self._url,
            dial=self._dial,
            reconnect=self._reconnect,
            ping_interval=self._ping_interval,
            on_connection=self._on_connection,
        )

    async def _dial(self, resume: Resume | None) -> tuple[Transport, Welcome]:
        try:
            async with asyncio.timeout(self._open_timeout):
                transport = await self._upgrade()
                try:
                    return transport, await self._greet(transport, resume)
                except BaseException:
                    transport.abort()
                    raise
        except TimeoutError:
            raise ConnectionFailed(f"{self._url} did not answer within {self._open_timeout:g} seconds") from None

    async def _upgrade(self) -> Transport:
        headers = {"Authorization": f"Bearer {self._token}"} if self._token else {}
        text = client_codec(self._subprotocol).text
        # A session that dials again watches its connections itself; a library would end them with a close frame.
        ping_interval = self._ping_interval if self._reconnect is None else None
        try:
            if self._fast:
                from .fast_transport import PicowsTransport

                return await PicowsTransport.connect(
                    self._url,
                    self._subprotocol,
                    headers,
                    text=text,
                    ping_interval=ping_interval,
                    open_timeout=self._open_timeout,
                    ssl=self._ssl,
                )
            return await WebsocketsTransport.connect(
                self._url,
                self._subprotocol,
                headers,
                text=text,
                proxy=self._proxy,
                ping_interval=ping_interval,
                ssl=self._ssl,
            )
        except Refused as refused:
            raise self._refused(refused.status, refused.body, _seconds(refused.retry_after)) from None
        except Redirected as redirected:
            raise self._redirected(redirected.status, redirected.location) from None
        except NoProxy as error:
            raise ConnectionFailed(
                f"can't connect to {self._url} through the proxy that the environment names: {error}. Correct it, or "
                "name the host in no_proxy"
            ) from None
        except NoWebSocket as error:
            raise ConnectionFailed(f"what answers at {self._url} is no Warmline server: {error}") from None
        except TimeoutError:
            raise
        except tls.SSLCertVerificationError as error:
            raise ConnectionFailed(
                f"the certificate of {self._url} is not trusted: {error.verify_message}. Pass ssl= a context that "
                "trusts its authority (on the command line: SSL_CERT_FILE), or name the host that it is for"
            ) from None
        except OSError as error:
            if self._url.lower().startswith("wss:") and isinstance(error, _NO_TLS):
                raise ConnectionFailed(
                    f"what answers at {self._url} speaks no TLS that is understood here"
                    f"{f' ({error})' if str(error) else ''}; the URL of a server without TLS begins with ws://"
                ) from None
            reason = "nothing listens there" if "Connect call failed" in str(error) else str(error)
            raise ConnectionFailed(
                f"can't connect to {self._url}: {reason}. "
                "Start the service (`make serve` in a clone of Warmline, or `warmline serve`), or name another URL "
                "(on the command line: --url, or WARMLINE_URL)"
            ) from None

    async def _greet(self, transport: Transport, resume: Resume | None) -> Welcome:
        if transport.subprotocol != self._subprotocol:
            raise ConnectionFailed(f"what answers at {self._url} does not speak {self._subprotocol}")
        codec: Codec[ServerMessage] = client_codec(self._subprotocol)
        hello = Hello(client=self._client, resumable=self._reconnect is not None, resume=resume)
        transport.send(codec.encode(hello))
        try:
            message = codec.decode(await transport.inbox.first())
        except WarmlineError as error:
            if isinstance(error, Unauthorized):
                raise
            retryable = not isinstance(error, ConnectionLost) or error.retryable
            raise ConnectionFailed(f"{self._url}: {error}", retryable=retryable) from None
        except BadFrame as error:
            raise ConnectionFailed(f"what answers at {self._url} is no Warmline server: {error}") from None
        match message:
            case Welcome():
                return message
            case Error():
                refused = request_error(message)
                if isinstance(refused, Unauthorized):
                    raise refused
                after = None if message.retry_after_ms is None else message.retry_after_ms / 1000
                raise ConnectionFailed(f"{self._url}: {refused}", retry_after=after)
            case _:
                raise ConnectionFailed(f"what answers at {self._url} is no Warmline server: it said no welcome")

    def _redirected(self, status: int, location: str) -> ConnectionFailed:
        place = location[:200]
        scheme, _, rest = place.partition("://")
        meant = {"http": "ws", "https": "wss"}.get(scheme.lower(), scheme)
        if self._url.lower().startswith("wss:") and meant != "wss":
            advice = ", which has no TLS, so nothing is sent there; name the service's own URL"
        else:
            advice = f": use {meant}://{rest}" if meant in ("ws", "wss") else ": name the WebSocket's own URL"
        # Those of networks that want a password first, and of maintenance, are for a while.
        return ConnectionFailed(f"{self._url} redirects to {place}{advice}", retryable=status in (302, 303, 307))

    def _refused(self, status: int, body: bytes, after: float | None) -> WarmlineError:
        said = body.decode(errors="replace").strip()
        reason = f": {said[:200]}" if said else ""
        if status == 401:
            wrong = "the token is wrong" if self._token else "pass token= (on the command line: --api-key)"
            return Unauthorized(f"{self._url} wants an API key; {wrong}")
        if status == 404 and not said:  # picows has of a body only what came with the head
            reason = ": if it is the HTTP API's port (serve --http-port), name the WebSocket's (serve --port)"
        if status in (429, 503):
            return ConnectionFailed(f"{self._url} takes no new sessions at the moment{reason}", retry_after=after)
        retryable = status in (408, 429) or status >= 500
        why = f"{self._url} refused the connection with HTTP {status}{reason}"
        return ConnectionFailed(why, retryable=retryable, retry_after=after)


def _seconds(retry_after: str | None) -> float | None:
    """What ``Retry-After`` says; None where it names a date, or nothing that is known (RFC 9110, 10.2.3)."""
    said = "" if retry_after is None else retry_after.strip()
    return float(said) if said.isascii() and said.isdigit() and len(said) < 10 else None


def _plan_of(reconnect: Reconnect | bool) -> Reconnect | None:
    if isinstance(reconnect, bool):
        return Reconnect() if reconnect else None
    if not isinstance(reconnect, Reconnect):
        raise WrongType(f"reconnect is of type {type(reconnect).__name__}, not bool or Reconnect")
    return reconnect


def _host(url: str) -> str | None:
    """The host that a WebSocket URL names; None if it is no such URL."""
    try:
        parts = urlsplit(url)
        if parts.scheme not in ("ws", "wss") or parts.port == 0 or parts.fragment or parts.hostname is None:
            return None
        if parts.username is not None and parts.password is None:
            return None
        parts.hostname.encode("idna")
    except ValueError:  # brackets that don't close, a port that is none, or a label that DNS can't have
        return None
    return parts.hostname


def _is_loopback(host: str) -> bool:
    """Whether a host is this machine, where a proxy has no place."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _has_proxy(host: str) -> bool:
    """Whether the environment names a proxy for a host."""
    return bool(getproxies().keys() - {"no"}) and not proxy_bypass(host)


def _has_picows() -> bool:
    return importlib.util.find_spec("picows") is not None
