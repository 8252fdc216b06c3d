"""What arithmetic of floats and ints comes to inside a leaf, bit for bit; printed by a script."""

from __future__ import annotations

import json
from itertools import product

import numpy as np

from belated.arrays import Floats, Ints
from belated.kernels.jit import entry, leaf
from belated.kernels.vectors import vector

REALS = (0.0, -0.0, 1.0, -1.5, 3.7, 1e300, np.inf, -np.inf, np.nan)
WHOLES = (0, 1, -1, 7, 2**40)
RESULTS = 12


@leaf
def _compare(a: float, b: float, out: Floats, first: int) -> None:
    out[first] = 1.0 if a < b else 0.0
    out[first + 1] = 1.0 if a <= b else 0.0
    out[first + 2] = 1.0 if a > b else 0.0
    out[first + 3] = 1.0 if a >= b else 0.0
    out[first + 4] = 1.0 if a == b else 0.0
    out[first + 5] = 1.0 if a != b else 0.0


@leaf
def _reckon(a: float, b: float, out: Floats, first: int) -> None:
    out[first] = a + b
    out[first + 1] = a - b
    out[first + 2] = a * b
    out[first + 3] = min(a, b)
    out[first + 4] = max(a, b)
    out[first + 5] = min(a, 1.0) + max(2.0, b)


@leaf
def _cut_off(a: float) -> int:
    return int(a) if abs(a) < 10.0 else 0


def all_values(reals: Floats, wholes: Ints, out: Floats) -> None:
    """Write every result for every pair."""
    x, n, results = vector(reals), vector(wholes), vector(out)
    place = 0
    for i in range(x.size):
        for j in range(x.size):
            _compare(x[i], x[j], results, place)
            _reckon(x[i], x[j], results, place + 6)
            place += RESULTS
    for i in range(n.size):
        for j in range(n.size):
            _compare(n[i], n[j], results, place)
            _reckon(n[i], n[j], results, place + 6)
            place += RESULTS
    for i in range(x.size):
        results[place + i] = _cut_off(x[i])


def main() -> None:
    """Print all results as bits."""
    reals, wholes = np.array(REALS), np.array(WHOLES)
    pairs = len(list(product(REALS, REALS))) + len(list(product(WHOLES, WHOLES)))
    out = np.zeros(RESULTS * pairs + len(REALS))
    entry(all_values, "void(float64[::1], int64[::1], float64[::1])")(reals, wholes, out)
    out[np.isnan(out)] = np.nan  # the sign of a NaN means nothing
    print(json.dumps(out.tobytes().hex()))


if __name__ == "__main__":
    main()
