"""Plays out of points, and costs out of answers: the arithmetic of the reductions."""

from __future__ import annotations

from belated.arrays import Code, Floats
from belated.kernels.choices import switch
from belated.kernels.directions import direction
from belated.kernels.jit import leaf
from belated.kernels.learners.radii import radius
from belated.kernels.learners.state import State
from belated.kernels.slots import code as C
from belated.kernels.slots import floats as F
from belated.kernels.slots import ints as N
from belated.kernels.slots import kinds as K


@leaf
def _plain(code: Code, s: State, i: int, y: float) -> float:
    return y


@leaf
def _shifted(code: Code, s: State, i: int, y: float) -> float:
    return s.chart[i] + y


@leaf
def _scaled(code: Code, s: State, i: int, y: float) -> float:
    k = s.z.size
    x = s.chart[i] + s.chart[k + i] * y
    return min(s.chart[3 * k + i], max(s.chart[2 * k + i], x))  # rounding must not leave the box


# Coordinate i in the user's terms: x = shift + scale * y, clipped to [low, high].
chart = switch(C.CHART, {K.PLAIN: _plain, K.SHIFTED: _shifted, K.SCALED: _scaled})


@leaf
def _play_point(code: Code, s: State, ticket: int, x: Floats) -> None:
    z = s.z
    for i in range(z.size):
        x[i] = chart(code, s, i, z[i])


@leaf
def _play_moved(code: Code, s: State, ticket: int, x: Floats) -> None:
    """(1 - delta / r) z + delta u, and with two points also (1 - delta / r) z - delta u."""
    z = s.z
    u = s.work
    direction(s, ticket)
    delta = radius(code, s, ticket + 1)
    shrink = 1.0 - delta / s.f[F.INNER]
    for i in range(z.size):
        x[i] = chart(code, s, i, shrink * z[i] + delta * u[i])
        if code[C.REDUCTION] == K.TWO_POINT:
            x[z.size + i] = chart(code, s, i, shrink * z[i] - delta * u[i])


# Write the play of a ticket to x.
play = switch(
    C.REDUCTION,
    {K.FIRST_ORDER: _play_point, K.ONE_POINT: _play_moved, K.TWO_POINT: _play_moved},
)


@leaf
def write_gradient(code: Code, s: State, answer: Floats) -> None:
    """The gradient itself; it is copied only where the chart scales it."""
    if code[C.CHART] == K.SCALED:
        for i in range(s.z.size):
            s.work[i] = s.chart[s.z.size + i] * answer[i]


@leaf
def _from_gradient(code: Code, s: State, entry: int, ticket: int, answer: Floats) -> None:
    write_gradient(code, s, answer)


@leaf
def _from_value(code: Code, s: State, entry: int, ticket: int, answer: Floats) -> None:
    """(k / delta_s) (value - baseline) u_s."""
    baseline = s.kept[entry * s.n[N.KEEP]] if code[C.BASELINE] else 0.0
    _along_direction(code, s, ticket, answer[0] - baseline)


@leaf
def _from_pair(code: Code, s: State, entry: int, ticket: int, answer: Floats) -> None:
    """(k / (2 delta_s)) (first - second) u_s."""
    _along_direction(code, s, ticket, 0.5 * (answer[0] - answer[1]))


@leaf
def _along_direction(code: Code, s: State, ticket: int, value: float) -> None:
    """(k / delta_s) value u_s, with smoothing and direction of the ticket's own round."""
    direction(s, ticket)
    factor = s.work.size / radius(code, s, ticket + 1) * value
    for i in range(s.work.size):
        s.work[i] *= factor


# Write the cost vector of an answer, in the chart, to the scratch vector, unless it is the answer.
write_cost = switch(
    C.REDUCTION,
    {K.FIRST_ORDER: _from_gradient, K.ONE_POINT: _from_value, K.TWO_POINT: _from_pair},
)


@leaf
def answer_size(code: Code, s: State) -> int:
    """Return how many numbers an answer has."""
    if code[C.REDUCTION] == K.FIRST_ORDER:
        return s.z.size
    if code[C.REDUCTION] == K.ONE_POINT:
        return 1
    if code[C.REDUCTION] == K.TWO_POINT:
        return 2
    more = code[C.REDUCTION] == K.MANY_POINTS or code[C.REDUCTION] == K.COEFFICIENTS
    return s.z.size + 1 if more else -1  # no answer has this size


@leaf
def is_cost(code: Code) -> bool:
    """Tell whether an answer is its own cost vector."""
    return code[C.REDUCTION] == K.FIRST_ORDER and code[C.CHART] != K.SCALED


@leaf
def _large_gradient(code: Code, s: State, ticket: int, answer: Floats, norm: float) -> bool:
    return 0.0 < s.f[F.LIPSCHITZ] * F.SLACK < norm


@leaf
def _large_value(code: Code, s: State, ticket: int, answer: Floats, norm: float) -> bool:
    return abs(answer[0]) > s.f[F.MAGNITUDE] * F.SLACK


@leaf
def _large_difference(code: Code, s: State, ticket: int, answer: Floats, norm: float) -> bool:
    """|v1 - v2| > 2 G delta, with room for the rounding of the two values."""
    allowed = 2.0 * s.f[F.LIPSCHITZ] * radius(code, s, ticket + 1) * F.SLACK
    rounding = (F.SLACK - 1.0) * (abs(answer[0]) + abs(answer[1]))
    return s.f[F.LIPSCHITZ] > 0.0 and abs(answer[0] - answer[1]) > allowed + rounding


# Whether an answer is larger than was assumed.
is_excessive = switch(
    C.REDUCTION,
    {K.FIRST_ORDER: _large_gradient, K.ONE_POINT: _large_value, K.TWO_POINT: _large_difference},
)
