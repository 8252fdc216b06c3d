"""The families: what f_t is, given a_t and, where it has one, b_t.

The underscores of two classes keep them out of the registry of specs: only whole families have a
kind.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, cast

import numpy as np
from numpy.typing import ArrayLike

from belated.arrays import Floats
from belated.domains import Domain
from belated.errors import SpecError
from belated.geometry import Shape, Spread, shape_of
from belated.research.core import losses as core_losses
from belated.research.losses.base import Constants, Loss
from belated.research.losses.sources import Given, Source
from belated.spec import Spec, positive, whole


@dataclass(frozen=True, repr=False, init=False)
class _Family(Loss):
    """Built-in losses: a function of a_t, b_t and x, and a source of a_t and b_t."""

    sequence: Source
    _core: ClassVar[str]
    _targets: ClassVar[Literal["none", "numbers", "labels"]] = "none"

    def __init__(self, sequence: Source | ArrayLike) -> None:
        """Take a source, or an array whose rows are the a_t."""
        self._take(sequence, None)

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        return self.sequence.dim

    @property
    def rounds(self) -> int | None:
        """How many rounds there are; None for no end."""
        return self.sequence.rounds

    @property
    def is_adaptive(self) -> bool:
        """Whether f_t is chosen after seeing the play x_t."""
        return self.sequence.is_adaptive

    def in_core(self) -> core_losses.Loss:
        """Return new losses of the core, with work space of their own."""
        kind = getattr(core_losses, self._core)
        source = self.sequence._in_core(self._targets)
        return cast(core_losses.Loss, kind(source, *self._numbers()))

    def _numbers(self) -> tuple[float, ...]:
        """Return what the core takes beside the source."""
        return ()

    def value(self, t: int, x: ArrayLike) -> float:
        """Return f_t(x)."""
        return self._single(t, x)[0]

    def gradient(self, t: int, x: ArrayLike) -> Floats:
        """Return a (sub)gradient of f_t at x."""
        return self._single(t, x)[1]

    def _single(self, t: int, x: ArrayLike) -> tuple[float, Floats]:
        point, t = self._point(x), self._known_rounds("t", t, excess=1)
        value, gradient = self.in_core().single(t, point)
        return float(value), gradient

    def rows(self, start: int, stop: int) -> tuple[Floats, Floats]:
        """Return the vectors a_t, one per row, and the targets b_t for start <= t < stop.

        Targets are 0 where the family has none.
        """
        self._refuse_adaptive("rows")
        stop = self._known_rounds("stop", stop)
        start = whole(self.kind, "start", start, least=0)
        vectors, targets = self.in_core().rows(start, max(start, stop))
        return vectors, targets

    def constants(self, domain: Domain) -> Constants:
        """Return G, lambda and M for all rounds on a domain, measured in its chart.

        They are maxima for given rounds (on a ``ConvexSet``, of the ball around it) and bounds
        that some rounds could attain, or nearly so, for generated ones.
        """
        lipschitz = magnitude = 0.0
        for spread in self.sequence._spreads(self._shape(domain)):
            slopes, sizes = self._bounds(spread)
            lipschitz = max(lipschitz, float(slopes.max()))
            magnitude = max(magnitude, float(sizes.max()))
        return Constants(lipschitz, 0.0, magnitude)

    def _shape(self, domain: Domain) -> Shape:
        self._check_domain(domain)
        return shape_of(domain)

    def _bounds(self, spread: Spread) -> tuple[Floats, Floats]:
        """Return the largest gradient norm and the largest |f_t| for every round of a spread."""
        raise NotImplementedError

    def _take(self, sequence: Source | ArrayLike, targets: ArrayLike | None) -> None:
        """Turn arrays into a source, and check that the family can use it."""
        if isinstance(sequence, Source):
            source = sequence
            if targets is not None:
                raise SpecError(f"{self.kind}: targets go with an array, got {sequence!r} for it")
        elif isinstance(sequence, Spec):
            raise SpecError(
                f"{self.kind}: sequence must be an array or a source of bl.losses, got {sequence!r}"
            )
        else:
            source = Given(sequence, targets)
        if source.is_adaptive and self.form != "linear":
            raise SpecError(f"{self.kind}: only losses.Linear can be adaptive, got {source!r}")
        if isinstance(source, Given):
            self._check_targets(source.targets)
        object.__setattr__(self, "sequence", source)

    def _check_targets(self, targets: ArrayLike | None) -> None:
        """Check that given rounds have the targets that the family needs."""
        if targets is None:
            if self._targets != "none":
                raise SpecError(f"{self.kind}: needs targets, one for every row of the array")
            return
        if self._targets == "none":
            raise SpecError(f"{self.kind}: has no targets, only vectors")
        values = np.asarray(targets)
        wrong = np.flatnonzero(np.abs(values) != 1.0)
        if self._targets == "labels" and wrong.size:
            raise SpecError(
                f"{self.kind}: labels must be 1 or -1, got {float(values[wrong[0]])!r} at index "
                f"{wrong[0]}"
            )


@dataclass(frozen=True, repr=False, init=False)
class _Supervised(_Family):
    """A family with targets."""

    def __init__(self, sequence: Source | ArrayLike, targets: ArrayLike | None = None) -> None:
        """Take a source, or an array whose rows are the a_t with an array of the b_t."""
        self._take(sequence, targets)


@dataclass(frozen=True, repr=False, init=False)
class Linear(_Family, module="losses"):
    """f_t(x) = <a_t, x>.

    >>> Linear([[1.0, 2.0]]).value(0, [3.0, 4.0])
    11.0
    >>> from belated import Ball
    >>> from belated.research.losses import Random
    >>> Linear(Random(2, scale=3.0)).constants(Ball(2, radius=5.0))
    Constants(lipschitz=3.0, curvature=0.0, magnitude=15.0)
    """

    form = "linear"
    _core = "Linear"

    def _bounds(self, spread: Spread) -> tuple[Floats, Floats]:
        return spread.norm, np.maximum(-spread.low, spread.high)


@dataclass(frozen=True, repr=False, init=False)
class Quadratic(_Family, module="losses"):
    """f_t(x) = (lambda/2) |x - a_t|^2 with lambda = ``curvature``, which is strongly convex.

    >>> Quadratic([[1.0, 2.0]], curvature=2.0).gradient(0, [3.0, 4.0])
    array([4., 4.])
    >>> from belated import Ball
    >>> from belated.research.losses import Random
    >>> Quadratic(Random(2), curvature=0.5).constants(Ball(2))
    Constants(lipschitz=1.0, curvature=0.5, magnitude=1.0)
    """

    curvature: float = 1.0
    form = "quadratic"
    _core = "Quadratic"

    def __init__(self, sequence: Source | ArrayLike, curvature: float = 1.0) -> None:
        """Take a source, or an array whose rows are the a_t."""
        self._take(sequence, None)
        object.__setattr__(self, "curvature", positive(self.kind, "curvature", curvature))

    def _numbers(self) -> tuple[float, ...]:
        return (self.curvature,)

    def constants(self, domain: Domain) -> Constants:
        """Return G, lambda and M for all rounds on a domain, measured in its chart."""
        shape = self._shape(domain)
        distance = self.sequence._distance(shape, np.ones(self.dim))
        return Constants(
            lipschitz=self.curvature * self.sequence._distance(shape, shape.scales),
            curvature=self.curvature * float(shape.scales.min()) ** 2,
            magnitude=0.5 * self.curvature * distance**2,
        )


@dataclass(frozen=True, repr=False, init=False)
class Absolute(_Supervised, module="losses"):
    """f_t(x) = |<a_t, x> - b_t|.

    >>> Absolute([[1.0, 2.0]], [20.0]).value(0, [3.0, 4.0])
    9.0
    """

    form = "convex"
    _core = "Absolute"
    _targets = "numbers"

    def _bounds(self, spread: Spread) -> tuple[Floats, Floats]:
        return spread.norm, _rest(spread)


@dataclass(frozen=True, repr=False, init=False)
class Squared(_Supervised, module="losses"):
    """f_t(x) = (<a_t, x> - b_t)^2 / 2.

    >>> Squared([[1.0, 2.0]], [20.0]).value(0, [3.0, 4.0])
    40.5
    """

    form = "squared"
    _core = "Squared"
    _targets = "numbers"

    def _bounds(self, spread: Spread) -> tuple[Floats, Floats]:
        rest = _rest(spread)
        return spread.norm * rest, 0.5 * rest * rest


@dataclass(frozen=True, repr=False, init=False)
class Logistic(_Supervised, module="losses"):
    """f_t(x) = ln(1 + exp(-b_t <a_t, x>)) with labels b_t = 1 or -1.

    >>> Logistic([[1.0]], [-1]).value(0, [1000.0])
    1000.0
    """

    form = "convex"
    _core = "Logistic"
    _targets = "labels"

    def _bounds(self, spread: Spread) -> tuple[Floats, Floats]:
        margin = _worst_margin(spread)
        return spread.norm * np.exp(-np.logaddexp(0.0, margin)), np.logaddexp(0.0, -margin)


@dataclass(frozen=True, repr=False, init=False)
class Hinge(_Supervised, module="losses"):
    """f_t(x) = max(0, 1 - b_t <a_t, x>) with labels b_t = 1 or -1.

    >>> Hinge([[1.0]], [-1]).value(0, [2.0])
    3.0
    """

    form = "convex"
    _core = "Hinge"
    _targets = "labels"

    def _bounds(self, spread: Spread) -> tuple[Floats, Floats]:
        margin = _worst_margin(spread)
        return np.where(margin < 1.0, spread.norm, 0.0), np.maximum(0.0, 1.0 - margin)


def _rest(spread: Spread) -> Floats:
    """Return the largest |<a_t, x> - b_t| of every round."""
    return np.maximum(spread.high - spread.target, spread.target - spread.low)


def _worst_margin(spread: Spread) -> Floats:
    """Return the smallest b_t <a_t, x> of every round, b_t being the sign of the target."""
    return np.where(spread.target >= 0.0, spread.low, -spread.high)
