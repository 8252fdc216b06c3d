"""A connection: heads that are bounded, the short way for events, and answers in their order.

Heads are bounded in bytes, in number and in time before anything else is looked at. The parser
keeps what it has of a line until the line ends, however long it gets; so what comes without being a
part of a body is counted here.

A request of events whose body comes with its head, or right after it, takes the short way
(``shortcut``): there is no scope for it, and no task. While it is being answered its place in the
connection is held by ``_Short``, so that whatever comes behind it waits as behind any other.

Whoever asked is answered, whatever comes behind: what cannot be read, a head that does not end, the
end of all that the client sends. Then the connection is closed after the last answer.

Requests that wait for those before them are few: nothing is read while one waits, and who brings
too many in one read is told so after the answers to the others. Who does not take his answers is
hung up on.

Everything here stands on the inside of uvicorn; ``wire`` says of which versions.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sized
from typing import TYPE_CHECKING, Any, NoReturn

from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from belated.service.refusals import Refused
from belated.service.replies import whole
from belated.service.requests import no
from belated.service.wire import BYTES

if TYPE_CHECKING:
    from belated.service.shortcut import Place, Shortcut

HEADERS = 100
HELD = 64 << 10
"""Bytes of a body that are held for the short way; what is longer takes the long one."""
WAITING = 64
"""Requests of a connection that wait for the ones before them."""
_SOON = 0.02  # seconds that a body may take to come after its head, on the short way
_LINGERS = 1.0  # seconds that a client has to hang up after the last answer
_LEAVES = 5.0  # seconds without progress that a client has to take its answers in at a stop
_CLOSES = b"\r\nconnection: close\r\n"
_BAD = whole(no(Refused(400, "bad_http", "what came is no HTTP request")), is_last=True)
_TOO_LARGE = whole(
    no(Refused(431, "head_too_large", f"a head has {BYTES} bytes and {HEADERS} headers at most")),
    is_last=True,
)
_TOO_MANY = whole(
    no(Refused(429, "too_many_waiting", f"{WAITING} requests of a connection may wait at once")),
    is_last=True,
)


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
    headers: list[tuple[bytes, bytes]]

    def __init__(self, patience: float, shortcut: Shortcut | None, **given: Any) -> None:
        super().__init__(**given)
        self._patience, self._shortcut = patience, shortcut
        self._quiet, self._size = 0, 0  # bytes since something was heard, and of the head
        self._is_heard, self._is_in_head = False, True
        self._first: Any = None  # of several requests the one that is being answered
        self._is_open = False  # whether the body of ``cycle`` is still coming
        self._held: list[bytes] | None = None  # the body of what may take the short way
        self._held_bytes = 0
        self._place: Place | None = None  # where that goes
        self._short = _Short()
        self._timer: asyncio.TimerHandle | None = None  # for a head, or for what is held
        self._idle_since = 0.0
        self._idle_timer: asyncio.TimerHandle | None = None
        self._unsent = 0  # bytes that were not taken at the last look
        self._unsent_timer: asyncio.TimerHandle | None = None
        self._refusal = _BAD  # what is said of something that the parser does not take
        self._last: bytes | None = None  # what is said when all is answered; then it is over
        self._is_deaf, self._is_over = False, False  # nothing more comes; nothing more is said

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self.flow = _Flow(transport, self.pipeline)
        transport.set_write_buffer_limits(0)  # so that all that is not taken is heard of
        self._wait(self._patience, self.transport.close)

    def connection_lost(self, exc: Exception | None) -> None:
        self._wait_no_more()
        self._held = None
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        self._look_at_unsent_no_more()
        if self.pipeline and self._first is not None:  # uvicorn tells the newest alone
            self._first.disconnected = True
            self._first.message_event.set()
        super().connection_lost(exc)

    # --- What comes -------------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        if self._last is not None:  # nothing can be made of what comes behind
            return
        self._is_heard = False
        super().data_received(data)
        self._quiet = 0 if self._is_heard else self._quiet + len(data)
        if self._last is not None or self.transport.is_closing():
            self._held = None
        elif self._quiet > BYTES:
            self._end(_TOO_LARGE)
        elif self._is_in_head:
            self._wait_for_head()
        elif self._held is not None:
            self._wait(_SOON, self._take_the_long_way)

    def eof_received(self) -> bool:
        """Stay until all is answered that came as a whole, if there is something."""
        self._is_deaf = True
        return not self._is_over and self._end(b"")

    def send_400_response(self, msg: str) -> None:
        """Refuse what the parser does not take."""
        self._end(self._refusal)

    def on_message_begin(self) -> None:
        self._size, self._is_in_head = 0, True
        self.url, self.headers, self.expect_100_continue = b"", [], False

    def on_url(self, url: bytes) -> None:
        self._size += len(url)
        if self._size > BYTES:
            self._refuse_head()
        self.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._is_in_head:  # what follows a body in chunks opens no door
            return
        self._size += len(name) + len(value)
        if self._size > BYTES or len(self.headers) >= HEADERS:
            self._refuse_head()
        name = name.lower()
        if name == b"expect":
            self.expect_100_continue = value.lower() == b"100-continue"
        self.headers.append((name, value))

    def _refuse_head(self) -> NoReturn:
        self._refusal = _TOO_LARGE
        raise ValueError("too long a head, or too many headers")

    def on_headers_complete(self) -> None:
        self._is_heard, self._is_in_head = True, False
        self._wait_no_more()
        if self.parser.should_upgrade() and self._has_body:
            raise ValueError("the parser would take the body for another protocol")
        if len(self.pipeline) >= WAITING:
            self._refusal = _TOO_MANY
            raise ValueError("too many requests that wait")
        if self._is_short:
            self._held, self._held_bytes = [], 0
        else:
            self._begin()

    def on_body(self, body: bytes) -> None:
        self._is_heard = True
        if self._held is None:
            super().on_body(body)
            return
        self._held.append(body)
        self._held_bytes += len(body)
        if self._held_bytes > HELD:
            self._take_the_long_way()

    def on_message_complete(self) -> None:
        self._is_heard = True
        if self._held is not None and not self._take_the_short_way():
            self._take_the_long_way()
        if self.cycle.__class__ is not _Short:
            super().on_message_complete()
        self._is_open = False

    @property
    def _has_body(self) -> bool:
        """Whether a body follows the head."""
        return any(
            name == b"transfer-encoding" or (name == b"content-length" and value != b"0")
            for name, value in self.headers
        )

    # --- The short way ----------------------------------------------------------------------------

    @property
    def _is_short(self) -> bool:
        """Whether a request may take the short way, as far as its head tells."""
        parser = self.parser
        return (
            self._shortcut is not None
            and (self.cycle is None or self.cycle.response_complete)
            and parser.get_method() == b"POST"
            and parser.get_http_version() == "1.1"
            and parser.should_keep_alive()
            and not parser.should_upgrade()
            and not self.expect_100_continue
            and not self.flow.write_paused
            and self._find(self._shortcut) is not None
        )

    def _find(self, shortcut: Shortcut) -> Place | None:
        self._place = shortcut.place(self.url)
        return self._place

    def _take_the_short_way(self) -> bool:
        """Begin to answer what is held, and tell whether that could be done."""
        assert self._shortcut is not None
        assert self._held is not None
        assert self._place is not None
        body = self._held[0] if len(self._held) == 1 else b"".join(self._held)
        before = self.cycle
        self.cycle = self._short = _Short()
        if self._shortcut.answer(self._place, self.headers, body, self._reply):
            self._wait_no_more()
            self._held = None
            return True
        self.cycle = before
        return False

    def _reply(self, content: bytes) -> None:
        """Send an answer on the short way."""
        self._short.response_complete = True
        if self.transport.is_closing():
            return
        if self._short.keep_alive:
            self.transport.write(content)
        else:  # the server is being stopped
            self.transport.write(content.replace(b"\r\n", _CLOSES, 1))
            self.transport.close()
        self.on_response_complete()

    def _take_the_long_way(self) -> None:
        """Let the application have what is held."""
        held, self._held = self._held or (), None
        self._wait_no_more()
        self._begin()
        for part in held:
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
        self._is_open = True

    # --- What goes --------------------------------------------------------------------------------

    def on_response_complete(self) -> None:
        """Read on; who asks nothing more for a while is hung up on.

        Where uvicorn has a timer for every answer, here is one that looks when the last was.
        """
        if self.pipeline or self.transport.is_closing():
            self._first = self.pipeline[-1][0] if self.pipeline else None
            super().on_response_complete()
            if not self._is_open and self._last is None and not self.transport.is_closing():
                self.flow.resume_reading()  # unless another waits
            return
        self.server_state.total_requests += 1
        if self._last is not None:
            self._say_the_last()
            return
        self.flow.resume_reading()
        self._idle_since = self.loop.time()
        if self._idle_timer is None:
            self._look_after(self.timeout_keep_alive)
        if self._is_in_head:
            self._wait_for_head()

    def _end(self, last: bytes) -> bool:
        """Read no more; say this when all is answered that came before, and hang up.

        Tells whether there is something to be answered.
        """
        self._wait_no_more()
        self._held = None
        if self._last is None:
            self._last = last
        is_due = self._is_due()
        if is_due:
            self.flow.pause_reading()
        else:
            self._say_the_last()
        return is_due

    def _say_the_last(self) -> None:
        """Say what is left to be said, and hang up as soon as the client does.

        Where something is left unread, the system would throw away what is still on its way.
        """
        self._is_over = True
        if self._last:
            self.transport.write(self._last)
        if self._is_deaf or not self.transport.can_write_eof():
            self.transport.close()
            return
        self.transport.write_eof()
        self.flow.resume_reading()
        self._wait(_LINGERS, self.transport.close)

    def _is_due(self) -> bool:
        """Tell whether something is to be answered, less what will never be there as a whole."""
        if not self._is_open:
            return bool(self.pipeline) or (
                self.cycle is not None and not self.cycle.response_complete
            )
        if self.pipeline:  # it is the last one there, and nobody has begun with it
            self.pipeline.popleft()
            self._is_open = False
            return True
        if self.cycle.response_started:
            return not self.cycle.response_complete
        self.cycle.disconnected = True  # the rest of its body will not come
        self.cycle.message_event.set()
        return False

    def shutdown(self) -> None:
        """End, for the server stops; who takes nothing does not hold it up."""
        super().shutdown()
        if self._unsent_timer is not None:
            self._look_at_unsent_no_more()
            self._look_at_unsent_after(min(self._patience, _LEAVES))

    def pause_writing(self) -> None:
        """Look whether what is sent is taken at all."""
        super().pause_writing()
        self._look_at_unsent_after(self._patience)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._look_at_unsent_no_more()

    # --- Bounds -----------------------------------------------------------------------------------

    def _look_after(self, seconds: float) -> None:
        self._idle_timer = self.loop.call_later(seconds, self._look)

    def _look(self) -> None:
        self._idle_timer = None
        left = self._idle_since + self.timeout_keep_alive - self.loop.time()
        if self._is_in_head or self._held is not None or not self.cycle.response_complete:
            return  # the next answer looks again
        if left > 0.0:
            self._look_after(left)
        else:
            self.timeout_keep_alive_handler()

    def _look_at_unsent_after(self, seconds: float) -> None:
        self._unsent = self.transport.get_write_buffer_size()
        self._unsent_timer = self.loop.call_later(seconds, self._look_at_unsent, seconds)

    def _look_at_unsent(self, seconds: float) -> None:
        """Hang up on who has taken nothing since the last look, whatever was to be said."""
        if self.transport.get_write_buffer_size() < self._unsent:
            self._look_at_unsent_after(seconds)
        else:
            self._unsent_timer = None
            self.transport.abort()

    def _look_at_unsent_no_more(self) -> None:
        if self._unsent_timer is not None:
            self._unsent_timer.cancel()
            self._unsent_timer = None

    def _wait_for_head(self) -> None:
        """Give a head its time, from its beginning or the last answer before it."""
        if self.cycle is None or (self.cycle.response_complete and not self.pipeline):
            self._wait(self._patience, self.transport.close)

    def _wait(self, seconds: float, then: Any) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(seconds, then)

    def _wait_no_more(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
