"""Rivals that run copies of a learner, each of which never meets a delay."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from belated import rates
from belated.bases import OMD, Base
from belated.bounds import Bound
from belated.compose import compose
from belated.domains import Domain
from belated.errors import SpecError
from belated.reductions import FirstOrder, OnePoint, Reduction, TwoPoint
from belated.research.core import rival_matrices as core
from belated.research.rivals.base import AnswerKind, Rival
from belated.spec import Spec, python_objects
from belated.timeline import Timeline

_FEEDBACK: dict[type[Reduction], AnswerKind] = {
    FirstOrder: "gradient",
    OnePoint: "value",
    TwoPoint: "two values",
}


class Copying(Rival, abstract=True):
    """A rival that runs copies of ``base``, a learner of this library on a built-in set."""

    base: Reduction

    @property
    def domain(self) -> Domain:
        """The set of the base."""
        return self._inside.domain

    @property
    def feedback(self) -> AnswerKind:
        """The kind of its answers: that of the base."""
        return _FEEDBACK[type(self.base)]

    @property
    def _inside(self) -> Base:
        inside = self.base.base
        assert isinstance(inside, Base)  # checked at construction
        return inside

    def __post_init__(self) -> None:
        base: Any = self.base
        if type(base) not in _FEEDBACK:
            name = base.kind if isinstance(base, Spec) else repr(base)
            raise SpecError(
                f"{self.kind}: base must be FirstOrder, OnePoint or TwoPoint, got {name}"
            )
        if not isinstance(base.base, Base) or python_objects(base):
            raise SpecError(
                f"{self.kind}: copies are made of parts of belated, not of a user's; got {base!r}"
            )
        super().__post_init__()

    def _shared_bound(self, timeline: Timeline, copies: int) -> Bound | None:
        """Return m Reg(T / m) for m copies, if the regret of the base without delay is known.

        That is so for P-FTRL and OMD, except for the entropy mirror under a strongly convex rate.
        For gradients Reg(T) is (a + 1 / 2a) G D sqrt(T) under ``rates.DelayAdaptive`` with scale a,
        (a + 1 / a) G D sqrt(T / 2) under ``rates.Tight`` with scale a, and
        (G^2 / (2 lambda)) (1 + ln T) under ``rates.StronglyConvex``.
        """
        rate, rounds = self._inside.rate, timeline.rounds
        if not isinstance(self.base, FirstOrder) or rate.lipschitz is None or rounds == 0:
            return None
        is_entropy = isinstance(self._inside, OMD) and self._inside.mirror == "entropy"
        if self._inside.uncertified or (rate.is_curved and is_entropy):
            return None
        scale = rate.lipschitz * self._inside.diameter
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
        trivial = rate.lipschitz * self._inside.width * rounds
        return self._bound(alone, total - alone, trivial=trivial)


class BOLD(Copying):
    """Black-box online learning under delayed feedback.

    A copy of ``base`` plays a round and waits for its answer; meanwhile other copies play. A new
    copy is made only if all wait, so there are sigma_max + 1 of them in the end. Of the free
    copies, the one freed last plays, which concentrates the answers in few copies.

    ``base`` is FirstOrder, OnePoint or TwoPoint over PFTRL or OMD; it should not need a horizon,
    as the number of rounds of a copy is not known in advance. Copies explore independently; without
    delay the first one plays alone, as the base would. The guarantee is for a base with concave
    regret Reg; over gradient steps with rates.DelayAdaptive it is
    1.5 G D sqrt((sigma_max + 1) T).
    """

    reference = "Joulani, Gyorgy and Szepesvari 2013"
    memory = "sigma_max + 1 copies of the base"
    guarantee = "(sigma_max + 1) Reg(T / (sigma_max + 1))"
    order = "any order; a lost answer is lost to its copy only"

    def player(self, seed: int, strict: bool) -> Any:
        """Return a new player of this method."""
        return core.BOLD(partial(compose, self.base), seed, strict)

    def _guaranteed(self, timeline: Timeline) -> Bound | None:
        return self._shared_bound(timeline, timeline.max_backlog + 1)


class WeinbergerOrdentlich(Copying):
    """Copy t mod (d + 1) of a learner plays round t; no answer may be later than d = ``delay``.

    A copy plays again d + 1 rounds later, after its answer, so it never meets a delay. Answers may
    come earlier, in any order, so any d that no delay exceeds will do; a prediction is refused
    while the copy that plays next waits for its answer.

    ``base`` is FirstOrder, OnePoint or TwoPoint over PFTRL or OMD. Copies explore independently;
    with d = 0 there is one copy, which plays as the base would. The guarantee is for a base with
    concave regret Reg; over gradient steps with rates.DelayAdaptive it is 1.5 G D sqrt((d + 1) T).
    """

    title = "Weinberger-Ordentlich"
    reference = "Weinberger and Ordentlich 2002"
    memory = "copies of the base, made as they are needed, at most d + 1"
    guarantee = "(d + 1) Reg(T / (d + 1))"
    order = "any order up to the delay told; a lost answer is lost to its copy only"

    delay: int | None = None

    def player(self, seed: int, strict: bool) -> Any:
        """Return a new player of this method."""
        copies = self._fact("delay") + 1
        return core.WeinbergerOrdentlich(partial(compose, self.base), seed, strict, copies)

    def takes(self, timeline: Timeline) -> bool:
        """Tell whether no answer is later than told."""
        return timeline.max_delay <= self._fact("delay")

    def _guaranteed(self, timeline: Timeline) -> Bound | None:
        return self._shared_bound(timeline, self._fact("delay") + 1)
