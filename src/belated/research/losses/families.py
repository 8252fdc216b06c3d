"""The families: what f_t is, given a_t and, where it has one, b_t."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from belated.research.losses.base import Constants
from belated.research.losses.family import _Family, _Supervised
from belated.spec import positive

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from belated.arrays import Floats
    from belated.domains import Domain
    from belated.geometry import Spread
    from belated.research.losses.source import Source


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

    def _bounds(self, spread: Spread) -> tuple[Floats, Floats]:
        import numpy as np

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

    def __init__(self, sequence: Source | ArrayLike, curvature: float = 1.0) -> None:
        """Take a source, or an array whose rows are the a_t."""
        self._take(sequence, None)
        object.__setattr__(self, "curvature", positive(self.kind, "curvature", curvature))

    def constants(self, domain: Domain) -> Constants:
        """Return G, lambda and M for all rounds on a domain, measured in its chart."""
        import numpy as np

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
    _targets = "labels"

    def _bounds(self, spread: Spread) -> tuple[Floats, Floats]:
        import numpy as np

        margin = _worst_margin(spread)
        return spread.norm * np.exp(-np.logaddexp(0.0, margin)), np.logaddexp(0.0, -margin)


@dataclass(frozen=True, repr=False, init=False)
class Hinge(_Supervised, module="losses"):
    """f_t(x) = max(0, 1 - b_t <a_t, x>) with labels b_t = 1 or -1.

    >>> Hinge([[1.0]], [-1]).value(0, [2.0])
    3.0
    """

    form = "convex"
    _targets = "labels"

    def _bounds(self, spread: Spread) -> tuple[Floats, Floats]:
        import numpy as np

        margin = _worst_margin(spread)
        return np.where(margin < 1.0, spread.norm, 0.0), np.maximum(0.0, 1.0 - margin)


def _rest(spread: Spread) -> Floats:
    """Return the largest |<a_t, x> - b_t| of every round."""
    import numpy as np

    return np.maximum(spread.high - spread.target, spread.target - spread.low)


def _worst_margin(spread: Spread) -> Floats:
    """Return the smallest b_t <a_t, x> of every round, b_t being the sign of the target."""
    import numpy as np

    return np.where(spread.target >= 0.0, spread.low, -spread.high)
