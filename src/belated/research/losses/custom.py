"""A user's own losses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from belated.arrays import Floats
from belated.domains import Domain
from belated.errors import SpecError
from belated.research.core import losses as core_losses
from belated.research.losses.base import Constants, Loss
from belated.spec import number, positive, whole
from belated.validation import checked_point


@dataclass(frozen=True, repr=False)
class Custom(Loss, module="losses"):
    """A user's own losses: ``value(t, x)`` and ``gradient(t, x)`` are Python functions, t from 0.

    Games call them, so they are slower. ``lipschitz``, ``curvature`` and
    ``magnitude`` are what the user knows of G, lambda and M in the chart of the domain in question;
    without them, what needs them says so. Losses are convex; that is not checked.

    >>> mine = Custom(1, lambda t, x: abs(x[0] - t), lambda t, x: [1.0 if x[0] > t else -1.0])
    >>> mine.total([1.0], 4)
    (4.0, array([-2.]))
    """

    dim: int
    value: Callable[[int, Any], float]
    gradient: Callable[[int, Any], Any]
    lipschitz: float | None = None
    curvature: float = 0.0
    magnitude: float | None = None
    form = "convex"

    def __post_init__(self) -> None:
        """Check the numbers."""
        object.__setattr__(self, "dim", whole(self.kind, "dim", self.dim))
        for name in ("value", "gradient"):
            if not callable(getattr(self, name)):
                raise SpecError(
                    f"{self.kind}: {name} must be a function, got {getattr(self, name)!r}"
                )
        for name in ("lipschitz", "magnitude"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, positive(self.kind, name, getattr(self, name)))
        curvature = number(self.kind, "curvature", self.curvature)
        if curvature < 0.0:
            raise SpecError(f"{self.kind}: curvature must be at least 0, got {self.curvature!r}")
        object.__setattr__(self, "curvature", curvature)

    def checked_value(self, t: int, x: Floats) -> float:
        """Return f_t(x), or say that it is no finite number."""
        return number(self.kind, f"value({t}, x)", self.value(t, x))

    def checked_gradient(self, t: int, x: Floats) -> Floats:
        """Return a gradient as an array of its own: the function may use its one again."""
        who = f"{self.kind}: gradient({t}, x)"
        return checked_point(self.gradient(t, x), self.dim, who)

    def in_core(self) -> core_losses.Loss:
        """Return new losses of the core."""
        return core_losses.UserLoss(self.dim, self.checked_value, self.checked_gradient)

    def constants(self, domain: Domain) -> Constants:
        """Return what the user said."""
        self._check_domain(domain)
        return Constants(self.lipschitz, self.curvature, self.magnitude)

    def rows(self, start: int, stop: int) -> tuple[Floats, Floats]:
        """Refuse: a user's functions have no vectors and targets."""
        raise SpecError(f"{self.kind}: has no rows: it is made of Python functions")
