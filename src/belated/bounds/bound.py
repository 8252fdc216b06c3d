"""``Bound``: an upper bound on regret, split into what learning and what lateness cost."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from belated.spec import positive
from belated.timeline import Timeline


@dataclass(frozen=True)
class Bound:
    """An upper bound on the regret against every fixed play, in three parts.

    * ``learning``: the same bound for the same number of rounds with all delays zero;
    * ``delay``: the rest of it, due to lateness (in Corollary 5.7 it can fall a hair below zero,
      as lateness also makes the steps smaller);
    * ``skipped``: G D for every round that is given up on (``Skip``, ``Deadline``; less for
      strongly convex losses), and then ``delay`` is that of the shorter delays which the learner
      inside sees; for ``Capacity`` G D for every round that is expected to find no place.

    ``trivial`` is G D T, which no sequence of plays exceeds.

    >>> bound = Bound("Corollary 5.3", learning=60.0, delay=30.0, trivial=200.0)
    >>> bound.total, bound.factor, bound.vacuous
    (90.0, 1.5, False)
    >>> print(bound)
    Corollary 5.3: 90 = learning 60 + delay 30, 1.5 times the price without delay
    """

    name: str
    """The result, as the paper numbers it."""
    learning: float
    delay: float
    note: str = ""
    """A note on how to read the number, or nothing."""
    skipped: float = 0.0
    trivial: float = math.inf

    @property
    def total(self) -> float:
        """The bound itself."""
        return self.learning + self.delay + self.skipped

    @property
    def factor(self) -> float:
        """The price of lateness: the bound over what it would be without delay."""
        return self.total / self.learning if self.learning else 1.0

    @property
    def vacuous(self) -> bool:
        """Whether the bound says no more than that a round costs at most G D."""
        return self.total >= self.trivial

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON; an unknown ``trivial`` is None.

        >>> Bound("Corollary 5.3", 3.0, 1.0).to_dict()["total"]
        4.0
        """
        data = dataclasses.asdict(self)
        data["trivial"] = self.trivial if math.isfinite(self.trivial) else None
        return {**data, "total": self.total, "factor": self.factor, "vacuous": self.vacuous}

    def __str__(self) -> str:
        """Return the bound on one line, and a second one with what to know about it."""
        parts = f"learning {self.learning:,.4g} + delay {self.delay:,.4g}"
        if self.skipped:
            parts += f" + skipped {self.skipped:,.4g}"
        line = (
            f"{self.name}: {self.total:,.4g} = {parts}, {self.factor:,.3g} times the price "
            "without delay"
        )
        remarks = [self.note] if self.note else []
        if self.vacuous:
            remarks.insert(0, f"vacuous: no play loses more than {self.trivial:,.4g}")
        return line + "".join(f"\n  {remark}" for remark in remarks)


def split(
    name: str,
    timeline: Timeline,
    value: Callable[[Timeline], float],
    scale: float,
    note: str = "",
) -> Bound:
    """Evaluate a bound with the delays and without; ``scale`` is G D."""
    rounds = timeline.rounds
    if not rounds:
        return Bound(name, 0.0, 0.0, note, trivial=0.0)
    prompt = Timeline.from_delays(np.zeros(rounds, dtype=np.int64))
    learning = value(prompt)
    return Bound(name, learning, value(timeline) - learning, note, trivial=scale * rounds)


def scale_of(who: str, lipschitz: float, diameter: float) -> float:
    """Return G D after checking both."""
    return positive(who, "lipschitz", lipschitz) * positive(who, "diameter", diameter)
