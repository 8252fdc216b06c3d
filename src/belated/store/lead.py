"""What the one who leads has in hand."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from belated.store.batches import Batch
    from belated.store.queued import Queued


class Lead:
    """The time for which one thread commits for all, and what it has taken.

    ``is_over`` is all that an interrupted one has to say: whoever leads next finds here what has to
    be ended. To set it is the first thing that is done where an interrupt is caught, and as no call
    comes before it, a second interrupt cannot come before it either.
    """

    __slots__ = ("batch", "calls", "gate", "is_over")

    def __init__(self, gate: threading.Lock | None = None) -> None:
        self.gate = gate
        """Where the thread itself has waited."""
        self.calls: list[Queued] = []
        """Taken, and not all applied."""
        self.batch: Batch | None = None
        """Taken, and committed or lost once it is done."""
        self.is_over = False
