"""What leaves come to, bit for bit: arithmetic, and every construct they may use; for a script."""

from __future__ import annotations

import json
import math
from itertools import product
from typing import NamedTuple

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


class _Pair(NamedTuple):
    left: Floats
    right: float


class _Fixed(NamedTuple):
    times: int
    share: float


_FIXED = _Fixed(3, -0.25)
_IS_ON = np.bool_(True)
_WEIGHTS = (0.5, -2.0, 8.0)
_START = 3


@leaf
def _loops(n: int, x: float) -> float:
    total, last = 0.0, -1
    for i in range(n % 7):
        for j in range(i, -3, -2):
            if j == 1 and i > 4:
                break
            total += x * j - i
            last = j
    while True:
        last += 2
        if last > 9:
            break
        if last % 3 == 0:
            total -= 0.5
    return total + last


@leaf
def _turns_real(n: int, x: float) -> float:
    value = 0  # and a float from then on
    for i in range(_START):
        if i == n % 5:
            value = x  # type: ignore[assignment]
    return value


@leaf
def _ways(n: int, x: float) -> tuple[int, float, bool]:
    if n < 0 or not x:
        return n, -x, False
    if 0.0 < x <= 4.0 < n + 5.0:
        return ~n, x, n != 7
    scale = 2 if x > 100.0 else 0.25
    return n ^ 5, x * scale, bool(n & 1)


@leaf
def _whole(n: int, m: int) -> float:
    if m == 0:
        return n / 2
    parts = (n // m, n % m, n >> 1, (n & 1023) << 2, n | m)
    chosen = parts[abs(n) % 5]
    return float(chosen) + n / m + min(n, m, 2) - max(1, n) + (n > m) + abs(m)


@leaf
def _entries(pair: _Pair, n: int) -> float:
    v, w = pair.left[1:3], pair.right
    v[0], v[1] = v[1] * w, v[0] - 1.0
    v[1] *= 0.5
    pair.left[0] -= _WEIGHTS[n % 3]
    w, n = float(n), int(w) if abs(w) < 1e6 else 0
    return float(v.size + pair.left[0] + w + n)


@leaf
def _of_array(given: Floats, i: int) -> float:
    return float(given[2] - given[i] + given.size)


@leaf
def _of_fixed(given: _Fixed, /, n: int) -> float:
    return given.times * n + given[1]


@leaf
def _named(n: int, x: float) -> float:
    given = _Fixed(share=x, times=n)
    return _of_fixed(_Fixed(n % 3, share=given.times), 2) - given.share


@leaf
def _constants(n: int, x: float) -> float:
    is_on = _IS_ON
    value = _of_fixed(_FIXED, n % 5) + is_on
    if x > 1.0:
        n = 0.5 * x  # type: ignore[assignment]
    return float(value + n + _WEIGHTS[int(value) % 3 - 3])


@leaf
def _functions(x: float) -> float:
    if not abs(x) < 1e6:
        return 0.0
    y = abs(x)
    bits = int(np.float64(y).view(np.int64))
    return math.sqrt(y) + math.floor(x) + (bits >> 52) - (0.0 if x else -x)


def all_values(reals: Floats, wholes: Ints, out: Floats, room: Floats) -> None:
    """Write every result for every pair."""
    x, n, results, work = vector(reals), vector(wholes), vector(out), vector(room)
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
        results[place] = _cut_off(x[i])
        results[place + 1] = _functions(x[i])
        results[place + 2] = _of_array(reals, i)
        place += 3
    for i in range(n.size):
        for j in range(x.size):
            a, b, c = _ways(n[i], x[j])
            results[place], results[place + 1], results[place + 2] = a, b, int(c)
            results[place + 3] = _loops(n[i], x[j])
            results[place + 4] = _turns_real(n[i], x[j])
            results[place + 5] = _entries(_Pair(work[0:3], x[j]), n[i])
            results[place + 6] = _constants(n[i], x[j])
            results[place + 7] = _named(n[i], x[j])
            place += 8
        for j in range(n.size):
            results[place] = _whole(n[i], n[j])
            place += 1


def main() -> None:
    """Print all results as bits."""
    reals, wholes = np.array(REALS), np.array(WHOLES)
    pairs = len(list(product(REALS, REALS))) + len(list(product(WHOLES, WHOLES)))
    others = 3 * len(REALS) + len(WHOLES) * (8 * len(REALS) + len(WHOLES))
    out, room = np.zeros(RESULTS * pairs + others), np.array([1.0, 2.0, 3.0])
    kinds = "float64[::1], int64[::1], float64[::1], float64[::1]"
    entry(all_values, f"void({kinds})")(reals, wholes, out, room)
    out[np.isnan(out)] = np.nan  # the sign of a NaN means nothing
    print(json.dumps(out.tobytes().hex()))


if __name__ == "__main__":
    main()
