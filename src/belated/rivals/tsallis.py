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

_CLOSE = 1e-8  # how far the probabilities may add up beside 1 before the last step ...
_NEAR = 1e-5  # ... and before one that is an order better
_PASSES = 60
_SLACK = 1e-6


@leaf
def _omega(k: float, w: float) -> float:
    """Return w > 0 with w + ln w = k, from a guess.

    Newton's method from afar: the left side is concave, so that it rises to the root from below,
    and from above falls below it in a step or a few. Close to the root the step of Fritsch, Shafer
    and Crowley, which leaves a relative error of at most (r / t)^4 / 36.
    """
    for _ in range(_PASSES):
        r, t = k - w - ln(w), 1.0 + w
        if abs(r) > 0.25 * t:
            w *= max(0.1, 1.0 + r / t)
        else:
            s = 2.0 * t * (t + 2.0 / 3.0 * r)
            w *= 1.0 + r * (s - r) / (t * (s - 2.0 * r))
        if abs(r) <= 5e-4 * t:
            break
    return w


@leaf
def solve(losses: Floats, a: float, b: float, mu: float, x: Floats) -> float:
    """Write argmin <Lhat, x> - 2 a sum sqrt(x_i) + b sum x_i ln x_i over the simplex; return mu.

    x_i = y_i^2 with a / y_i - 2 b ln y_i = Lhat_i - min Lhat + b - mu, and sum x_i = 1 fixes the
    multiplier mu. The sum is convex and increasing in mu, so Newton's method closes in from above
    after at most one step; mu = b - a, where the largest y_i is 1, is never too small. The old x
    and mu are where it starts. A step from a sum that is 1e-8 off leaves 1e-16, so for the last one
    every x_i moves along its slope.
    """
    lowest = least(losses)
    mu = _of_both(losses, lowest, a, b, mu, x) if b > 0.0 else _of_roots(losses, lowest, a, mu, x)
    normalise(x)
    return mu


@leaf
def _of_roots(losses: Floats, lowest: float, a: float, mu: float, x: Floats) -> float:
    """Solve with b = 0: y_i = a / (Lhat_i - min Lhat - mu), whose slope is y_i^2 / a."""
    mu = min(mu, -a)
    for _ in range(_PASSES):
        total = slope = 0.0
        for i in range(x.size):
            y = a / ((losses[i] - lowest) - mu)
            x[i] = y * y
            total += x[i]
            slope += x[i] * y
        step = 0.5 * a * (1.0 - total) / slope
        mu = min(mu + step, -a)
        if abs(total - 1.0) <= _CLOSE:
            for i in range(x.size):
                x[i] *= 1.0 + 2.0 * math.sqrt(x[i]) * step / a
            break
    return mu


@leaf
def _of_both(losses: Floats, lowest: float, a: float, b: float, mu: float, x: Floats) -> float:
    """Solve with b > 0, where w_i = c / y_i, c = a / (2 b), has w_i + ln w_i = k_i.

    With v = 1 / (1 + w_i), x_i has slope x_i v / b in mu and second derivative
    x_i v^2 (3 - v) / (2 b^2). Until the end x holds w. The last step is an order better than
    Newton's.
    """
    half = 0.5 / b
    c = half * a
    shift = ln(c)
    for i in range(x.size):
        x[i] = c / math.sqrt(x[i])
    mu = min(mu, b - a)
    last = 0.0
    for _ in range(_PASSES):
        total = slope = bend = 0.0
        for i in range(x.size):
            w = _omega(half * ((losses[i] - lowest) + (b - mu)) + shift, x[i])
            x[i] = w
            part = 1.0 / (w * (1.0 + w))
            y, v = c * part * (1.0 + w), part * w
            share = y * y * v
            total += y * y
            slope += share
            bend += share * v * (3.0 - v)
        step = (1.0 - total) / slope  # in units of b
        if abs(total - 1.0) <= _NEAR:
            last = step * (1.0 - 0.25 * step * bend / slope)
            mu = min(mu + last * b, b - a)
            break
        mu = min(mu + step * b, b - a)
    for i in range(x.size):
        w = x[i]
        y, v = c / w, last / (1.0 + w)
        x[i] = y * y * (1.0 + v + 0.25 * v * v * (3.0 - 1.0 / (1.0 + w)))
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
