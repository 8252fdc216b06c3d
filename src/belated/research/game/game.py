"""``Game``: what a learner meets, and when it is told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from belated.domains import Domain
from belated.errors import SpecError
from belated.problem import Problem
from belated.research.delays import ByRule
from belated.research.losses import Constants, Loss
from belated.timeline import Timeline

Environment: TypeAlias = Timeline | ByRule
"""Where delays come from: a timeline, or a rule that looks at the plays."""


@dataclass(frozen=True)
class Game:
    """A sequence of losses and the delays of their answers.

    ``losses`` come from ``bl.losses``, ``timeline`` from ``bl.delays`` or from a log; the delays of
    ``delays.ByRule`` depend on the plays. ``name`` is for tables and figures.

    >>> import belated as bl
    >>> game = Game(bl.losses.Linear(bl.losses.Random(3)), bl.delays.constant(100, 5))
    >>> game.rounds, game.constants(bl.Ball(3)).lipschitz
    (100, 1.0)
    """

    losses: Loss
    timeline: Environment
    name: str = ""

    def __post_init__(self) -> None:
        """Check that the losses last as long as the timeline."""
        if not isinstance(self.losses, Loss):
            raise SpecError(f"Game: losses must come from bl.losses, got {self.losses!r}")
        if not isinstance(self.timeline, Timeline | ByRule):
            raise SpecError(
                f"Game: timeline must be a Timeline or delays.ByRule, got {self.timeline!r}"
            )
        known = self.losses.rounds
        if known is not None and known < self.rounds:
            raise SpecError(f"Game: {self.rounds} rounds, but losses for {known} only")

    @property
    def rounds(self) -> int:
        """T."""
        return self.timeline.rounds

    def constants(self, domain: Domain) -> Constants:
        """Return G, lambda and M of the losses on a set, measured in its chart."""
        return self.losses.constants(domain)

    def problem(self, domain: Domain, *, convex: bool = False) -> Problem:
        """Return the assumptions that hold in this game, as a ``Problem`` to take learners from.

        ``convex`` forgets about curvature.

        >>> import belated as bl
        >>> losses = bl.losses.Quadratic(bl.losses.Random(2), curvature=0.5)
        >>> game = Game(losses, bl.delays.constant(100, 5))
        >>> game.problem(bl.Ball(2)).learner("gradient").base.rate
        rates.StronglyConvex(curvature=0.5, lipschitz=1.0)
        """
        known = self.constants(domain)
        if known.lipschitz is None:
            raise SpecError("Game.problem: losses.Custom did not say its lipschitz")
        return Problem(
            domain,
            lipschitz=known.lipschitz,
            curvature=0.0 if convex else known.curvature,
            magnitude=known.magnitude or None,
        )
