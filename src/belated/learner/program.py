"""From specs to what the kernels run: a tuple of codes, and the memory of a fresh learner."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from belated import rates, smoothing
from belated.arrays import Floats, Ints
from belated.bases import OMD, PFTRL, Base, DualAveraging, Leader, Portfolio, UserBase
from belated.domains import Ball, Box, ConvexSet, Domain, L1Ball, Simplex
from belated.errors import SpecError
from belated.kernels.slots import code as C
from belated.kernels.slots import floats as F
from belated.kernels.slots import ints as N
from belated.kernels.slots import kinds as K
from belated.kernels.slots import own as OWN
from belated.learner.state import FEWEST, Memory
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
from belated.spec import Spec


@dataclass(frozen=True)
class Program:
    """A composition ready to run.

    ``code`` selects the kernels; ``shape`` is that of a play, ``answer`` that of an answer. A
    user's base is a private copy of the one in the spec, already started. ``own`` is where a
    method's own region starts from (or a table of rates), ``keep`` how many floats it keeps per
    open ticket, ``copy`` a fresh learner of which it makes copies.
    """

    spec: Playable
    code: tuple[int, ...]
    dim: int
    shape: tuple[int, ...]
    answer: tuple[int, ...]
    first: Floats
    numbers: dict[int, float]
    chart: Floats
    own: Floats
    base: Base | UserBase | None = None
    horizon: int = 0
    keep: int = 0
    copy: Memory | None = None
    fewest: int = FEWEST
    wants_function: bool = False

    @property
    def is_outside(self) -> bool:
        """Whether a user's Python object takes part in every step."""
        return self.code[C.BASE] == K.OUTSIDE or self.code[C.DOMAIN] == K.USER_SET

    def fresh(self, seed: int, strict: bool, more: int = 0) -> Memory:
        """Return the memory of a learner that has seen nothing; ``more`` is kept per ticket too."""
        k = self.dim
        blank = np.zeros(3 * F.padded(k) - k)
        f = np.concatenate([np.zeros(F.HEADER), self.first, blank, self.chart, self.own])
        _write(f, self.numbers)
        numbers = {
            N.DIM: k,
            N.SEED_LOW: seed & 0xFFFFFFFF,
            N.SEED_HIGH: seed >> 32,
            N.STRICT: int(strict),
            N.HORIZON: self.horizon,
            N.OWN: self.own.size,
            N.OWN_AT: f.size - self.own.size,
            N.KEEP: self.keep + more,
        }
        return Memory.fresh(f, numbers, self.fewest, self.copy)


class Method(Spec):
    """A published method with kernels of its own; see ``belated.rivals``."""

    def program(self) -> Program:
        """Return what the kernels run, or say what the method must be told first."""
        raise NotImplementedError


Playable: TypeAlias = Reduction | Skip | Method
"""What a learner can run."""


def compile_spec(spec: Playable) -> Program:
    """Turn a spec into a program; user objects in it are copied, so learners do not share them."""
    if isinstance(spec, Method):
        return spec.program()
    if not isinstance(spec, Reduction | Skip):
        raise SpecError(
            "Learner: needs FirstOrder, FullInformation, OnePoint, TwoPoint, Skip or one of "
            f"belated.rivals, got {getattr(spec, 'kind', spec)!r}"
        )
    reduction = _inner(spec)
    base = reduction.base if isinstance(reduction.base, Base) else copy.deepcopy(reduction.base)
    first = _first_point(reduction, base)
    dim = first.size
    domain, chart, chart_numbers = _place(reduction, base)
    rate, rate_numbers, steps = _pace(reduction, base, dim)
    schedule, breadth, horizon = _explore(reduction, dim)
    numbers = {**_bounds(reduction, base, dim), **rate_numbers, F.BREADTH: breadth}
    first = into_chart(first, chart, chart_numbers)
    own = steps
    if isinstance(base, Portfolio):
        own = _members(reduction, base, numbers, first)
    elif isinstance(base, Leader):
        own = _past(base.reach, OWN.HEADER, first)
    code = (
        _REDUCTIONS[type(reduction)],
        _base_code(base),
        domain,
        chart,
        rate,
        schedule,
        int(isinstance(reduction, OnePoint) and reduction.baseline == "mean"),
        int(isinstance(spec, Skip)),
        K.OURS,
    )
    two = isinstance(reduction, TwoPoint)
    return Program(
        spec=spec,
        code=code,
        dim=dim,
        shape=(2, dim) if two else (dim,),
        answer=(2,) if two else (1,) if isinstance(reduction, OnePoint) else (dim,),
        base=base,
        first=first,
        numbers=numbers,
        chart=chart_numbers,
        own=own,
        horizon=horizon,
        keep=code[C.BASELINE],
        wants_function=isinstance(reduction, FullInformation),
    )


_REDUCTIONS: dict[type[Reduction], int] = {
    FirstOrder: K.FIRST_ORDER,
    FullInformation: K.FIRST_ORDER,
    OnePoint: K.ONE_POINT,
    TwoPoint: K.TWO_POINT,
}
_DOMAINS: dict[type[Domain], int] = {
    Ball: K.BALL,
    Box: K.BOX,
    Simplex: K.SIMPLEX,
    L1Ball: K.L1,
    ConvexSet: K.USER_SET,
}


_REMEMBERING: dict[type, int] = {
    Portfolio: K.PORTFOLIO,
    DualAveraging: K.DUAL_AVERAGING,
    Leader: K.LEADER,
}


def _inner(spec: Reduction | Skip) -> Reduction:
    return spec.learner if isinstance(spec, Skip) else spec


def _base_code(base: Base | UserBase) -> int:
    if isinstance(base, PFTRL):
        return K.PFTRL
    if isinstance(base, OMD):
        return K.ENTROPY if base.mirror == "entropy" else K.OMD
    return _REMEMBERING.get(type(base), K.OUTSIDE)


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
        return K.BALL, K.PLAIN, np.zeros(0)  # the set is unused: points go out as they come in
    return place(domain)


def place(domain: Domain) -> tuple[int, int, Floats]:
    """Return the codes of a set and of its chart, and the chart's numbers."""
    code = _DOMAINS[type(domain)]
    if isinstance(domain, Box):
        low, high = domain.bounds
        return code, K.SCALED, np.concatenate([domain.center, domain.half_widths, low, high])
    if isinstance(domain, Ball | ConvexSet) and any(domain.center):
        return code, K.SHIFTED, np.array(domain.center)
    return code, K.PLAIN, np.zeros(0)


_EXPLORING = (OnePoint, TwoPoint)


def into_chart(x: Floats, chart: int, numbers: Floats) -> Floats:
    """Return a starting point in the chart."""
    k = x.size
    if chart == K.PLAIN:
        return x
    y = x - numbers[:k]
    return y / numbers[k : 2 * k] if chart == K.SCALED else y


def _bounds(reduction: Reduction, base: Base | UserBase, dim: int) -> dict[int, float]:
    """Return the numbers that describe the set and the assumptions."""
    domain, rate = domain_of(base), rate_of(base)
    magnitude = reduction.magnitude if isinstance(reduction, OnePoint) else 0.0
    lipschitz = (rate.lipschitz or 0.0) if rate is not None else 0.0
    return {
        F.SIZE: size_of_set(domain),
        F.INNER: (domain.inner_radius or 0.0) if domain is not None else 0.0,
        F.DIAMETER: _diameter(base),
        F.WIDTH: _width(base),
        F.LIPSCHITZ: lipschitz,
        F.MAGNITUDE: magnitude,
        F.NOISE: dim * magnitude / lipschitz if lipschitz else 0.0,
    }


def size_of_set(domain: Domain | None) -> float:
    """Return the one number that a projection needs: radius, floor, or 1."""
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
            return K.DELAY_ADAPTIVE, {F.GAIN: diameter / lipschitz}, none
        case rates.Tight(lipschitz, scale):
            return K.TIGHT, {F.GAIN: scale * diameter / (2.0 * lipschitz)}, none
        case rates.GradientAdaptive():
            return K.GRADIENT_ADAPTIVE, {F.GAIN: diameter / 2.0}, none
        case rates.StronglyConvex(curvature):
            return K.CURVED, {F.CURVATURE: curvature}, none
        case rates.Constant(step):
            return K.CONSTANT_RATE, {F.GAIN: step}, none
        case rates.InverseRoot(step):
            return K.ROOT, {F.GAIN: step}, none
        case rates.Mixed():
            return K.MIXED, {}, none
        case rates.Table(steps):
            return K.TABLE, {}, np.array(steps)
        case _:
            return K.NO_RATE, {}, none


def _members(
    reduction: Reduction, base: Portfolio, numbers: dict[int, float], first: Floats
) -> Floats:
    """Return how the own region of a portfolio starts; see ``kernels.slots``."""
    count, dim = len(base.members), first.size
    record = np.tile(np.concatenate([[0.0], first]), count)
    own = _past(base.reach, OWN.member_at(count, dim, count), record)
    own[OWN.MEMBERS] = count
    weights = own[OWN.HEADER :]
    _write(weights, {**numbers, **_weights(reduction, base)})
    weights[F.HEADER : F.HEADER + count] = 1.0 / count
    for i, member in enumerate(base.members):
        block = own[OWN.member_at(count, dim, i) :]
        pace, pace_numbers, _ = _pace(reduction, member, dim)
        _write(block, {**numbers, **_bounds(reduction, member, dim), **pace_numbers})
        block[OWN.KIND], block[OWN.PACE] = _base_code(member), pace
        block[OWN.MEMBER_HEADER : OWN.MEMBER_HEADER + dim] = first
    return own


def _past(reach: int, start: int, record: Floats) -> Floats:
    """Return an own region in which all points kept from ``start`` on are the first one."""
    levels = max(1, math.ceil(math.log2(reach / (OWN.PLACES - 1))) + 1)
    own = np.concatenate([np.zeros(start), np.tile(record, levels * OWN.PLACES)])
    own[OWN.LEVELS], own[OWN.REACH] = levels, reach
    return own


def _weights(reduction: Reduction, base: Portfolio) -> dict[int, float]:
    """Return the numbers of P-FTRL on the simplex of weights, whose diameter is sqrt 2."""
    gain = math.sqrt(0.5)  # of the gradient-adaptive rate
    if isinstance(reduction, _EXPLORING):
        largest = base.domain.diameter / 2.0 * math.sqrt(len(base.members))
        gain = math.sqrt(2.0) / (largest * (base.rate.lipschitz or 1.0))
    return {F.SIZE: 0.0, F.DIAMETER: math.sqrt(2.0), F.LIPSCHITZ: 0.0, F.GAIN: gain}


def _write(f: Floats, numbers: dict[int, float]) -> None:
    for slot, value in numbers.items():
        f[slot] = value


def _explore(reduction: Reduction, dim: int) -> tuple[int, float, int]:
    """Return the code of the smoothing, its factor, and its horizon."""
    if not isinstance(reduction, OnePoint | TwoPoint):
        return K.NO_SMOOTHING, 0.0, 0
    schedule = reduction.schedule
    horizon = schedule.horizon or 0
    match schedule:
        case smoothing.Convex(ratio):
            return K.QUARTER_ROOT, math.sqrt(ratio * dim), horizon
        case smoothing.StronglyConvex(ratio):
            return K.CUBE_ROOT, (ratio * dim) ** 2, horizon
        case smoothing.InverseRoot():
            return K.INVERSE_ROOT, 0.0, horizon
        case smoothing.Inverse():
            return K.INVERSE, 0.0, horizon
        case smoothing.Constant(radius):
            domain = domain_of(reduction.base)
            assert domain is not None and domain.inner_radius  # checked at construction
            return K.FIXED, radius / domain.inner_radius, horizon
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
    kept = (C.REDUCTION, C.RATE, C.SMOOTHING)
    return tuple(value if slot in kept else 0 for slot, value in enumerate(code))


def schedule_of(spec: Reduction | Skip, events: Ints) -> Schedule:
    """Return the schedule of a spec on the events of a timeline (t, and ~t for observations).

    Only for rates that do not depend on the costs.
    """
    from belated.kernels.learners import entries

    program = compile_spec(spec)
    memory = program.fresh(0, False)
    rounds = events.size // 2
    balance = np.cumsum(np.where(events >= 0, 1, -1))
    memory.reserve(2 * int(balance.max(initial=0)) + 2)
    schedule = Schedule(np.empty(rounds), np.empty(rounds), np.empty(rounds))
    entries.schedule(_schedule_code(program.code))(memory.f, memory.n, np.array(events), *schedule)
    return schedule
