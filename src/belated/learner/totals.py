"""What reports and certificates read off the components of a learner."""

from __future__ import annotations

from typing import Any, NamedTuple, cast

from belated.core.bases import Leader, Sums
from belated.core.player import Composition
from belated.core.portfolio import Portfolio


class Member(NamedTuple):
    """A member of a portfolio."""

    misread: float
    """What it was charged for not knowing its point exactly."""
    gap: float
    """What the mixture was charged more than it."""
    sums: Sums


class Totals:
    """Counts and sums of a learner, as ``report_of`` reads them."""

    def __init__(self, player: Any) -> None:
        self._player, self._tickets = player, player.tickets

    def counts(self) -> dict[str, int]:
        """Return what every report says, by the name of its field."""
        return dict(self._tickets.counts())

    @property
    def rounds(self) -> int:
        """Predictions made so far."""
        return int(self._tickets.rounds)

    @property
    def excess(self) -> int:
        """Answers larger than assumed."""
        return int(self._tickets.excess)

    @property
    def unanswered(self) -> int:
        """Tickets that are open, given up on or cancelled."""
        return int(self._tickets.unanswered)

    @property
    def given_up(self) -> int:
        """Tickets that were closed without an answer."""
        return int(self._tickets.given_up)

    @property
    def sums(self) -> Any:
        """The sums of Theorem 4.1."""
        return self._base.sums

    @property
    def rate(self) -> float | None:
        """The newest step size."""
        rate = self._player.rate
        return None if rate is None else float(rate)

    @property
    def _base(self) -> Any:
        return cast(Composition, self._player).base

    @property
    def lead(self) -> Any:
        """The sums of a leader."""
        assert isinstance(self._base, Leader)
        return self._base

    @property
    def members(self) -> list[Member]:
        """What a portfolio knows of its members."""
        base = self._base
        assert isinstance(base, Portfolio)
        return [
            Member(float(misread), float(gap), member.base.sums)
            for member, misread, gap in zip(base.members, base.misread, base.gaps, strict=True)
        ]
