"""Entries of a row that are taken four at a time do what they do one after the other.

Interpreted kernels take one at a time, so that both ways of running are the two ways to take them.
"""

from __future__ import annotations

import hashlib
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numba
import numpy as np
import numpy.typing as npt
import pytest

import belated as bl
from belated.kernels import jit
from belated.kernels.jit import leaf
from belated.kernels.linear import layout as lm
from belated.kernels.linear.together import lay_out, note, recall, room_for
from belated.kernels.vectors import vector

WAYS: list[dict[str, Any]] = [
    {},
    {"intercept": False},
    {"l1": 0.01, "l2": 0.1},
    {"loss": "logistic", "silence": 0},
    {"deadline": 8},  # what is due next stands behind the pairs
]


Array = npt.NDArray[np.float64]
_SPARE = 1 << 40  # more coordinates than any model has


@leaf
def _noted(work: Any, pairs: Any, again: Any, count: int) -> None:
    row = room_for(work, count, _SPARE, False)
    for j in range(count):
        lay_out(row, j, _SPARE - 1 - 3 * j, 0.5 - j)
    note(row, pairs)
    recall(room_for(again, count, _SPARE, False), pairs)


def noted(work: Array, pairs: Array, again: Array, count: int) -> None:
    """Lay out a row, note its pairs, and lay these out elsewhere."""
    _noted(vector(work), vector(pairs), vector(again), count)


def lives() -> list[str]:
    """Return digests of lives with rows of zero to thirteen entries, many with the same twice."""
    return [_life(bl.LinearModel(bits=bits, **way)) for bits in (1, 3, 6) for way in WAYS]


def _life(model: bl.LinearModel) -> str:
    rng, digest, still_open = np.random.default_rng(0), hashlib.sha256(), list[int]()
    size = 1 << model._settings.bits
    for _ in range(120):
        count = int(rng.integers(14))
        row = rng.integers(size, size=count), rng.standard_normal(count) * rng.choice([0.0, 1, 99])
        digest.update(np.float64(model.peek(row)).tobytes())
        ticket, value = model.predict(row)
        digest.update(np.float64(value).tobytes())
        still_open.append(ticket)
        while still_open and rng.random() < 0.5:
            old = still_open.pop(int(rng.integers(len(still_open))))
            if rng.random() < 0.2:
                model.cancel(old)
            else:
                model.observe(old, float(rng.random() < 0.4))
    digest.update(model.snapshot())
    return digest.hexdigest()


@pytest.mark.compiled
@pytest.mark.needs_compiler
def test_four_at_a_time_is_one_after_the_other() -> None:
    found = subprocess.run(
        [sys.executable, "-c", "import test_together; print(*test_together.lives())"],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        cwd=Path(__file__).parent,
        check=True,
        capture_output=True,
        text=True,
    )
    assert lives() == found.stdout.split()


@pytest.mark.compiled
def test_what_fills_up_never_learns() -> None:
    model = bl.LinearModel(bits=3, l1=0.01)
    for ticket in range(40):
        model.predict((np.arange(ticket % 8), np.full(ticket % 8, 1.0 + ticket % 3)))
        if ticket >= 5:
            model.observe(ticket - 5, math.sin(ticket))
    rows = model._memory.c.view(np.uint32).reshape(-1, lm.WORDS)
    assert rows.shape == ((1 << 3) + 1 + lm.SPARE, lm.WORDS)
    assert rows[: -lm.SPARE, lm.WEIGHT].any()
    assert not np.delete(rows[-lm.SPARE :], lm.SEEN, axis=1).any()
    assert model._memory.rows.shape == ((1 << 3) + 1, lm.ROW)
    again = bl.LinearModel.restore(model.snapshot())
    assert again.snapshot() == model.snapshot()


@pytest.mark.parametrize(
    "way", ["interpreted", pytest.param("compiled", marks=pytest.mark.compiled)]
)
def test_pairs_are_those_of_the_row_and_nothing_behind_them_is_written(way: str) -> None:
    in_place = numba.njit(**jit.ENTRY)(noted)
    for count in range(14):
        work, again = np.zeros((2, lm.OF_ROW + lm.OF_ENTRY * count))
        pairs = np.full(2 * count + 8, 7.0)
        in_place(work, pairs, again, count)
        places = np.arange(count)
        expected = np.column_stack([_SPARE - 1.0 - 3.0 * places, 0.5 - places])
        assert pairs[: 2 * count].tolist() == expected.ravel().tolist()
        assert (pairs[2 * count :] == 7.0).all()
        assert again.tobytes() == work.tobytes()
