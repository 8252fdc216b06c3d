"""Checked arrays and numbers of users, as the core takes them."""

from __future__ import annotations

import operator
import sys
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from belated.arrays import Bools, Floats, Ints
from belated.errors import BelatedError, SpecError, UnknownTicket

_PLAIN: Final = ("C", "A", "W")
"""Arrays without gaps, aligned and not read-only: those that the core takes as they are."""


def checked_seed(seed: Any, who: str) -> int:
    """Return a seed as an int of 64 bits, None being one that cannot be guessed."""
    if seed is None:
        import secrets  # not needed by most

        return secrets.randbits(64)
    try:
        if isinstance(seed, bool):
            raise TypeError("true and false are no numbers")
        value = operator.index(seed)
    except TypeError as error:
        raise SpecError(f"{who}: seed must be a whole number or None, got {seed!r}") from error
    if not 0 <= value < 1 << 64:
        raise SpecError(f"{who}: seed must be from 0 to 2^64 - 1, got {seed!r}")
    return value


def checked_ticket(ticket: Any) -> int:
    """Return a ticket as an int that the core can take, or say that it is none."""
    try:
        value = operator.index(ticket)
    except TypeError as error:
        hint = "; give its .ticket" if hasattr(ticket, "ticket") else ""
        raise UnknownTicket(f"a ticket is an int, got {ticket!r}{hint}") from error
    if isinstance(ticket, bool) or not -(1 << 63) <= value < 1 << 63:
        raise UnknownTicket(f"ticket {ticket!r} was never handed out")
    return value


def numbers(given: Any, rule: str, error: type[BelatedError]) -> Floats:
    """Return real numbers as an array; masked ones become NaN."""
    return np.require(_array(given, "fiub", rule, error), np.float64, _PLAIN)


def whole(given: Any, rule: str, error: type[BelatedError]) -> Ints:
    """Return whole numbers as an array."""
    array = _array(given, "iu", rule, error)
    if array.dtype.kind == "u" and array.size and array.max() > np.iinfo(np.int64).max:
        raise error(f"{rule} below 2^63, got {array.max()}")
    return np.require(array, np.int64, _PLAIN)


def _array(given: Any, kinds: str, rule: str, error: type[BelatedError]) -> NDArray[Any]:
    masked = "numpy.ma" in sys.modules and isinstance(given, np.ma.MaskedArray)
    try:
        array = np.asarray(np.ma.filled(given.astype(np.float64), np.nan) if masked else given)
    except (TypeError, ValueError) as reason:
        raise error(f"{rule}, got {given!r}") from reason
    if array.dtype.kind not in kinds and array.size:
        raise error(f"{rule}, got {_shown(given)}")
    return array


def _shown(given: Any) -> str:
    return f"an array of {given.dtype}" if isinstance(given, np.ndarray) else repr(given)


def checked_point(given: Any, dim: int | None, who: str) -> Floats:
    """Return what user code gave as a finite float64 vector of its own, or say what is wrong."""
    point = np.array(numbers(given, f"{who} must return a vector of numbers", SpecError))
    if point.ndim != 1 or point.size == 0 or (dim is not None and point.size != dim):
        expected = "a vector" if dim is None else f"a vector of {dim} numbers"
        raise SpecError(f"{who} must return {expected}, got shape {point.shape}")
    if not np.isfinite(point).all():
        raise SpecError(f"{who} must return finite numbers, got {point}")
    return point


def checked_number(given: Any, who: str) -> float:
    """Return what user code gave as a finite float, or say what is wrong with it."""
    value = numbers(given, f"{who} must return a number", SpecError)
    if value.ndim or isinstance(given, bool):
        raise SpecError(f"{who} must return a number, got {given!r}")
    if not np.isfinite(value):
        raise SpecError(f"{who} must return a finite number, got {given!r}")
    return float(value)


CLOSE = 1e-6
"""How far from 1 probabilities may sum to: those that were written down are rounded."""


def are_distributions(rows: Floats) -> Bools:
    """Tell which rows are probabilities of all actions: none negative, and the sum 1.

    >>> are_distributions(np.array([[0.5, 0.5], [0.5, 0.6], [1.5, -0.5], [np.nan, 1.0]]))
    array([ True, False, False, False])
    """
    found: Bools = (rows >= 0.0).all(axis=-1) & (np.abs(rows.sum(axis=-1) - 1.0) <= CLOSE)
    return found
