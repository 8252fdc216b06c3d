"""Four floats at a time have the bits of four floats."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from belated.kernels import jit
from belated.kernels.fours import (
    above,
    all_of,
    any_above,
    floats,
    four,
    least,
    most,
    put,
    roots,
    truncated,
)
from belated.kernels.jit import leaf
from belated.kernels.vectors import vector
from conftest import calls_leaves

Array = npt.NDArray[np.float64]
NUMBERS = st.lists(st.floats(allow_nan=False), min_size=12, max_size=12)
in_both_ways = pytest.mark.parametrize(
    "way", ["interpreted", pytest.param("compiled", marks=pytest.mark.compiled)]
)


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function that calls leaves, which have no entry from Python of their own."""
    result: Callable[..., Any] = numba.njit(**jit.ENTRY)(function)
    return result


@leaf
def _all_of_them(given: Any, made: Any) -> None:
    a, b, c = four(given, 0), four(given, 4), four(given, 8)
    put(made, 0, a + b)
    put(made, 4, a - b)
    put(made, 8, a * b)
    put(made, 12, a / b)
    put(made, 16, 2.5 * (a - 1.5))
    put(made, 20, -a)
    put(made, 24, roots(abs(a)))
    put(made, 28, most(a, b))
    put(made, 32, least(0.0, b))
    put(made, 36, above(a, b, c, 7.0))
    put(made, 40, truncated(a))
    put(made, 44, all_of(1.0 if any_above(a, b) else 0.0))
    put(made, 48, all_of(truncated(floats(a)[0]) + roots(abs(floats(b)[0]))))


@compiled
def all_of_them(given: Array, made: Array) -> None:
    _all_of_them(vector(given), vector(made))


def _by_floats(x: list[float]) -> list[list[float]]:
    """The same, one number after another."""
    with np.errstate(all="ignore"):
        a, b, c = (np.array(x[i : i + 4]) for i in range(0, 12, 4))
        each = list(zip(a.tolist(), b.tolist(), strict=True))
        return [
            [p + q for p, q in each],
            [p - q for p, q in each],
            [p * q for p, q in each],
            (a / b).tolist(),
            [2.5 * (p - 1.5) for p in a.tolist()],
            [-p for p in a.tolist()],
            [math.sqrt(abs(p)) for p in a.tolist()],
            [max(p, q) for p, q in each],
            [min(0.0, q) for q in b.tolist()],
            [z if p > q else 7.0 for (p, q), z in zip(each, c.tolist(), strict=True)],
            np.trunc(a).tolist(),
            [float((a > b).any())] * 4,
            [float(np.trunc(a[0])) + math.sqrt(abs(b[0]))] * 4,
        ]


@in_both_ways
@given(x=NUMBERS)
def test_lanes_have_the_bits_of_floats(way: str, x: list[float]) -> None:
    expected = np.array(_by_floats(x)).ravel()
    made = np.zeros(expected.size)
    with np.errstate(all="ignore"):
        all_of_them(np.array(x), made)
    np.testing.assert_array_equal(made, expected)
    signs = np.signbit(made) == np.signbit(expected)
    assert signs[~np.isnan(expected)].all()


@calls_leaves
def test_what_is_behind_a_vector_is_neither_read_nor_written() -> None:
    """Interpreted, that is: compiled, there is room with zeros."""
    memory = np.arange(8.0)
    part = memory[0:6]
    assert four(part, 4).tolist() == [4.0, 5.0, 0.0, 0.0]
    put(part, 4, all_of(9.0))
    assert memory.tolist() == [0.0, 1.0, 2.0, 3.0, 9.0, 9.0, 6.0, 7.0]


@calls_leaves
def test_sums_cannot_be_changed_in_place() -> None:
    """``a = b = all_of(0.0)``, then ``a += x``, would change b too, but only when interpreted."""
    total = all_of(0.0)
    with pytest.raises(ValueError, match="read-only"):
        total += np.ones(4)
