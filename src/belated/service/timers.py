"""What a connection waits for, and for how long: one timer for each, however often it is asked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

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
