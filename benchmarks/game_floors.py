"""Whole games written by hand: one learner and one loss in one function, as fast as we could.

Losses are (lambda/2) |x - a_t|^2, row t of an array being a_t; learners play in the unit ball. What
a learner will be told lies in a ring, whose length is known in advance: a power of 2 above the
largest delay. The sums are those of ``belated.play``: losses and their checkpoints, what a report
and its certificate need, and with details also those behind linear regret and drift.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple, cast

import numba
import numpy as np
from numpy.typing import NDArray

from benchmarks.floors import _direction

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Play = Callable[[Ints, Floats, Ints, Floats, int], tuple[Any, ...]]
"""From events, vectors, marks, a curve to be written and the length of the ring to ``Sums``."""


class Sums(NamedTuple):
    """What a game by hand returns."""

    loss: float
    linear: float
    """Sum of <g_t, x_t>."""
    stale: float
    """Sum of <c_n, z_s>."""
    prompt: float
    """Sum of <c_n, z_n>."""
    gradients: Floats
    costs: Floats
    learned: float
    drifted: float
    largest: float
    rate: float
    duals: int
    most_duals: int
    most_delay: int
    most_lag: int
    excess: int


def _jit(function: Callable[..., Any]) -> Play:
    return cast(Play, numba.njit(nogil=True, error_model="numpy")(function))


@functools.cache
def first_order(detail: bool, lipschitz: float, curvature: float) -> Play:
    """Return the game of FirstOrder(PFTRL(Ball))."""

    def play(events: Ints, A: Floats, marks: Ints, curve: Floats, length: int) -> tuple[Any, ...]:
        k = A.shape[1]
        w = k - k % 4
        mask = length - 1
        z, p, old = np.zeros(k), np.zeros(k), np.zeros(k)
        gradients, costs = np.zeros(k), np.zeros(k)
        answers, points, seen = np.empty((length, k)), np.empty((length, k)), np.full(length, -1)
        loss = linear = stale = prompt = learned = drifted = largest = eta = 0.0
        rounds = arrived = duals = most_duals = most_delay = most_lag = excess = mark = 0
        for e in range(events.size):
            t = events[e]
            if t >= 0:
                slot = t & mask
                seen[slot] = arrived
                rounds += 1
                a = b = c = d = 0.0
                for i in range(0, w, 4):
                    v0 = z[i] - A[t, i]
                    v1 = z[i + 1] - A[t, i + 1]
                    v2 = z[i + 2] - A[t, i + 2]
                    v3 = z[i + 3] - A[t, i + 3]
                    answers[slot, i] = curvature * v0
                    answers[slot, i + 1] = curvature * v1
                    answers[slot, i + 2] = curvature * v2
                    answers[slot, i + 3] = curvature * v3
                    a += v0 * v0
                    b += v1 * v1
                    c += v2 * v2
                    d += v3 * v3
                for i in range(w, k):
                    v0 = z[i] - A[t, i]
                    answers[slot, i] = curvature * v0
                    a += v0 * v0
                loss += 0.5 * curvature * ((a + b) + (c + d))
                if detail:
                    a = b = c = d = 0.0
                    for i in range(0, w, 4):
                        a += answers[slot, i] * z[i]
                        b += answers[slot, i + 1] * z[i + 1]
                        c += answers[slot, i + 2] * z[i + 2]
                        d += answers[slot, i + 3] * z[i + 3]
                    for i in range(w, k):
                        a += answers[slot, i] * z[i]
                    linear += (a + b) + (c + d)
                    for i in range(k):
                        points[slot, i] = z[i]
                        gradients[i] += answers[slot, i]
                if mark < marks.size and marks[mark] == rounds:
                    curve[mark] = loss
                    mark += 1
                continue
            t = ~t
            slot = t & mask
            if seen[slot] < 0:
                break
            a = b = c = d = 0.0
            for i in range(0, w, 4):
                a += answers[slot, i] * answers[slot, i]
                b += answers[slot, i + 1] * answers[slot, i + 1]
                c += answers[slot, i + 2] * answers[slot, i + 2]
                d += answers[slot, i + 3] * answers[slot, i + 3]
            for i in range(w, k):
                a += answers[slot, i] * answers[slot, i]
            norm = math.sqrt((a + b) + (c + d))
            if not norm <= 1e100:
                break
            if norm > lipschitz * (1.0 + 1e-9):
                excess += 1
            most_delay = max(most_delay, rounds - t - 1)
            most_lag = max(most_lag, arrived - seen[slot])
            seen[slot] = -1
            arrived += 1
            open_lags = rounds - arrived
            duals += open_lags
            most_duals = max(most_duals, open_lags)
            largest = max(largest, norm)
            eta = 2.0 / lipschitz / math.sqrt(float(arrived + duals))
            learned += 0.5 * eta * norm * norm
            drifted += eta * open_lags * norm
            if detail:
                for i in range(k):
                    old[i] = z[i]
            for i in range(k):
                z[i] += eta * (p[i] - answers[slot, i])
            a = b = c = d = 0.0
            for i in range(0, w, 4):
                a += z[i] * z[i]
                b += z[i + 1] * z[i + 1]
                c += z[i + 2] * z[i + 2]
                d += z[i + 3] * z[i + 3]
            for i in range(w, k):
                a += z[i] * z[i]
            norm = math.sqrt((a + b) + (c + d))
            scale = 1.0 / norm if norm > 1.0 else 1.0
            inverse = 1.0 / eta
            for i in range(k):
                v = z[i]
                z[i] = scale * v
                p[i] = (v - z[i]) * inverse
            if detail:
                a = b = 0.0
                for i in range(k):
                    a += answers[slot, i] * points[slot, i]
                    b += answers[slot, i] * old[i]
                    costs[i] += answers[slot, i]
                stale += a
                prompt += b
        counts = (duals, most_duals, most_delay, most_lag, excess)
        sums = (loss, linear, stale, prompt, gradients, costs, learned, drifted, largest, eta)
        return (*sums, *counts)

    return _jit(play)


@functools.cache
def one_point(detail: bool, lipschitz: float, curvature: float, magnitude: float) -> Play:
    """Return the game of OnePoint(PFTRL(Ball)) with seed 0; directions are drawn twice."""

    def play(events: Ints, A: Floats, marks: Ints, curve: Floats, length: int) -> tuple[Any, ...]:
        k = A.shape[1]
        w = k - k % 4
        mask = length - 1
        z, p, u = np.zeros(k), np.zeros(k), np.zeros(k)
        gradients, costs = np.zeros(k), np.zeros(k)
        values, points, seen = np.empty(length), np.empty((length, k)), np.full(length, -1)
        loss = linear = stale = prompt = learned = drifted = largest = eta = spread = 0.0
        rounds = arrived = duals = most_duals = most_delay = most_lag = excess = mark = 0
        noise = k * magnitude / lipschitz
        breadth = math.sqrt(magnitude / lipschitz * k)
        for e in range(events.size):
            t = events[e]
            if t >= 0:
                slot = t & mask
                seen[slot] = arrived
                rounds += 1
                _direction(0, t, u)
                delta = min(1.0, breadth / math.sqrt(math.sqrt(float(rounds))))
                shrink = 1.0 - delta
                a = b = c = d = 0.0
                for i in range(k):
                    u[i] = shrink * z[i] + delta * u[i]
                for i in range(0, w, 4):
                    a += (u[i] - A[t, i]) * (u[i] - A[t, i])
                    b += (u[i + 1] - A[t, i + 1]) * (u[i + 1] - A[t, i + 1])
                    c += (u[i + 2] - A[t, i + 2]) * (u[i + 2] - A[t, i + 2])
                    d += (u[i + 3] - A[t, i + 3]) * (u[i + 3] - A[t, i + 3])
                for i in range(w, k):
                    a += (u[i] - A[t, i]) * (u[i] - A[t, i])
                value = 0.5 * curvature * ((a + b) + (c + d))
                values[slot] = value
                loss += value
                if detail:
                    a = 0.0
                    for i in range(k):
                        g = curvature * (u[i] - A[t, i])
                        a += g * u[i]
                        gradients[i] += g
                        points[slot, i] = z[i]
                    linear += a
                if mark < marks.size and marks[mark] == rounds:
                    curve[mark] = loss
                    mark += 1
                continue
            t = ~t
            slot = t & mask
            if seen[slot] < 0:
                break
            value = values[slot]
            _direction(0, t, u)
            factor = k / min(1.0, breadth / math.sqrt(math.sqrt(t + 1.0))) * value
            for i in range(k):
                u[i] *= factor
            a = b = c = d = 0.0
            for i in range(0, w, 4):
                a += u[i] * u[i]
                b += u[i + 1] * u[i + 1]
                c += u[i + 2] * u[i + 2]
                d += u[i + 3] * u[i + 3]
            for i in range(w, k):
                a += u[i] * u[i]
            norm = math.sqrt((a + b) + (c + d))
            if not norm <= 1e100:
                break
            if abs(value) > magnitude * (1.0 + 1e-9):
                excess += 1
            most_delay = max(most_delay, rounds - t - 1)
            most_lag = max(most_lag, arrived - seen[slot])
            seen[slot] = -1
            arrived += 1
            open_lags = rounds - arrived
            duals += open_lags
            most_duals = max(most_duals, open_lags)
            largest = max(largest, norm)
            share = noise / min(1.0, breadth / math.sqrt(math.sqrt(float(rounds))))
            spread += share * share
            eta = 2.0 / lipschitz / math.sqrt(arrived + duals + spread)
            learned += 0.5 * eta * norm * norm
            drifted += eta * open_lags * norm
            if detail:
                a = b = 0.0
                for i in range(k):
                    a += u[i] * points[slot, i]
                    b += u[i] * z[i]
                    costs[i] += u[i]
                stale += a
                prompt += b
            for i in range(k):
                z[i] += eta * (p[i] - u[i])
            a = b = c = d = 0.0
            for i in range(0, w, 4):
                a += z[i] * z[i]
                b += z[i + 1] * z[i + 1]
                c += z[i + 2] * z[i + 2]
                d += z[i + 3] * z[i + 3]
            for i in range(w, k):
                a += z[i] * z[i]
            norm = math.sqrt((a + b) + (c + d))
            scale = 1.0 / norm if norm > 1.0 else 1.0
            inverse = 1.0 / eta
            for i in range(k):
                v = z[i]
                z[i] = scale * v
                p[i] = (v - z[i]) * inverse
        counts = (duals, most_duals, most_delay, most_lag, excess)
        sums = (loss, linear, stale, prompt, gradients, costs, learned, drifted, largest, eta)
        return (*sums, *counts)

    return _jit(play)
