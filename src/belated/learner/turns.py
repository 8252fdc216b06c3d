"""One call at a time: whoever comes while another is at work is told so, and changes nothing.

Kernels run without the interpreter lock, and between two of them Python may switch threads, so that
two calls on one state would lose events without a trace. A list holds the only turn. To take it out
is atomic, and costs about as much as to call a function, a fifth of a lock. An interrupt can come
only once that is done, never before, so that whoever is interrupted has the turn and gives it back.

Where nanoseconds count the pattern is written out, elsewhere it is ``alone``, or ``holding`` for
one more object::

    turn = self._turn
    try:
        turn.pop()
    except IndexError:
        raise busy("predict") from None
    except BaseException:  # an interrupt, with the turn taken
        turn.append(None)
        raise
    try:
        ...
    finally:
        turn.append(None)
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Concatenate, ParamSpec, Protocol, TypeVar, TypeVarTuple

from belated.errors import BusyError

Arguments = ParamSpec("Arguments")
Given = TypeVarTuple("Given")
Result = TypeVar("Result")


class _Shared(Protocol):
    _turn: list[None]


Owner = TypeVar("Owner", bound=_Shared)


def busy(who: str) -> BusyError:
    """Return the error for one who comes while another is at work."""
    return BusyError(
        f"{who}: another call is at work here, in another thread or around this one; nothing has "
        "changed: use one thread, hold a lock around every call, or give each thread its own"
    )


def holding(
    owner: _Shared,
    who: str,
    work: Callable[[*Given], Result],
    *given: *Given,
) -> Result:
    """Do some work while nobody else is at work on an object."""
    turn = owner._turn
    try:
        turn.pop()
    except IndexError:
        raise busy(who) from None
    except BaseException:  # an interrupt, with the turn taken
        turn.append(None)
        raise
    try:
        return work(*given)
    finally:
        turn.append(None)


def alone(
    method: Callable[Concatenate[Owner, Arguments], Result],
) -> Callable[Concatenate[Owner, Arguments], Result]:
    """Let a method run only while no other is at work on the same object."""

    @functools.wraps(method)
    def guarded(self: Owner, /, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        turn = self._turn
        try:
            turn.pop()
        except IndexError:
            raise busy(method.__name__) from None
        except BaseException:  # an interrupt, with the turn taken
            turn.append(None)
            raise
        try:
            return method(self, *args, **kwargs)
        finally:
            turn.append(None)

    return guarded
