"""Rounds from arrays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from belated.errors import SpecError
from belated.research.losses.source import Source
from belated.spec import LARGEST

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from belated.arrays import Floats
    from belated.geometry import Shape, Spread

_CHUNK = 1 << 16
"""Given rounds looked at together, so that exact constants need little memory."""


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
        import numpy as np

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
        import numpy as np

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
        return _rebuilt, (type(self), self.vectors, self.targets), more or None

    def _given_rows(self) -> Floats:
        return cast("Floats", self.__dict__["_rows"])

    def _chunks(self) -> Iterator[tuple[Floats, Floats]]:
        rows = self._given_rows()
        for first in range(0, self.rounds, _CHUNK):
            some = rows[first : first + _CHUNK]
            yield some[:, :-1], some[:, -1]

    def _spreads(self, shape: Shape) -> Iterator[Spread]:
        return (shape.exact_spread(vectors, targets) for vectors, targets in self._chunks())

    def _distance(self, shape: Shape, weights: Floats) -> float:
        return max(float(shape.farthest(vectors, weights).max()) for vectors, _ in self._chunks())


def _rebuilt(cls: type[Given], vectors: ArrayLike, targets: ArrayLike | None) -> Given:
    """Undo a pickle, whatever the constructor of a subclass wants."""
    source = object.__new__(cls)
    object.__setattr__(source, "vectors", vectors)
    object.__setattr__(source, "targets", targets)
    Given.__post_init__(source)
    return source


def _array(name: str, value: Any, axes: int) -> Floats:
    """Return given data as a float64 array, or say what is wrong with it."""
    import numpy as np

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
