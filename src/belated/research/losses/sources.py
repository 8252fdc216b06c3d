"""Sources: where the vectors a_t and the targets b_t of the rounds come from."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np
from numpy.typing import ArrayLike

from belated.arrays import Floats
from belated.errors import SpecError
from belated.geometry import Shape, Spread
from belated.research.core import losses as core_losses
from belated.spec import LARGEST, Spec, number, positive, whole

_CHUNK = 1 << 16
"""Given rounds looked at together, so that exact constants need little memory."""


class Source(Spec):
    """Where the vectors a_t and the targets b_t of the rounds come from."""

    if TYPE_CHECKING:

        @property
        def dim(self) -> int:
            """Number of coordinates."""

    @property
    def rounds(self) -> int | None:
        """How many rounds there are; None for no end."""
        return None

    @property
    def is_adaptive(self) -> bool:
        """Whether a_t is chosen after seeing the play x_t."""
        return False

    def _spreads(self, shape: Shape) -> Iterator[Spread]:
        """Yield what together covers all rounds."""
        raise NotImplementedError

    def _distance(self, shape: Shape, weights: Floats) -> float:
        """Bound |weights * (x - a_t)| over all rounds and the domain."""
        raise NotImplementedError

    def _in_core(self, targets: str) -> core_losses.Source:
        """Return the source of the core; ``targets`` says what b_t is."""
        raise SpecError(f"no source of the core is known for {self.kind}")


@dataclass(frozen=True, repr=False, eq=False)
class Given(Source, module="losses"):
    """Rounds from arrays: row t of ``vectors`` is a_t, entry t of ``targets`` is b_t.

    Both become read-only copies in float64. Sources with equal content are equal. A family takes
    the arrays themselves just as well.

    >>> from belated.research.losses import Linear
    >>> Given([[1.0, 2.0], [3.0, 4.0]])
    losses.Given(<2 rounds of dimension 2>)
    >>> Linear([[1.0, 2.0], [3.0, 4.0]]).sequence == Given([[1, 2], [3, 4]])
    True
    """

    vectors: ArrayLike
    targets: ArrayLike | None = None

    def __post_init__(self) -> None:
        """Check the arrays and copy them."""
        vectors = _array("vectors", self.vectors, 2)
        count, dim = vectors.shape
        if count == 0 or dim == 0:
            raise SpecError(f"losses.Given: vectors must not be empty, got shape {vectors.shape}")
        rows = np.zeros((count, dim + 1))
        rows[:, :dim] = vectors
        if self.targets is not None:
            targets = _array("targets", self.targets, 1)
            if targets.size != count:
                raise SpecError(
                    f"losses.Given: targets must be one per row of vectors, {count}, got "
                    f"{targets.size}"
                )
            rows[:, dim] = targets
        rows += 0.0  # -0 becomes 0: what is equal must also hash alike
        shown = rows.view()
        shown.setflags(write=False)
        object.__setattr__(self, "_rows", rows)
        object.__setattr__(self, "vectors", shown[:, :dim])
        object.__setattr__(self, "targets", None if self.targets is None else shown[:, dim])

    @property
    def dim(self) -> int:
        """Number of coordinates."""
        return int(self._given_rows().shape[1]) - 1

    @property
    def rounds(self) -> int:
        """Number of rows."""
        return int(self._given_rows().shape[0])

    def __eq__(self, other: object) -> bool:
        """Tell whether both hold the same numbers."""
        if not isinstance(other, Given):
            return NotImplemented
        return (self.targets is None) == (other.targets is None) and np.array_equal(
            self._given_rows(), other._given_rows()
        )

    def __hash__(self) -> int:
        """Hash the numbers."""
        rows = self._given_rows()
        return hash((rows.shape, rows.tobytes()))

    def __repr__(self) -> str:
        """Name the size; numbers in thousands are no source."""
        return f"losses.Given(<{self.rounds} rounds of dimension {self.dim}>)"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the arrays once, not also the views of them, and what subclasses add."""
        ours = ("_rows", "vectors", "targets")
        more = {name: value for name, value in vars(self).items() if name not in ours}
        return type(self), (self.vectors, self.targets), more or None

    def _given_rows(self) -> Floats:
        return cast(Floats, self.__dict__["_rows"])

    def _in_core(self, targets: str) -> core_losses.Source:
        return core_losses.Given(self._given_rows())

    def _chunks(self) -> Iterator[tuple[Floats, Floats]]:
        rows = self._given_rows()
        for first in range(0, self.rounds, _CHUNK):
            some = rows[first : first + _CHUNK]
            yield some[:, :-1], some[:, -1]

    def _spreads(self, shape: Shape) -> Iterator[Spread]:
        return (shape.exact_spread(vectors, targets) for vectors, targets in self._chunks())

    def _distance(self, shape: Shape, weights: Floats) -> float:
        return max(float(shape.farthest(vectors, weights).max()) for vectors, _ in self._chunks())


def _array(name: str, value: Any, axes: int) -> Floats:
    """Return given data as a float64 array, or say what is wrong with it."""
    wanted = f"losses.Given: {name} must be an array of numbers with {axes} axes"
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise SpecError(f"{wanted}, got {value!r}") from error
    if array.ndim != axes or array.dtype.kind not in "iuf":
        raise SpecError(f"{wanted}, got shape {array.shape} of {array.dtype}")
    array = array.astype(np.float64)
    bad = np.argwhere(~(np.abs(array) <= LARGEST))
    if len(bad):
        place = ", ".join(str(i) for i in bad[0])
        raise SpecError(
            f"losses.Given: {name}[{place}] must be finite and at most 1e100, got "
            f"{array[tuple(bad[0])]!r}"
        )
    return array


# ---- Generated rounds, without end and without memory ------------------------------------------


class _Generated(Source):
    """A source made from a seed, or from nothing."""

    if TYPE_CHECKING:

        @property
        def scale(self) -> float:
            """Bound on |a_t| and on |b_t|."""

    _core: ClassVar[str]

    def __post_init__(self) -> None:
        """Check the numbers, those that it has."""
        limits = dict.fromkeys(("period", "every", "length"), (1, 2**53)) | {"seed": (0, 2**64 - 1)}
        for field in fields(cast(Any, self)):
            name, value = field.name, getattr(self, field.name)
            if name in limits:
                value = _at_most(self.kind, name, value, *limits[name])
            elif name == "dim":
                value = whole(self.kind, name, value)
            elif name == "scale":
                value = positive(self.kind, name, value)
            else:
                value = number(self.kind, name, value)
                if not 0.0 <= value <= 1.0:
                    raise SpecError(f"{self.kind}: noise must be between 0 and 1, got {value!r}")
            object.__setattr__(self, name, value)

    def _in_core(self, targets: str) -> core_losses.Source:
        """All fields go there, a length of phases last."""
        values = {field.name: getattr(self, field.name) for field in fields(cast(Any, self))}
        lengths = [values.pop(name) for name in ("period", "every", "length") if name in values]
        kind = getattr(core_losses, self._core)
        return cast(core_losses.Source, kind(targets, *values.values(), *lengths))

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

    _core = "Random"

    dim: int
    scale: float = 1.0
    noise: float = 0.5
    seed: int = 0


@dataclass(frozen=True, repr=False)
class Drifting(_Generated, module="losses"):
    """Noise around a direction m_t that moves; otherwise like :class:`Random`.

    m_t walks along straight lines between independent random directions, ``period`` rounds from
    each to the next; so |m_t| <= 1.

    >>> Drifting(3, period=100)
    losses.Drifting(dim=3, period=100)
    """

    _core = "Drifting"

    dim: int
    period: int
    scale: float = 1.0
    noise: float = 0.5
    seed: int = 0


@dataclass(frozen=True, repr=False)
class Switching(_Generated, module="losses"):
    """Noise around a direction that is drawn anew ``every`` so many rounds; see :class:`Random`.

    >>> Switching(3, every=100)
    losses.Switching(dim=3, every=100)
    """

    _core = "Switching"

    dim: int
    every: int
    scale: float = 1.0
    noise: float = 0.5
    seed: int = 0


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

    _core = "Blocks"

    dim: int
    length: int = 1
    scale: float = 1.0
    seed: int = 0

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

    _core = "Alternating"

    dim: int
    scale: float = 1.0

    def _vectors(self) -> Floats:
        """Return the three vectors that occur."""
        vectors = np.zeros((3, self.dim))
        vectors[:, 0] = self.scale * np.array([0.5, -1.0, 1.0])
        return vectors

    def _spreads(self, shape: Shape) -> Iterator[Spread]:
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

    _core = "Adaptive"

    dim: int
    scale: float = 1.0

    @property
    def is_adaptive(self) -> bool:
        """True: it is."""
        return True


def _at_most(owner: str, name: str, value: Any, least: int, most: int) -> int:
    """Return ``value`` as an int from ``least`` to ``most``, or refuse it by name."""
    result = whole(owner, name, value, least=least, bits=128)
    if result > most:
        raise SpecError(f"{owner}: {name} must be at most {most}, got {value!r}")
    return result
