"""The guarantees of the paper for the delays of a log, and without delays.

The constants are 1: gradients are at most 1 long (G), the set is 1 wide (D), curvature (lambda) and
values (M) are 1, and the dimension is 10 where it counts. Ratios do not depend on G and D.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from belated import bounds
from belated.bounds import Bound
from belated.domains import Ball
from belated.timeline import Timeline

DIMENSION = 10


@dataclass(frozen=True)
class Promise:
    """A guarantee and whom it is for."""

    answers: str
    """The kind of answer and of losses."""
    bound: Bound

    @property
    def name(self) -> str:
        """The result and what it is about."""
        return f"{self.bound.name} {self.bound.note}".strip()


def from_counts(rounds: int, total_delay: int, max_backlog: int) -> list[Promise]:
    """Return the results that only depend on counts, so that no timeline is needed.

    They are those of :mod:`belated.bounds`, for logs of which no timeline fits in memory.
    """
    size = 1.0 + math.log(rounds)
    waiting = min(max_backlog * size, 2.0 * math.sqrt(total_delay))
    simple = 3.0 * math.sqrt(rounds + total_delay), 3.0 * rounds**0.5
    tight = 2.0 * math.sqrt(0.5 * rounds + total_delay), 2.0 * math.sqrt(0.5 * rounds)
    pftrl, omd = (9.0 * (waiting + size), 9.0 * size), (3.0 * (max_backlog + 1) * size, 3.0 * size)
    return [
        Promise(
            f"gradients, {losses}",
            Bound(name, prompt, late - prompt, note, trivial=float(rounds)),
        )
        for losses, name, (late, prompt), note in (
            ("convex", "Corollary 5.3", simple, ""),
            ("convex", "Corollary 5.3 with the tight rate", tight, ""),
            ("strongly convex", "Corollary 5.4", pftrl, "for P-FTRL"),
            ("strongly convex", "Corollary 5.4", omd, "for OMD"),
        )
    ]


def from_timeline(timeline: Timeline) -> Iterator[Promise]:
    """Yield the results that need the whole timeline: skipping, and answers that are values."""
    for result in (bounds.corollary_5_3, bounds.tight):
        found = bounds.corollary_6_2(timeline, result, lipschitz=1.0, diameter=1.0)
        yield Promise("gradients, convex", found)
    ball = Ball(DIMENSION, radius=0.5)
    curvature, magnitude = {"curvature": 1.0}, {"magnitude": 1.0}
    results: tuple[tuple[str, Any, dict[str, float]], ...] = (
        ("two values, convex", bounds.corollary_g_3, {}),
        ("two values, strongly convex", bounds.corollary_g_4, curvature),
        ("one value, convex", bounds.corollary_5_7, magnitude),
        ("one value, strongly convex", bounds.corollary_5_8, curvature | magnitude),
    )
    for answers, result, more in results:
        found = result(timeline, domain=ball, lipschitz=1.0, **more)
        yield Promise(answers, replace(found, note=""))
