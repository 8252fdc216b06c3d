"""Slow, obvious versions of the first-order methods that were published last.

Protocol, coordinates and what a cancelled ticket is are those of ``naive_rivals``. Every play is
computed afresh from complete lists of what was received.
"""

from __future__ import annotations

import numpy as np

from naive import Array, ChartSet, Geometry, project_entropy
from naive_rivals import Rival
from naive_simplex_rivals import total

# --- Weighted optimism ---------------------------------------------------------------------------


class NaiveWOFTRL(Rival):
    """x = argmin over K of <sum of what was received + n times the newest, x> + lambda psi(x).

    n is ``copies``, or without that one more than there are open tickets.
    """

    def __init__(
        self,
        *,
        domain: ChartSet,
        smoothness: float,
        delay: int,
        mirror: Geometry = "euclidean",
        copies: int | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(domain, seed)
        extra = (delay + 1) * (delay + 2) / 2.0
        self.eta = 1.0 / (2.0 * extra * smoothness)
        self.mirror = mirror
        self.copies = copies
        self.received: list[Array] = []

    def predict(self) -> tuple[int, Array]:
        """Solve for the play."""
        n = len(self.pending()) + 1 if self.copies is None else self.copies
        pull = total(self.received + self.received[-1:] * n, self.domain.dim)
        if self.mirror == "euclidean":
            x = self.domain.project(self.domain.start - self.eta * pull)
        else:
            x = project_entropy(np.exp(-self.eta * (pull - pull.min())), self.domain.floor)
        return self._issue(), x

    def observe(self, ticket: int, cost: Array) -> bool:
        """Keep the gradient."""
        self._close(ticket)
        self.received.append(cost)
        return True

    def cancel(self, ticket: int) -> None:
        """Close the ticket."""
        self._close(ticket)
