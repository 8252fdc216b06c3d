"""What all rivals share: what they must be told, how fields are checked, and how they run."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, cast

from belated import rates
from belated.bounds import Bound
from belated.core import numerics, sets
from belated.core.rival import Setting
from belated.domains import ConvexSet, Domain, Simplex
from belated.errors import SpecError
from belated.learner.compose import chart_of
from belated.learner.specs import Method
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

_CHECKED_BY_THEIR_CLASS = ("Domain", "Reduction", "Mirror", "Hint", "GradientOrFunction")

Mirror = Literal["euclidean", "entropy"]

IN_EXPECTATION = f"in expectation over the exploration directions; {UNCHECKED}"
"""What to know about a bound."""

Hint = Literal["none", "recent"]


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

    # ---- players -------------------------------------------------------------------------------

    def _setting(
        self, seed: int, strict: bool, *, mirror: str = "euclidean", floor: float | None = None
    ) -> Setting:
        """Return what the core must know of the set and the assumptions.

        ``floor`` takes the place of that of the simplex.
        """
        self._demand_facts()
        chart = chart_of(self.domain)
        domain = self.domain.in_chart()
        if floor is not None:
            domain = sets.Simplex(self.domain.dim, floor)
        return Setting(
            chart=chart,
            domain=domain,
            first=chart.seen(self.domain.center),
            is_entropy=mirror == "entropy",
            lipschitz=float(getattr(self, "lipschitz", 0.0)),
            seed=seed,
            strict=strict,
            inner=self.domain.inner_radius or 0.0,
            magnitude=float(getattr(self, "magnitude", 0.0)),
        )


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


def log(x: float) -> float:
    """Return ln x with the same bits on every machine, which ``math.log`` does not promise."""
    return float(numerics.ln(x))


def cube_root(x: float) -> float:
    """Return the cube root of x >= 0 with the same bits on every machine."""
    return float(numerics.cube_root(x)) if x > 0.0 else 0.0


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


class Regularises(Rival):
    """What rivals with a regulariser of some strength share: psi, and the bound that it gives."""

    if TYPE_CHECKING:
        lipschitz: float
        mirror: Mirror

        @property
        def strength(self) -> float:
            """lambda."""

    @property
    def _range(self) -> float:
        """The largest value of psi: R^2 / 2, or ln(dim) for the divergence from uniform."""
        if self.mirror == "entropy":
            return math.log(self.domain.dim)
        return 0.5 * self._outer**2

    def _regularised(self, timeline: Timeline, first: float, late: float) -> Bound | None:
        """lambda max psi + G^2 (first T + late d_tot) / lambda, where G is known."""
        if self.lipschitz == 0.0:
            return None
        price = self.lipschitz**2 / self.strength
        learning = self.strength * self._range + price * first * timeline.rounds
        width = 2.0 if self.mirror == "entropy" else self.domain.diameter
        trivial = self.lipschitz * width * timeline.rounds
        return self._bound(learning, price * late * timeline.total_delay, trivial=trivial)


@dataclass(frozen=True, repr=False)
class Regularised(Regularises):
    """A rival that plays in any set, with a regulariser of strength lambda and with hints."""

    reference = "Flaspohler et al. 2021"

    domain: Domain
    strength: float
    mirror: Mirror = "euclidean"
    hint: Hint = "none"
    lipschitz: float = 0.0

    def __post_init__(self) -> None:
        """Check the fields."""
        super().__post_init__()
        check_mirror(self, self.mirror)
        self._check_choice("hint", "none", "recent")


@dataclass(frozen=True, repr=False)
class OnArms(Rival):
    """A rival that plays probabilities of K = ``arms`` experts or arms."""

    arms: int

    def __post_init__(self) -> None:
        """Check the fields."""
        object.__setattr__(self, "arms", whole(self.kind, "arms", self.arms, least=2))
        super().__post_init__()

    @property
    def domain(self) -> Domain:
        """The simplex of the probabilities."""
        return Simplex(self.arms)

    def _of_unit_losses(
        self,
        timeline: Timeline,
        learning: float,
        delay: float,
        note: str = "losses in [0, 1]",
        skipped: float = 0.0,
    ) -> Bound:
        """Return a bound for losses in [0, 1]: no play can lose more than one per round."""
        rounds = float(timeline.rounds)
        return self._bound(learning, delay, note, skipped=skipped, trivial=rounds)
