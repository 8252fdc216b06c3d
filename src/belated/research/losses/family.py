"""What the built-in families share.

The underscores keep these classes out of the registry of specs: only whole families have a kind.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from belated.errors import SpecError
from belated.research.losses.base import Constants, Loss
from belated.research.losses.given import Given
from belated.research.losses.source import Source
from belated.spec import Spec, whole

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from belated.arrays import Floats
    from belated.domains import Domain
    from belated.geometry import Shape, Spread
    from belated.research.core import losses as core_losses


@dataclass(frozen=True, repr=False, init=False)
class _Family(Loss):
    """Built-in losses: a function of a_t, b_t and x, and a source of a_t and b_t."""

    sequence: Source
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

    def _in_core(self) -> core_losses.Loss:
        """Return the losses of the core."""
        from belated.research.losses.compose import loss_of

        return loss_of(self)

    def value(self, t: int, x: ArrayLike) -> float:
        """Return f_t(x)."""
        return self._single(t, x)[0]

    def gradient(self, t: int, x: ArrayLike) -> Floats:
        """Return a (sub)gradient of f_t at x."""
        return self._single(t, x)[1]

    def _single(self, t: int, x: ArrayLike) -> tuple[float, Floats]:
        point, t = self._point(x), self._known_rounds("t", t, excess=1)
        value, gradient = self._in_core().single(t, point)
        return float(value), gradient

    def rows(self, start: int, stop: int) -> tuple[Floats, Floats]:
        """Return the vectors a_t, one per row, and the targets b_t for start <= t < stop.

        Targets are 0 where the family has none.
        """
        self._refuse_adaptive("rows")
        stop = self._known_rounds("stop", stop)
        start = whole(self.kind, "start", start, least=0)
        vectors, targets = self._in_core().rows(start, max(start, stop))
        return vectors, targets

    def total(self, x: ArrayLike, rounds: int) -> tuple[float, Floats]:
        """Return the sums of f_t(x) and of its gradients over t < rounds, at one fixed x."""
        self._refuse_adaptive("total")
        point, rounds = self._point(x), self._known_rounds("rounds", rounds)
        value, gradients = self._in_core().total(point, rounds)
        return float(value), gradients

    def curve(self, x: ArrayLike, marks: ArrayLike) -> Floats:
        """Return the sum of f_t(x) over t < mark at one fixed x, for ascending marks."""
        self._refuse_adaptive("curve")
        point, places = self._point(x), self._marks(marks)
        sums: Floats = self._in_core().curve(point, places)
        return sums

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
        from belated.geometry import shape_of

        self._check_domain(domain)
        return shape_of(domain)

    def _bounds(self, spread: Spread) -> tuple[Floats, Floats]:
        """Return the largest gradient norm and the largest |f_t| for every round of a spread."""
        raise NotImplementedError

    def _refuse_adaptive(self, what: str) -> None:
        if self.is_adaptive:
            raise SpecError(
                f"{self.kind}: {what} does not exist for adaptive losses: they depend on the "
                "plays, so ask the game"
            )

    def _take(self, sequence: Source | ArrayLike, targets: ArrayLike | None) -> None:
        """Turn arrays into a source, and check that the family can use it."""
        if isinstance(sequence, Source):
            source = sequence
            if targets is not None:
                raise SpecError(f"{self.kind}: targets go with an array, got {sequence!r} for it")
        elif isinstance(sequence, Spec):
            raise SpecError(
                f"{self.kind}: sequence must be an array or a source of belated.losses, got "
                f"{sequence!r}"
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
        import numpy as np

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
