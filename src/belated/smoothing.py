"""Exploration radii delta_t of one-point and two-point feedback, t = 1, 2, ... counting rounds.

All of them are non-increasing and lie in (0, r], r being the inner radius of the set. With a
``horizon`` T the radius is fixed at its value for t = T, so every round explores alike.
``ratio`` is nu = M / (G r): the bound on a loss value over gradient bound times inner radius.
k is the dimension.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from belated.errors import SpecError
from belated.spec import Spec, positive, whole


class Smoothing(Spec):
    """A schedule of exploration radii.

    To add one: a class here, and its class in ``core/rates.py``; see docs/architecture.md.
    """

    def breadth(self, dim: int, inner_radius: float) -> float:
        """Return the factor of the schedule, for the class in the core."""
        return 0.0

    if TYPE_CHECKING:

        @property
        def horizon(self) -> int | None:
            """Number of rounds for which the radius is fixed, or None."""


@dataclass(frozen=True, repr=False)
class Convex(Smoothing, module="smoothing"):
    """delta_t = r min{1, sqrt(ratio k) / t^(1/4)} (Corollary 5.7).

    >>> Convex(1.0)
    smoothing.Convex(ratio=1.0)
    """

    ratio: float
    horizon: int | None = None

    def __post_init__(self) -> None:
        """Check the numbers."""
        _check(self, "smoothing.Convex")

    def breadth(self, dim: int, inner_radius: float) -> float:
        """sqrt(ratio k)."""
        return math.sqrt(self.ratio * dim)


@dataclass(frozen=True, repr=False)
class StronglyConvex(Smoothing, module="smoothing"):
    """delta_t = r min{1, (ratio^2 k^2 ln(e t) / t)^(1/3)} (Corollary 5.8).

    Differs from the paper: ln(e t) in place of ln t, which is 0 in the first round and would divide
    by zero.

    >>> StronglyConvex(1.0, horizon=1000).horizon
    1000
    """

    ratio: float
    horizon: int | None = None

    def __post_init__(self) -> None:
        """Check the numbers."""
        _check(self, "smoothing.StronglyConvex")

    def breadth(self, dim: int, inner_radius: float) -> float:
        """(ratio k)^2."""
        return (self.ratio * dim) ** 2


@dataclass(frozen=True, repr=False)
class InverseRoot(Smoothing, module="smoothing"):
    """delta_t = r / sqrt(t), for two-point feedback on convex losses (Corollary G.3).

    >>> InverseRoot()
    smoothing.InverseRoot()
    """

    horizon: int | None = None

    def __post_init__(self) -> None:
        """Check the number."""
        _check(self, "smoothing.InverseRoot")


@dataclass(frozen=True, repr=False)
class Inverse(Smoothing, module="smoothing"):
    """delta_t = r / t, for two-point feedback on strongly convex losses (Corollary G.4).

    >>> Inverse()
    smoothing.Inverse()
    """

    horizon: int | None = None

    def __post_init__(self) -> None:
        """Check the number."""
        _check(self, "smoothing.Inverse")


@dataclass(frozen=True, repr=False)
class Constant(Smoothing, module="smoothing"):
    """delta_t = radius, at most the inner radius of the set.

    >>> Constant(0.05).radius
    0.05
    """

    radius: float

    @property
    def horizon(self) -> None:
        """No horizon: the radius never changes anyway."""

    def __post_init__(self) -> None:
        """Check the number."""
        object.__setattr__(self, "radius", positive("smoothing.Constant", "radius", self.radius))

    def breadth(self, dim: int, inner_radius: float) -> float:
        """Radius / r."""
        return self.radius / inner_radius


@dataclass(frozen=True, repr=False)
class Custom(Smoothing, module="smoothing"):
    """A user's own radii: delta_t = ``function(t)``, t = 1, 2, ...; at most the inner radius.

    The function is called when a round is played and again when answers arrive, so it must return
    the same number for the same t. See docs/your-own-parts.md.

    >>> import math
    >>> Custom(math.sqrt).horizon is None
    True
    """

    function: Callable[[int], float]

    @property
    def horizon(self) -> None:
        """No horizon: the function says all."""

    def __post_init__(self) -> None:
        """Check that there is a function."""
        if not callable(self.function):
            raise SpecError(
                f"smoothing.Custom: function must be a function of t, got {self.function!r}"
            )


def _check(schedule: Smoothing, owner: str) -> None:
    """Check ``ratio`` and ``horizon`` where the schedule has them."""
    if hasattr(schedule, "ratio"):
        object.__setattr__(schedule, "ratio", positive(owner, "ratio", schedule.ratio))
    if schedule.horizon is not None:
        object.__setattr__(schedule, "horizon", whole(owner, "horizon", schedule.horizon))
