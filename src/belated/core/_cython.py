"""What interpreted sources of the core need of ``cython`` where that is not installed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

compiled = False
"""Sources are interpreted."""

double = float
int = int  # a name of this module, too
longlong = ulonglong = uint = Py_ssize_t = int
bint = bool
p_double = p_longlong = None


class _Lock(nullcontext[None]):
    """A context without effect, and a decorator too."""

    def __call__(self, function: Any) -> Any:
        """Decorate nothing."""
        return function


nogil = gil = cclass = cfunc = ccall = inline = final = with_gil = no_gc = _Lock()


def exceptval(value: Any = None, *, check: bool = False) -> Callable[[Any], Any]:
    """Return a decorator that changes nothing."""
    return nogil


def declare(kind: Any = None, value: Any = None, **details: Any) -> Any:
    """Return the value of a declared variable."""
    return value


def cast(kind: Any, value: Any) -> Any:
    """Return a number as another kind of number."""
    return kind(value) if callable(kind) else value
