"""From specs to what the kernels run: a tuple of codes, and the two arrays of a fresh learner."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from belated import rates, smoothing
from belated.domains import Ball, Box, ConvexSet, Domain, L1Ball, Simplex
from belated.errors import SpecError
from belated.kernels import layout as at
from belated.learners import OMD, PFTRL, Base, UserBase
from belated.reductions import (
    FirstOrder,
    FullInformation,
    OnePoint,
    Reduction,
    Skip,
    TwoPoint,
    domain_of,
    rate_of,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FEWEST = 64
"""Smallest table of tickets."""


@dataclass(frozen=True)
class Program:
    """A composition ready to run.

    ``code`` selects the kernels; ``shape`` is that of a play, ``answer`` that of an answer. A
    user's base is a private copy of the one in the spec, already started.
    """

    spec: Reduction | Skip
    code: tuple[int, ...]
    dim: int
    shape: tuple[int, ...]
    answer: tuple[int, ...]
    base: Base | UserBase
    first: Floats
    numbers: dict[int, float]
    chart: Floats
    steps: Floats
    horizon: int

    @property
    def is_outside(self) -> bool:
        """Whether a user's Python object takes part in every step."""
        return self.code[at.BASE] == at.OUTSIDE or self.code[at.DOMAIN] == at.USER_SET

    @property
    def wants_function(self) -> bool:
        """Whether an answer is a function that gives the gradient."""
        return isinstance(_inner(self.spec), FullInformation)

    def fresh(self, seed: int, strict: bool) -> tuple[Floats, Ints]:
        """Return the arrays of a learner that has seen nothing."""
        k = self.dim
        blank = np.zeros(3 * at.padded(k) - k)
        f = np.concatenate([np.zeros(at.F_HEADER), self.first, blank, self.chart, self.steps])
        f = aligned(f)
        for slot, value in self.numbers.items():
            f[slot] = value
        n = np.zeros(at.N_HEADER, dtype=np.int64)
        n[at.DIM] = k
        n[at.SEED_LOW], n[at.SEED_HIGH] = seed & 0xFFFFFFFF, seed >> 32
        n[at.STRICT] = strict
        n[at.HORIZON] = self.horizon
        n[at.STEPS] = self.steps.size
        n[at.RATES_AT] = f.size - self.steps.size
        n[at.MEANS_AT] = f.size
        return resized(self.code, f, n, FEWEST)


def aligned(values: Floats) -> Floats:
    """Return a copy that starts on a cache line: vectors across lines cost up to a tenth."""
    room = np.zeros(values.size + 8)
    start = (-room.ctypes.data % 64) // 8
    copy = room[start : start + values.size]
    copy[:] = values
    return copy


def capacity_of(n: Ints) -> int:
    """Return how many tickets the table has room for."""
    return (n.size - at.N_HEADER) // 2


def entries_of(n: Ints) -> Ints:
    """Return a view of the table of tickets: one row (id, seen) per entry in use."""
    tail = int(n[at.ROUNDS] + n[at.OFFSET])
    return n[at.N_HEADER : at.N_HEADER + 2 * tail].reshape(-1, 2)


def resized(code: tuple[int, ...], f: Floats, n: Ints, capacity: int) -> tuple[Floats, Ints]:
    """Return the arrays with room for ``capacity`` tickets; entries in use are kept."""
    tail = len(entries_of(n))
    grown = np.zeros(at.N_HEADER + 2 * capacity, dtype=np.int64)
    used = at.N_HEADER + 2 * tail
    grown[:used] = n[:used]
    if not code[at.BASELINE]:
        return f, grown
    means = int(n[at.MEANS_AT])
    wide = np.zeros(means + capacity)
    wide[: means + tail] = f[: means + tail]
    return aligned(wide), grown


def compile_spec(spec: Reduction | Skip) -> Program:
    """Turn a spec into a program; user objects in it are copied, so learners do not share them."""
    if not isinstance(spec, Reduction | Skip):
        raise SpecError(
            "Learner: needs FirstOrder, FullInformation, OnePoint, TwoPoint or Skip, got "
            f"{getattr(spec, 'kind', spec)!r}"
        )
    reduction = _inner(spec)
    base = reduction.base if isinstance(reduction.base, Base) else copy.deepcopy(reduction.base)
    first = _first_point(reduction, base)
    dim = first.size
    domain, chart, chart_numbers = _place(reduction, base)
    rate, rate_numbers, steps = _pace(reduction, base, dim)
    schedule, breadth, horizon = _explore(reduction, dim)
    numbers = {**_bounds(reduction, base, dim), **rate_numbers, at.BREADTH: breadth}
    code = (
        _REDUCTIONS[type(reduction)],
        _base_code(base),
        domain,
        chart,
        rate,
        schedule,
        int(isinstance(reduction, OnePoint) and reduction.baseline == "mean"),
        int(isinstance(spec, Skip)),
    )
    two = isinstance(reduction, TwoPoint)
    return Program(
        spec=spec,
        code=code,
        dim=dim,
        shape=(2, dim) if two else (dim,),
        answer=(2,) if two else (1,) if isinstance(reduction, OnePoint) else (dim,),
        base=base,
        first=_into_chart(first, chart, chart_numbers),
        numbers=numbers,
        chart=chart_numbers,
        steps=steps,
        horizon=horizon,
    )


_REDUCTIONS: dict[type[Reduction], int] = {
    FirstOrder: at.FIRST_ORDER,
    FullInformation: at.FIRST_ORDER,
    OnePoint: at.ONE_POINT,
    TwoPoint: at.TWO_POINT,
}
_DOMAINS: dict[type[Domain], int] = {
    Ball: at.BALL,
    Box: at.BOX,
    Simplex: at.SIMPLEX,
    L1Ball: at.L1,
    ConvexSet: at.USER_SET,
}


def _inner(spec: Reduction | Skip) -> Reduction:
    return spec.learner if isinstance(spec, Skip) else spec


def _base_code(base: Base | UserBase) -> int:
    if isinstance(base, PFTRL):
        return at.PFTRL
    if isinstance(base, OMD):
        return at.ENTROPY if base.mirror == "entropy" else at.OMD
    return at.OUTSIDE


def _first_point(reduction: Reduction, base: Base | UserBase) -> Floats:
    """Return where the learner starts, in x: the centre of the set, or what a user's base says."""
    if isinstance(base, Base):
        return np.array(base.domain.center, dtype=np.float64)
    return checked_point(base.start(), None, f"{reduction.kind}: base.start()")


def checked_point(given: Any, dim: int | None, who: str) -> Floats:
    """Return what user code gave as a finite float64 vector of its own, or say what is wrong."""
    try:
        point = np.array(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise SpecError(f"{who} must return a vector of numbers, got {given!r}") from error
    if point.ndim != 1 or point.size == 0 or (dim is not None and point.size != dim):
        expected = "a vector" if dim is None else f"a vector of {dim} numbers"
        raise SpecError(f"{who} must return {expected}, got shape {point.shape}")
    if not np.isfinite(point).all():
        raise SpecError(f"{who} must return finite numbers, got {point}")
    return point


def _place(reduction: Reduction, base: Base | UserBase) -> tuple[int, int, Floats]:
    """Return the codes of the set and of its chart, and the chart's numbers."""
    domain = domain_of(base)
    if domain is None or (not isinstance(base, Base) and not isinstance(reduction, _EXPLORING)):
        return at.BALL, at.PLAIN, np.zeros(0)  # the set is unused: points go out as they come in
    code = _DOMAINS[type(domain)]
    if isinstance(domain, Box):
        low, high = domain.bounds
        return code, at.SCALED, np.concatenate([domain.center, domain.half_widths, low, high])
    if isinstance(domain, Ball | ConvexSet) and any(domain.center):
        return code, at.SHIFTED, np.array(domain.center)
    return code, at.PLAIN, np.zeros(0)


_EXPLORING = (OnePoint, TwoPoint)


def _into_chart(x: Floats, chart: int, numbers: Floats) -> Floats:
    """Return a starting point in the chart."""
    k = x.size
    if chart == at.PLAIN:
        return x
    y = x - numbers[:k]
    return y / numbers[k : 2 * k] if chart == at.SCALED else y


def _bounds(reduction: Reduction, base: Base | UserBase, dim: int) -> dict[int, float]:
    """Return the numbers that describe the set and the assumptions."""
    domain, rate = domain_of(base), rate_of(base)
    magnitude = reduction.magnitude if isinstance(reduction, OnePoint) else 0.0
    lipschitz = (rate.lipschitz or 0.0) if rate is not None else 0.0
    return {
        at.SIZE: _size(domain),
        at.INNER: (domain.inner_radius or 0.0) if domain is not None else 0.0,
        at.DIAMETER: _diameter(base),
        at.WIDTH: _width(base),
        at.LIPSCHITZ: lipschitz,
        at.MAGNITUDE: magnitude,
        at.NOISE: dim * magnitude / lipschitz if lipschitz else 0.0,
    }


def _size(domain: Domain | None) -> float:
    if isinstance(domain, Ball | L1Ball):
        return domain.radius
    return domain.floor if isinstance(domain, Simplex) else 1.0


def _diameter(base: Base | UserBase) -> float:
    """Return D; under the entropy mirror D^2 / 2 bounds the divergence."""
    if isinstance(base, OMD) and base.mirror == "entropy":
        assert isinstance(base.domain, Simplex)  # checked at construction
        return math.sqrt(2.0 * base.domain.divergence)
    domain = domain_of(base)
    return domain.diameter if domain is not None else 0.0


def _width(base: Base | UserBase) -> float:
    """Return the largest distance between two plays; in the 1-norm under the entropy mirror."""
    if isinstance(base, OMD) and base.mirror == "entropy":
        assert isinstance(base.domain, Simplex)  # checked at construction
        return 2.0 * (1.0 - base.domain.dim * base.domain.floor)
    return _diameter(base)


def _pace(
    reduction: Reduction, base: Base | UserBase, dim: int
) -> tuple[int, dict[int, float], Floats]:
    """Return the code of the rate, its numbers, and its table."""
    none = np.zeros(0)
    diameter = _diameter(base)
    match rate_of(base):
        case rates.DelayAdaptive(lipschitz):
            return at.DELAY_ADAPTIVE, {at.GAIN: diameter / lipschitz}, none
        case rates.Tight(lipschitz):
            return at.TIGHT, {at.GAIN: diameter / (2.0 * lipschitz)}, none
        case rates.GradientAdaptive():
            return at.GRADIENT_ADAPTIVE, {at.GAIN: diameter / 2.0}, none
        case rates.StronglyConvex(curvature):
            return at.CURVED, {at.CURVATURE: curvature}, none
        case rates.Constant(step):
            return at.CONSTANT_RATE, {at.GAIN: step}, none
        case rates.Table(steps):
            return at.TABLE, {}, np.array(steps)
        case _:
            return at.NO_RATE, {}, none


def _explore(reduction: Reduction, dim: int) -> tuple[int, float, int]:
    """Return the code of the smoothing, its factor, and its horizon."""
    if not isinstance(reduction, OnePoint | TwoPoint):
        return at.NO_SMOOTHING, 0.0, 0
    schedule = reduction.schedule
    horizon = schedule.horizon or 0
    match schedule:
        case smoothing.Convex(ratio):
            return at.QUARTER_ROOT, math.sqrt(ratio * dim), horizon
        case smoothing.StronglyConvex(ratio):
            return at.CUBE_ROOT, (ratio * dim) ** 2, horizon
        case smoothing.InverseRoot():
            return at.INVERSE_ROOT, 0.0, horizon
        case smoothing.Inverse():
            return at.INVERSE, 0.0, horizon
        case smoothing.Constant(radius):
            domain = domain_of(reduction.base)
            assert domain is not None and domain.inner_radius  # checked at construction
            return at.FIXED, radius / domain.inner_radius, horizon
        case _:
            raise SpecError(f"{reduction.kind}: unknown smoothing {schedule!r}")


class Schedule(NamedTuple):
    """Rates and radii that a composition uses on a timeline."""

    etas: Floats
    """eta_n, by arrival."""
    late_radii: Floats
    """delta'_n: the radius of the round in progress at the n-th arrival."""
    radii: Floats
    """delta_t, by prediction."""


def _schedule_code(code: tuple[int, ...]) -> tuple[int, ...]:
    """Return the code with all slots cleared that a schedule does not look at."""
    kept = (at.REDUCTION, at.RATE, at.SMOOTHING)
    return tuple(value if slot in kept else 0 for slot, value in enumerate(code))


def schedule_of(spec: Reduction | Skip, events: Ints) -> Schedule:
    """Return the schedule of a spec on the events of a timeline (t, and ~t for observations).

    Only for rates that do not depend on the costs.
    """
    from belated.kernels import entries

    program = compile_spec(spec)
    f, n = program.fresh(0, False)
    rounds = events.size // 2
    balance = np.cumsum(np.where(events >= 0, 1, -1))
    capacity = 1 << (2 * int(balance.max(initial=0)) + 2).bit_length()
    f, n = resized(program.code, f, n, max(FEWEST, capacity))
    schedule = Schedule(np.empty(rounds), np.empty(rounds), np.empty(rounds))
    entries.schedule(_schedule_code(program.code))(f, n, np.array(events), *schedule)
    return schedule
