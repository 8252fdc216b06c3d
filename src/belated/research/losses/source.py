"""What all sources of rounds share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from belated.spec import Spec

if TYPE_CHECKING:
    from belated.arrays import Floats
    from belated.geometry import Shape, Spread


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
