"""The base class of all rivals: facts they must be told, checks of fields, bounds and players."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, cast, dataclass_transform, get_args

from belated import rates
from belated.bounds import Bound
from belated.compose import chart_of
from belated.core import numerics
from belated.domains import ConvexSet, Domain, Simplex
from belated.errors import SpecError
from belated.reductions import Method
from belated.research.core import rival_descent as core
from belated.research.core.rival import Setting
from belated.spec import number, positive, whole
from belated.timeline import Timeline

AnswerKind = Literal["gradient", "function", "value", "two values", "k + 1 values"]
Mirror = Literal["euclidean", "entropy"]
Hint = Literal["none", "recent"]
GradientOrFunction = Literal["gradient", "function"]

FACTS = {
    "rounds": "T, the number of rounds",
    "total_delay": "d_tot, the sum of all delays",
    "max_delay": "d_max, the largest delay",
    "delay": "the fixed delay of every answer",
}
"""Facts that a method may have to be told in advance."""

# Notes on bounds.
UNCHECKED = "constants not checked against the paper"
IN_EXPECTATION = f"in expectation over the exploration directions; {UNCHECKED}"

_MOST = 1 << 53  # of a fact, beyond which floats skip whole numbers; total_delay may be larger
_CHOICES = {
    "Mirror": get_args(Mirror),
    "Hint": get_args(Hint),
    "GradientOrFunction": get_args(GradientOrFunction),
}
_CHECKED_BY_THEIR_CLASS = ("Domain", "Reduction")


@dataclass_transform(frozen_default=True)
class Rival(Method):
    """A published method that learns through the same two events as other learners.

    Subclasses are frozen dataclasses. Their class attributes are the columns of the table in
    ``docs/rivals.md``: ``title`` (by default the name of the class), ``reference``, ``guarantee``
    (in the notation of that page), ``answers``, ``memory`` beyond O(dim), ``order`` (the treatment
    of answers out of order, and of lost ones), and if the fields do not say it, ``assumes`` (of the
    losses) and ``must_be_told``. Fields named in ``FACTS`` must be told in advance. They may be
    None at first, but the method does not run without those that it ``needs``.

    A subclass defines its fields, ``_core`` or ``_player`` and, if constants are known,
    ``_guaranteed``.
    ``abstract`` classes hold what several methods share.
    """

    title: ClassVar[str]
    reference: ClassVar[str]
    guarantee: ClassVar[str]
    answers: ClassVar[AnswerKind] = "gradient"
    memory: ClassVar[str] = "none"
    order: ClassVar[str] = "any order; a lost answer counts as zero"
    assumes: ClassVar[str] = ""
    must_be_told: ClassVar[str] = ""
    _core: ClassVar[tuple[Any, ...]]
    """The class of the core, and the names of what it takes."""

    if TYPE_CHECKING:

        @property
        def domain(self) -> Domain:
            """The set it plays in."""

    def __init_subclass__(cls, *, abstract: bool = False) -> None:
        """Make a subclass a dataclass; register and name it unless it is abstract."""
        dataclass(frozen=True, repr=False)(cls)
        if not abstract:
            super().__init_subclass__(module="rivals")
            cls.title = vars(cls).get("title", cls.__name__)

    # ---- checks --------------------------------------------------------------------------------

    def __post_init__(self) -> None:
        """Check each field, the set, and the conditions that fields must meet together."""
        for field in dataclasses.fields(cast(Any, self)):
            value = checked(self.kind, field, getattr(self, field.name))
            object.__setattr__(self, field.name, value)
        _check_set(self.kind, self.domain)
        self._check()
        for name in self.facts():
            if name not in self.needs and getattr(self, name) is not None:
                raise SpecError(
                    f"{self.kind}: does not use {name} with these settings, got "
                    f"{getattr(self, name)!r}; leave it out"
                )

    def _check(self) -> None:
        """Check the conditions that fields must meet together."""
        is_entropy = getattr(self, "mirror", "") == "entropy"
        if is_entropy and not isinstance(self.domain, Simplex):
            raise SpecError(
                f"{self.kind}: the entropy mirror works on a Simplex, got a {self.domain.kind}; "
                "use mirror='euclidean' there"
            )
        curvature, lipschitz = (getattr(self, name, None) for name in ("curvature", "lipschitz"))
        if curvature and lipschitz and not is_entropy:
            rates.check_curvature(self.kind, curvature, self.domain.diameter, lipschitz)

    # ---- facts ---------------------------------------------------------------------------------

    @property
    def feedback(self) -> AnswerKind:
        """The kind of its answers."""
        return type(self).answers

    @classmethod
    def facts(cls) -> tuple[str, ...]:
        """Return the names of the facts that it may have to be told in advance."""
        return tuple(f.name for f in dataclasses.fields(cast(Any, cls)) if f.name in FACTS)

    @property
    def needs(self) -> tuple[str, ...]:
        """The facts that it uses with these settings; it takes no others."""
        return self.facts()

    def told(self, timeline: Timeline) -> Self:
        """Return the same method, told what it must know of these delays.

        No real learner could know these facts: with them a method runs at its best.
        """
        if not isinstance(timeline, Timeline):
            raise SpecError(f"{self.kind}: told takes a Timeline, got {timeline!r}")
        names = {name: "max_delay" if name == "delay" else name for name in self.needs}
        facts = {name: getattr(timeline, known) for name, known in names.items()}
        return cast(Self, dataclasses.replace(cast(Any, self), **facts))

    @property
    def _missing(self) -> list[str]:
        return [name for name in self.needs if getattr(self, name) is None]

    def _fact(self, name: str) -> int:
        """Return a fact that it was told; refuse if any is missing."""
        if missing := self._missing:
            words = " and ".join(f"{each} ({FACTS[each]})" for each in missing)
            raise SpecError(
                f"{self.kind}: must be told {words} in advance; give it, or let told(timeline) "
                "fill it in"
            )
        return cast(int, getattr(self, name))

    # ---- bounds --------------------------------------------------------------------------------

    def bound(self, timeline: Timeline) -> Bound | None:
        """Return the guarantee of the method, as it is, on these delays.

        It is for the steps that the method takes, also if it was told wrong facts. None if a fact
        is missing, if the method does not take these delays, and if no constants are known.
        """
        if self._missing or not self.takes(timeline):
            return None
        return self._guaranteed(timeline)

    def takes(self, timeline: Timeline) -> bool:
        """Tell whether it can play on these delays, told the facts that it has."""
        return True

    def _guaranteed(self, timeline: Timeline) -> Bound | None:
        """Return the bound of a method that misses no fact, on delays that it takes."""
        return None

    def _bound(
        self, learning: float, delay: float, note: str = "", *, trivial: float, skipped: float = 0.0
    ) -> Bound:
        """Return a bound under the name of the method."""
        name = f"{self.title} ({self.reference})"
        return Bound(name, learning, delay, note, skipped=skipped, trivial=trivial)

    def _split(self, timeline: Timeline, total: float, undelayed: float, note: str = "") -> Bound:
        """Return a bound that would be ``undelayed`` without delay."""
        scale = float(getattr(self, "lipschitz", math.inf)) * self.domain.diameter
        trivial = scale * timeline.rounds if timeline.rounds else math.inf
        return self._bound(undelayed, total - undelayed, note, trivial=trivial)

    def _without_delay(self, timeline: Timeline, total: float, note: str = "") -> Bound | None:
        """Return a bound that holds without delay only."""
        return None if timeline.total_delay else self._split(timeline, total, total, note)

    @property
    def _outer(self) -> float:
        """R, the largest distance from the centre."""
        assert self.domain.outer_radius is not None  # every built-in set has one
        return self.domain.outer_radius

    # ---- players -------------------------------------------------------------------------------

    def player(self, seed: int, strict: bool) -> Any:
        """Return a new player of this method."""
        return self._player(self._setting(seed, strict))

    def _player(self, setting: Setting) -> Any:
        """Return a new player of the core."""
        kind, *names = self._core
        return kind(setting, *(getattr(self, name) for name in names))

    def _setting(self, seed: int, strict: bool) -> Setting:
        """Return the set and the assumptions, for the core; refuse if a fact is missing."""
        for name in self.needs:
            self._fact(name)
        chart = chart_of(self.domain)
        return Setting(
            chart=chart,
            domain=self.domain.in_chart(),
            first=chart.seen(self.domain.center),
            is_entropy=getattr(self, "mirror", "") == "entropy",
            lipschitz=float(getattr(self, "lipschitz", 0.0)),
            seed=seed,
            strict=strict,
            inner=self.domain.inner_radius or 0.0,
            magnitude=float(getattr(self, "magnitude", 0.0)),
        )


# ---- Checks of fields ----------------------------------------------------------------------------


def _check_set(owner: str, domain: Any) -> None:
    """Refuse everything except a built-in set."""
    if isinstance(domain, ConvexSet):
        raise SpecError(f"{owner}: runs on Ball, Box, Simplex and L1Ball, got a ConvexSet")
    if not isinstance(domain, Domain):
        raise SpecError(f"{owner}: domain must be a belated domain, got {domain!r}")


def checked(owner: str, field: dataclasses.Field[Any], value: Any) -> Any:
    """Return the value of a field, converted to the type of its annotation.

    A float must be positive or, if its default is 0, not negative; a fact may be missing.
    """
    name = field.name
    match field.type:  # a string, as annotations are not evaluated
        case "float":
            return (_not_negative if field.default == 0.0 else positive)(owner, name, value)
        case "int":
            return whole(owner, name, value, least=2 if name == "arms" else 1)
        case "int | None":
            return None if value is None else _checked_fact(owner, name, value)
        case "bool":
            if not isinstance(value, bool):
                raise SpecError(f"{owner}: {name} must be True or False, got {value!r}")
            return value
        case str(words) if words in _CHOICES:
            if value not in _CHOICES[words]:
                choices = " or ".join(repr(choice) for choice in _CHOICES[words])
                raise SpecError(f"{owner}: {name} is {choices}, got {value!r}")
            return value
        case words if words in _CHECKED_BY_THEIR_CLASS:
            return value
    raise TypeError(f"{owner}: nothing checks {name}, a field of type {field.type}")


def _checked_fact(owner: str, name: str, value: Any) -> int:
    """Return a fact that is not too large to compute with."""
    fact = whole(owner, name, value, least=1 if name == "rounds" else 0)
    if fact > _MOST and name != "total_delay":
        raise SpecError(f"{owner}: {name} must be at most 2**53, got {value!r}")
    return fact


def _not_negative(owner: str, name: str, value: Any) -> float:
    result = number(owner, name, value)
    if result < 0.0:
        raise SpecError(f"{owner}: {name} must not be negative, got {result!r}")
    return positive(owner, name, value) if result > 0.0 else result


# ---- Mathematics ---------------------------------------------------------------------------------


def log(x: float) -> float:
    """Return ln x with the same bits on every machine, which ``math.log`` does not promise."""
    return float(numerics.ln(x))


def cube_root(x: float) -> float:
    """Return the cube root of x >= 0 with the same bits on every machine."""
    return float(numerics.cube_root(x)) if x > 0.0 else 0.0


# ---- Classes that several methods share ----------------------------------------------------------


class Tuned(Rival, abstract=True):
    """Descent with one step eta: regret <= W^2 / (2 eta) + eta G^2 (T / 2 + d_tot).

    W is the diameter of the set, unless ``_width`` is overridden. A step tuned for the true T and
    d_tot makes it G W sqrt(T + 2 d_tot).
    """

    guarantee = "G D sqrt(T + 2 d_tot)"

    domain: Domain
    lipschitz: float
    rounds: int | None = None
    total_delay: int | None = None

    @property
    def _width(self) -> float:
        return self.domain.diameter

    @property
    def step(self) -> float:
        """eta = W / (G sqrt(T + 2 d_tot)), which balances W^2 / eta and the drift."""
        waiting = self._fact("rounds") + 2 * self._fact("total_delay")
        return self._width / (self.lipschitz * math.sqrt(waiting))

    _core: ClassVar[tuple[Any, ...]] = (core.GradientDescent, "step")

    def _guaranteed(self, timeline: Timeline) -> Bound | None:
        price = self.step * self.lipschitz**2
        learning = self._width**2 / (2.0 * self.step) + price * timeline.rounds / 2.0
        return self._split(timeline, learning + price * timeline.total_delay, learning)


class Regularised(Rival, abstract=True):
    """Play with a regulariser psi of weight lambda = ``strength``."""

    reference = "Flaspohler et al. 2021"

    def _regularised(self, timeline: Timeline, first: float, late: float) -> Bound | None:
        """lambda max psi + G^2 (first T + late d_tot) / lambda, if G is known.

        max psi is R^2 / 2, or ln k for the divergence from the uniform distribution.
        """
        spec = cast(Any, self)
        if spec.lipschitz == 0.0:
            return None
        is_entropy = spec.mirror == "entropy"
        most = math.log(self.domain.dim) if is_entropy else 0.5 * self._outer**2
        price = spec.lipschitz**2 / spec.strength
        learning = spec.strength * most + price * first * timeline.rounds
        width = 2.0 if is_entropy else self.domain.diameter
        trivial = spec.lipschitz * width * timeline.rounds
        return self._bound(learning, price * late * timeline.total_delay, trivial=trivial)


class OnArms(Rival, abstract=True):
    """Probabilities of k = ``arms`` experts or arms."""

    arms: int

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
        """Return a bound for losses in [0, 1], of which a play loses at most one per round."""
        rounds = float(timeline.rounds)
        return self._bound(learning, delay, note, skipped=skipped, trivial=rounds)
