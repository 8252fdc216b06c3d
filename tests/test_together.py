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

import numpy as np
import pytest

import belated as bl
from belated.kernels.linear import layout as lm

WAYS: list[dict[str, Any]] = [
    {},
    {"intercept": False},
    {"l1": 0.01, "l2": 0.1},
    {"loss": "logistic", "silence": 0},
]


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
