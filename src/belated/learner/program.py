"""From specs to what the kernels run: a tuple of codes, and the memory of a fresh learner."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from belated import rates
from belated.arrays import Floats, Ints
from belated.bases import Base, Leader, Portfolio, UserBase
from belated.domains import Box, Domain
from belated.errors import SpecError
from belated.kernels.learners.radii import SMOOTHINGS
from belated.kernels.learners.rates import RATES
from belated.kernels.learners.sets import SETS
from belated.kernels.learners.steps import BASES
from belated.kernels.learners.wrappers import WRAPPERS
from belated.kernels.slots import code as C
from belated.kernels.slots import floats as F
from belated.kernels.slots import ints as N
from belated.kernels.slots import kinds as K
from belated.kernels.slots import own as OWN
from belated.learner.state import FEWEST, Memory, roomy
from belated.reductions import (
    Capacity,
    FirstOrder,
    FullInformation,
    OnePoint,
    Reduction,
    TwoPoint,
    Wrapper,
    domain_of,
    exploration_radius,
    inner_of,
    rate_of,
)
from belated.spec import Spec
from belated.validation import checked_point


@dataclass(frozen=True)
class Program:
    """A composition ready to run.

    ``code`` selects the kernels; ``shape`` is that of a play, ``answer`` that of an answer. A
    user's base is a private copy of the one in the spec, already started. ``own`` is a table of
    rates, or numbers of a portfolio, ``keep`` how many floats are kept per open ticket. ``counts``
    are numbers of a wrapper for the counters.
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
    counts: Mapping[int, int] = field(default_factory=dict)
    keep: int = 0
    wants_function: bool = False

    @property
    def has_user_parts(self) -> bool:
        """Whether a user's Python object takes part in every step."""
        return self.code[C.BASE] == K.USER_BASE or self.code[C.DOMAIN] == K.USER_SET

    def room_for(self, most_open: int) -> int:
        """Return how large a table serves a whole run with so many answers missing at once."""
        limit = self.spec.most_known if isinstance(self.spec, Wrapper) else None
        return roomy(most_open if limit is None else min(most_open, limit))

    def fresh(self, seed: int, strict: bool, more: int = 0, capacity: int | None = None) -> Memory:
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
            **self.counts,
        }
        return Memory.fresh(f, numbers, capacity or FEWEST)


class Method(Spec):
    """A published method; see ``belated.rivals``."""

    @property
    def own_numbers(self) -> int:
        """How many numbers it keeps whatever happens, where these are more than a few vectors."""
        return 0

    def player(self, seed: int, strict: bool) -> Any:
        """Return what plays, or say what the method must be told first."""
        raise NotImplementedError


Playable: TypeAlias = Reduction | Wrapper | Method
"""What a learner can run."""


def takes_functions(spec: Playable) -> bool:
    """Tell whether an answer is a gradient function."""
    if isinstance(spec, Method):
        return bool(getattr(spec, "feedback", "") == "function")
    return isinstance(inner_of(spec), FullInformation)


def compile_spec(spec: Reduction | Wrapper) -> Program:
    """Turn a spec into a program; user objects in it are copied, so learners do not share them."""
    if not isinstance(spec, Reduction | Wrapper):
        raise SpecError(
            "Learner: needs FirstOrder, FullInformation, OnePoint, TwoPoint, Skip, Deadline, "
            f"Capacity or one of belated.rivals, got {getattr(spec, 'kind', spec)!r}"
        )
    reduction = inner_of(spec)
    base = reduction.base if isinstance(reduction.base, Base) else copy.deepcopy(reduction.base)
    start = _first_point(reduction, base)
    dim = start.size
    domain, chart, chart_numbers = _place(reduction, base)
    smoothing, breadth, horizon = _explore(reduction, dim)
    numbers = {**_bounds(reduction, base, dim), **_rate_numbers(base), F.BREADTH: breadth}
    numbers |= spec.sizes() if isinstance(spec, Wrapper) else {}
    first = into_chart(start, chart, chart_numbers)
    own = _own(reduction, base, numbers, first)
    parts = {C.DOMAIN: domain, C.CHART: chart, C.SMOOTHING: smoothing}
    code = C.pack({**parts, **_codes(spec, base), **_traits(base, domain)})
    shape, answer = _shapes(reduction, dim)
    return Program(
        spec=spec,
        code=code,
        dim=dim,
        shape=shape,
        answer=answer,
        base=base,
        first=first,
        numbers=numbers,
        chart=chart_numbers,
        own=own,
        horizon=horizon,
        counts=spec.numbers() if isinstance(spec, Wrapper) else {},
        keep=code[C.BASELINE] + (code[C.WEIGHED] == K.THINNED),
        wants_function=isinstance(reduction, FullInformation),
    )


def _codes(spec: Reduction | Wrapper, base: Base | UserBase) -> dict[int, int]:
    """Return the codes of the parts that a spec names, but for its set and its exploration."""
    reduction, rate = inner_of(spec), rate_of(base)
    return {
        C.REDUCTION: _reduction_code(reduction),
        C.BASE: _base_code(base),
        C.RATE: RATES.code(_NONE if rate is None else rate.kind),
        C.BASELINE: isinstance(reduction, OnePoint) and reduction.baseline == "mean",
        C.WRAPPER: WRAPPERS.code(spec.kind if isinstance(spec, Wrapper) else _NONE),
        C.WEIGHED: _weighing(spec),
    }


def _weighing(spec: Reduction | Wrapper) -> int:
    """Return the code of how answers get their weights."""
    if not isinstance(spec, Capacity):
        return K.UNWEIGHED
    return K.THINNED if spec.backlog is None else K.COINS


def _shapes(reduction: Reduction, dim: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the shapes of a play and of an answer."""
    if isinstance(reduction, TwoPoint):
        return (2, dim), (2,)
    return (dim,), (1,) if isinstance(reduction, OnePoint) else (dim,)


_REDUCTIONS: dict[type[Reduction], int] = {
    FirstOrder: K.FIRST_ORDER,
    FullInformation: K.FIRST_ORDER,
    OnePoint: K.ONE_POINT,
    TwoPoint: K.TWO_POINT,
}


def _reduction_code(reduction: Reduction) -> int:
    if type(reduction) not in _REDUCTIONS:
        raise SpecError(f"no kernel is known for the reduction {reduction.kind}")
    return _REDUCTIONS[type(reduction)]


_NONE = "none"
"""What a table of parts calls the lack of one."""


def _base_code(base: Base | UserBase) -> int:
    return BASES.code(base.part if isinstance(base, Base) else "a user's base")


def _traits(base: Base | UserBase, domain: int) -> dict[int, int]:
    """Return what follows for ``code`` from the traits of the parts."""
    ours = isinstance(base, Base)
    hears = base.hears_all if isinstance(base, Base) else True
    lost = K.ZERO
    if isinstance(base, Base) and base.rate.is_curved:
        lost = K.BOWL
    elif hears:
        lost = K.HEARD_ZERO
    return {C.HEARS: hears, C.LAGS: hears or not ours or domain == K.USER_SET, C.LOST: lost}


def _first_point(reduction: Reduction, base: Base | UserBase) -> Floats:
    """Return where the learner starts, in x: the centre of the set, or what a user's base says."""
    if isinstance(base, Base):
        return np.array(base.domain.center, dtype=np.float64)
    return checked_point(base.start(), None, f"{reduction.kind}: base.start()")


def _place(reduction: Reduction, base: Base | UserBase) -> tuple[int, int, Floats]:
    """Return the codes of the set and of its chart, and the chart's numbers."""
    domain = domain_of(base)
    if domain is None or (not isinstance(base, Base) and not isinstance(reduction, _EXPLORING)):
        return SETS.code("Ball"), K.PLAIN, np.zeros(0)  # unused: points go out as they come in
    return place(domain)


def place(domain: Domain) -> tuple[int, int, Floats]:
    """Return the codes of a set and of its chart, and the chart's numbers."""
    code = SETS.code(domain.kind)
    if isinstance(domain, Box):
        low, high = domain.bounds
        return code, K.SCALED, np.concatenate([domain.center, domain.half_widths, low, high])
    if any(domain.origin):
        return code, K.SHIFTED, np.array(domain.origin)
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
        F.SIZE: domain.size if domain is not None else 1.0,
        F.INNER: (domain.inner_radius or 0.0) if domain is not None else 0.0,
        F.DIAMETER: _diameter(base),
        F.WIDTH: base.width if isinstance(base, Base) else _diameter(base),
        F.LIPSCHITZ: lipschitz,
        F.MAGNITUDE: magnitude,
        F.NOISE: dim * magnitude / lipschitz if lipschitz else 0.0,
    }


def _diameter(base: Base | UserBase) -> float:
    if isinstance(base, Base):
        return base.diameter
    domain = domain_of(base)
    return domain.diameter if domain is not None else 0.0


def _rate_numbers(base: Base | UserBase) -> dict[int, float]:
    rate = rate_of(base)
    return {} if rate is None else rate.numbers(_diameter(base))


def _own(
    reduction: Reduction, base: Base | UserBase, numbers: dict[int, float], first: Floats
) -> Floats:
    """Return how the own region of a base starts: its past, or a table of rates."""
    if isinstance(base, Portfolio):
        return _members(reduction, base, numbers, first)
    if isinstance(base, Leader):
        return _past(base.reach, OWN.HEADER, _record(first))
    rate = rate_of(base)
    return np.array(rate.steps) if isinstance(rate, rates.Table) else np.zeros(0)


def _members(
    reduction: Reduction, base: Portfolio, numbers: dict[int, float], first: Floats
) -> Floats:
    """Return how the own region of a portfolio starts; see ``kernels.slots.own``."""
    count, dim = len(base.members), first.size
    # No theorem ties a portfolio that is told values, or has nobody to be tied to. Others begin
    # with the anchor alone: where all members stand is the same until something is answered.
    tied = base.anchor is not None and not isinstance(reduction, _EXPLORING)
    prior = _prior(base)
    played = np.eye(count)[base.anchor] if tied else prior
    at = OWN.places(count, dim)
    points = np.zeros((dim, at.wide))
    points[:, :count] = first[:, np.newaxis]
    record = np.concatenate([np.zeros(at.wide), points.ravel(), _record(played)])
    own = _past(base.reach, at.records, record)
    own[OWN.MEMBERS], own[OWN.ANCHOR] = count, base.anchor or 0
    own[OWN.LEASH] = base.leash if tied else math.inf
    weights = own[OWN.HEADER : at.rows]
    weights[F.GAIN] = math.log(4.0)
    weights[F.HEADER :][:count] = played
    weights[F.HEADER + at.wide :][:count] = prior
    rows = own[at.rows : at.headers].reshape(OWN.ROWS, at.wide)
    rows[OWN.PRIOR, :count] = prior
    normals = own[at.p : at.records].reshape(dim, at.wide)
    for i, member in enumerate(base.members):
        block = own[at.headers + i * OWN.MEMBER_HEADER :]
        _write(block, {**numbers, **_bounds(reduction, member, dim), **_rate_numbers(member)})
        block[OWN.PACE] = RATES.code(member.rate.kind)
        rows[OWN.LEADS, i], rows[OWN.SUMS, i], normals[:, i] = _LANES[_base_code(member)]
    own[at.z : at.z + points.size] = points.ravel()
    return own


# By kind of a member: whether its p is a normal vector, whether it is a sum, and how it begins.
_LANES = {K.PFTRL: (1.0, 0.0, 0.0), K.OMD: (0.0, 0.0, -0.0), K.DUAL_AVERAGING: (0.0, 1.0, 0.0)}


def _levels(reach: int) -> int:
    """Return how many levels of points go back so far."""
    return max(1, math.ceil(math.log2(reach / (OWN.PLACES - 1))) + 1)


def _prior(base: Portfolio) -> Floats:
    """Half of the weight for the anchor, and the same for all others; without one, for everyone."""
    count = len(base.members)
    if base.anchor is None or count == 1:
        return np.full(count, 1.0 / count)
    prior = np.full(count, 0.5 / (count - 1))
    prior[base.anchor] = 0.5
    return prior


def _record(point: Floats) -> Floats:
    """Return the record of a point to which there is no way yet."""
    record = np.zeros(OWN.point_width(point.size))
    record[OWN.POINT : OWN.POINT + point.size] = point
    return record


def _past(reach: int, start: int, record: Floats) -> Floats:
    """Return an own region in which all points kept from ``start`` on are the first one."""
    levels = _levels(reach)
    own = np.concatenate([np.zeros(start), np.tile(record, OWN.records(levels))])
    own[OWN.RINGS], own[OWN.REACH] = OWN.rings(levels) - 1, reach
    return own


def _write(f: Floats, numbers: dict[int, float]) -> None:
    for slot, value in numbers.items():
        f[slot] = value


def _explore(reduction: Reduction, dim: int) -> tuple[int, float, int]:
    """Return the code of the smoothing, its factor, and its horizon."""
    if not isinstance(reduction, OnePoint | TwoPoint):
        return SMOOTHINGS.code(_NONE), 0.0, 0
    schedule = reduction.schedule
    breadth = schedule.breadth(dim, exploration_radius(reduction))
    return SMOOTHINGS.code(schedule.kind), breadth, schedule.horizon or 0


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


def schedule_of(spec: Reduction | Wrapper, events: Ints) -> Schedule:
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
