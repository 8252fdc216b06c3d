"""How leaves and entries are compiled and kept on disk.

Leaves are inlined and never cached. The room ``leaves`` emits them. That rests on parts of numba
which are not public, so with versions of numba that it was not tried with, or where
``BELATED_PLAIN_LEAVES=1`` asks for it, numba compiles leaves itself, to the same bits.

Entries are cached; ``stamps`` says how they notice an edit of a leaf. Whatever is compiled is
announced on the logger ``belated``, once for every entry.

Nothing here allocates, so reference counting is off (``_nrt``): with it, passing views around cost
more than the arithmetic (58 against 20 ns per event at dimension 10).
"""

from __future__ import annotations

import contextvars
import functools
import os
import pickle
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numba import types
from numba.core import sigutils

from belated.errors import CacheWarning
from belated.kernels.announced import Announced
from belated.kernels.blas import take_on_trust

_TRIED = ((0, 68),)
_IS_PLAIN = os.environ.get("BELATED_PLAIN_LEAVES", "") not in ("", "0")
EMITS = numba.version_info.short in _TRIED and not (_IS_PLAIN or numba.config.DISABLE_JIT)
"""Whether leaves are emitted here."""
if EMITS:
    from belated.kernels.leaves import calls, library

# Options of entries, and of anything else that calls leaves.
ENTRY: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "_nrt": False,
    "no_cfunc_wrapper": True,
}
# Options of leaves that numba compiles.
LEAF = {**ENTRY, "forceinline": True, "no_cpython_wrapper": True}
ENTRY["pipeline_class"] = library.EntryCompiler if EMITS else Announced
_Function = TypeVar("_Function", bound=Callable[..., Any])


def leaf(function: _Function) -> _Function:
    """Compile a function into whatever calls it; no fastmath, so its bits never change."""
    made = calls.make(function) if EMITS else numba.njit(**LEAF)(function)
    return cast(_Function, made)


def limb(function: _Function) -> _Function:
    """Compile a function once inside of whatever calls it, and call it there.

    For what is large and long at work: the time to compile an entry grows faster than its length.
    """
    if EMITS:
        return cast(_Function, calls.make(function, is_limb=True))
    return cast(_Function, numba.njit(**{**LEAF, "forceinline": False})(function))


def source_of(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the source of a leaf, for Python to run: compiled, it has no entry of its own.

    For leaves that call no others.
    """
    return cast(Callable[..., Any], getattr(function, "py_func", function))


# What reading a torn index or code file raises.
_TORN = (EOFError, pickle.UnpicklingError, ValueError, IndexError, KeyError, AttributeError)


def entry(function: Callable[..., Any], signature: str) -> Callable[..., Any]:
    """Compile ``function`` for one signature, from the disk cache when it is there.

    Survives a truncated cache file (compiles again), a full disk and a read-only install without
    a home (compiles every time, and says so once).
    """
    if numba.config.DISABLE_JIT:
        return _interpreted(function, signature)
    take_on_trust()
    try:
        return _compiled(_cached(function), signature)
    except _TORN:
        _forget(function)
    except (OSError, RuntimeError) as error:
        if not isinstance(error, OSError) and "cannot cache" not in str(error):
            raise
        return _uncached(function, signature, error)
    try:
        return _compiled(_cached(function), signature)
    except (*_TORN, OSError) as error:
        return _uncached(function, signature, error)


# Where NumPy warns of nothing. To run in a copy of it takes a tenth of what ``np.errstate`` does.
_QUIET = contextvars.copy_context()
_QUIET.run(np.seterr, all="ignore")


def _interpreted(function: Callable[..., Any], signature: str) -> Callable[..., Any]:
    """Return a function that takes and returns what the compiled one does, and never warns."""
    kinds, _ = sigutils.normalize_signature(signature)
    arrays = [
        (place, kind.ndim, np.dtype(kind.dtype.name), kind.layout == "A", not kind.mutable)
        for place, kind in enumerate(kinds)
        if isinstance(kind, types.Array)
    ]

    @functools.wraps(function)
    def checked(*arguments: Any) -> Any:
        for place, rank, dtype, has_gaps, is_frozen in arrays:
            given = arguments[place]
            flags = given.flags
            if given.ndim == rank and given.dtype is dtype and flags.carray:
                continue  # nearly always, and quick to see
            if (
                given.ndim != rank
                or given.dtype != dtype
                or not (flags.c_contiguous or has_gaps)
                or not (flags.writeable or is_frozen)
            ):
                raise TypeError(f"{function.__name__}: {kinds[place]} is wanted, got {given!r}")
        return _plain(_QUIET.copy().run(function, *arguments))

    return checked


def _plain(value: Any) -> Any:
    """Return a number, or a tuple of them, as Python has it."""
    if isinstance(value, tuple):
        return tuple(map(_plain, value))
    return value.item() if isinstance(value, np.generic) else value


def _cached(function: Callable[..., Any]) -> Any:
    return numba.njit(cache=True, **ENTRY)(function)


def _uncached(
    function: Callable[..., Any], signature: str, reason: Exception
) -> Callable[..., Any]:
    _say_once(getattr(reason, "strerror", None) or "no folder for it is writable")
    return _compiled(numba.njit(**ENTRY)(function), signature)


@functools.cache
def _say_once(why: str) -> None:
    warnings.warn(
        f"belated compiles again in every process, as its cache cannot be kept ({why}); "
        "set NUMBA_CACHE_DIR to a writable folder",
        CacheWarning,
        stacklevel=4,
    )


def _compiled(dispatcher: Any, signature: str) -> Callable[..., Any]:
    dispatcher.compile(signature)
    dispatcher.disable_compile()  # another type of argument is then converted or refused at once
    return cast(Callable[..., Any], dispatcher)


def _forget(function: Callable[..., Any]) -> None:
    """Remove the cache files of one entry."""
    folder = Path(_cached(function).stats.cache_path)
    place = function.__qualname__.replace("<", "").replace(">", "")
    name = f"{function.__module__.rpartition('.')[2]}.{place}-"
    for file in folder.iterdir():
        if file.name.startswith(name) and file.suffix in (".nbi", ".nbc"):
            file.unlink(missing_ok=True)
