"""The base of all losses, and their constants."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from belated.arrays import Floats, Ints
from belated.domains import Domain
from belated.errors import SpecError
from belated.research.core import losses as core_losses
from belated.spec import Spec, whole
from belated.validation import numbers


class Constants(NamedTuple):
    """The constants for all rounds and every x of a domain, measured in its chart (``domains``)."""

    lipschitz: float | None
    """G: the norm of a gradient is at most this; None where a user did not say."""
    curvature: float
    """lambda: every f_t is this strongly convex; 0 where nothing is claimed."""
    magnitude: float | None
    """M: |f_t(x)| is at most this; None where a user did not say."""


Form = Literal["linear", "quadratic", "squared", "convex"]
"""A sum of <a, x>, of (lambda/2) |x - a|^2, of (<a, x> - b)^2 / 2, or of any convex functions."""


class Loss(Spec):
    """A sequence of convex functions f_t, t = 0, 1, ..., of ``dim`` numbers in the user's terms."""

    form: ClassVar[Form]
    """The kind of sum of the losses: it decides how the best action is found."""

    if TYPE_CHECKING:

        @property
        def dim(self) -> int:
            """Number of coordinates."""

        @property
        def value(self) -> Callable[[int, ArrayLike], float]:
            """The function (t, x) -> f_t(x)."""

        @property
        def gradient(self) -> Callable[[int, ArrayLike], Floats]:
            """The function (t, x) -> a (sub)gradient of f_t at x."""

    @property
    def rounds(self) -> int | None:
        """How many rounds there are; None for no end."""
        return None

    @property
    def is_adaptive(self) -> bool:
        """Whether f_t is chosen after seeing the play x_t."""
        return False

    def constants(self, domain: Domain) -> Constants:
        """Return G, lambda and M for all rounds on a domain, measured in its chart."""
        raise NotImplementedError

    def rows(self, start: int, stop: int) -> tuple[Floats, Floats]:
        """Return the vectors a_t, one per row, and the targets b_t for start <= t < stop."""
        raise NotImplementedError

    def total(self, x: ArrayLike, rounds: int) -> tuple[float, Floats]:
        """Return the sums of f_t(x) and of its gradients over t < rounds, at one fixed x."""
        self._refuse_adaptive("total")
        point, rounds = self._point(x), self._known_rounds("rounds", rounds)
        value, gradients = self.in_core().total(point, rounds)
        return float(value), gradients

    def curve(self, x: ArrayLike, marks: ArrayLike) -> Floats:
        """Return the sum of f_t(x) over t < mark at one fixed x, for ascending marks."""
        self._refuse_adaptive("curve")
        point, places = self._point(x), self._marks(marks)
        sums: Floats = self.in_core().curve(point, places)
        return sums

    def along(self, path: ArrayLike) -> float:
        """Return the sum of f_t(u_t), u_t being row t of ``path``."""
        self._refuse_adaptive("along")
        points = np.ascontiguousarray(numbers(path, f"{self.kind}: a path is numbers", SpecError))
        if points.ndim != 2 or points.shape[1] != self.dim or not np.isfinite(points).all():
            raise SpecError(
                f"{self.kind}: a path has a row of {self.dim} finite numbers per round, got shape "
                f"{points.shape}"
            )
        self._known_rounds("a path of", len(points))
        return float(self.in_core().along(points))

    def _refuse_adaptive(self, what: str) -> None:
        if self.is_adaptive:
            raise SpecError(
                f"{self.kind}: {what} does not exist for adaptive losses: they depend on the "
                "plays, so ask the game"
            )

    def in_core(self) -> core_losses.Loss:
        """Return new losses of the core, with work space of their own."""
        raise NotImplementedError

    def _known_rounds(self, name: str, value: Any, *, excess: int = 0) -> int:
        """Return a whole number which, with ``excess``, is no more than there are rounds."""
        result = whole(self.kind, name, value, least=0)
        if self.rounds is not None and result + excess > self.rounds:
            raise SpecError(f"{self.kind}: has {self.rounds} rounds, got {name}={result}")
        return result

    def _point(self, x: ArrayLike) -> Floats:
        """Return x as a float64 vector of its own, or say what is wrong with it."""
        return finite_numbers(f"{self.kind}: x must be", x, self.dim)

    def _marks(self, marks: ArrayLike) -> Ints:
        """Return marks as ascending int64, or say what is wrong with them."""
        result = np.asarray(marks)
        if result.size == 0 and result.ndim == 1:
            return np.zeros(0, dtype=np.int64)
        if result.ndim != 1 or result.dtype.kind not in "iu" or (result[1:] < result[:-1]).any():
            raise SpecError(f"{self.kind}: marks must be ascending whole numbers, got {marks!r}")
        self._known_rounds("marks", result[0])
        self._known_rounds("marks", result[-1])
        return result.astype(np.int64)

    def _check_domain(self, domain: Domain) -> None:
        if not isinstance(domain, Domain):
            raise SpecError(f"{self.kind}: domain must be a belated domain, got {domain!r}")
        if domain.dim != self.dim:
            raise SpecError(
                f"{self.kind}: domain must have the dimension of the losses, {self.dim}, got "
                f"{domain.dim}"
            )


def finite_numbers(wanted: str, given: Any, dim: int) -> Floats:
    """Return ``dim`` finite numbers as a float64 array of its own, or say what they are not."""
    try:
        array = np.array(given)
    except ValueError as error:
        raise SpecError(f"{wanted} {dim} finite numbers, got {given!r}") from error
    if array.shape != (dim,):
        raise SpecError(f"{wanted} {dim} finite numbers, got shape {array.shape}")
    if array.dtype.kind not in "iuf" or not np.isfinite(array).all():
        raise SpecError(f"{wanted} {dim} finite numbers, got {given!r}")
    return array.astype(np.float64)
