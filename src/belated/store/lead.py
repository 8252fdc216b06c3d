"""Who leads."""

from __future__ import annotations

import threading


class Lead:
    """The time for which one thread commits for all.

    ``is_over`` is all that an interrupted one has to say, and it says that nothing more comes from
    it. To set it is the first thing that is done where an interrupt is caught, and as no call comes
    before it, a second interrupt cannot come before it either.
    """

    __slots__ = ("gate", "is_mending", "is_over")

    def __init__(self, gate: threading.Lock | None = None) -> None:
        self.gate = gate
        """Where the thread itself has waited."""
        self.is_mending = False
        """Whether it has taken over from one who was interrupted."""
        self.is_over = False
