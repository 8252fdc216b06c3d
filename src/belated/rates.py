"""Step sizes eta_n of the base learner, n = 1, 2, ... counting observations.

All of them are positive, non-increasing and known when the n-th observation arrives: they use n,
the dual backlogs s*_1..s*_n (tickets open when an answer arrives) and, where it says so, the costs.
D is the diameter of the base's domain and G is ``lipschitz``, a bound on the norm of a gradient.
c_n is the cost that the n-th observation becomes, T the number of rounds, d_tot the total delay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, runtime_checkable

from belated.errors import SpecError
from belated.spec import Spec, positive, vector

SLACK = 1.0 + 1e-9
"""A number up to this factor above a bound does not exceed it."""


class Rate(Spec):
    """A rule for the step size. ``lipschitz`` is G where it is known, else None.

    To add one: a class here, and its class in ``core/rates.py``; see docs/architecture.md.
    """

    not_for_values: ClassVar[str] = ""
    """Why values cannot be learned from with it, or nothing."""
    for_members: ClassVar[bool] = True
    """Whether a member of a ``Portfolio`` may have it."""
    is_curved: ClassVar[bool] = False
    """Whether it is for strongly convex losses."""

    if TYPE_CHECKING:

        @property
        def lipschitz(self) -> float | None:
            """Bound G on the norm of a gradient, where the rate was told one."""


@dataclass(frozen=True, repr=False)
class DelayAdaptive(Rate, module="rates"):
    """The paper's rate; it knows neither the horizon nor the delays.

    ====================  ==============================================================  =========
    reduction             eta_n                                                           reference
    ====================  ==============================================================  =========
    FirstOrder            (D/G) / sqrt(n + sum_m s*_m)                                    Cor 5.3
    OnePoint              (D/G) / sqrt(n + sum_m (s*_m + (k M / (G delta'_m))^2))         Cor 5.7
    TwoPoint              (D/G) / sqrt(n k + sum_m s*_m)                                  Cor G.3
    ====================  ==============================================================  =========

    with M the magnitude, k the dimension and delta'_m the smoothing of the round in progress when
    the m-th answer arrived. First order guarantee: regret <= 3 G D sqrt(T + d_tot).

    ``scale`` is a factor of all of them, which the corollaries have at 1. Any is covered by
    Theorems E.1 and E.3 (``bounds.theorem_e_1``, ``bounds.theorem_e_3``); for one value 1/2 is the
    better one (``OnePoint.tight``).

    >>> DelayAdaptive(2.0)
    rates.DelayAdaptive(lipschitz=2.0)
    """

    lipschitz: float
    scale: float = 1.0

    def __post_init__(self) -> None:
        """Check the numbers."""
        for name in ("lipschitz", "scale"):
            value = positive("rates.DelayAdaptive", name, getattr(self, name))
            object.__setattr__(self, name, value)

    def _arguments(self) -> dict[str, Any]:
        """Leave the scale of the paper out, as specs that are stored have none."""
        scale = {} if self.scale == 1.0 else {"scale": self.scale}
        return {"lipschitz": self.lipschitz, **scale}


@dataclass(frozen=True, repr=False)
class Tight(Rate, module="rates"):
    """The paper's rate with a better constant, for first-order feedback.

    eta_n = scale (D / 2G) / sqrt(n/2 + sum_m s*_m); regret <= 2 G D sqrt(T/2 + d_tot) with scale 1,
    which is best in the worst case.

    Differs from the paper: keeping the factor 1/2 of the learning term in Theorem 4.1 and balancing
    the two terms again gives this step.

    >>> Tight(1.0).lipschitz
    1.0
    """

    not_for_values: ClassVar[str] = "is proved for first-order feedback"

    lipschitz: float
    scale: float = 1.0

    def __post_init__(self) -> None:
        """Check the numbers."""
        object.__setattr__(self, "lipschitz", positive("rates.Tight", "lipschitz", self.lipschitz))
        object.__setattr__(self, "scale", positive("rates.Tight", "scale", self.scale))


@dataclass(frozen=True, repr=False)
class GradientAdaptive(Rate, module="rates"):
    """Steps that follow the gradients seen, for first-order feedback.

    eta_n = (D/2) / sqrt(sum_m (|c_m|^2 / 2 + G s*_m |c_m|)),
    regret <= 2 D sqrt(sum_n (|c_n|^2 / 2 + G s*_n |c_n|)).

    With ``lipschitz=None``, G in the m-th term is the largest |c| seen up to m; the step is the
    same idea but the proof needs G in advance, so no bound is known before the game. A certificate
    can still be had afterwards, as Theorem 4.1 allows any rates that do not increase. Nothing moves
    until the first non-zero cost.

    Differs from the paper: replace G^2 (1/2 + s*) by |c|^2/2 + G s* |c| in the proof of
    Corollary 5.3. Not for values: there a step may depend on delays and counts only.

    >>> GradientAdaptive()
    rates.GradientAdaptive()
    """

    not_for_values: ClassVar[str] = (
        "uses the observed values, which breaks the expectation argument"
    )

    lipschitz: float | None = None

    def __post_init__(self) -> None:
        """Check the number."""
        _optional(self, "rates.GradientAdaptive")


@dataclass(frozen=True, repr=False)
class StronglyConvex(Rate, module="rates"):
    """eta_n = 1 / (curvature n) for losses that are ``curvature``-strongly convex.

    Corollaries 5.4, 5.8 and G.4. ``lipschitz`` does not change the step; it lets the report certify
    the regret and one-point feedback choose its smoothing.

    >>> StronglyConvex(0.5)
    rates.StronglyConvex(curvature=0.5)
    """

    is_curved: ClassVar[bool] = True

    curvature: float
    lipschitz: float | None = None

    def __post_init__(self) -> None:
        """Check the numbers."""
        object.__setattr__(
            self, "curvature", positive("rates.StronglyConvex", "curvature", self.curvature)
        )
        _optional(self, "rates.StronglyConvex")


@dataclass(frozen=True, repr=False)
class Constant(Rate, module="rates"):
    """The same step for ever: eta_n = step.

    >>> Constant(0.1)
    rates.Constant(step=0.1)
    """

    step: float
    lipschitz: float | None = None

    def __post_init__(self) -> None:
        """Check the numbers."""
        object.__setattr__(self, "step", positive("rates.Constant", "step", self.step))
        _optional(self, "rates.Constant")


@dataclass(frozen=True, repr=False)
class InverseRoot(Rate, module="rates"):
    """The classical step eta_n = step / sqrt(n); it does not look at delays.

    Without delay and with ``step`` = D / (G sqrt 2) the regret is at most G D sqrt(2 T) (Zinkevich
    2003). Under delay it is a member for a ``Portfolio`` rather than a choice of its own.

    >>> InverseRoot(0.5)
    rates.InverseRoot(step=0.5)
    """

    step: float
    lipschitz: float | None = None

    def __post_init__(self) -> None:
        """Check the numbers."""
        object.__setattr__(self, "step", positive("rates.InverseRoot", "step", self.step))
        _optional(self, "rates.InverseRoot")


@dataclass(frozen=True, repr=False)
class Mixed(Rate, module="rates"):
    """The rate of a ``Portfolio``: every member its own. Not for other bases.

    ``lipschitz`` is the largest that a member was told.

    >>> Mixed(1.0)
    rates.Mixed(lipschitz=1.0)
    """

    for_members: ClassVar[bool] = False

    lipschitz: float | None = None

    def __post_init__(self) -> None:
        """Check the number."""
        _optional(self, "rates.Mixed")


@dataclass(frozen=True, repr=False)
class Table(Rate, module="rates"):
    """Steps given one by one: eta_n = steps[n - 1]; the last one is kept after the end.

    >>> Table([0.5, 0.25])
    rates.Table(steps=(0.5, 0.25))
    """

    for_members: ClassVar[bool] = False

    steps: Sequence[float]
    lipschitz: float | None = None

    def __post_init__(self) -> None:
        """Check that the steps are positive and do not increase, as the proofs need."""
        steps = vector("rates.Table", "steps", self.steps)
        if not steps or min(steps) <= 0.0:
            raise SpecError(f"rates.Table: steps must be positive and not empty, got {steps!r}")
        if any(later > earlier for earlier, later in pairwise(steps)):
            raise SpecError("rates.Table: steps must not increase: the guarantees need that")
        object.__setattr__(self, "steps", steps)
        _optional(self, "rates.Table")


class Counts(NamedTuple):
    """The counts of arrivals so far that a rate may use; the newest one is counted.

    Under a ``Capacity`` answers have weights: then ``arrivals`` is the sum of their squares, and
    backlogs are weighted sums.
    """

    arrivals: float
    """n, the number of answers."""
    backlogs: float
    """s*_1 + .. + s*_n, over all arrivals the number of tickets that were open after it."""
    waiting: float
    """s*_n, the number of tickets that are open now."""
    rounds: int
    """Predictions made so far."""


@runtime_checkable
class UserRate(Protocol):
    """The interface of a rate written by a user.

    Optional: ``save() -> bytes`` with ``load(bytes)``, for snapshots of a rate that keeps numbers
    between calls. A learner works on its own deep copy.
    """

    def step_size(self, counts: Counts, norm: float) -> float:
        """Return eta_n for a cost of this norm."""


@dataclass(frozen=True, repr=False)
class Custom(Rate, module="rates"):
    """A user's own rate: eta_n = ``rule.step_size(counts, norm)``.

    ``counts`` are ``rates.Counts`` and ``norm`` is |c_n|. Steps must be positive, and must not
    increase, as the guarantees need that; before the first cost other than 0 a step may be 0.
    ``lipschitz`` is what the user knows of G. See docs/your-own-parts.md.

    >>> class Root:
    ...     def step_size(self, counts, norm):
    ...         return 1.0 / (counts.arrivals + counts.backlogs) ** 0.5
    >>> Custom(Root(), lipschitz=1.0).lipschitz
    1.0
    """

    for_members: ClassVar[bool] = False

    rule: UserRate
    lipschitz: float | None = None

    def __post_init__(self) -> None:
        """Check that there is a method to call, and the number."""
        if isinstance(self.rule, type | Spec) or not isinstance(self.rule, UserRate):
            raise SpecError(
                "rates.Custom: rule must be an object with step_size(counts, norm), got "
                f"{self.rule!r}"
            )
        _optional(self, "rates.Custom")


def check_curvature(owner: str, curvature: float, diameter: float, lipschitz: float) -> None:
    """Refuse a curvature that contradicts the bound on the gradients.

    Between two points at distance D the gradients of a lambda-strongly convex loss differ by at
    least lambda D, so lambda D <= 2 G (Fact B.1).
    """
    if curvature * diameter > 2.0 * lipschitz * SLACK:
        raise SpecError(
            f"{owner}: inputs contradict: a loss with this curvature has gradients larger than "
            f"lipschitz somewhere in the set, as curvature * diameter = {curvature!r} * "
            f"{diameter!r} exceeds 2 * lipschitz = {2.0 * lipschitz!r}; lower curvature or raise "
            "lipschitz"
        )


def _optional(rate: Rate, owner: str) -> None:
    """Check ``lipschitz`` where it may be missing."""
    if rate.lipschitz is not None:
        object.__setattr__(rate, "lipschitz", positive(owner, "lipschitz", rate.lipschitz))
