"""Losses f_t: the vector a_t and the target b_t of a round, then value and gradient at any point.

A loss is a tuple ``rules`` of two codes, the family of f_t and the source of (a_t, b_t), which the
compiler sees as constants; everything else is data. Generated sources are pure functions of
(seed, t), so rounds may be drawn again and in any order.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from belated.arrays import Code, Floats
from belated.kernels.choices import only, switch
from belated.kernels.directions import philox, unit_vector
from belated.kernels.exact import exp, ln
from belated.kernels.jit import leaf
from belated.kernels.learners.sets import dot, squared_distance, sum_of_squares
from belated.kernels.parts import Part, Parts
from belated.kernels.slots.floats import padded
from belated.kernels.vectors import flat, vector

# Slots of ``rules``.
FAMILY, SOURCE = range(2)
# Codes in the table of sources that kernels ask for by name.
GIVEN, ADAPTIVE = 0, 6

# ``q``: parameters, what is kept of the phase drawn last, then the vectors of ``Loss``.
SCALE = 0
NOISE = 1
CURVATURE = 2
LENGTH = 3  # rounds in a phase
SEED_LOW = 4
SEED_HIGH = 5
PHASE = 6  # phase drawn last; -1 before the first
TARGET = 7  # target of that phase
Q_HEADER = 8

# Second word of the counter: generator streams beside those of the learners.
NOISES, MEANS, SIGNS = 2, 3, 4

_MASK = 0xFFFFFFFF
_LEAST_NORMAL = 2.2250738585072014e-308


# What the leaves of this file look at.
of_losses = only(FAMILY, SOURCE)


class Loss(NamedTuple):
    """A sequence of losses, as every leaf takes it; ``q`` and ``rows`` are all there is."""

    q: Floats
    """Parameters and work space; see above."""
    rows: Floats
    """Given vectors, one after another, each with its target behind it."""
    a: Floats
    """Vector a_t of the round drawn last."""
    m: Floats
    """Hidden direction m_t of that round."""
    start: Floats
    """Where the leg of a drifting direction starts ..."""
    end: Floats
    """... and where it ends."""


_padded = leaf(padded)


@leaf
def view(q: Floats, rows: Floats, dim: int) -> Loss:
    """Name the parts of a loss."""
    q, rows = vector(q), flat(rows)
    room = _padded(dim)
    a = Q_HEADER
    return Loss(
        q=q,
        rows=rows,
        a=q[a : a + dim],
        m=q[a + room : a + room + dim],
        start=q[a + 2 * room : a + 2 * room + dim],
        end=q[a + 3 * room : a + 3 * room + dim],
    )


def size(dim: int) -> int:
    """Return how many numbers ``q`` holds."""
    return Q_HEADER + 4 * padded(dim)


# --- Sources -------------------------------------------------------------------------------------


# Filled in with the families: what a number becomes as b_t, and how a round is drawn around a mean.
_TARGETS: dict[int, Callable[[Code, float], float]] = {}
_AROUND: dict[int, Callable[[Code, Loss, int], float]] = {}
_as_target = switch(FAMILY, _TARGETS)
_around = switch(FAMILY, _AROUND)


@leaf
def _draw_given(rules: Code, loss: Loss, t: int, x: Floats) -> float:
    a, rows = loss.a, loss.rows
    for i in range(a.size):
        a[i] = rows[t * (a.size + 1) + i]
    return rows[t * (a.size + 1) + a.size]


@leaf
def _draw_vector(loss: Loss, u: Floats, stream: int, t: int) -> None:
    unit_vector(u, stream, t, int(loss.q[SEED_LOW]), int(loss.q[SEED_HIGH]))


@leaf
def _enters_phase(loss: Loss, phase: int) -> bool:
    """Tell whether a phase is another one than that drawn last, and remember it."""
    if loss.q[PHASE] == phase:
        return False
    loss.q[PHASE] = phase
    return True


@leaf
def _keep_mean(rules: Code, loss: Loss, t: int) -> None:
    if _enters_phase(loss, t - t):
        _draw_vector(loss, loss.m, MEANS, t - t)


@leaf
def _switch_mean(rules: Code, loss: Loss, t: int) -> None:
    phase = t // int(loss.q[LENGTH])
    if _enters_phase(loss, phase):
        _draw_vector(loss, loss.m, MEANS, phase)


@leaf
def _drift_mean(rules: Code, loss: Loss, t: int) -> None:
    """Walk from one random direction to the next along a straight line."""
    m, start, end = loss.m, loss.start, loss.end
    length = int(loss.q[LENGTH])
    phase = t // length
    if _enters_phase(loss, phase):
        _draw_vector(loss, start, MEANS, phase)
        _draw_vector(loss, end, MEANS, phase + 1)
    share = (t - phase * length) / length
    for i in range(m.size):
        m[i] = start[i] + share * (end[i] - start[i])


# Write the hidden direction of a round to loss.m. Filled in with the sources.
_MEANS: dict[int, Callable[[Code, Loss, int], None]] = {}
_move_mean = switch(SOURCE, _MEANS)


@leaf
def _draw_around_mean(rules: Code, loss: Loss, t: int, x: Floats) -> float:
    t = int(t)
    _move_mean(rules, loss, t)
    _draw_vector(loss, loss.a, NOISES, t)
    return _around(rules, loss, t)


@leaf
def _between_signs(loss: Loss, t: int) -> float:
    """Return xi_t, uniform in (-1, 1)."""
    low, high = int(loss.q[SEED_LOW]), int(loss.q[SEED_HIGH])
    words = philox(t - t, SIGNS, t & _MASK, (t >> 32) & _MASK, low, high)
    return (words[0] + 0.5) * 4.656612873077393e-10 - 1.0  # (w + 1/2) 2^-31 - 1


@leaf
def _draw_block(rules: Code, loss: Loss, t: int, x: Floats) -> float:
    """a = scale e / sqrt(dim) with a vector e of random signs per block; the first bit is b's."""
    a, q = loss.a, loss.q
    block = int(t) // int(q[LENGTH])
    if _enters_phase(loss, block):
        low, high = int(q[SEED_LOW]), int(q[SEED_HIGH])
        height = q[SCALE] / math.sqrt(a.size)
        for first in range(0, a.size + 1, 128):
            words = philox(first >> 7, SIGNS, block & _MASK, (block >> 32) & _MASK, low, high)
            for i in range(first, min(first + 128, a.size + 1)):
                is_set = words[(i >> 5) & 3] >> (i & 31) & 1
                if i == 0:
                    q[TARGET] = q[SCALE] if is_set else -q[SCALE]
                else:
                    a[i - 1] = height if is_set else -height
    return _as_target(rules, q[TARGET])


@leaf
def _draw_alternating(rules: Code, loss: Loss, t: int, x: Floats) -> float:
    """a = scale (1/2, -1, 1, -1, ...) along the first axis, and the same b every round."""
    a, scale = loss.a, loss.q[SCALE]
    for i in range(a.size):
        a[i] = 0.0
    if t == 0:
        a[0] = 0.5 * scale
    else:
        a[0] = -scale if t & 1 else scale
    return _as_target(rules, scale)


@leaf
def _draw_adaptive(rules: Code, loss: Loss, t: int, x: Floats) -> float:
    """a = scale x / |x|, or along the first axis where x has no direction."""
    a, scale = loss.a, loss.q[SCALE]
    squares = sum_of_squares(x)
    if squares < _LEAST_NORMAL:
        for i in range(a.size):
            a[i] = 0.0
        a[0] = scale
        return 0.0
    factor = scale / math.sqrt(squares)
    for i in range(a.size):
        a[i] = factor * x[i]
    return 0.0


# ``draw`` (rules, loss, t, x): write a_t to loss.a and return b_t, 0 where the family has none; t
# counts from 0, and x is the play, which only an adaptive source looks at. ``mean``: where the
# hidden direction of the round is.
SOURCES = Parts(
    "source of losses",
    Part("losses.Given", GIVEN, draw=_draw_given),
    Part("losses.Random", 1, draw=_draw_around_mean, mean=_keep_mean),
    Part("losses.Drifting", 2, draw=_draw_around_mean, mean=_drift_mean),
    Part("losses.Switching", 3, draw=_draw_around_mean, mean=_switch_mean),
    Part("losses.Blocks", 4, draw=_draw_block),
    Part("losses.Alternating", 5, draw=_draw_alternating),
    Part("losses.Adaptive", ADAPTIVE, draw=_draw_adaptive),
)
draw = switch(SOURCE, SOURCES.choices("draw"))
_MEANS.update(SOURCES.choices("mean"))


# --- Families ------------------------------------------------------------------------------------


@leaf
def _no_target(rules: Code, number: float) -> float:
    return 0.0


@leaf
def _number(rules: Code, number: float) -> float:
    return number


@leaf
def _label(rules: Code, number: float) -> float:
    return 1.0 if number >= 0.0 else -1.0


@leaf
def _vector_around(rules: Code, loss: Loss, t: int) -> float:
    """a = scale ((1 - noise) m + noise u), u being drawn already."""
    a, m, scale, noise = loss.a, loss.m, loss.q[SCALE], loss.q[NOISE]
    for i in range(a.size):
        a[i] = scale * ((1.0 - noise) * m[i] + noise * a[i])
    return 0.0


@leaf
def _target_around(rules: Code, loss: Loss, t: int) -> float:
    """a = scale u and b near <m, a>."""
    a, m, scale, noise = loss.a, loss.m, loss.q[SCALE], loss.q[NOISE]
    for i in range(a.size):
        a[i] *= scale
    return _as_target(rules, (1.0 - noise) * dot(m, a) + noise * scale * _between_signs(loss, t))


@leaf
def _linear_coefficients(rules: Code, loss: Loss, out: Floats) -> None:
    """(b, c) = (a, 0)."""
    for i in range(loss.a.size):
        out[i] = loss.a[i]
    out[loss.a.size] = 0.0


@leaf
def _quadratic_coefficients(rules: Code, loss: Loss, out: Floats) -> None:
    """(b, c) = (-lambda a, lambda)."""
    curvature = loss.q[CURVATURE]
    for i in range(loss.a.size):
        out[i] = -curvature * loss.a[i]
    out[loss.a.size] = curvature


@leaf
def _linear(rules: Code, loss: Loss, b: float, x: Floats) -> float:
    return dot(loss.a, x)


@leaf
def _quadratic(rules: Code, loss: Loss, b: float, x: Floats) -> float:
    return 0.5 * loss.q[CURVATURE] * squared_distance(loss.a, x)


@leaf
def _absolute(rules: Code, loss: Loss, b: float, x: Floats) -> float:
    return abs(dot(loss.a, x) - b)


@leaf
def _squared(rules: Code, loss: Loss, b: float, x: Floats) -> float:
    rest = dot(loss.a, x) - b
    return 0.5 * rest * rest


@leaf
def _logistic(rules: Code, loss: Loss, b: float, x: Floats) -> float:
    """ln(1 + e^-margin) = max(0, -margin) + ln(1 + e^-|margin|), which never overflows."""
    margin = b * dot(loss.a, x)
    return max(0.0, -margin) + _ln_one_plus(exp(-abs(margin)))


@leaf
def _ln_one_plus(e: float) -> float:
    """Return ln(1 + e) for 0 <= e <= 1 to all digits: the rounding of 1 + e is divided out."""
    one_plus = 1.0 + e
    return e if one_plus == 1.0 else ln(one_plus) * (e / (one_plus - 1.0))


@leaf
def _hinge(rules: Code, loss: Loss, b: float, x: Floats) -> float:
    return max(0.0, 1.0 - b * dot(loss.a, x))


@leaf
def _along(loss: Loss, factor: float, out: Floats) -> None:
    a = loss.a
    for i in range(a.size):
        out[i] = factor * a[i]


@leaf
def _linear_gradient(rules: Code, loss: Loss, b: float, x: Floats, out: Floats) -> None:
    _along(loss, 1.0, out)


@leaf
def _quadratic_gradient(rules: Code, loss: Loss, b: float, x: Floats, out: Floats) -> None:
    a = loss.a
    curvature = loss.q[CURVATURE]
    for i in range(a.size):
        out[i] = curvature * (x[i] - a[i])


@leaf
def _absolute_gradient(rules: Code, loss: Loss, b: float, x: Floats, out: Floats) -> None:
    """The sign of <a, x> - b times a; 0 at the kink."""
    rest = dot(loss.a, x) - b
    _along(loss, 1.0 if rest > 0.0 else -1.0 if rest < 0.0 else 0.0, out)


@leaf
def _squared_gradient(rules: Code, loss: Loss, b: float, x: Floats, out: Floats) -> None:
    _along(loss, dot(loss.a, x) - b, out)


@leaf
def _logistic_gradient(rules: Code, loss: Loss, b: float, x: Floats, out: Floats) -> None:
    """-b a / (1 + e^margin)."""
    margin = b * dot(loss.a, x)
    e = exp(-abs(margin))
    _along(loss, -b * ((1.0 if margin < 0.0 else e) / (1.0 + e)), out)


@leaf
def _hinge_gradient(rules: Code, loss: Loss, b: float, x: Floats, out: Floats) -> None:
    """-b a below the kink, 0 from there on."""
    _along(loss, -b if b * dot(loss.a, x) < 1.0 else 0.0, out)


@leaf
def _quadratic_both(rules: Code, loss: Loss, b: float, x: Floats, out: Floats) -> float:
    """Both in one pass, in the four sums of ``squared_distance``."""
    v, curvature = loss.a, loss.q[CURVATURE]
    s = t = u = w = 0.0
    whole = v.size - v.size % 4
    for i in range(0, whole, 4):
        d, e, f, g = x[i] - v[i], x[i + 1] - v[i + 1], x[i + 2] - v[i + 2], x[i + 3] - v[i + 3]
        out[i] = curvature * d
        out[i + 1] = curvature * e
        out[i + 2] = curvature * f
        out[i + 3] = curvature * g
        s += d * d
        t += e * e
        u += f * f
        w += g * g
    for i in range(whole, v.size):
        d = x[i] - v[i]
        out[i] = curvature * d
        s += d * d
    return 0.5 * curvature * ((s + t) + (u + w))


# ``value`` (rules, loss, b, x): f_t(x) of the round drawn last, whose target was b. ``gradient``
# (rules, loss, b, x, out): write a (sub)gradient of f_t at x. ``both``: the two in one pass, where
# that is quicker. ``target``: what a number becomes as b. ``around``: finish a round that is drawn
# around a mean. ``coefficients``: write (b, c) of f_t = <b, x> + (c / 2) |x|^2, where it is such.
FAMILIES = Parts(
    "family of losses",
    Part(
        "losses.Linear",
        0,
        value=_linear,
        gradient=_linear_gradient,
        target=_no_target,
        around=_vector_around,
        coefficients=_linear_coefficients,
    ),
    Part(
        "losses.Quadratic",
        1,
        value=_quadratic,
        gradient=_quadratic_gradient,
        both=_quadratic_both,
        target=_no_target,
        around=_vector_around,
        coefficients=_quadratic_coefficients,
    ),
    Part(
        "losses.Absolute",
        2,
        value=_absolute,
        gradient=_absolute_gradient,
        target=_number,
        around=_target_around,
    ),
    Part(
        "losses.Squared",
        3,
        value=_squared,
        gradient=_squared_gradient,
        target=_number,
        around=_target_around,
    ),
    Part(
        "losses.Logistic",
        4,
        value=_logistic,
        gradient=_logistic_gradient,
        target=_label,
        around=_target_around,
    ),
    Part(
        "losses.Hinge",
        5,
        value=_hinge,
        gradient=_hinge_gradient,
        target=_label,
        around=_target_around,
    ),
)
coefficients = switch(FAMILY, FAMILIES.choices("coefficients"))
_AROUND.update(FAMILIES.choices("around"))
value = switch(FAMILY, FAMILIES.choices("value"))
gradient = switch(FAMILY, FAMILIES.choices("gradient"))
_TARGETS.update(FAMILIES.choices("target"))


@leaf
def _one_by_one(rules: Code, loss: Loss, b: float, x: Floats, out: Floats) -> float:
    gradient(rules, loss, b, x, out)
    return value(rules, loss, b, x)


# Return f_t(x) of the round drawn last and write a gradient at x.
both = switch(
    FAMILY,
    {**dict.fromkeys(FAMILIES.choices("value"), _one_by_one), **FAMILIES.choices("both")},
)
