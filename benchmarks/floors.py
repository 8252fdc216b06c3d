"""The floors: the same work written by hand for one composition, as fast as we could.

They keep what a learner keeps (tickets, counts, sums for the certificate) in local variables, know
the number of rounds in advance and check little else.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numpy.typing import NDArray

from benchmarks import NATIVE
from benchmarks.timing import Result

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_Function = TypeVar("_Function", bound=Callable[..., Any])


def jit(function: _Function) -> _Function:
    return cast(_Function, numba.njit(nogil=True, error_model="numpy")(function))


def of_this_machine(module: str) -> Iterator[Result]:
    """Yield what ``by_hand`` of a module measures, where loops by hand use all instructions.

    The core keeps to baseline x86-64, so these figures have no target.
    """
    if os.environ.get(NATIVE) == "1":
        return
    code = (
        f"import json; from {module} import by_hand\n"
        "for result in by_hand(): print(json.dumps(result.to_dict()))"
    )
    names = {"NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES"}
    wanted = {name: value for name, value in os.environ.items() if name not in names}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**wanted, NATIVE: "1"},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    for line in done.stdout.splitlines():
        found = json.loads(line)
        del found["met"]
        found |= {"name": f"{found['name']}, native floor", "target": math.inf}
        yield Result(**found)


class NumpyLearner:
    """FirstOrder(PFTRL(Ball)) with NumPy calls: ids, checks, fresh copies, no certificate."""

    def __init__(self, dim: int, radius: float, lipschitz: float) -> None:
        self.z, self.p, self.v = np.zeros(dim), np.zeros(dim), np.empty(dim)
        self.inside = True
        self.open: dict[int, int] = {}
        self.rounds = self.arrived = self.backlogs = 0
        self.radius, self.gain, self.shape = radius, 2.0 * radius / lipschitz, (dim,)

    def predict(self) -> tuple[int, Floats]:
        """Return a ticket and a copy of the point."""
        ticket = self.rounds
        self.open[ticket] = self.arrived
        self.rounds = ticket + 1
        return ticket, self.z.copy()

    def observe(self, ticket: int, cost: Floats) -> bool:
        """Take one step."""
        if cost.__class__ is not np.ndarray or cost.shape != self.shape:
            raise ValueError("bad shape")
        if not cost.dot(cost) < math.inf:
            raise ValueError("not finite")
        self.open.pop(ticket)
        self.arrived += 1
        self.backlogs += self.rounds - self.arrived
        eta = self.gain / math.sqrt(self.arrived + self.backlogs)
        v, z = self.v, self.z
        if self.inside:
            np.multiply(cost, -eta, out=v)
        else:
            np.subtract(self.p, cost, out=v)
            v *= eta
        v += z
        norm = math.sqrt(v.dot(v))
        if norm > self.radius:
            np.multiply(v, self.radius / norm, out=z)
            np.subtract(v, z, out=self.p)
            self.p /= eta
            self.inside = False
        else:
            self.z, self.v, self.inside = v, z, True
        return True


@jit
def pftrl_ball(events: Ints, G: Floats, X: Floats, radius: float, lipschitz: float) -> Any:
    """FirstOrder(PFTRL(Ball)) over a whole log of gradients."""
    T, k = G.shape
    w = k - k % 4
    z, p, seen = np.zeros(k), np.zeros(k), np.full(T, -1)
    rounds = arrived = backlogs = duals = 0
    most_delay = most_backlog = most_lag = excess = 0
    learned = drifted = largest = eta = 0.0
    gain = 2.0 * radius / lipschitz
    for e in range(events.size):
        t = events[e]
        if t >= 0:
            backlog = rounds - arrived
            backlogs += backlog
            most_backlog = max(most_backlog, backlog)
            seen[t] = arrived
            rounds += 1
            for i in range(k):
                X[t, i] = z[i]
            continue
        t = ~t
        if seen[t] < 0:
            break
        a = b = c = d = 0.0
        for i in range(0, w, 4):
            a += G[t, i] * G[t, i]
            b += G[t, i + 1] * G[t, i + 1]
            c += G[t, i + 2] * G[t, i + 2]
            d += G[t, i + 3] * G[t, i + 3]
        for i in range(w, k):
            a += G[t, i] * G[t, i]
        norm = math.sqrt((a + b) + (c + d))
        if not norm <= 1e100:
            break
        if norm > lipschitz * (1.0 + 1e-9):
            excess += 1
        most_delay = max(most_delay, rounds - t - 1)
        most_lag = max(most_lag, arrived - seen[t])
        seen[t] = -1
        arrived += 1
        open_lags = rounds - arrived
        duals += open_lags
        largest = max(largest, norm)
        eta = gain / math.sqrt(float(arrived + duals))
        learned += 0.5 * eta * norm * norm
        drifted += eta * open_lags * norm
        for i in range(k):
            z[i] += eta * (p[i] - G[t, i])
        a = b = c = d = 0.0
        for i in range(0, w, 4):
            a += z[i] * z[i]
            b += z[i + 1] * z[i + 1]
            c += z[i + 2] * z[i + 2]
            d += z[i + 3] * z[i + 3]
        for i in range(w, k):
            a += z[i] * z[i]
        norm = math.sqrt((a + b) + (c + d))
        scale = radius / norm if norm > radius else 1.0
        inverse = 1.0 / eta
        for i in range(k):
            v = z[i]
            z[i] = scale * v
            p[i] = (v - z[i]) * inverse
    return learned, drifted, largest, eta, backlogs, most_delay, most_backlog, most_lag, excess


@jit
def skip_omd_ball(events: Ints, G: Floats, X: Floats, radius: float, lipschitz: float) -> Any:
    """Skip(FirstOrder(OMD(Ball))) over a whole log of gradients."""
    T, k = G.shape
    w = k - k % 4
    z, seen = np.zeros(k), np.full(T, -1)
    rounds = arrived = backlogs = duals = patience = head = 0
    most_delay = most_backlog = most_lag = excess = skipped = late = 0
    learned = drifted = largest = eta = 0.0
    gain = 2.0 * radius / lipschitz
    for e in range(events.size):
        t = events[e]
        if t >= 0:
            patience += rounds - arrived
            while head < rounds and (rounds - head) ** 2 > patience:
                if seen[head] < 0:
                    head += 1
                    continue
                most_delay = max(most_delay, rounds - head - 1)
                most_lag = max(most_lag, arrived - seen[head])
                seen[head] = -2
                arrived += 1
                duals += rounds - arrived
                skipped += 1
            backlog = rounds - arrived
            backlogs += backlog
            most_backlog = max(most_backlog, backlog)
            seen[t] = arrived
            rounds += 1
            for i in range(k):
                X[t, i] = z[i]
            continue
        t = ~t
        if seen[t] == -1:
            break
        a = b = c = d = 0.0
        for i in range(0, w, 4):
            a += G[t, i] * G[t, i]
            b += G[t, i + 1] * G[t, i + 1]
            c += G[t, i + 2] * G[t, i + 2]
            d += G[t, i + 3] * G[t, i + 3]
        for i in range(w, k):
            a += G[t, i] * G[t, i]
        norm = math.sqrt((a + b) + (c + d))
        if not norm <= 1e100:
            break
        if seen[t] == -2:
            seen[t] = -1
            late += 1
            continue
        if norm > lipschitz * (1.0 + 1e-9):
            excess += 1
        most_delay = max(most_delay, rounds - t - 1)
        most_lag = max(most_lag, arrived - seen[t])
        seen[t] = -1
        arrived += 1
        open_lags = rounds - arrived
        duals += open_lags
        largest = max(largest, norm)
        eta = gain / math.sqrt(float(arrived + duals))
        learned += 0.5 * eta * norm * norm
        drifted += eta * open_lags * norm
        for i in range(k):
            z[i] -= eta * G[t, i]
        a = b = c = d = 0.0
        for i in range(0, w, 4):
            a += z[i] * z[i]
            b += z[i + 1] * z[i + 1]
            c += z[i + 2] * z[i + 2]
            d += z[i + 3] * z[i + 3]
        for i in range(w, k):
            a += z[i] * z[i]
        norm = math.sqrt((a + b) + (c + d))
        scale = radius / norm if norm > radius else 1.0
        for i in range(k):
            z[i] *= scale
    return (
        learned,
        drifted,
        largest,
        eta,
        backlogs,
        most_delay,
        most_backlog,
        most_lag,
        skipped,
        late,
    )


@jit
def _direction(seed: int, ticket: int, u: Floats) -> None:
    """Philox4x32-10 and the polar method, with the C library's logarithm."""
    mask = 0xFFFFFFFF
    filled = block = 0
    while filled < u.size:
        c0, c1, c2, c3 = block, 0, ticket & mask, (ticket >> 32) & mask
        k0, k1 = seed & mask, (seed >> 32) & mask
        for _ in range(10):
            left = 0xD2511F53 * c0
            right = 0xCD9E8D57 * c2
            c0 = ((right >> 32) & mask) ^ c1 ^ k0
            c2 = ((left >> 32) & mask) ^ c3 ^ k1
            c1 = right & mask
            c3 = left & mask
            k0 = (k0 + 0x9E3779B9) & mask
            k1 = (k1 + 0xBB67AE85) & mask
        block += 1
        for pair in range(2):
            if filled >= u.size:
                break
            x = ((c0 if pair == 0 else c2) + 0.5) * 4.656612873077393e-10 - 1.0
            y = ((c1 if pair == 0 else c3) + 0.5) * 4.656612873077393e-10 - 1.0
            s = x * x + y * y
            if s < 1.0:
                factor = math.sqrt(-2.0 * math.log(s) / s)
                u[filled] = x * factor
                if filled + 1 < u.size:
                    u[filled + 1] = y * factor
                filled += 2
    total = 0.0
    for i in range(u.size):
        total += u[i] * u[i]
    inverse = 1.0 / math.sqrt(total)
    for i in range(u.size):
        u[i] *= inverse


@jit
def one_point_box(
    events: Ints,
    values: Floats,
    X: Floats,
    low: Floats,
    high: Floats,
    lipschitz: float,
    magnitude: float,
    seed: int,
) -> Any:
    """OnePoint(PFTRL(Box)) over a whole log of values."""
    T, k = X.shape
    z, p, u, seen = np.zeros(k), np.zeros(k), np.empty(k), np.full(T, -1)
    half, middle = (high - low) / 2.0, low + (high - low) / 2.0
    rounds = arrived = backlogs = duals = 0
    most_delay = most_backlog = most_lag = excess = 0
    learned = drifted = largest = eta = spread = 0.0
    gain = 2.0 * math.sqrt(k) / lipschitz
    noise = k * magnitude / lipschitz
    breadth = math.sqrt(magnitude / lipschitz * k)
    for e in range(events.size):
        t = events[e]
        if t >= 0:
            backlog = rounds - arrived
            backlogs += backlog
            most_backlog = max(most_backlog, backlog)
            seen[t] = arrived
            rounds += 1
            _direction(seed, t, u)
            delta = min(1.0, breadth / math.sqrt(math.sqrt(t + 1.0)))
            for i in range(k):
                x = middle[i] + half[i] * ((1.0 - delta) * z[i] + delta * u[i])
                X[t, i] = min(high[i], max(low[i], x))
            continue
        t = ~t
        if seen[t] < 0:
            break
        value = values[t, 0]
        _direction(seed, t, u)
        factor = k / min(1.0, breadth / math.sqrt(math.sqrt(t + 1.0))) * value
        total = 0.0
        for i in range(k):
            u[i] *= factor
            total += u[i] * u[i]
        norm = math.sqrt(total)
        if not norm <= 1e100:
            break
        if abs(value) > magnitude * (1.0 + 1e-9):
            excess += 1
        most_delay = max(most_delay, rounds - t - 1)
        most_lag = max(most_lag, arrived - seen[t])
        seen[t] = -1
        arrived += 1
        open_lags = rounds - arrived
        duals += open_lags
        largest = max(largest, norm)
        share = noise / min(1.0, breadth / math.sqrt(math.sqrt(float(rounds))))
        spread += share * share
        eta = gain / math.sqrt(arrived + duals + spread)
        learned += 0.5 * eta * norm * norm
        drifted += eta * open_lags * norm
        inverse = 1.0 / eta
        for i in range(k):
            v = z[i] + eta * (p[i] - u[i])
            z[i] = min(1.0, max(-1.0, v))
            p[i] = (v - z[i]) * inverse
    return learned, drifted, largest, eta, backlogs, most_delay, most_backlog, most_lag, excess
