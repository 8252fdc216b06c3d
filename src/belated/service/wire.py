"""Which way requests come in: over connections of our own, or as the server library has them.

Our own (``connection``) bound heads in bytes, in number and in time, take the short way for events,
and answer whoever asked. They stand on the inside of uvicorn, which may change with any version; so
they are only for those that the tests were run with. With others, or without httptools, all comes
in through ASGI and the parser h11, which has bounds of its own on bytes. It reads on while requests
wait for those before them, without end; so there a connection is for one request.
"""

from __future__ import annotations

import resource
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from belated.service.shortcut import Shortcut

BYTES = 32 << 10
"""Of the head of a request: its path and all headers."""
KNOWN = ("0.30", "0.54")
"""The first and the last version of uvicorn whose inside is known."""
PLAIN = "h11"


_SPARE = 100  # files that are not connections: the store, modules, what is imported and exported
_MOST = 10_000  # connections


def protocol(patience: float, shortcut: Shortcut | None = None) -> Any:
    """Return what uvicorn reads requests with; ``patience`` is how long a head may take."""
    if not is_known():
        return PLAIN
    try:
        from belated.service.connection import Connection
    except ImportError:  # without httptools
        return PLAIN
    return partial(Connection, patience, shortcut, most_connections())


def most_connections() -> int:
    """Return how many connections there may be, so that files can still be opened."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MOST if soft == resource.RLIM_INFINITY else max(min(soft - _SPARE, _MOST), 1)


def allow_connections() -> None:
    """Raise the limit of this process on open files, as far as it may and connections need it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST + _SPARE if hard == resource.RLIM_INFINITY else min(_MOST + _SPARE, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def is_known() -> bool:
    """Tell whether the inside of the uvicorn that is installed is known."""
    import uvicorn

    first, last = (_numbers(each) for each in KNOWN)
    return first <= _numbers(uvicorn.__version__) <= last


def _numbers(version: str) -> tuple[int, ...]:
    """Return the first two numbers of a version, or none where it has others before them."""
    parts = version.split(".")[:2]
    return tuple(int(part) for part in parts) if all(part.isdigit() for part in parts) else ()
