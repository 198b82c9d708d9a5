"""One socket: hello, decoding, dispatch, and a write path that never waits for a slow reader."""

from __future__ import annotations

import asyncio
from typing import Final

import structlog
from websockets.exceptions import ConnectionClosed

from ..access.accounts import Usage
from ..access.gate import Gate
from ..access.keys import ApiKey
from ..access.refusals import Reason
from ..auth import NotLetIn
from ..documents.large_open import LARGE_FRAME, count_open, read_open
from ..documents.text import content_hash
from ..errors import Refused
from ..protocol import (
    Accepted,
    ClientMessage,
    CloseCode,
    Error,
    ErrorCode,
    HeldDocument,
    HeldVersion,
    Hello,
    Notice,
    Open,
    ProtocolError,
    Resume,
    Resumed,
    ServerMessage,
    Welcome,
    server_codec,
)
from ..resuming.parking import Parking
from ..resuming.session import ResumableSession
from ..session import Service, Session
from ..telemetry.tracing import clock
from .framing import frame
from .gateway_socket import TURN_NS, GatewaySocket
from .outbox import Outbox

logger = structlog.get_logger("warmline.connection")

_POLICY_VIOLATION: Final = 1008
_TOO_BIG: Final = 1009
_INTERNAL_ERROR: Final = 1011
_MESSAGES_PER_TURN: Final = 64
"""How many messages of one client are taken from its queue before others get their turn."""
_KEEP_SECONDS: Final = 0.002
"""How long `Accepted` may wait for a frame to leave with: a write each costs both ends more than its making."""
_DEAD_SECONDS: Final = 5.0
"""How long a reader that has much to read may take nothing before a server that goes away waits for it no more."""


class Connection:
    """Serves one accepted WebSocket until it closes. With ``parking``, sessions may outlive it."""

    def __init__(
        self,
        ws: GatewaySocket,
        service: Service,
        gate: Gate,
        server: str,
        name: str,
        parking: Parking | None = None,
    ) -> None:
        assert ws.subprotocol is not None
        self._ws = ws
        self._service = service
        self._limits = service.limits
        self._gate = gate
        self._server = server
        self._name = name
        self._parking = parking
        self._names: dict[str, object] = {"session": name}  # what log lines say of it
        self._codec = server_codec(ws.subprotocol)
        self._encode, self._as_text = self._codec.encode, self._codec.text
        self._outbox = Outbox()
        self._kept = b""
        self._keeping: asyncio.TimerHandle | None = None
        self._session: Session | None = None
        self._usage: Usage | None = None
        self._greeted = False  # welcome was said
        self._received = 0
        self._taken = 0  # the clock when the message that is handled was taken from the queue
        self._errors_in_row = 0
        self._ended = False
        self._final = False  # it is we who end it, and the session with it
        self._draining_until: float | None = None  # by the clock of the event loop
        self._taken_until, self._taken_at = -1, 0.0
        self._paused = False
        self._in_hand = False
        self._closing: asyncio.Task[None] | None = None
        self._stall: asyncio.TimerHandle | None = None
        self._congested_at = 0
        ws.on_congested = self._congested
        ws.on_drained = self._flush
        ws.on_closing = self._end  # what the peer then still sends, or doesn't, keeps nothing running

    async def run(self) -> None:
        """Read messages until the socket closes, then end everything that was running on it."""
        try:
            try:
                async with asyncio.timeout(self._limits.hello_timeout):
                    hello = await self._wait_for_hello()
            except TimeoutError:
                self._gate.refusals.note("websocket", Reason.NO_HELLO, self._ws.address)
                await self._close(CloseCode.HELLO_TIMEOUT, "no hello in time")
                return
            if hello is None or (session := await self._greet(hello)) is None:
                return
            self._session = session
            self._greeted = True
            if self._draining_until is not None:
                self._say_draining(session, self._draining_until)
            self._ws.on_message = self._take_at_once
            handled = busy = 0
            # It may end while a large message is read; the session may be another connection's by then.
            while (message := await self._read()) is not None and not self._ended:
                session.handle(message, self._received, clock())
                handled += 1
                busy += clock() - self._taken
                if handled >= _MESSAGES_PER_TURN or busy >= TURN_NS:
                    handled = busy = 0
                    await asyncio.sleep(0)  # reading what is buffered already doesn't yield by itself
        except ConnectionClosed as closed:
            if closed.sent is not None and closed.sent.code == _TOO_BIG:
                self._gate.refusals.note("websocket", Reason.OVERSIZED_FRAME, self._ws.address)
        except Exception:
            logger.exception("connection failed", **self._names)
            await self._close(_INTERNAL_ERROR, "internal error")
        finally:
            self._end()
            if self._closing is not None:
                await self._closing

    def send(self, message: ServerMessage) -> int:
        """Write a message now (`Accepted`: with the next one, or soon), or hold it while the reader is slow.

        Once the connection has ended, do nothing.

        Returns the clock (ns) between encoding and writing.
        """
        if self._ended:
            return clock()
        if self._ws.congested:
            self._hold(message)
            return clock()
        payload = self._encode(message)
        encoded = clock()
        data = frame(payload, self._as_text)
        if type(message) is Accepted:
            self._keep(data)
        elif self._kept:
            self._kept += data
            self._write_kept()
        else:
            self._ws.write(data)
        return encoded

    @property
    def key(self) -> ApiKey | None:
        """Whose session it is; None while that isn't known, or once it has ended."""
        return None if self._usage is None else self._usage.key

    def revoke(self, why: str) -> None:
        """The key lets nobody in any more: end the session."""
        if self._ended or self._usage is None:
            return
        self._gate.refusals.note("websocket", Reason.REVOKED_KEY, self._ws.address, key=self._usage.key.name)
        self.send(Error(None, ErrorCode.UNAUTHORIZED, why))
        self._end_soon(CloseCode.UNAUTHORIZED, why)

    def taken_over(self) -> None:
        """Another socket has the session now: say so, and close."""
        self._end_soon(CloseCode.SESSION_TAKEN, "another connection took over this session")

    # When the server goes away ---------------------------------------------------------------------------------

    def drain(self, seconds: float) -> None:
        """Take no more requests. Those that run may end within so many seconds; with 0 they are ended soon anyway."""
        self._draining_until = asyncio.get_running_loop().time() + seconds
        if self._session is not None and self._greeted and not self._ended:
            self._say_draining(self._session, self._draining_until)

    def _say_draining(self, session: Session, until: float) -> None:
        left = max(0.0, until - asyncio.get_running_loop().time())
        session.drain(left)
        if left > 0:
            self.send(Notice("draining", int(left * 1000)))

    def stop_requests(self) -> None:
        """End all requests now."""
        if self._session is not None:
            self._session.stop_requests()

    @property
    def drained(self) -> bool:
        """Whether every request has ended and its terminal frame was written, or can't be."""
        return self._session is None or self._ended or (self._session.running == 0 and len(self._outbox) == 0)

    @property
    def dead(self) -> bool:
        """Whether its reader has much to read, and has taken nothing of it for a while in which this was asked."""
        now, taken = asyncio.get_running_loop().time(), self._ws.taken
        if not self._ws.congested or taken != self._taken_until:
            self._taken_until, self._taken_at = taken, now
        return now - self._taken_at > _DEAD_SECONDS

    async def close(self, code: int, reason: str) -> None:
        """End all that runs, and close the socket; returns when it is closed."""
        self._end_soon(code, reason)
        assert self._closing is not None
        await asyncio.wait((self._closing,))

    # Reading ---------------------------------------------------------------------------------------------------

    async def _wait_for_hello(self) -> Hello | None:
        """Refuse what comes before it; None if the socket was closed instead."""
        while (message := await self._read()) is not None:
            if isinstance(message, Hello):
                return message
            refusal = Refused(ErrorCode.HELLO_REQUIRED, "the first message of a connection must be hello")
            if not await self._refuse(None, refusal):
                return None
        return None

    async def _greet(self, hello: Hello) -> Session | None:
        """Answer hello, however long that takes us; None if the socket was closed instead."""
        usage = await self._admit(hello)
        if usage is None:
            return None
        if hello.client:
            self._names["client"] = hello.client
        if self._gate.auth.required:
            self._names["key"] = usage.key.name
        self._usage = usage
        usage.sessions_opened(1)
        if hello.resume is not None and (resumed := await self._resume(hello.resume, usage)) is not None:
            return resumed
        return self._begin(hello, usage)

    async def _admit(self, hello: Hello) -> Usage | None:
        """What the session may use by the key of the upgrade or of `hello`; None if the socket was closed instead."""
        gate, ws = self._gate, self._ws
        name = None
        try:
            key = ws.key
            if key is None:
                key = gate.auth.identify(hello.token)
            elif (why := gate.auth.revoked(key)) is not None:
                raise NotLetIn(Reason.REVOKED_KEY, why)
            name = key.name
            usage = gate.accounts.usage(key, ws.address)
            if not self._takes_over(hello, key):
                usage.check_connection()
        except NotLetIn as problem:
            gate.refusals.note("websocket", problem.reason, ws.address)
            told = {Reason.NO_KEY: "hello has no token", Reason.WRONG_KEY: "the token is wrong"}
            why = told.get(problem.reason, str(problem))
            self.send(Error(None, ErrorCode.UNAUTHORIZED, f"{why}; this server needs an API key"))
            await self._close(CloseCode.UNAUTHORIZED, why)
        except Refused as refusal:
            gate.refusals.note("websocket", Reason.CONNECTIONS, ws.address, key=name)
            self.send(Error(None, refusal.code, refusal.message, refusal.retryable, refusal.retry_after_ms))
            await self._close(CloseCode.TRY_AGAIN_LATER, "the API key has all its connections")
        else:
            return usage
        return None

    def _takes_over(self, hello: Hello, key: ApiKey) -> bool:
        """Whether it comes for a session that another connection still has, which counts already and will close."""
        if hello.resume is None or self._parking is None:
            return False
        session = self._parking.meant(hello.resume, key.salt)
        return session is not None and session.client is not None

    def _begin(self, hello: Hello, usage: Usage) -> Session:
        """A new session."""
        if self._parking is not None:
            self._parking.make_room(usage)
        if self._parking is None or not (hello.resumable or hello.resume):
            self._session = session = Session(self._service, usage.key.salt, self.send, self._names, usage)
            self.send(self._welcome(usage, self._name))
        else:
            # Ours from now on, so that it ends with us whatever fails.
            self._session = session = resumable = ResumableSession(self._service, usage, self._name, self._names)
            resumable.attach(self)
            self._parking.add(resumable)
            self.send(self._welcome(usage, self._name, resumable.secret))
            resumable.restore(())
        logger.debug("session opened", **self._names)
        return session

    async def _resume(self, resume: Resume, usage: Usage) -> Session | None:
        """Go on with a session; None if it is not to be had.

        Raises:
            ConnectionClosed: this connection ended meanwhile, or another one took the session.

        """
        if self._parking is None or (session := self._parking.find(resume, usage.key.salt)) is None:
            return None
        self._parking.claim(session, self)
        session.moved(usage)
        self._session = session
        self._names = dict(session.names)
        # Each that is open is hashed once, however often it is named: no more than a session may have.
        by_name = {named.document: named for named in resume.documents}
        documents = [held for named in by_name.values() if (held := await self._held(session, named)) is not None]
        if self._ended:
            raise ConnectionClosed(None, None)
        known = session.known(resume.requests)
        resumed = Resumed(session.messages, documents, [held.request for held in known])
        self.send(self._welcome(usage, session.name, session.secret, resumed))
        session.restore(known)
        logger.debug("session resumed", **self._names)
        return session

    async def _held(self, session: ResumableSession, named: HeldDocument) -> HeldVersion | None:
        """The version of a document, unless it is not open or its text is another one in the same version."""
        found = session.held_version(named.document)
        if found is None:
            return None
        held, text = found
        if held.version == named.version:
            await asyncio.sleep(0)  # there may be many, and all of a megabyte
            if content_hash(text) != named.hash:
                return None
        return held

    def _welcome(
        self, usage: Usage, session: str, secret: str | None = None, resumed: Resumed | None = None
    ) -> Welcome:
        model, limits = self._service.engine.model, usage.narrowed(self._limits)
        return Welcome(
            session=session,
            server=self._server,
            model=model.name,
            context_length=min(model.context_length, model.max_sequence_tokens),
            max_document_bytes=limits.max_document_bytes,
            max_requests=limits.max_requests,
            secret=secret,
            resume_ms=0 if secret is None or self._parking is None else round(1000 * self._parking.seconds),
            resumed=resumed,
        )

    async def _read(self) -> ClientMessage | None:
        """The next message; what is none is answered with an error. None if the connection has ended.

        What arrives after that stays unread: the socket's queue fills and stops reading from the network.
        """
        while True:
            if self._in_hand:
                self._ws.took_from_queue()
            self._in_hand = False
            received = await self._ws.recv()
            self._in_hand = True
            self._taken = clock()
            if self._ended:
                return None
            self._received = self._ws.received
            try:
                message = (
                    self._codec.decode(received) if len(received) <= LARGE_FRAME else await self._read_large(received)
                )
            except ProtocolError as error:
                if self._ended or not await self._refuse(error.request, Refused(error.code, error.message)):
                    return None
                continue
            if self._session is not None:
                self._errors_in_row = 0
            return message

    def _take_at_once(self, data: bytes) -> bool:
        """Handle a message from within the socket's callback. What is none goes the way where errors can wait."""
        if self._ended or self._session is None or self._codec.text or len(data) > LARGE_FRAME:
            return False
        try:
            message: ClientMessage = self._codec.decode(data)
        except ProtocolError:
            return False
        self._errors_in_row = 0
        try:
            self._session.handle(message, self._ws.received, clock())
        except Exception:
            logger.exception("connection failed", **self._names)
            self._end_soon(_INTERNAL_ERROR, "internal error")
        return True

    async def _read_large(self, received: str | bytes) -> ClientMessage:
        """Decode a frame that takes several turns. Those behind it wait in the queue meanwhile.

        Raises:
            ProtocolError: it is no message.

        """
        await asyncio.sleep(0)  # the library took a turn to make it
        if isinstance(received, bytes) and not self._codec.text:
            opened = await read_open(received)
            if opened is not None:
                return opened
        message = self._codec.decode(received)
        if isinstance(message, Open):
            await asyncio.sleep(0)
            return await count_open(message)
        return message

    async def _refuse(self, request: int | None, refusal: Refused) -> bool:
        """Answer a frame that is no message. Returns whether the connection goes on."""
        if self._session is not None:
            self._session.refuse_frame(request, refusal)
        else:
            self._service.metrics.message_refused(refusal.code)
            self.send(Error(request, refusal.code, refusal.message, refusal.retryable, refusal.retry_after_ms))
        self._errors_in_row += 1
        if refusal.code == ErrorCode.WRONG_FRAME_TYPE:
            await self._close(CloseCode.UNSUPPORTED_DATA, refusal.message)
        elif self._errors_in_row >= self._limits.max_errors_in_row:
            await self._close(_POLICY_VIOLATION, f"{self._errors_in_row} bad messages in a row")
        else:
            return True
        return False

    # Writing little at a time ----------------------------------------------------------------------------------

    def _keep(self, accepted: bytes) -> None:
        """Let `Accepted` leave with what follows it, which is mostly its request's first text and soon there."""
        self._kept += accepted
        if self._keeping is None:
            self._keeping = self._ws.loop.call_later(_KEEP_SECONDS, self._write_kept)

    def _write_kept(self) -> None:
        kept, self._kept = self._kept, b""
        if self._keeping is not None:
            self._keeping.cancel()
            self._keeping = None
        if kept:
            self._ws.write(kept)

    # Writing to a slow reader ----------------------------------------------------------------------------------

    def _hold(self, message: ServerMessage) -> None:
        """Keep a message for later; with much to keep, pause the requests that make more of it."""
        self._write_kept()
        self._outbox.add(message)
        if self._outbox.size > self._limits.max_unsent_bytes:
            self._give_up()
        elif self._outbox.size > self._limits.pause_unsent_bytes and not self._paused and self._session is not None:
            self._paused = True
            self._session.pause()

    def _congested(self) -> None:
        """Bound how slowly the peer may read, and how much the answers to its pings add to the write buffer."""
        unsent = self._ws.transport.get_write_buffer_size()
        if self._stall is None:
            self._congested_at = unsent
            self._watch()
        elif unsent > self._congested_at + self._limits.max_unsent_bytes:
            self._give_up()

    def _watch(self) -> None:
        """Look again after a while at how much the peer has read.

        That is seen in lumps: a kernel that was full tells of room only once there is much of it (RFC 9293,
        3.8.6.2.2), on one machine up to 120 kB. A reader of 2.5 kB/s shows only every 50 seconds that it reads.
        """
        taken = self._ws.taken
        self._stall = asyncio.get_running_loop().call_later(self._limits.stall_timeout, self._check_stall, taken)

    def _check_stall(self, taken: int) -> None:
        if self._ws.taken - taken >= self._limits.write_high_water:
            self._watch()
        else:
            self._give_up()

    def _relax(self) -> None:
        if self._stall is not None:
            self._stall.cancel()
            self._stall = None

    def _flush(self) -> None:
        """Write what was held, until the socket is congested again; once little is held, let the requests go on."""
        self._relax()
        for message in self._outbox.take():
            self.send(message)
        if self._paused and not self._ended and self._outbox.size <= self._limits.pause_unsent_bytes // 4:
            assert self._session is not None
            self._paused = False
            self._session.resume()

    def _give_up(self) -> None:
        """The client reads too slowly: end its requests and close its socket."""
        if self._ended:
            return
        logger.warning("client reads too slowly", **self._names, unsent_bytes=self._outbox.size)
        self._service.metrics.slow_readers.inc()
        self._end_soon(CloseCode.TRY_AGAIN_LATER, "the client reads too slowly")

    async def _close(self, code: int, reason: str) -> None:
        """Close the socket, and with it the session."""
        self._final = True
        await self._ws.close(code, reason)

    def _end_soon(self, code: int, reason: str) -> None:
        """Take no more messages, end the requests and close the socket."""
        self._ended = self._final = True
        # Not at once: it may be a request that is sending here, and ending the session ends that request.
        asyncio.get_running_loop().call_soon(self._end)
        if self._closing is None:
            self._closing = asyncio.create_task(self._close(code, reason))

    def _end(self) -> None:
        self._ended = True
        self._ws.on_congested = self._ws.on_drained = self._ws.on_closing = self._ws.on_message = None
        self._relax()
        self._write_kept()
        self._outbox.take()
        if self._usage is not None:
            self._usage.sessions_opened(-1)
            self._usage = None
        if isinstance(self._session, ResumableSession) and self._parking is not None:
            leave = self._parking.left if self._lost else self._parking.end
            leave(self._session, self)
        elif self._session is not None:
            self._session.close()

    @property
    def _lost(self) -> bool:
        """Whether the socket was lost, and neither side meant to end the session."""
        # Libraries close with 1011 where no pong came.
        frames = (self._ws.protocol.close_rcvd, self._ws.protocol.close_sent)
        broke = all(frame is None or frame.code == _INTERNAL_ERROR for frame in frames)
        return broke and not (self._final or self._draining_until is not None)
