"""What the kernels share, against mathematics and published vectors; compiled and interpreted."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from decimal import Decimal, localcontext
from pathlib import Path
from typing import Any

import numba
import numpy as np
import numpy.typing as npt
import pytest
from randomgen import Philox

import belated as bl
from belated.kernels import exact, jit
from belated.kernels.directions import philox
from conftest import shortened

Array = npt.NDArray[np.float64]

PUBLISHED = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    (
        (0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF),
        (0xFFFFFFFF, 0xFFFFFFFF),
        (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD),
    ),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function that calls leaves, which have no entry from Python of their own.

    Without reference counts, like the leaves: a caller that counts would free what they hand out.
    """
    result: Callable[..., Any] = numba.njit(**jit.ENTRY)(function)
    return result


# --- ln and exp --------------------------------------------------------------------------


@compiled
def all_of_exact(x: Array, out: Array) -> None:
    for i in range(x.size):
        out[0, i] = exact.ln(x[i])
        out[1, i] = exact.exp(-x[i])
        out[2, i] = exact.exp(-1.0 / x[i]) if x[i] > 1e-300 else 0.0


def ulps(got: Array, x: Array, function: Callable[[Decimal], Decimal]) -> float:
    """Return the largest error in units of the last place, against 40 digits."""
    worst = 0.0
    with localcontext(prec=40):
        for value, argument in zip(got.tolist(), x.tolist(), strict=True):
            wanted = function(Decimal(argument))
            error = abs(Decimal(value) - wanted) / Decimal(math.ulp(float(wanted)))
            worst = max(worst, float(error))
    return worst


def test_exact_functions_are_within_two_units_of_the_last_place() -> None:
    rng = np.random.default_rng(1)
    x = np.concatenate(
        [
            np.exp(rng.uniform(-690.0, 690.0, shortened(600))),
            rng.random(shortened(500)),
            1.0 + rng.uniform(-1e-3, 1e-3, shortened(400)),
            rng.uniform(0.5, 2.0, shortened(400)),
            np.arange(1.0, shortened(200)),
            2.0 ** np.arange(-1000, 1000, 17),
            np.nextafter([1.0, 0.5, 2.0, 0.7071067811865476, 1.4142135623730951, 8.0], 0.0),
            [2.2250738585072014e-308, 1.7976931348623157e308, 708.0, 0.7071067811865476],
        ]
    )
    out = np.empty((3, x.size))
    all_of_exact(x, out)
    assert ulps(out[0], x, Decimal.ln) <= 2.0
    for row, argument in ((1, -x), (2, -1.0 / np.maximum(x, 1e-300))):
        seen = argument >= -708.0
        assert ulps(out[row][seen], argument[seen], Decimal.exp) <= 2.0
        assert not out[row][argument < -708.0].any()


def test_exact_functions_of_subnormal_numbers() -> None:
    x = np.array([5e-324, 1e-323, 1e-320, 1e-310, 2.2e-308])
    out = np.empty((3, x.size))
    all_of_exact(x, out)
    assert ulps(out[0], x, Decimal.ln) <= 2.0


# --- Random words --------------------------------------------------------------------------------


@compiled
def words(c0: int, c1: int, c2: int, c3: int, k0: int, k1: int) -> tuple[int, int, int, int]:
    return philox(c0, c1, c2, c3, k0, k1)


@pytest.mark.parametrize(("counter", "key", "expected"), PUBLISHED)
def test_philox_against_the_published_vectors(
    counter: tuple[int, ...], key: tuple[int, ...], expected: tuple[int, ...]
) -> None:
    assert words(*counter, *key) == expected


def test_philox_against_another_implementation() -> None:
    rng = np.random.default_rng(2)
    for _ in range(20):
        counter = [int(w) for w in rng.integers(0, 2**32 - 1, 4)]
        key = [int(w) for w in rng.integers(0, 2**32, 2)]
        other = Philox(
            counter=sum(w << 32 * i for i, w in enumerate(counter)),
            key=key[0] | key[1] << 32,
            number=4,
            width=32,
        )
        mine = words(counter[0] + 1, *counter[1:], *key)
        assert list(mine) == [int(w) for w in other.random_raw(4)]


# --- Parts of vectors -----------------------------------------------------------------------------


def test_parts_of_vectors_say_where_they_end() -> None:
    """Compiled, the size of ``v[a:b]`` is b - a, whatever the size of v."""
    source = Path(bl.__file__).parent
    parts = [
        (file.name, part.lineno, part.slice.upper is None)
        for file in (source / "kernels").rglob("*.py")
        if file.parent.name != "leaves"  # which compiles them
        and file.stem not in ("memory", "snapshot_checks")  # which are not compiled
        for function in ast.walk(ast.parse(file.read_text()))
        if isinstance(function, ast.FunctionDef)
        for part in ast.walk(function)
        if isinstance(part, ast.Subscript) and isinstance(part.slice, ast.Slice)
    ]
    assert len(parts) > 50
    assert [(name, line) for name, line, is_open in parts if is_open] == []


def test_entries_never_warn_and_leave_numpy_as_it_is() -> None:
    """Whatever the caller wants of infinities: compiled kernels do not ask either."""

    def quotient(x: npt.NDArray[np.float64]) -> float:
        return float(x[0] / x[1])

    divided = jit.entry(quotient, "float64(float64[::1])")
    with np.errstate(all="raise"):
        wanted = np.geterr()
        assert divided(np.array([1.0, 0.0])) == math.inf
        assert math.isnan(divided(np.array([0.0, 0.0])))
        assert np.geterr() == wanted
    with pytest.raises(TypeError):
        divided(np.array([[1.0, 0.0]]))
