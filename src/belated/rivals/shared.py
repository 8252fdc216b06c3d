"""What several methods share: checks of their numbers, and leaves for steps and plays.

A method that steps once per round begins its own region with the sum of the round's arrivals and
their number (``collect``, ``arrived``, ``emptied``). A method that explores with one radius keeps
it in ``f[BREADTH]``; with a point y in (1 - delta / r) K, the points y + delta u stay in K.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from belated.arrays import Code, Floats
from belated.errors import SpecError
from belated.kernels import exact
from belated.kernels.directions import direction
from belated.kernels.jit import leaf
from belated.kernels.learners.feedback import chart
from belated.kernels.learners.sets import onto, threshold
from belated.kernels.learners.state import State
from belated.kernels.learners.steps import step
from belated.kernels.slots import floats as F
from belated.kernels.slots import ints as N
from belated.rivals.base import Rival, check_set
from belated.spec import number, positive

FORGOTTEN = "any order; a lost answer is forgotten"
"""What most methods that learn from values do with answers out of order, and with lost ones."""
IN_EXPECTATION = "in expectation over the exploration directions"
UNCHECKED = "constants not checked against the paper"


# ---- numbers -----------------------------------------------------------------------------------


def check_numbers(spec: Rival, *names: str, interior: bool = False) -> None:
    """Check the set, the fields that must be positive, the curvature if any, and the facts."""
    check_set(spec.kind, spec.domain, interior=interior)
    for name in names:
        object.__setattr__(spec, name, positive(spec.kind, name, getattr(spec, name)))
    if hasattr(spec, "curvature") and "curvature" not in names:
        object.__setattr__(spec, "curvature", not_negative(spec, "curvature"))
    spec._check_facts()


def not_negative(spec: Rival, name: str) -> float:
    """Return a field as a finite float of at least zero, or say who got what."""
    value = number(spec.kind, name, getattr(spec, name))
    if value < 0.0:
        raise SpecError(f"{spec.kind}: {name} must not be negative, got {value!r}")
    return value


def check_curvature(spec: Rival) -> None:
    """Refuse a curvature that contradicts the bound on the gradients: lambda D <= 2 G."""
    curvature, lipschitz = cast(Any, spec).curvature, cast(Any, spec).lipschitz
    if curvature * spec.domain.diameter > 2.0 * lipschitz * F.SLACK:
        raise SpecError(
            f"{spec.kind}: inputs contradict: a loss with this curvature has gradients larger than "
            f"lipschitz somewhere in the set, as curvature * diameter = {curvature!r} * "
            f"{spec.domain.diameter!r} exceeds 2 * lipschitz = {2.0 * lipschitz!r}; lower "
            "curvature or raise lipschitz"
        )


def radii(spec: Rival) -> tuple[float, float]:
    """Return r and R of a set that has an interior."""
    inner, outer = spec.domain.inner_radius, spec.domain.outer_radius
    assert inner and outer  # checked at construction
    return inner, outer


def log(x: float) -> float:
    """Return ln x with the same bits on every machine, which ``math.log`` does not promise."""
    return float(_source(exact.ln_scaled)(x, 0))


def cube_root(x: float) -> float:
    """Return the cube root of x >= 0 with the same bits on every machine."""
    return float(_source(exact.cube_root)(x)) if x > 0.0 else 0.0


def _source(function: Any) -> Any:
    """Return the Python source of a leaf, which has no entry of its own when compiled."""
    return getattr(function, "py_func", function)


# ---- steps -------------------------------------------------------------------------------------


@leaf
def descend(code: Code, s: State, cost: Floats, eta: float) -> None:
    """x = Pi(x - eta c)."""
    step(code, s, cost, eta)
    s.f[F.ETA] = eta


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
    a, b = threshold(code, s.f[F.SIZE], z)
    for i in range(z.size):
        z[i] = shrink * onto(code, s.f[F.SIZE], a, b, z[i])


# ---- sums per round ----------------------------------------------------------------------------


def no_arrivals(dim: int, *more: float) -> Floats:
    """Return an own region that begins with an empty sum and goes on with ``more``."""
    return np.concatenate([np.zeros(dim + 1), more])


@leaf
def collect(s: State, cost: Floats) -> None:
    """Add a cost to the sum of this round's arrivals."""
    k = s.z.size
    for i in range(k):
        s.own[i] += cost[i]
    s.own[k] += 1.0


@leaf
def collect_gradient(code: Code, s: State, entry: int, ticket: int, cost: Floats) -> None:
    """Collect a gradient; the ``learn`` of methods that step once per round."""
    collect(s, cost)


@leaf
def arrived(s: State) -> bool:
    """Tell whether something was collected."""
    return bool(s.own[s.z.size] > 0.0)


@leaf
def emptied(s: State) -> None:
    """Begin a new sum."""
    for i in range(s.z.size + 1):
        s.own[i] = 0.0


@leaf
def answers_used(s: State) -> int:
    """Return how many answers came; a lost value is none."""
    return int(s.n[N.ARRIVED] - s.n[N.CANCELLED] - s.n[N.SKIPPED])


# ---- exploration -------------------------------------------------------------------------------


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


@leaf
def play_shrunk(code: Code, s: State, ticket: int, delta: float, x: Floats) -> None:
    """Play (1 - delta / r) y + delta u."""
    direction(s, ticket)
    shrink = 1.0 - delta / s.f[F.INNER]
    for i in range(s.z.size):
        x[i] = chart(code, s, i, shrink * s.z[i] + delta * s.work[i])


@leaf
def play_around(code: Code, s: State, entry: int, ticket: int, x: Floats) -> None:
    """Play y + delta u."""
    direction(s, ticket)
    delta = s.f[F.BREADTH]
    for i in range(s.z.size):
        x[i] = chart(code, s, i, s.z[i] + delta * s.work[i])


@leaf
def play_pair(code: Code, s: State, entry: int, ticket: int, x: Floats) -> None:
    """Play the two points y + delta u and y - delta u."""
    direction(s, ticket)
    k = s.z.size
    delta = s.f[F.BREADTH]
    for i in range(k):
        x[i] = chart(code, s, i, s.z[i] + delta * s.work[i])
        x[k + i] = chart(code, s, i, s.z[i] - delta * s.work[i])
