"""Answers that never come: who still follows a change when one in ten is lost.

Costs point one way for the first half and the other way after that. An open ticket makes steps
smaller, as its answer could still come and be about an old point; ten in a hundred never do, so
with every ticket left open steps fall like 1/t. ``Skip`` gives up on some of them, ``Deadline`` on
all that are older than so many predictions.

Run it: python examples/lost_answers.py, or with 200000 for the table in docs/guide.md
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import belated as bl

rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 4_000
half, size = rounds // 2, 0.3
costs = np.zeros((rounds, 2))
costs[:half, 0], costs[half:, 0] = size, -size
timeline = bl.delays.lost(bl.delays.constant(rounds, 0), 0.1, seed=1)
problem = bl.Problem(bl.Ball(2), lipschitz=1.0)


def lost(**words: Any) -> float:
    """Return what is lost after the change, against the best play from then on."""
    spec = problem.learner("gradient", **words)
    plays = bl.Learner(spec).replay(timeline, costs)[half:]
    return float(np.sum(costs[half:] * plays)) + size * half


print(f"{'':<10} {'all open':>9} {'Skip':>9} {'Deadline':>9}   worst {2.0 * size * half:,.0f}")
for base in ("pftrl", "omd", "portfolio"):
    found = [lost(base=base), lost(base=base, skip=True), lost(base=base, deadline=100)]
    print(f"{base:<10} " + " ".join(f"{loss:>9,.0f}" for loss in found))
