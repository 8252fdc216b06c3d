"""What several methods share: numbers of a spec, and leaves for steps and for sums per round.

A method that steps once per round begins its own region with the sum of the round's arrivals and
their number (``collect``, ``arrived``, ``emptied``).
"""

from __future__ import annotations

import math
from typing import Any, Literal, cast

import numpy as np

from belated import rates
from belated.arrays import Code, Floats
from belated.domains import Simplex
from belated.errors import SpecError
from belated.kernels import exact
from belated.kernels.jit import leaf, source_of
from belated.kernels.learners.methods import give_up
from belated.kernels.learners.sets import norm_of, onto, threshold
from belated.kernels.learners.state import State
from belated.kernels.learners.steps import step
from belated.kernels.learners.uses import of_set, of_step
from belated.kernels.slots import code as C
from belated.kernels.slots import floats as F
from belated.kernels.slots import kinds as K
from belated.kernels.tickets import tail
from belated.rivals.base import Rival

Mirror = Literal["euclidean", "entropy"]

# ---- numbers -----------------------------------------------------------------------------------


def check_curvature(spec: Rival) -> None:
    """Refuse a curvature that contradicts the bound on the gradients: lambda D <= 2 G."""
    curvature, lipschitz = cast(Any, spec).curvature, cast(Any, spec).lipschitz
    rates.check_curvature(spec.kind, curvature, spec.domain.diameter, lipschitz)


def check_mirror(spec: Rival, mirror: Mirror) -> None:
    """Refuse an unknown mirror, and the entropy on what is not a simplex."""
    spec._check_choice("mirror", "euclidean", "entropy")
    if mirror == "entropy" and not isinstance(spec.domain, Simplex):
        raise SpecError(
            f"{spec.kind}: the entropy mirror works on a Simplex, got a {spec.domain.kind}; "
            "use mirror='euclidean' there"
        )


def step_of(mirror: Mirror) -> int:
    """Return the code of the step that goes with a mirror."""
    return K.ENTROPY if mirror == "entropy" else K.OMD


def log(x: float) -> float:
    """Return ln x with the same bits on every machine, which ``math.log`` does not promise."""
    return float(source_of(exact.ln_scaled)(x, 0))


def cube_root(x: float) -> float:
    """Return the cube root of x >= 0 with the same bits on every machine."""
    return float(source_of(exact.cube_root)(x)) if x > 0.0 else 0.0


# ---- steps -------------------------------------------------------------------------------------


@leaf
def descend(code: Code, s: State, cost: Floats, eta: float) -> None:
    """x = Pi(x - eta c)."""
    step(of_step(code), s, cost, eta, norm_of(cost))
    s.f[F.ETA] = eta


@leaf
def into_set(code: Code, s: State, v: Floats) -> None:
    """Put Pi(v) in the place of v."""
    a, b = threshold(of_set(code), s.f[F.SIZE], v)
    for i in range(v.size):
        v[i] = onto(of_set(code), s.f[F.SIZE], a, b, v[i])


@leaf
def curved(s: State, n: int, otherwise: float) -> float:
    """Return the step 1 / (lambda n), or without curvature another one."""
    return 1.0 / (s.f[F.CURVATURE] * n) if s.f[F.CURVATURE] > 0.0 else otherwise


@leaf
def start(code: Code, s: State) -> float:
    """Return the coordinates of the first point, which are all alike in the chart.

    Rivals run on built-in sets, whose charts begin at the centre, but for the simplex.
    """
    return 1.0 / s.z.size if code[C.DOMAIN] == K.SIMPLEX else 0.0


@leaf
def restart(code: Code, s: State) -> None:
    """Go back to the first point, and give up on all open tickets."""
    for i in range(s.z.size):
        s.z[i] = start(code, s)
    for entry in range(tail(s)):
        if s.table[2 * entry + 1] >= 0:
            give_up(code, s, entry)


# ---- sums --------------------------------------------------------------------------------------


@leaf
def add(code: Code, s: State, entry: int, ticket: int, answer: Floats) -> None:
    """Add an answer to the own region."""
    for i in range(s.own.size):
        s.own[i] += answer[i]


def no_arrivals(dim: int, *more: float) -> Floats:
    """Return an own region that begins with an empty sum and goes on with ``more``."""
    return np.concatenate([np.zeros(dim + 1), more])


def is_doubled(guess: float) -> bool:
    """Tell whether a guess is what doubling 1 again and again gives."""
    return 1.0 <= guess <= 2.0**200 and math.frexp(guess)[0] == 0.5


def is_count(number: float, most: int) -> bool:
    """Tell whether a number is 0, 1, .. or ``most``, however many that are.

    >>> is_count(3.0, 1 << 60), is_count(2.5, 1 << 60), is_count(float("nan"), 9)
    (True, False, False)
    """
    return 0.0 <= number <= most and number == math.floor(number)


@leaf
def collect(s: State, cost: Floats) -> None:
    """Add a cost to the sum of this round's arrivals."""
    k = s.z.size
    for i in range(k):
        s.own[i] += cost[i]
    s.own[k] += 1.0


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
def step_with_arrivals(code: Code, s: State, eta: float) -> None:
    """x_{t+1} = Pi(x_t - eta sum of the arrivals), and x_t if there are none."""
    if arrived(s):
        descend(code, s, s.own[: s.z.size], eta)
        emptied(s)
