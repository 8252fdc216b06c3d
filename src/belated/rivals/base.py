"""What all rivals share: what they must be told, and how they become programs."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, cast

import numpy as np

from belated.arrays import Floats
from belated.domains import ConvexSet, Domain, Simplex
from belated.errors import SpecError
from belated.kernels.slots import code as C
from belated.kernels.slots import floats as F
from belated.kernels.slots import kinds as K
from belated.learner.program import Method, Program, into_chart, place
from belated.spec import whole
from belated.timeline import Timeline

if TYPE_CHECKING:
    from belated.bounds import Bound

Feedback = Literal["gradient", "function", "coefficients", "value", "two values", "k + 1 values"]

FACTS = {
    "rounds": "T, the number of rounds",
    "total_delay": "d_tot, the sum of all delays",
    "max_delay": "d_max, the largest delay",
    "delay": "the fixed delay of every answer",
}
"""What a method may have to be told in advance, and what it is."""

_ANSWERS: dict[Feedback, int] = {
    "gradient": K.FIRST_ORDER,
    "function": K.FIRST_ORDER,
    "coefficients": K.COEFFICIENTS,
    "value": K.ONE_POINT,
    "two values": K.TWO_POINT,
    "k + 1 values": K.MANY_POINTS,
}


class Rival(Method):
    """A published method behind the same two events.

    Class attributes are what ``docs/rivals.md`` prints: ``title`` and ``reference``, ``memory``
    beyond O(dim), and ``guarantee`` in the notation of the table there. Fields named in ``FACTS``
    are what the method must be told in advance; they may be None while it is being put together,
    but it does not run without them.
    """

    title: ClassVar[str]
    reference: ClassVar[str]
    answers: ClassVar[Feedback] = "gradient"
    memory: ClassVar[str] = "none"
    guarantee: ClassVar[str]
    order: ClassVar[str] = "any order; a lost answer counts as zero"
    """What happens to answers out of order, and to lost ones."""

    if TYPE_CHECKING:

        @property
        def domain(self) -> Domain:
            """The set it plays in."""

    @property
    def feedback(self) -> Feedback:
        """What an answer is."""
        return type(self).answers

    @classmethod
    def facts(cls) -> tuple[str, ...]:
        """Return the names of what it must be told in advance."""
        return tuple(f.name for f in dataclasses.fields(cast(Any, cls)) if f.name in FACTS)

    def told(self, timeline: Timeline) -> Self:
        """Return the same method, told what it must know of these delays.

        No real learner could know them: this is how a method is run at its best.
        """
        if not isinstance(timeline, Timeline):
            raise SpecError(f"{self.kind}: told takes a Timeline, got {timeline!r}")
        known = {
            "rounds": timeline.rounds,
            "total_delay": timeline.total_delay,
            "max_delay": timeline.max_delay,
            "delay": timeline.max_delay,
        }
        facts = {name: known[name] for name in self.facts()}
        return cast(Self, dataclasses.replace(cast(Any, self), **facts))

    def bound(self, timeline: Timeline) -> Bound | None:
        """Return the published guarantee on these delays, or None where no constants are known."""
        return None

    def _split(self, timeline: Timeline, total: float, undelayed: float, note: str = "") -> Bound:
        """Return a bound of which ``undelayed`` would remain without delay."""
        from belated.bounds import Bound

        scale = float(getattr(self, "lipschitz", math.inf)) * self.domain.diameter
        trivial = scale * timeline.rounds if timeline.rounds else math.inf
        name = f"{self.title} ({self.reference})"
        return Bound(name, undelayed, total - undelayed, note, trivial=trivial)

    def _check_facts(self) -> None:
        """Check the facts that are given, at construction."""
        for name in self.facts():
            value = getattr(self, name)
            if value is not None:
                least = 1 if name == "rounds" else 0
                object.__setattr__(self, name, whole(self.kind, name, value, least=least))

    def _demand_facts(self) -> None:
        """Refuse to run while something is missing."""
        missing = [name for name in self.facts() if getattr(self, name) is None]
        if missing:
            words = " and ".join(f"{name} ({FACTS[name]})" for name in missing)
            raise SpecError(
                f"{self.kind}: must be told {words} in advance; give it, or let told(timeline) "
                "fill it in"
            )

    def compiled(
        self,
        number: int,
        *,
        own: Floats | None = None,
        keep: int = 0,
        base: int = K.OMD,
        numbers: dict[int, float] | None = None,
        points: int = 1,
    ) -> Program:
        """Return the program of a method on a built-in set.

        ``number`` is what ``kernels.methods.method`` gave, ``own`` how its own region starts,
        ``keep`` the floats it keeps per open ticket, ``base`` the step that ``steps.step`` takes,
        ``numbers`` what goes to the header of ``f``, ``points`` how many points a play has.
        """
        self._demand_facts()
        domain = self.domain
        check_set(self.kind, domain)
        code, chart, chart_numbers = place(domain)
        answer = _ANSWERS[self.feedback]
        k = domain.dim
        size = {K.FIRST_ORDER: k, K.ONE_POINT: 1, K.TWO_POINT: 2}.get(answer, k + 1)
        first = np.array(domain.center, dtype=np.float64)
        return Program(
            spec=self,
            code=C.pack(
                {
                    C.REDUCTION: answer,
                    C.BASE: base,
                    C.DOMAIN: code,
                    C.CHART: chart,
                    C.METHOD: number,
                    C.LAGS: 1,
                }
            ),
            dim=k,
            shape=(k,) if points == 1 else (points, k),
            answer=(size,),
            first=into_chart(first, chart, chart_numbers),
            numbers={
                F.SIZE: domain.size,
                F.INNER: domain.inner_radius or 0.0,
                F.DIAMETER: domain.diameter,
                F.LIPSCHITZ: float(getattr(self, "lipschitz", 0.0)),
                F.MAGNITUDE: float(getattr(self, "magnitude", 0.0)),
                F.CURVATURE: float(getattr(self, "curvature", 0.0)),
                **(numbers or {}),
            },
            chart=chart_numbers,
            own=np.zeros(0) if own is None else own,
            keep=keep,
            wants_function=self.feedback == "function",
        )


def check_set(who: str, domain: Any, *, interior: bool = False) -> None:
    """Refuse what is not a built-in set, and where values are explored a set without interior."""
    if isinstance(domain, ConvexSet):
        raise SpecError(f"{who}: runs on Ball, Box, Simplex and L1Ball, got a ConvexSet")
    if not isinstance(domain, Domain):
        raise SpecError(f"{who}: domain must be a belated domain, got {domain!r}")
    if interior and isinstance(domain, Simplex):
        raise SpecError(
            f"{who}: Simplex has no interior to explore; play on a Box of dim - 1 coordinates"
        )
