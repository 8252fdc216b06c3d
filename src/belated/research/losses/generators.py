"""Rounds that are generated: without end and without memory."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from belated.errors import SpecError
from belated.research.losses.source import Source
from belated.spec import number, positive, whole

if TYPE_CHECKING:
    from belated.arrays import Floats
    from belated.geometry import Shape, Spread


class _Generated(Source):
    """A source made from a seed, or from nothing."""

    if TYPE_CHECKING:

        @property
        def scale(self) -> float:
            """Bound on |a_t| and on |b_t|."""

    def _spreads(self, shape: Shape) -> Iterator[Spread]:
        """Let a_t point anywhere."""
        norm = self.scale * float(shape.scales.max())
        yield shape.bounded_spread(norm, self.scale * shape.extent(), self.scale)

    def _distance(self, shape: Shape, weights: Floats) -> float:
        """Let a_t point away from the farthest x."""
        return shape.extent(weights) + self.scale * float(weights.max())


@dataclass(frozen=True, repr=False)
class Random(_Generated, module="losses"):
    """Noise around a fixed random direction m, |m| = 1.

    Linear and Quadratic: a_t = scale ((1 - noise) m + noise u_t), where u_t is uniform on the unit
    sphere; so |a_t| <= scale. Absolute and Squared: a_t = scale u_t and b_t = (1 - noise) <m, a_t>
    + noise scale xi_t with xi_t uniform in [-1, 1]; so |b_t| <= scale. Logistic and Hinge: the sign
    of that number.

    >>> from belated.research.losses import Linear
    >>> Random(3, noise=0.1)
    losses.Random(dim=3, noise=0.1)
    >>> Linear(Random(3, scale=2.0)).rounds is None
    True
    """

    dim: int
    scale: float = 1.0
    noise: float = 0.5
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the numbers."""
        _check_source(self)


@dataclass(frozen=True, repr=False)
class Drifting(_Generated, module="losses"):
    """Noise around a direction m_t that moves; otherwise like :class:`Random`.

    m_t walks along straight lines between independent random directions, ``period`` rounds from
    each to the next; so |m_t| <= 1.

    >>> Drifting(3, period=100)
    losses.Drifting(dim=3, period=100)
    """

    dim: int
    period: int
    scale: float = 1.0
    noise: float = 0.5
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the numbers."""
        _check_source(self, "period")


@dataclass(frozen=True, repr=False)
class Switching(_Generated, module="losses"):
    """Noise around a direction that is drawn anew ``every`` so many rounds; see :class:`Random`.

    >>> Switching(3, every=100)
    losses.Switching(dim=3, every=100)
    """

    dim: int
    every: int
    scale: float = 1.0
    noise: float = 0.5
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the numbers."""
        _check_source(self, "every")


@dataclass(frozen=True, repr=False)
class Blocks(_Generated, module="losses"):
    """The adversary of the lower bounds: a_t = scale e / sqrt(dim), e a vector of random signs.

    e is drawn anew every ``length`` rounds. With length = d + 1, under the constant delay d,
    nothing about a block is known before it is over: with linear losses the game is one of
    T / (d + 1) rounds that count d + 1 times each, and its regret is of order sqrt((d + 1) T)
    (Weinberger and Ordentlich, 2002). Targets are ``scale`` times a sign of their own per block.

    >>> from belated.research.losses import Linear
    >>> Linear(Blocks(1, length=2, seed=1)).rows(0, 6)[0].ravel()
    array([-1., -1., -1., -1.,  1.,  1.])
    """

    dim: int
    length: int = 1
    scale: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the numbers."""
        _check_source(self, "length")

    def _spreads(self, shape: Shape) -> Iterator[Spread]:
        height = self.scale / math.sqrt(self.dim)
        norm = height * math.sqrt(float((shape.scales**2).sum()))
        yield shape.bounded_spread(norm, height * shape.widest(), self.scale)

    def _distance(self, shape: Shape, weights: Floats) -> float:
        return shape.farthest_of_signs(self.scale, weights)


@dataclass(frozen=True, repr=False)
class Alternating(_Generated, module="losses"):
    """a_t = scale (1/2, -1, 1, -1, ...) along the first axis: follow the leader loses every round.

    The sums of the first t vectors have alternating signs, so what was best so far is worst next.
    All targets are ``scale``.

    >>> from belated.research.losses import Linear
    >>> Linear(Alternating(1)).rows(0, 4)[0].ravel()
    array([ 0.5, -1. ,  1. , -1. ])
    """

    dim: int
    scale: float = 1.0

    def __post_init__(self) -> None:
        """Check the numbers."""
        _check_source(self)

    def _vectors(self) -> Floats:
        """Return the three vectors that occur."""
        import numpy as np

        vectors = np.zeros((3, self.dim))
        vectors[:, 0] = self.scale * np.array([0.5, -1.0, 1.0])
        return vectors

    def _spreads(self, shape: Shape) -> Iterator[Spread]:
        import numpy as np

        yield shape.exact_spread(self._vectors(), np.full(3, self.scale))

    def _distance(self, shape: Shape, weights: Floats) -> float:
        return float(shape.farthest(self._vectors(), weights).max())


@dataclass(frozen=True, repr=False)
class Adaptive(_Generated, module="losses"):
    """An adversary that sees the play first: a_t = scale x_t / |x_t|, for Linear losses only.

    Where x_t = 0 it takes the first axis. What the best fixed action would have lost depends on
    the plays, so only a game can know it.

    >>> from belated.research.losses import Linear
    >>> Linear(Adaptive(2)).value(0, [3.0, 4.0])
    5.0
    """

    dim: int
    scale: float = 1.0

    def __post_init__(self) -> None:
        """Check the numbers."""
        _check_source(self)

    @property
    def is_adaptive(self) -> bool:
        """True: it is."""
        return True


def _check_source(source: _Generated, length: str | None = None) -> None:
    """Check the fields of a generated source; ``length`` names its number of rounds in a phase."""
    owner = source.kind
    checked: dict[str, int | float] = {
        "dim": whole(owner, "dim", source.dim),
        "scale": positive(owner, "scale", source.scale),
    }
    if length is not None:
        checked[length] = _at_most(owner, length, getattr(source, length), 1, 2**53)
    if hasattr(source, "seed"):
        checked["seed"] = _at_most(owner, "seed", source.seed, 0, 2**64 - 1)
    if hasattr(source, "noise"):
        checked["noise"] = number(owner, "noise", source.noise)
        if not 0.0 <= checked["noise"] <= 1.0:
            raise SpecError(f"{owner}: noise must be between 0 and 1, got {source.noise!r}")
    for name, value in checked.items():
        object.__setattr__(source, name, value)


def _at_most(owner: str, name: str, value: Any, least: int, most: int) -> int:
    """Return ``value`` as an int from ``least`` to ``most``, or say who got what."""
    result = whole(owner, name, value, least=least, bits=128)
    if result > most:
        raise SpecError(f"{owner}: {name} must be at most {most}, got {value!r}")
    return result
