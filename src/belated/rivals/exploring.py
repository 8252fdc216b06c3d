"""What methods share that learn from values around a point y: plays, estimates, steps.

A method that explores with one radius delta keeps it in ``f[BREADTH]``. With y in (1 - delta / r) K
the points y + delta u stay in K.
"""

from __future__ import annotations

from belated.arrays import Code, Floats
from belated.domains import Simplex
from belated.errors import SpecError
from belated.kernels.directions import direction
from belated.kernels.jit import leaf
from belated.kernels.learners.feedback import chart
from belated.kernels.learners.methods import method
from belated.kernels.learners.state import State
from belated.kernels.learners.uses import of_chart
from belated.kernels.slots import floats as F
from belated.kernels.slots import ints as N
from belated.rivals.base import UNCHECKED, Rival
from belated.rivals.shared import curved, into_set

IN_EXPECTATION = f"in expectation over the exploration directions; {UNCHECKED}"
"""What to know about a bound."""


class Exploring(Rival):
    """A rival that explores a set with interior."""

    order = "any order; a lost answer is forgotten"

    def __post_init__(self) -> None:
        """Check the fields, and that there is something to explore."""
        if isinstance(self.domain, Simplex):
            raise SpecError(
                f"{self.kind}: Simplex has no interior to explore; play on a Box of dim - 1 "
                "coordinates"
            )
        super().__post_init__()

    @property
    def _inner(self) -> float:
        """r."""
        assert self.domain.inner_radius  # checked at construction
        return self.domain.inner_radius


# ---- plays -------------------------------------------------------------------------------------


@leaf
def play_shrunk(code: Code, s: State, ticket: int, delta: float, x: Floats) -> None:
    """Play (1 - delta / r) y + delta u."""
    direction(s, ticket)
    shrink = 1.0 - delta / s.f[F.INNER]
    for i in range(s.z.size):
        x[i] = chart(of_chart(code), s, i, shrink * s.z[i] + delta * s.work[i])


@leaf
def play_around(code: Code, s: State, entry: int, ticket: int, x: Floats) -> None:
    """Play y + delta u."""
    direction(s, ticket)
    delta = s.f[F.BREADTH]
    for i in range(s.z.size):
        x[i] = chart(of_chart(code), s, i, s.z[i] + delta * s.work[i])


@leaf
def play_pair(code: Code, s: State, entry: int, ticket: int, x: Floats) -> None:
    """Play the two points y + delta u and y - delta u."""
    direction(s, ticket)
    k = s.z.size
    delta = s.f[F.BREADTH]
    for i in range(k):
        x[i] = chart(of_chart(code), s, i, s.z[i] + delta * s.work[i])
        x[k + i] = chart(of_chart(code), s, i, s.z[i] - delta * s.work[i])


# ---- estimates ---------------------------------------------------------------------------------


@leaf
def answers_used(s: State) -> int:
    """Return how many answers came; a lost value is none."""
    return int(s.n[N.ARRIVED] - s.n[N.CANCELLED] - s.n[N.SKIPPED])


@leaf
def estimate(s: State, ticket: int, value: float, delta: float) -> None:
    """Write (k / delta) value u to the scratch vector, u being the direction of the ticket."""
    direction(s, ticket)
    factor = s.work.size / delta * value
    for i in range(s.work.size):
        s.work[i] *= factor


@leaf
def estimate_from_pair(s: State, ticket: int, values: Floats) -> None:
    """Write (k / (2 delta)) (f(y + delta u) - f(y - delta u)) u to the scratch vector."""
    estimate(s, ticket, 0.5 * (values[0] - values[1]), s.f[F.BREADTH])


# ---- answers larger than assumed ---------------------------------------------------------------


@leaf
def differs(s: State, first: float, second: float, apart: float) -> bool:
    """|f(x) - f(x')| > G |x - x'|, with room for the rounding of the two values."""
    allowed = s.f[F.LIPSCHITZ] * apart * F.SLACK
    return abs(first - second) > allowed + (F.SLACK - 1.0) * (abs(first) + abs(second))


@leaf
def steep_pair(code: Code, s: State, values: Floats, norm: float) -> bool:
    """Tell whether two values are too far apart; the ``exceeds`` of methods that ask for two."""
    return differs(s, values[0], values[1], 2.0 * s.f[F.BREADTH])


# ---- steps -------------------------------------------------------------------------------------


@leaf
def descend_inside(code: Code, s: State, cost: Floats, eta: float) -> None:
    """y = Pi(y - eta c), onto the set shrunk for exploration."""
    for i in range(s.z.size):
        s.z[i] -= eta * cost[i]
    settle_inside(code, s)
    s.f[F.ETA] = eta


@leaf
def settle_inside(code: Code, s: State) -> None:
    """Replace v by its projection on q K, which is q Pi(v / q), with q = 1 - delta / r."""
    z = s.z
    shrink = 1.0 - s.f[F.BREADTH] / s.f[F.INNER]
    if shrink <= 0.0:
        for i in range(z.size):
            z[i] = 0.0
        return
    for i in range(z.size):
        z[i] /= shrink
    into_set(code, s, z)
    for i in range(z.size):
        z[i] *= shrink


@leaf
def _step_with_pair(code: Code, s: State, entry: int, ticket: int, values: Floats) -> None:
    """Step with 1 / (lambda n) for the n-th pair, or without curvature with the fixed step."""
    estimate_from_pair(s, ticket, values)
    descend_inside(code, s, s.work, curved(s, answers_used(s), s.f[F.GAIN]))


FROM_PAIRS = method("descent from pairs", play=play_pair, exceeds=steep_pair, learn=_step_with_pair)
"""One step per pair of values, as it arrives."""
