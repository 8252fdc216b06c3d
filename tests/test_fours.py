"""Four floats at a time have the bits of four floats, and zeros are counted as digits say."""

from __future__ import annotations

import hashlib
import math
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

import belated as bl
from belated.kernels import jit
from belated.kernels.fours import (
    above,
    all_of,
    any_above,
    first_of,
    floats,
    four,
    joined,
    least,
    most,
    put,
    rest,
    roots,
    summed,
    summed_with,
    truncated,
    turned,
)
from belated.kernels.jit import leaf
from belated.kernels.vectors import vector
from belated.kernels.zeros import ending, length
from conftest import calls_leaves

Array = npt.NDArray[np.float64]
NUMBERS = st.lists(st.floats(allow_nan=False), min_size=16, max_size=16)
in_both_ways = pytest.mark.parametrize(
    "way", ["interpreted", pytest.param("compiled", marks=pytest.mark.compiled)]
)


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function that calls leaves, which have no entry from Python of their own."""
    result: Callable[..., Any] = numba.njit(**jit.ENTRY)(function)
    return result


@leaf
def _all_of_them(given: Any, made: Any, count: int) -> None:
    a, b, c, d = four(given, 0), four(given, 4), four(given, 8), four(given, 12)
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
    put(made, 40, first_of(a, count))
    put(made, 44, rest(given[0:count], 0))
    e, f, g, h = turned(a, b, c, d)
    put(made, 48, joined(floats(e)[1], floats(f)[2], floats(g)[3], floats(h)[0]))
    put(made, 52, all_of(summed(a)))
    put(made, 56, all_of(summed_with(a, first_of(b, 3))))
    put(made, 60, truncated(a))
    put(made, 64, all_of(1.0 if any_above(a, b) else 0.0))
    put(made, 68, all_of(truncated(floats(a)[0]) + roots(abs(floats(b)[0]))))


@compiled
def all_of_them(given: Array, made: Array, count: int) -> None:
    _all_of_them(vector(given), vector(made), count)


@compiled
def digits(number: int) -> tuple[int, int]:
    return ending(number), length(number)


def _by_floats(x: list[float], count: int) -> list[list[float]]:
    """The same, one number after another."""
    with np.errstate(all="ignore"):
        a, b, c, d = (np.array(x[i : i + 4]) for i in range(0, 16, 4))
        each = list(zip(a.tolist(), b.tolist(), strict=True))
        p, q, r, s = a.tolist()
        u, v, w, _ = b.tolist()
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
            [p if i < count else 0.0 for i, p in enumerate(a.tolist())],
            [p if i < count else 0.0 for i, p in enumerate(a.tolist())],
            [b[0], c[1], d[2], a[3]],
            [(p + q) + (r + s)] * 4,
            [((((p + u) + v) + w) + q) + (r + s)] * 4,
            np.trunc(a).tolist(),
            [float((a > b).any())] * 4,
            [float(np.trunc(p)) + math.sqrt(abs(u))] * 4,
        ]


@in_both_ways
@given(x=NUMBERS, count=st.integers(0, 4))
def test_lanes_have_the_bits_of_floats(way: str, x: list[float], count: int) -> None:
    expected = np.array(_by_floats(x, count)).ravel()
    made = np.zeros(expected.size)
    with np.errstate(all="ignore"):
        all_of_them(np.array(x), made, count)
    np.testing.assert_array_equal(made, expected)
    signs = np.signbit(made) == np.signbit(expected)
    assert signs[~np.isnan(expected)].all()


@in_both_ways
@given(number=st.integers(1, 2**63 - 1))
def test_zeros_are_those_of_the_digits(way: str, number: int) -> None:
    written = f"{number:b}"
    assert digits(number) == (len(written) - len(written.rstrip("0")), len(written))


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


def lives() -> list[str]:
    """Return digests of plays and snapshots in which nothing ends with a whole four."""
    ball, box = bl.Ball(6), bl.Box([-1.0] * 5, [2.0] * 5)
    slow, quick = bl.rates.Tight(2.0), bl.rates.InverseRoot(0.5)
    seven = [base(ball, slow) for base in (bl.PFTRL, bl.OMD, bl.DualAveraging)] * 2
    bases: list[bl.Base] = [
        bl.Portfolio([*seven, bl.OMD(ball, quick)], reach=40),
        bl.Portfolio([bl.PFTRL(box, slow), bl.DualAveraging(box, quick)]),
        bl.Leader(ball, bl.rates.StronglyConvex(0.5), reach=40),
    ]
    return [_life(bl.Learner(bl.FirstOrder(base))) for base in bases]


def _life(learner: bl.Learner) -> str:
    rng, digest, still_open = np.random.default_rng(0), hashlib.sha256(), list[int]()
    for _ in range(80):
        ticket, point = learner.predict()
        digest.update(np.asarray(point).tobytes())
        still_open.append(ticket)
        while still_open and rng.random() < 0.5:
            old = still_open.pop(int(rng.integers(len(still_open))))
            learner.observe(old, rng.standard_normal(np.size(point)))
    digest.update(learner.snapshot())
    return digest.hexdigest()


@pytest.mark.compiled
def test_padded_lanes_do_the_same_compiled_and_interpreted() -> None:
    """Only compiled kernels read and write what pads a vector."""
    found = subprocess.run(
        [sys.executable, "-c", "import test_fours; print(*test_fours.lives())"],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        cwd=Path(__file__).parent,
        check=True,
        capture_output=True,
        text=True,
    )
    assert lives() == found.stdout.split()
