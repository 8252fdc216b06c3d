"""How times are kept, and what is said about single values: "never", and whether they are exact."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from belated.arrays import Array, Bools

EXACT_IN_FLOAT = 2**53
"""Integers up to this size are exact in float64."""


@dataclass(frozen=True)
class Clock:
    """How times are kept: int64, float64 or datetime64 of one unit; in UTC when aware."""

    dtype: np.dtype[Any]
    aware: bool = False

    @property
    def is_calendar(self) -> bool:
        """Whether times are dates."""
        return self.dtype.kind == "M"

    def plain(self, times: Array) -> Array:
        """Return times as int64 or float64, without copying them."""
        return times.view(np.int64) if self.is_calendar else times

    def shown(self, times: Array) -> Array:
        """Return plain times as their owner has them."""
        return times.view(self.dtype) if self.is_calendar else times


def gaps(values: Array) -> Bools:
    """Which rows say "never": NaN, NaT or +infinity."""
    if values.dtype.kind == "M":
        return np.isnat(values)
    if values.dtype.kind == "f":
        return ~(values < math.inf)
    return np.zeros(len(values), dtype=np.bool_)


def fits(values: Array, dtype: np.dtype[Any]) -> Bools:
    """Which values mean exactly the same in another dtype."""
    source, target = values.dtype.kind, dtype.kind
    if source == "f" and target == "i":
        return cast("Bools", (np.abs(values) < 2.0**63) & (np.floor(values) == values))
    if source in "iu" and target == "f":
        # Not np.abs: the smallest int64 has no absolute value.
        return (values >= -EXACT_IN_FLOAT) & (values <= EXACT_IN_FLOAT)
    if source == "u" and target == "i":
        return values < 2**63
    if source == "M" and values.dtype != dtype:
        return _fits_unit(values, dtype)
    return np.broadcast_to(np.True_, values.shape)


def _fits_unit(values: Array, dtype: np.dtype[Any]) -> Bools:
    """Which datetimes mean exactly the same in another unit; some are out of its range."""
    finer = np.promote_types(values.dtype, dtype)
    coarser = dtype if finer == values.dtype else values.dtype
    most = np.array([2**63 - 1]).view(finer).astype(coarser).view(np.int64)
    is_inside = np.abs(values.astype(coarser).view(np.int64)) <= most
    inside = np.where(is_inside, values, np.zeros((), values.dtype))
    return cast("Bools", is_inside & (inside.astype(dtype).astype(values.dtype) == values))
