"""One call at a time: whoever comes while another is at work is told so, and changes nothing.

Kernels run without the interpreter lock, and between two of them Python may switch threads, so that
two calls on one state would lose events without a trace. Everybody who comes in adds himself to a
list, and works only if he is alone there; two who meet may both be turned away. Additions to a list
are atomic, and an interrupt can come only when they are done, so that what was added is always
taken away again. It costs less than a call of a function in Python. The list is never empty, as the
first element of a list is allocated anew each time.

Where a microsecond counts the pattern is written out, elsewhere it is ``alone``::

    try:
        inside.append(None)
        if len(inside) > ALONE:
            raise busy("predict")
        ...
    finally:
        inside.pop()
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from belated.errors import BusyError

ALONE = 4
"""How long the list is with one inside."""

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class _Shared(Protocol):
    _inside: list[None]


Owner = TypeVar("Owner", bound=_Shared)


def nobody() -> list[None]:
    """Return the list of those at work, with nobody there."""
    return [None] * (ALONE - 1)


def busy(who: str) -> BusyError:
    """Return the error for one who is not alone."""
    return BusyError(
        f"{who}: another call is at work here, in another thread or around this one; nothing has "
        "changed: use one thread, hold a lock around every call, or give each thread its own"
    )


def alone(
    method: Callable[Concatenate[Owner, Arguments], Result],
) -> Callable[Concatenate[Owner, Arguments], Result]:
    """Let a method run only while no other is at work on the same object."""

    @functools.wraps(method)
    def guarded(self: Owner, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        inside = self._inside
        try:
            inside.append(None)
            if len(inside) > ALONE:
                raise busy(method.__name__)
            return method(self, *args, **kwargs)
        finally:
            inside.pop()

    return guarded
