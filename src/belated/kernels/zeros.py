"""Counts of the zeros that a number begins or ends with, in one instruction each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from llvmlite import ir
from numba import types
from numba.extending import intrinsic


def _counts(method: str, taken_from: int | None) -> Any:
    """Return what compiles (number) -> a count, taken from another number if one is given."""

    def typed(typing_context: Any, number: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            count = getattr(builder, method)(arguments[0], ir.IntType(1)(1))
            return count if taken_from is None else builder.sub(count.type(taken_from), count)

        return types.int64(types.int64), generate

    return typed


def _ending(number: int) -> int:
    return (int(number) & -int(number)).bit_length() - 1


def _length(number: int) -> int:
    return int(number).bit_length()


_PLAIN = numba.config.DISABLE_JIT
# How many zeros the binary digits of a number above 0 end with, and how many digits there are.
ending: Callable[[int], int] = _ending if _PLAIN else intrinsic(_counts("cttz", None))
length: Callable[[int], int] = _length if _PLAIN else intrinsic(_counts("ctlz", 64))
