"""Methods that run copies of a learner, each of which never meets a delay.

The copies live behind the table of tickets (see ``state.Memory.copies``): row 0 is a fresh one that
the others are made from, and those in use are numbered from 1. A copy that waits for an answer has
exactly one open ticket, its newest.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from belated import rates
from belated.arrays import Code, Floats, Ints
from belated.bases import OMD, Base
from belated.bounds import Bound
from belated.domains import Domain
from belated.errors import SpecError
from belated.kernels.jit import leaf
from belated.kernels.learners import events
from belated.kernels.learners.state import State, view
from belated.kernels.slots import code as C
from belated.kernels.slots import floats as F
from belated.kernels.slots import ints as N
from belated.kernels.slots import table as T
from belated.kernels.tickets import count_arrival, count_delay
from belated.learner.program import Program, compile_spec
from belated.learner.state import Memory
from belated.reductions import FirstOrder, OnePoint, Reduction, TwoPoint
from belated.rivals.base import AnswerKind, Rival
from belated.spec import Spec
from belated.timeline import Timeline

_WEYL = 0x9E3779B9  # odd, so that the seeds of 2^32 copies are all different
_MASK = 0xFFFFFFFF


@leaf
def copy_of(s: State, number: int) -> State:
    """Name the parts of a copy; its passing work is done in the scratch vector of the whole."""
    n = s.n
    f_at = n[N.KEPT_AT] + n[N.CAPACITY] * n[N.KEEP] + number * n[N.COPY_F]
    n_at = N.HEADER + 2 * n[N.CAPACITY] + number * n[N.COPY_N]
    c = view(s.f[f_at : f_at + n[N.COPY_F]], n[n_at : n_at + n[N.COPY_N]])
    return State(
        f=c.f,
        n=c.n,
        z=c.z,
        p=c.p,
        work=s.work,
        chart=c.chart,
        table=c.table,
        own=c.own,
        kept=c.kept,
    )


@leaf
def make_copy(s: State) -> int:
    """Make one more copy, with a seed of its own, and return its number; room is there."""
    number = int(s.n[N.MADE]) + 1
    s.n[N.MADE] = number
    fresh = copy_of(s, 0)
    made = copy_of(s, number)
    for i in range(s.n[N.COPY_F]):
        made.f[i] = fresh.f[i]
    for i in range(s.n[N.COPY_N]):
        made.n[i] = fresh.n[i]
    made.n[N.SEED_HIGH] = (fresh.n[N.SEED_HIGH] + (number - 1) * _WEYL) & _MASK
    return number


@leaf
def has_room_for_copy(s: State) -> bool:
    """Tell whether one more copy fits behind the table; False when the table must grow first."""
    return bool(s.n[N.MADE] < s.n[N.CAPACITY])


@leaf
def is_busy(s: State, number: int) -> bool:
    """Tell whether a copy waits for an answer."""
    copy = copy_of(s, number)
    return bool(copy.n[N.ROUNDS] > copy.n[N.ARRIVED])


@leaf
def answer_copy(code: Code, s: State, entry: int, number: int, answer: Floats) -> int:
    """Give an answer to a copy and, unless it is refused, close the ticket."""
    copy = copy_of(s, number)
    excess = copy.n[N.EXCESS]
    status = events.observe_ours(code, copy, copy.n[N.ROUNDS] - 1, answer)
    if status >= 0:
        s.n[N.EXCESS] += copy.n[N.EXCESS] - excess
        count_delay(s, entry, N.MAX_DELAY)
        _close(code, s, entry, copy)
    return status


@leaf
def cancel_copy(code: Code, s: State, entry: int, number: int) -> int:
    """Let a copy do without its answer, and close the ticket."""
    copy = copy_of(s, number)
    status = events.cancel_ours(code, copy, copy.n[N.ROUNDS] - 1)
    if status >= 0:
        s.n[N.CANCELLED] += 1
        count_delay(s, entry, N.MAX_LOST)
        _close(code, s, entry, copy)
    return status


@leaf
def _close(code: Code, s: State, entry: int, copy: State) -> None:
    count_arrival(code, s, entry)
    s.table[2 * entry + 1] = T.DEAD
    s.f[F.ETA] = copy.f[F.ETA]


def have_seeds(memory: Memory) -> bool:
    """Tell whether every copy has the seed that ``make_copy`` gives it."""
    _, n = memory.copies
    numbers = np.arange(len(n) - 1)
    wanted = (int(memory.n[N.SEED_HIGH]) + numbers * _WEYL) & _MASK
    return bool((n[1:, N.SEED_HIGH] == wanted).all())


def are_busy(memory: Memory, numbers: Ints) -> bool:
    """Tell whether these copies, each once, are the ones that wait for an answer."""
    _, n = memory.copies
    waiting = np.flatnonzero(n[:, N.ROUNDS] > n[:, N.ARRIVED])
    return bool(np.array_equal(np.sort(numbers), waiting))


_FEEDBACK: dict[type[Reduction], AnswerKind] = {
    FirstOrder: "gradient",
    OnePoint: "value",
    TwoPoint: "two values",
}


@dataclass(frozen=True, repr=False)
class CopyingRival(Rival):
    """A rival that runs copies of ``base``, one of our own learners on a built-in set."""

    memory = "copies of the base"

    base: Reduction

    @property
    def domain(self) -> Domain:
        """The set of the base."""
        return self._inside.domain

    @property
    def feedback(self) -> AnswerKind:
        """What an answer is: what the base takes."""
        return _FEEDBACK[type(self.base)]

    @property
    def _inside(self) -> Base:
        inside = self.base.base
        assert isinstance(inside, Base)  # checked at construction
        return inside

    def __post_init__(self) -> None:
        """Refuse what the kernels cannot copy."""
        base: Any = self.base
        if type(base) not in _FEEDBACK:
            name = base.kind if isinstance(base, Spec) else repr(base)
            raise SpecError(
                f"{self.kind}: base must be FirstOrder, OnePoint or TwoPoint, got {name}"
            )
        if not isinstance(base.base, Base):
            raise SpecError(f"{self.kind}: copies are made of PFTRL and OMD, not of a user's base")
        super().__post_init__()

    def copying(
        self,
        number: int,
        *,
        sound: Callable[[Memory], bool],
        own: tuple[float, ...] = (),
        keep: int = 0,
    ) -> Program:
        """Return the program of a method with this number; copies are made as they are needed.

        ``sound`` tells whether the copies of a memory and its tickets belong together.
        """
        self._demand_facts()
        inside = compile_spec(self.base)
        template = inside.fresh(0, False)
        template.resize(2)  # of two entries one is always free
        return dataclasses.replace(
            inside,
            spec=self,
            fixed=tuple(range(len(own))),
            sound=sound,
            inner=inside,
            code=C.pack({**dict(enumerate(inside.code)), C.METHOD: number, C.LAGS: 1}),
            own=np.array(own),
            keep=keep,
            copy=template,
        )

    def shared_bound(self, timeline: Timeline, copies: int) -> Bound | None:
        """Return m Reg(T / m) for m copies, where the regret of the base without delay is known.

        That is P-FTRL and OMD; no theorem is about dual averaging, nor about the entropy mirror
        under a strongly convex rate. For gradients Reg(T) is (a + 1 / 2a) G D sqrt(T) under
        ``rates.DelayAdaptive`` with scale a, (a + 1 / a) G D sqrt(T / 2) under ``rates.Tight`` with
        scale a, and (G^2 / (2 lambda)) (1 + ln T) under ``rates.StronglyConvex``.
        """
        rate, rounds = self._inside.rate, timeline.rounds
        if not isinstance(self.base, FirstOrder) or rate.lipschitz is None or rounds == 0:
            return None
        is_entropy = isinstance(self._inside, OMD) and self._inside.mirror == "entropy"
        if self._inside.uncertified or (rate.is_curved and is_entropy):
            return None
        numbers = compile_spec(self.base).numbers
        scale = rate.lipschitz * numbers[F.DIAMETER]
        copies = min(copies, rounds)
        match rate:
            case rates.DelayAdaptive(scale=a):
                scale *= a + 0.5 / a
                total, alone = (scale * math.sqrt(m * rounds) for m in (copies, 1))
            case rates.Tight(scale=a):
                scale *= 0.5 * (a + 1.0 / a)
                total, alone = (scale * math.sqrt(2.0 * m * rounds) for m in (copies, 1))
            case rates.StronglyConvex(curvature):
                half = rate.lipschitz**2 / (2.0 * curvature)
                total, alone = (half * m * (1.0 + math.log(rounds / m)) for m in (copies, 1))
            case _:
                return None
        trivial = rate.lipschitz * numbers[F.WIDTH] * rounds
        return self._bound(alone, total - alone, trivial=trivial)
