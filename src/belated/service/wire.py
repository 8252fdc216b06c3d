"""Which way requests come in: over connections of our own, or as the server library has them.

Our own (``connection``) bound heads in bytes, in number and in time, take the short way for events,
and answer whoever asked. They stand on the inside of uvicorn, which may change with any version; so
they are only for those that the tests were run with. With others, or without httptools, all comes
in through ASGI and the parser h11, which has bounds of its own on bytes. It reads on while requests
wait for those before them, without end; so there a connection is for one request.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from belated.service.shortcut import Shortcut

BYTES = 32 << 10
"""Of the head of a request: its path and all headers."""
KNOWN = ("0.30", "0.54")
"""The first and the last version of uvicorn whose inside is known."""
PLAIN = "h11"


def protocol(patience: float, shortcut: Shortcut | None = None) -> Any:
    """Return what uvicorn reads requests with; ``patience`` is how long a head may take."""
    if not is_known():
        return PLAIN
    try:
        from belated.service.connection import Connection
    except ImportError:  # without httptools
        return PLAIN
    return partial(Connection, patience, shortcut)


def is_known() -> bool:
    """Tell whether the inside of the uvicorn that is installed is known."""
    import uvicorn

    first, last = (_numbers(each) for each in KNOWN)
    return first <= _numbers(uvicorn.__version__) <= last


def _numbers(version: str) -> tuple[int, ...]:
    """Return the first two numbers of a version, or none where it has others before them."""
    parts = version.split(".")[:2]
    return tuple(int(part) for part in parts) if all(part.isdigit() for part in parts) else ()
