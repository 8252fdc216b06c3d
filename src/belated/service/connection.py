"""A connection: heads that are bounded, the short way for events, and answers in their order.

Heads are bounded in bytes, in number and in time before anything else is looked at. The parser
keeps what it has of a line until the line ends, however long it gets; so what comes without being a
part of a body is counted here.

A request of events whose body comes with its head, or right after it, takes the short way
(``shortcut``): there is no scope for it, and no task. While it is being answered its place in the
connection is held by ``_Short``, so that whatever comes behind it waits as behind any other.

Whoever asked is answered, whatever comes behind: what cannot be read, a head that does not end, the
end of all that the client sends. Then the connection is closed after the last answer.

Whoever asks for another protocol (``Upgrade``) gets this one, as if he had not.

Requests that wait for those before them are few: nothing is read while one waits, and who brings
too many in one read is told so after the answers to the others. Who does not take his answers is
hung up on.

Everything here stands on the inside of uvicorn; ``run.KNOWN`` says of which versions.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sized
from contextlib import suppress
from enum import Enum, auto
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import httptools
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from belated.service.limits import BYTES
from belated.service.refusals import Refused
from belated.service.requests import AFTER, no, whole

if TYPE_CHECKING:
    from belated.service.shortcut import Place, Shortcut

HELD = 64 << 10
"""Bytes of a body that are held for the short way; what is longer takes the long one."""
_SOON = 0.02  # seconds that a body may take to come after its head, on the short way
_LINGERS = 1.0  # seconds without data after the last answer, until the connection is closed
_DISCARDED = 512 << 20  # bytes that are read after the last answer; then the connection is closed
_LEAVES = 5.0  # seconds without progress that a client has to take its answers in at a stop
_CLOSES = b"\r\nconnection: close\r\n"


HEADERS = 100
"""Of the head of a request."""
WAITING = 64
"""Requests of a connection that wait for the ones before them."""


class Last(NamedTuple):
    """A refusal after which the connection ends."""

    code: str
    message: str
    content: bytes
    """The bytes that are sent."""

    def log(self, logger: logging.Logger) -> None:
        """Write down what was refused, with its code, as of any other request."""
        logger.warning("%s", self.message, extra={"code": self.code})


def _last(status: int, code: str, message: str, logged: str = "") -> Last:
    refused = Refused(status, code, message, AFTER if status == 429 else ())
    return Last(code, logged or f"Request refused: {message}.", whole(no(refused), is_last=True))


BAD = _last(400, "bad_http", "what came is no HTTP request", "Invalid HTTP request received.")
BAD_HOST = _last(400, "bad_host", "an HTTP/1.1 request has exactly one Host header")
BAD_CODING = _last(501, "bad_coding", "a Transfer-Encoding is chunked, or there is none")
FULL = _last(503, "too_many_connections", "the server has as many connections as it can have")
TOO_LARGE = _last(431, "head_too_large", f"a head has {BYTES} bytes and {HEADERS} headers at most")
TOO_WORDY = _last(
    431,
    "chunks_too_large",
    f"around the chunks of a body (extensions, trailers) there are {BYTES} bytes at most",
)
TOO_MANY = _last(429, "too_many_waiting", f"{WAITING} requests of a connection may wait at once")


class _Unread(Exception):
    """A request that is not read on; the first argument is what is said of it."""


class _Coming(Enum):
    """What a client is sending, or that nothing is read any more."""

    HEAD = auto()
    """The head of a request; also before the first byte of the first one."""
    HELD = auto()
    """A body that is held for the short way."""
    BODY = auto()
    """A body that the application gets as it comes."""
    NEXT = auto()
    """All of a request is there, and nothing of the next."""
    REFUSED = auto()
    """Whatever it is, it is not read; ``_last`` is said when all is answered."""
    ENDED = auto()
    """The client sends no more; the same."""
    OVER = auto()
    """The last was said."""


_HEAD, _HELD, _BODY, _NEXT, _REFUSED, _ENDED, _OVER = _Coming


class _Held:
    """The body of a request that may take the short way, as far as it is there."""

    __slots__ = ("parts", "place", "size")

    def __init__(self, place: Place) -> None:
        self.place, self.size = place, 0
        self.parts: list[bytes] = []

    def add(self, part: bytes) -> None:
        """Hold more."""
        self.parts.append(part)
        self.size += len(part)

    @property
    def body(self) -> bytes:
        """All that is held."""
        return self.parts[0] if len(self.parts) == 1 else b"".join(self.parts)


class _Nobody:
    """Waits for nothing, where uvicorn has an event."""

    __slots__ = ()

    def set(self) -> None:
        """Do nothing."""


_NOBODY = _Nobody()


class _Flow(FlowControl):  # type: ignore[misc]  # uvicorn is not looked into
    """Reads on when no request waits; uvicorn would do so after every answer."""

    def __init__(self, transport: asyncio.Transport, waiting: Sized) -> None:
        super().__init__(transport)
        self._waiting = waiting

    def resume_reading(self) -> None:
        if not self._waiting:
            super().resume_reading()


class _Closing:
    """The transport of a request: it is not closed while its body still comes.

    The system would reset a connection that is closed with unread data, and the client would lose
    the answer, such as 413. So what it sends is discarded for a while (``_say_the_last``).
    """

    __slots__ = ("_close", "_transport")

    def __init__(self, transport: asyncio.Transport, close: Callable[[], None]) -> None:
        self._transport, self._close = transport, close

    def write(self, data: bytes) -> None:
        self._transport.write(data)

    def is_closing(self) -> bool:
        return self._transport.is_closing()

    def close(self) -> None:
        self._close()


class _Short:
    """Stands where uvicorn has the cycle of a request, for one that takes the short way."""

    __slots__ = ("disconnected", "keep_alive", "message_event", "response_complete")

    def __init__(self) -> None:
        self.disconnected, self.keep_alive, self.response_complete = False, True, False
        self.message_event = _NOBODY  # which is set when the client has gone


class Connection(HttpToolsProtocol):  # type: ignore[misc]  # uvicorn is not looked into
    """Reads requests, and has them answered.

    ``cycle`` is the newest request that is being answered, or was; those in ``pipeline`` wait for
    the ones before them.
    """

    cycle: Any
    parser: Any
    headers: list[tuple[bytes, bytes]]

    def __init__(self, patience: float, shortcut: Shortcut | None, most: int, **given: Any) -> None:
        super().__init__(**given)
        self._patience, self._shortcut, self._most = patience, shortcut, most
        self._coming = _HEAD
        self._quiet, self._size = 0, 0  # bytes since something was heard, and of the head
        self._held: _Held | None = None  # while that is what comes
        self._first: Any = None  # of several requests the one that is being answered
        self._last: Last | None = None  # what is said when all is answered
        self._timer = Once(self.loop)  # for a head, or for what is held
        self._idle = Quiet(self.loop, self.timeout_keep_alive)
        self._rest = Quiet(self.loop, _LINGERS)  # for what still comes after the last answer
        self._discarded = 0  # bytes of that
        self._unsent: Unsent

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self.flow = _Flow(transport, self.pipeline)
        self._unsent = Unsent(self.loop, transport)
        transport.set_write_buffer_limits(0)  # so that all that is not taken is heard of
        if len(self.connections) > self._most:
            self._coming = _OVER
            FULL.log(self.logger)
            transport.write(FULL.content)
            transport.close()
            return
        self._timer.begin(self._patience, self.transport.close)

    def connection_lost(self, exc: Exception | None) -> None:
        self._held = None
        for timer in (self._timer, self._idle, self._rest, self._unsent):
            timer.end()
        if self.pipeline and self._first is not None:  # uvicorn tells the newest alone
            self._first.disconnected = True
            self._first.message_event.set()
        super().connection_lost(exc)

    @property
    def _is_read(self) -> bool:
        """Whether anything can still be made of what comes."""
        return self._coming not in (_REFUSED, _ENDED, _OVER) and not self.transport.is_closing()

    # --- What comes -------------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        if not self._is_read:
            if self._coming is _OVER:
                self._discard(len(data))
            return
        self._unset_keepalive_if_required()
        self._quiet += len(data)
        self._feed(data)
        if not self._is_read:
            self._held = None
        elif self._quiet > BYTES:
            self._end(TOO_WORDY if self._coming in (_HELD, _BODY) else TOO_LARGE)
        elif self._coming is _HEAD:
            self._wait_for_head()
        elif self._coming is _HELD:
            self._timer.begin(_SOON, self._take_the_long_way)

    def _feed(self, data: bytes) -> None:
        """Let the parser have what came.

        It stops behind a head that asks for another protocol. What follows is read as ever, and if
        that is a body, its head once more, without asking.
        """
        while data:
            try:
                self.parser.feed_data(data)
                return
            except httptools.HttpParserUpgrade as stopped:
                data = data[stopped.args[0] :]
                if self._coming is _HEAD:
                    data = self._plain_head() + data
                    self.parser = self._new_parser()  # the old one may take it for the end of all
            except httptools.HttpParserError as error:
                why = error.__context__
                self._end(why.args[0] if isinstance(why, _Unread) else BAD)
                return

    def _new_parser(self) -> Any:
        """Return a parser that has read nothing, as uvicorn makes them."""
        parser = httptools.HttpRequestParser(self)
        with suppress(AttributeError):  # of old versions
            parser.set_dangerous_leniencies(lenient_data_after_close=True)
        return parser

    def eof_received(self) -> bool:
        """Stay until all is answered that came as a whole, if there is something."""
        return self._coming is not _OVER and self._end(None, _ENDED)

    def on_message_begin(self) -> None:
        self._size, self._coming = 0, _HEAD
        self.url, self.headers, self.expect_100_continue = b"", [], False

    def on_url(self, url: bytes) -> None:
        self._size += len(url)
        if self._size > BYTES:
            raise _Unread(TOO_LARGE)
        self.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._coming is not _HEAD:  # what follows a body in chunks opens no door
            return
        self._size += len(name) + len(value)
        if self._size > BYTES or len(self.headers) >= HEADERS:
            raise _Unread(TOO_LARGE)
        name = name.lower()
        if name == b"expect":
            self.expect_100_continue = value.lower() == b"100-continue"
        self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        if self.parser.should_upgrade() and self._has_body:
            if self.parser.get_method() == b"CONNECT":  # which asks for a tunnel in any case
                raise _Unread(BAD)
            return  # it comes again: see ``_feed``
        self._quiet = 0
        self._timer.end()
        hosts = [name for name, _ in self.headers].count(b"host")
        if hosts > 1 or (hosts == 0 and self.parser.get_http_version() == "1.1"):
            raise _Unread(BAD_HOST)
        for name, value in self.headers:
            if name == b"transfer-encoding" and value.strip().lower() != b"chunked":
                raise _Unread(BAD_CODING)
        if len(self.pipeline) >= WAITING:
            raise _Unread(TOO_MANY)
        place = self._short_place()
        if place is not None:
            self._coming, self._held = _HELD, _Held(place)
        else:
            self._begin()

    def on_body(self, body: bytes) -> None:
        self._quiet = 0
        if self._held is None:
            super().on_body(body)
            return
        self._held.add(body)
        if self._held.size > HELD:
            self._take_the_long_way()

    def on_message_complete(self) -> None:
        if self._coming is _HEAD:
            return  # it comes again: see ``_feed``
        self._quiet = 0
        if self._held is not None and not self._take_the_short_way(self._held):
            self._take_the_long_way()
        if self.cycle.__class__ is not _Short:
            super().on_message_complete()
        self._coming = _NEXT

    @property
    def _has_body(self) -> bool:
        """Whether a body follows the head."""
        return any(
            name == b"transfer-encoding" or (name == b"content-length" and value != b"0")
            for name, value in self.headers
        )

    def _plain_head(self) -> bytes:
        """Return the head that was read, as if it had not asked for another protocol."""
        parser, url = self.parser, self.url
        first = b"%b %b HTTP/%b" % (parser.get_method(), url, parser.get_http_version().encode())
        kept = [b"%b: %b" % header for header in self.headers if header[0] != b"upgrade"]
        return b"\r\n".join((first, *kept, b"", b""))

    # --- The short way ----------------------------------------------------------------------------

    def _short_place(self) -> Place | None:
        """Return where a request goes on the short way; None: as its head tells, it may not."""
        parser, shortcut = self.parser, self._shortcut
        if (
            shortcut is not None
            and (self.cycle is None or self.cycle.response_complete)
            and parser.get_method() == b"POST"
            and parser.get_http_version() == "1.1"
            and parser.should_keep_alive()
            and not parser.should_upgrade()
            and not self.expect_100_continue
            and not self.flow.write_paused
        ):
            return shortcut.place(self.url)
        return None

    def _take_the_short_way(self, held: _Held) -> bool:
        """Begin to answer what is held, and tell whether that could be done."""
        assert self._shortcut is not None
        before = self.cycle
        self.cycle = short = _Short()
        reply = partial(self._reply, short)
        if self._shortcut.answer(held.place, self.headers, held.body, reply):
            self._timer.end()
            self._held = None
            return True
        self.cycle = before
        return False

    def _reply(self, short: _Short, content: bytes) -> None:
        """Send an answer on the short way."""
        short.response_complete = True
        if self.transport.is_closing():
            return
        if short.keep_alive:
            self.transport.write(content)
        else:  # the server is being stopped
            self.transport.write(content.replace(b"\r\n", _CLOSES, 1))
            self.transport.close()
        self.on_response_complete()

    def _take_the_long_way(self) -> None:
        """Let the application have what is held."""
        held, self._held = self._held, None
        self._timer.end()
        self._begin()
        for part in held.parts if held is not None else ():
            super().on_body(part)

    def _begin(self) -> None:
        """Begin with a request whose head was read, as uvicorn does."""
        url, headers, expects = self.url, self.headers, self.expect_100_continue
        super().on_message_begin()
        self.url, self.expect_100_continue = url, expects
        self.headers.extend(headers)
        if not self.pipeline:
            self._first = self.cycle
        super().on_headers_complete()
        self.cycle.transport = _Closing(self.transport, partial(self._close_after, self.cycle))
        self._coming = _BODY

    # --- What goes --------------------------------------------------------------------------------

    def on_response_complete(self) -> None:
        """Read on; who asks nothing more for a while is hung up on."""
        if self.pipeline or self.transport.is_closing():
            self._first = self.pipeline[-1][0] if self.pipeline else None
            super().on_response_complete()
            if self._coming is not _BODY and self._is_read:
                self.flow.resume_reading()  # unless another waits
            return
        self.server_state.total_requests += 1
        if not self._is_read:
            self._say_the_last()
            return
        self.flow.resume_reading()
        self._idle.note(self._hang_up)
        if self._coming is _HEAD:
            self._wait_for_head()

    def _close_after(self, cycle: Any) -> None:
        """Close the connection, which uvicorn wants after the answer of ``cycle``."""
        if cycle is self.cycle and cycle.response_complete and self._coming is _BODY:
            self._coming = _REFUSED  # ``on_response_complete`` comes next
        else:
            self.transport.close()

    def _hang_up(self) -> None:
        """End what nothing comes over, unless something is on its way."""
        if self._coming in (_HEAD, _HELD) or not self.cycle.response_complete:
            return  # the next answer looks again
        self.timeout_keep_alive_handler()

    def _end(self, last: Last | None, coming: _Coming = _REFUSED) -> bool:
        """Read no more; say this when all is answered that came before, and hang up.

        Tells whether there is something to be answered.
        """
        self._timer.end()
        self._held = None
        if self._is_read:
            self._last = last
            if last is not None:
                last.log(self.logger)
        is_due = self._is_due()
        self._coming = coming
        if is_due:
            self.flow.pause_reading()
        else:
            self._say_the_last()
        return is_due

    def _say_the_last(self) -> None:
        """Say what is left to be said, and hang up as soon as the client does.

        Where something is left unread, the system would throw away what is still on its way. So it
        is read and discarded, within bounds on its bytes, on pauses and on the whole time.
        """
        is_deaf, self._coming = self._coming is _ENDED, _OVER
        if self._last is not None:
            self.transport.write(self._last.content)
        if is_deaf or not self.transport.can_write_eof():
            self.transport.close()
            return
        self.transport.write_eof()
        self.flow.resume_reading()
        self._timer.begin(self._patience, self.transport.close)
        self._rest.note(self.transport.close)

    def _discard(self, size: int) -> None:
        """Count bytes that come after the last answer, and close where they are too many."""
        self._discarded += size
        if self._discarded > _DISCARDED:
            self.transport.close()
        else:
            self._rest.note(self.transport.close)

    def _is_due(self) -> bool:
        """Tell whether something is to be answered, less what will never be there as a whole."""
        if self._coming is not _BODY:
            return bool(self.pipeline) or (
                self.cycle is not None and not self.cycle.response_complete
            )
        if self.pipeline:  # it is the last one there, and nobody has begun with it
            self.pipeline.popleft()
            return True
        if self.cycle.response_started:
            return not self.cycle.response_complete
        self.cycle.disconnected = True  # the rest of its body will not come
        self.cycle.message_event.set()
        return False

    def shutdown(self) -> None:
        """End, for the server stops; half a body, or who takes nothing, does not hold it up."""
        if self._coming is _BODY:
            self._end(None, _ENDED)
        super().shutdown()
        self._unsent.hurry(min(self._patience, _LEAVES))

    def pause_writing(self) -> None:
        """Look whether what is sent is taken at all."""
        super().pause_writing()
        self._unsent.begin(self._patience)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._unsent.end()

    def _wait_for_head(self) -> None:
        """Give a head its time, from its beginning or the last answer before it."""
        if self.cycle is None or (self.cycle.response_complete and not self.pipeline):
            self._timer.begin(self._patience, self.transport.close)


# --- Timers ---------------------------------------------------------------------------------------

Then = Callable[[], None]


class Once:
    """Calls a function after some seconds, unless that is given up before."""

    __slots__ = ("_handle", "_loop")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._handle: asyncio.TimerHandle | None = None

    @property
    def is_under_way(self) -> bool:
        """Whether something is waited for."""
        return self._handle is not None

    def begin(self, seconds: float, then: Then) -> None:
        """Wait, unless something is waited for already."""
        if self._handle is None:
            self._handle = self._loop.call_later(seconds, self._end_with, then)

    def end(self) -> None:
        """Wait no more."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _end_with(self, then: Then) -> None:
        self._handle = None
        then()


class Quiet:
    """Calls a function when nothing was noted for some seconds.

    Where others have a timer for everything that happens, here is one that looks when the last was.
    """

    __slots__ = ("_loop", "_seconds", "_since", "_timer")

    def __init__(self, loop: asyncio.AbstractEventLoop, seconds: float) -> None:
        self._loop, self._seconds, self._since = loop, seconds, 0.0
        self._timer = Once(loop)

    def note(self, then: Then) -> None:
        """Count from now on."""
        self._since = self._loop.time()
        self._timer.begin(self._seconds, lambda: self._look(then))

    def end(self) -> None:
        """Look no more."""
        self._timer.end()

    def _look(self, then: Then) -> None:
        left = self._since + self._seconds - self._loop.time()
        if left > 0.0:
            self._timer.begin(left, lambda: self._look(then))
        else:
            then()


class Unsent:
    """Hangs up on who takes nothing of what is sent, whatever was to be said."""

    __slots__ = ("_size", "_timer", "_transport")

    def __init__(self, loop: asyncio.AbstractEventLoop, transport: asyncio.Transport) -> None:
        self._transport, self._timer = transport, Once(loop)
        self._size = 0  # bytes that were not taken at the last look

    def begin(self, seconds: float) -> None:
        """Look every so often whether something was taken."""
        self._size = self._transport.get_write_buffer_size()
        self._timer.begin(seconds, lambda: self._look(seconds))

    def hurry(self, seconds: float) -> None:
        """Look that often from now on, if it is looked at all."""
        if self._timer.is_under_way:
            self._timer.end()
            self.begin(seconds)

    def end(self) -> None:
        """Look no more: all was taken."""
        self._timer.end()

    def _look(self, seconds: float) -> None:
        if self._transport.get_write_buffer_size() < self._size:
            self.begin(seconds)
        else:
            self._transport.abort()
