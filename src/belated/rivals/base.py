"""What all rivals share: what they must be told, how fields are checked, and how they run."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, cast

import numpy as np

from belated.arrays import Floats
from belated.bounds import Bound
from belated.domains import ConvexSet, Domain
from belated.errors import SpecError
from belated.kernels.slots import code as C
from belated.kernels.slots import floats as F
from belated.kernels.slots import kinds as K
from belated.learner.program import Method, Program, into_chart, place
from belated.learner.state import Memory
from belated.spec import number, positive, whole
from belated.timeline import Timeline

AnswerKind = Literal["gradient", "function", "coefficients", "value", "two values", "k + 1 values"]
"""What a method is told of a loss."""

FACTS = {
    "rounds": "T, the number of rounds",
    "total_delay": "d_tot, the sum of all delays",
    "max_delay": "d_max, the largest delay",
    "delay": "the fixed delay of every answer",
}
"""What a method may have to be told in advance, and what it is."""

_MOST = 1 << 53
"""Facts are at most that, beyond which floats skip whole numbers; a sum of delays may be more."""

UNCHECKED = "constants not checked against the paper"
"""What to know about some bounds."""

_ANSWERS: dict[AnswerKind, int] = {
    "gradient": K.FIRST_ORDER,
    "function": K.FIRST_ORDER,
    "coefficients": K.COEFFICIENTS,
    "value": K.ONE_POINT,
    "two values": K.TWO_POINT,
    "k + 1 values": K.MANY_POINTS,
}


class Rival(Method):
    """A published method behind the same two events.

    Class attributes are what ``docs/rivals.md`` prints: ``title`` (the name of the class, unless
    another is given) and ``reference``, ``memory`` beyond O(dim), and ``guarantee`` in the notation
    of the table there. Fields named in ``FACTS`` are what the method must be told in advance; they
    may be None while it is being put together, but it does not run without those that it ``needs``.
    """

    title: ClassVar[str]
    reference: ClassVar[str]
    answers: ClassVar[AnswerKind] = "gradient"
    memory: ClassVar[str] = "none"
    guarantee: ClassVar[str]
    order: ClassVar[str] = "any order; a lost answer counts as zero"
    """What happens to answers out of order, and to lost ones."""

    if TYPE_CHECKING:

        @property
        def domain(self) -> Domain:
            """The set it plays in."""

    def __init_subclass__(cls, *, module: str = "", **kwargs: Any) -> None:
        """Register a method; a class without a module holds what several methods share."""
        if module:
            super().__init_subclass__(module=module, **kwargs)
            cls.title = vars(cls).get("title", cls.__name__)

    def __post_init__(self) -> None:
        """Check the set, and every number and switch among the fields."""
        check_set(self.kind, self.domain)
        for field in dataclasses.fields(cast(Any, self)):
            value = _checked(self.kind, field, getattr(self, field.name))
            object.__setattr__(self, field.name, value)
        for name in self.facts():
            if name not in self.needs and getattr(self, name) is not None:
                raise SpecError(
                    f"{self.kind}: does not use {name} with these settings, got "
                    f"{getattr(self, name)!r}; leave it out"
                )

    def _check_choice(self, name: str, *choices: str) -> None:
        """Refuse what is not one of a few words."""
        value = getattr(self, name)
        if value not in choices:
            words = " or ".join(repr(choice) for choice in choices)
            raise SpecError(f"{self.kind}: {name} is {words}, got {value!r}")

    @property
    def feedback(self) -> AnswerKind:
        """What an answer is."""
        return type(self).answers

    @property
    def _outer(self) -> float:
        """R, the largest distance from the centre; every built-in set has one."""
        assert self.domain.outer_radius is not None
        return self.domain.outer_radius

    # ---- facts ---------------------------------------------------------------------------------

    @classmethod
    def facts(cls) -> tuple[str, ...]:
        """Return the names of what it may have to be told in advance."""
        return tuple(f.name for f in dataclasses.fields(cast(Any, cls)) if f.name in FACTS)

    @property
    def needs(self) -> tuple[str, ...]:
        """Those of its facts that it uses with these settings; it takes no others."""
        return self.facts()

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
        facts = {name: known[name] for name in self.needs}
        return cast(Self, dataclasses.replace(cast(Any, self), **facts))

    def _fact(self, name: str) -> int:
        """Return something that it was told, or refuse to go on while anything is missing."""
        self._demand_facts()
        return cast(int, getattr(self, name))

    @property
    def _missing(self) -> list[str]:
        return [name for name in self.needs if getattr(self, name) is None]

    def _demand_facts(self) -> None:
        """Refuse to run while something is missing."""
        if missing := self._missing:
            words = " and ".join(f"{name} ({FACTS[name]})" for name in missing)
            raise SpecError(
                f"{self.kind}: must be told {words} in advance; give it, or let told(timeline) "
                "fill it in"
            )

    # ---- bounds --------------------------------------------------------------------------------

    def bound(self, timeline: Timeline) -> Bound | None:
        """Return what the method, as it is, promises on these delays.

        The steps are those that it takes, whatever facts they come from. None while it misses a
        fact, on delays that it does not take, and where no constants are known.
        """
        return None if self._missing else self._guaranteed(timeline)

    def _guaranteed(self, timeline: Timeline) -> Bound | None:
        """Return the bound of a method that misses no fact."""
        return None

    def _bound(
        self,
        learning: float,
        delay: float,
        note: str = "",
        *,
        trivial: float,
        skipped: float = 0.0,
    ) -> Bound:
        """Return a bound under the name of the method."""
        name = f"{self.title} ({self.reference})"
        return Bound(name, learning, delay, note, skipped=skipped, trivial=trivial)

    def _split(self, timeline: Timeline, total: float, undelayed: float, note: str = "") -> Bound:
        """Return a bound of which ``undelayed`` would remain without delay."""
        scale = float(getattr(self, "lipschitz", math.inf)) * self.domain.diameter
        trivial = scale * timeline.rounds if timeline.rounds else math.inf
        return self._bound(undelayed, total - undelayed, note, trivial=trivial)

    def _without_delay(self, timeline: Timeline, total: float, note: str = "") -> Bound | None:
        """Return a bound that is promised without delay only."""
        return None if timeline.total_delay else self._split(timeline, total, total, note)

    # ---- programs ------------------------------------------------------------------------------

    def compiled(
        self,
        number: int,
        *,
        own: Floats | None = None,
        keep: int = 0,
        base: int = K.OMD,
        numbers: dict[int, float] | None = None,
        points: int = 1,
        moving: tuple[int, ...] = (),
        fixed: tuple[int, ...] = (),
        sound: Callable[[Memory], bool] | None = None,
    ) -> Program:
        """Return the program of a method on a built-in set.

        ``number`` is what ``learners.methods.method`` gave, ``own`` how its own region starts,
        ``keep`` the floats it keeps per open ticket, ``base`` the step that ``steps.step`` takes,
        ``numbers`` what goes to the header of ``f``, ``points`` how many points a play has;
        ``moving``, ``fixed`` and ``sound`` are for snapshots (see ``Program``).
        """
        self._demand_facts()
        domain = self.domain
        code, chart, chart_numbers = place(domain)
        answer = _ANSWERS[self.feedback]
        parts = {C.REDUCTION: answer, C.DOMAIN: code, C.CHART: chart}
        k = domain.dim
        return Program(
            spec=self,
            code=C.pack({**parts, C.BASE: base, C.METHOD: number, C.LAGS: 1}),
            dim=k,
            shape=(k,) if points == 1 else (points, k),
            answer=({K.FIRST_ORDER: k, K.ONE_POINT: 1, K.TWO_POINT: 2}.get(answer, k + 1),),
            first=into_chart(np.array(domain.center, dtype=np.float64), chart, chart_numbers),
            numbers={**self._assumed(), **(numbers or {})},
            chart=chart_numbers,
            own=np.zeros(0) if own is None else own,
            keep=keep,
            wants_function=self.feedback == "function",
            moving=moving,
            fixed=fixed,
            sound=sound,
        )

    def _assumed(self) -> dict[int, float]:
        """Return the numbers that describe the set and the assumptions."""
        return {
            F.SIZE: self.domain.size,
            F.INNER: self.domain.inner_radius or 0.0,
            F.DIAMETER: self.domain.diameter,
            F.LIPSCHITZ: float(getattr(self, "lipschitz", 0.0)),
            F.MAGNITUDE: float(getattr(self, "magnitude", 0.0)),
            F.CURVATURE: float(getattr(self, "curvature", 0.0)),
        }


def check_set(who: str, domain: Any) -> None:
    """Refuse what is not a built-in set."""
    if isinstance(domain, ConvexSet):
        raise SpecError(f"{who}: runs on Ball, Box, Simplex and L1Ball, got a ConvexSet")
    if not isinstance(domain, Domain):
        raise SpecError(f"{who}: domain must be a belated domain, got {domain!r}")


def _checked(who: str, field: dataclasses.Field[Any], value: Any) -> Any:
    """Return a field as its annotation wants it, or say who got what.

    A float must be positive or, where its default is 0, not negative; a fact may be missing.
    """
    name = field.name
    match field.type:  # a string, as annotations are not evaluated
        case "float":
            check = _not_negative if field.default == 0.0 else positive
            return check(who, name, value)
        case "int":
            return whole(who, name, value)
        case "int | None":
            return None if value is None else _checked_fact(who, name, value)
        case "bool":
            if not isinstance(value, bool):
                raise SpecError(f"{who}: {name} must be True or False, got {value!r}")
            return value
        case words if words in _CHECKED_BY_THEIR_CLASS:
            return value
    raise TypeError(f"{who}: nothing checks {name}, a field of type {field.type}")


_CHECKED_BY_THEIR_CLASS = ("Domain", "Reduction", "Mirror", "Hint", "GradientOrFunction")


def _checked_fact(who: str, name: str, value: Any) -> int:
    """Return a fact, if numbers like it can be computed with."""
    fact = whole(who, name, value, least=1 if name == "rounds" else 0)
    if fact > _MOST and name != "total_delay":
        raise SpecError(f"{who}: {name} must be at most 2**53, got {value!r}")
    return fact


def _not_negative(who: str, name: str, value: Any) -> float:
    """Return a finite float of at least zero, or say who got what."""
    result = number(who, name, value)
    if result < 0.0:
        raise SpecError(f"{who}: {name} must not be negative, got {result!r}")
    return positive(who, name, value) if result > 0.0 else result
