"""Projections. Each is a pair of numbers found from the whole vector, then a map per coordinate.

==========  ==================================  ============================================
set         the numbers (a, b)                  the map
==========  ==================================  ============================================
ball        min(1, radius / |b v|), b           a (b v_i)
box         unused                              v_i clipped to [-1, 1]
simplex     max v_i, tau: sum max(...) = 1      max(floor, (v_i - a) - tau)
L1 ball     max |v_i|, tau: sum ... = radius    sign(v_i) max(0, (|v_i| - a) - tau)
==========  ==================================  ============================================

Levels are counted from the largest entry, so that a huge step loses no digits: what stays in the
set is within 1 (or the radius) of it. For the ball, b is 1 unless squares overflow.
"""

from __future__ import annotations

import math

from belated.arrays import Code, Floats
from belated.kernels.choices import switch
from belated.kernels.fours import (
    Four,
    above,
    all_of,
    first_of,
    floats,
    four,
    least,
    most,
)
from belated.kernels.jit import leaf
from belated.kernels.parts import Part, Parts
from belated.kernels.slots import code as C
from belated.kernels.slots import kinds as K


@leaf
def sum_of_squares(v: Floats) -> float:
    """Return |v|^2, in four interleaved sums: a fixed order that still keeps the processor busy."""
    return dot(v, v)


@leaf
def dot(v: Floats, w: Floats) -> float:
    """Return <v, w>, in four interleaved sums."""
    total = all_of(0.0)
    whole = v.size - v.size % 4
    for i in range(0, whole, 4):
        total = total + four(v, i) * four(w, i)
    a, b, c, d = floats(total)
    for i in range(whole, v.size):
        a += v[i] * w[i]
    return (a + b) + (c + d)


# Sums of squares outside of this range have overflowed, or may have lost digits to underflow.
_LEAST, MOST = 1e-290, 1e300
# Powers of two: they bring what is outside into the range, and round nothing.
_DOWN, _UP = 2.0**-600, 2.0**600


@leaf
def norm_of(v: Floats) -> float:
    """Return |v|, also where its square is no number."""
    squares = sum_of_squares(v)
    if _LEAST <= squares <= MOST:
        return math.sqrt(squares)
    return _norm_scaled(v, _DOWN) / _DOWN if squares > MOST else _norm_scaled(v, _UP) / _UP


@leaf
def _norm_scaled(v: Floats, scale: float) -> float:
    """Return |scale v|; NaN stays NaN."""
    squares = 0.0
    for i in range(v.size):
        squares += (scale * v[i]) * (scale * v[i])
    return math.sqrt(squares)


@leaf
def squared_distance(v: Floats, w: Floats) -> float:
    """Return |v - w|^2, in four interleaved sums."""
    total = all_of(0.0)
    whole = v.size - v.size % 4
    for i in range(0, whole, 4):
        apart = four(v, i) - four(w, i)
        total = total + apart * apart
    a, b, c, d = floats(total)
    for i in range(whole, v.size):
        a += (v[i] - w[i]) * (v[i] - w[i])
    return (a + b) + (c + d)


@leaf
def _water_level(v: Floats, absolute: bool, top: float, floor: float, mass: float) -> float:
    """Return tau with sum_i max(0, w_i - tau) = mass, w_i = v_i (or |v_i|) - top - floor.

    Michelot's method: average over the coordinates still above the level until none drops out. The
    level only rises, so it ends after at most dim passes, usually a few; no sorting, no memory.
    """
    level = -math.inf
    count = v.size + 1
    while True:
        total = 0.0
        higher = 0
        for i in range(v.size):
            w = (abs(v[i]) if absolute else v[i]) - top - floor
            if w > level:
                total += w
                higher += 1
        if higher >= count or higher == 0:
            return level
        count = higher
        level = max((total - mass) / higher, -floor - mass)  # a sum may overflow, not the level


@leaf
def _ball_scale(code: Code, size: float, v: Floats) -> tuple[float, float]:
    squares = sum_of_squares(v)
    scale = 1.0 if squares <= MOST else _DOWN
    norm = math.sqrt(squares) if squares <= MOST else _norm_scaled(v, _DOWN)
    return size / norm if norm > scale * size else 1.0, scale


@leaf
def _box_nothing(code: Code, size: float, v: Floats) -> tuple[float, float]:
    return 0.0, 0.0


@leaf
def _simplex_level(code: Code, size: float, v: Floats) -> tuple[float, float]:
    top = v[0]
    for i in range(v.size):
        top = max(top, v[i])
    return top, _water_level(v, False, top, size, 1.0 - v.size * size)


@leaf
def _l1_level(code: Code, size: float, v: Floats) -> tuple[float, float]:
    total = 0.0
    top = 0.0
    for i in range(v.size):
        total += abs(v[i])
        top = max(top, abs(v[i]))
    if total <= size:
        return 0.0, 0.0
    return top, _water_level(v, True, top, 0.0, size)


@leaf
def _onto_ball(code: Code, size: float, a: Four, b: Four, value: Four) -> Four:
    return a * (b * value)


@leaf
def _onto_box(code: Code, size: float, a: Four, b: Four, value: Four) -> Four:
    return least(1.0, most(-1.0, value))


@leaf
def _onto_simplex(code: Code, size: float, a: Four, b: Four, value: Four) -> Four:
    return most(size, (value - a) - b)


@leaf
def _onto_l1(code: Code, size: float, a: Four, b: Four, value: Four) -> Four:
    height = most(0.0, (abs(value) - a) - b)
    return above(value, 0.0, height, -height)


@leaf
def _all_stay(code: Code, inside: Four, count: int) -> Four:
    return inside


@leaf
def _first_stay(code: Code, inside: Four, count: int) -> Four:
    return first_of(inside, count)


@leaf
def _ball_corner(code: Code, size: float, g: Floats, v: Floats) -> None:
    norm = norm_of(g)
    for i in range(g.size):
        v[i] = -size * (g[i] / norm) if norm > 0.0 else 0.0


@leaf
def _box_corner(code: Code, size: float, g: Floats, v: Floats) -> None:
    for i in range(g.size):
        v[i] = -1.0 if g[i] > 0.0 else 1.0


@leaf
def _simplex_corner(code: Code, size: float, g: Floats, v: Floats) -> None:
    best = 0
    for i in range(g.size):
        best = i if g[i] < g[best] else best
        v[i] = size
    v[best] = 1.0 - (g.size - 1) * size


@leaf
def _l1_corner(code: Code, size: float, g: Floats, v: Floats) -> None:
    largest = 0
    for i in range(g.size):
        largest = i if abs(g[i]) > abs(g[largest]) else largest
        v[i] = 0.0
    v[largest] = -size if g[largest] > 0.0 else size


# --- Whether points, one per row, are in the set but for rounding: plain NumPy, for snapshots -----


def _in_ball(points: Floats, size: float, slack: float) -> bool:
    return bool(((points * points).sum(axis=-1) <= (size * (1.0 + slack)) ** 2).all())


def _in_box(points: Floats, size: float, slack: float) -> bool:
    return bool((abs(points) <= 1.0 + slack).all())


def _in_simplex(points: Floats, size: float, slack: float) -> bool:
    is_whole = (abs(points.sum(axis=-1) - 1.0) <= slack).all()
    return bool(is_whole and (points >= size - slack).all())


def _in_l1(points: Floats, size: float, slack: float) -> bool:
    return bool((abs(points).sum(axis=-1) <= size * (1.0 + slack)).all())


# ``threshold``: the numbers that the map per coordinate needs; ``onto``: that map, of one or of
# four; ``padded``: put +0 back into what pads the last four, where the map changes it;
# ``corner``: put the point of the set with the least <g, v> into v; ``holds``: see above.
SETS = Parts(
    "set",
    Part(
        "Ball",
        0,
        threshold=_ball_scale,
        onto=_onto_ball,
        padded=_all_stay,
        corner=_ball_corner,
        holds=_in_ball,
    ),
    Part(
        "Box",
        K.BOX,
        threshold=_box_nothing,
        onto=_onto_box,
        padded=_all_stay,
        corner=_box_corner,
        holds=_in_box,
    ),
    Part(
        "Simplex",
        K.SIMPLEX,
        threshold=_simplex_level,
        onto=_onto_simplex,
        padded=_first_stay,
        corner=_simplex_corner,
        holds=_in_simplex,
    ),
    Part(
        "L1Ball",
        3,
        threshold=_l1_level,
        onto=_onto_l1,
        padded=_first_stay,
        corner=_l1_corner,
        holds=_in_l1,
    ),
    Part("ConvexSet", K.USER_SET),  # a Python function projects
)
threshold = switch(C.DOMAIN, SETS.choices("threshold"))
onto = switch(C.DOMAIN, SETS.choices("onto"))
padded = switch(C.DOMAIN, SETS.choices("padded"))
corner = switch(C.DOMAIN, SETS.choices("corner"))
