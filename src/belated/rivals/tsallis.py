"""Probabilities from two regularisers: those of Tsallis entropy and of Shannon's, in one equation.

F(x) = -2 a sum sqrt(x_i) + b sum x_i ln x_i on the simplex, with weights a > 0 and b >= 0.
"""

from __future__ import annotations

import math

import numpy as np

from belated.arrays import Floats
from belated.kernels.exact import ln
from belated.kernels.jit import leaf
from belated.rivals.experts import least, normalise

_ENOUGH = 1e-13  # how far the probabilities may add up beside 1 before they are normalised
_PASSES = 60
_SLACK = 1e-6


@leaf
def _omega(k: float, w: float) -> float:
    """Return w > 0 with w + ln w = k, by Newton's method from a guess.

    The left side is concave, so that it rises to the root from below, and from above falls below it
    in a step or a few; a step that changes 1e-8 leaves 1e-16.
    """
    for _ in range(_PASSES):
        before = w
        w *= max(0.1, (1.0 + k - ln(w)) / (1.0 + w))
        if abs(w - before) <= 1e-8 * w:
            break
    return w


@leaf
def solve(losses: Floats, a: float, b: float, mu: float, x: Floats) -> float:
    """Write argmin <Lhat, x> - 2 a sum sqrt(x_i) + b sum x_i ln x_i over the simplex; return mu.

    x_i = y_i^2 with a / y_i - 2 b ln y_i = Lhat_i - min Lhat + b - mu, and sum x_i = 1 fixes the
    multiplier mu. With w_i = a / (2 b y_i) it says w_i + ln w_i = k_i. The sum is convex and
    increasing in mu, so Newton's method closes in from above after at most one step; mu = b - a,
    where the largest y_i is 1, is never too small. The old x and mu are where it starts.
    """
    lowest = least(losses)
    half = 0.5 / b if b > 0.0 else 0.0
    shift = ln(half * a) if b > 0.0 else 0.0
    mu = min(mu, b - a)
    for _ in range(_PASSES):
        total = slope = 0.0
        for i in range(x.size):
            height = (losses[i] - lowest) + (b - mu)
            if b > 0.0:
                y = half * a / _omega(half * height + shift, half * a / math.sqrt(x[i]))
            else:
                y = a / height
            x[i] = y * y
            total += x[i]
            slope += 2.0 * x[i] * y / (a + 2.0 * b * y)
        if abs(total - 1.0) <= _ENOUGH:
            break
        mu = min(mu - (total - 1.0) / slope, b - a)
    normalise(x)
    return mu


def is_multiplier(mu: float, arms: int, a: float, b: float) -> bool:
    """Tell whether mu can be what ``solve`` returned: a <= b - mu <= a sqrt(K) + b ln K."""
    most = a * math.sqrt(arms) + b * math.log(arms)
    return bool((1.0 - _SLACK) * a <= b - mu <= (1.0 + _SLACK) * most)


def promised(arms: int, a: Floats, b: Floats, backlog: Floats) -> float:
    """2 (sqrt(K) - 1) a_T + sqrt(K) sum 1 / a_t + b_T ln K + sum sigma_t / b_t.

    It bounds the expected regret of x_t = argmin <Lhat, x> + F_t(x) with estimates as they arrive,
    for every a_t > 0 and b_t >= 0 that never fall, losses in [0, 1] and oblivious delays; without a
    backlog b_t may be 0. Write V_t(L) = min <L, x> + F_t(x), L_t for all estimates of rounds before
    t and M for those that x_t lacks. Round t pays three times:

    * the weights change: in sum F_T at the best arm less the smallest values of the increments,
      2 (sqrt(K) - 1) a_T + b_T ln K;
    * <lhat_t, x_t> - V_t(Lhat + lhat_t) + V_t(Lhat), on the arm i drawn an integral of x_i as its
      own loss grows: at most lhat^2 / (2 F_t''(x_i)), in expectation sqrt(K) / a_t;
    * what M changes in that integral. Losses of other arms only raise x_i, and those of i lower it
      at rate at most 1 / F_t''(x_i) <= x_i / b_t: lhat_t x_i M_i / b_t, in expectation
      sigma_t / b_t, as x_t does not depend on the draws that it lacks.
    """
    if a.size == 0:
        return 0.0
    root = math.sqrt(arms)
    waiting = backlog > 0.0
    drift = float(np.sum(backlog[waiting] / b[waiting]))
    weights = 2.0 * (root - 1.0) * float(a[-1]) + float(b[-1]) * math.log(arms)
    return weights + root * float(np.sum(1.0 / a)) + drift
