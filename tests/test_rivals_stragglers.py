"""One answer that never comes must not stop a method that learns from all the others."""

from __future__ import annotations

import numpy as np
import pytest

import belated as bl
from belated.research.rivals import DUB, AdaHedgeD

ROUNDS = 1500
LOST = 60
RNG = np.random.default_rng(5)
COSTS = (RNG.random((ROUNDS, 3)) < [0.2, 0.5, 0.6]).astype(float)


def regret(spec: AdaHedgeD | DUB, *, comes: bool) -> float:
    """Play with answers at once; that of one ticket comes, or never does."""
    learner = bl.Learner(spec)
    paid = 0.0
    for t, cost in enumerate(COSTS):
        ticket, w = learner.predict()
        paid += float(w @ cost)
        if comes or t != LOST:
            learner.observe(ticket, cost)
    return paid - float(COSTS.sum(axis=0).min())


@pytest.mark.parametrize("kind", [AdaHedgeD, DUB])
def test_a_lost_answer_costs_little(kind: type[AdaHedgeD] | type[DUB]) -> None:
    assert regret(kind(3), comes=False) <= regret(kind(3), comes=True) + 2.0


@pytest.mark.parametrize("kind", [AdaHedgeD, DUB])
def test_what_came_is_used_when_the_straggler_comes_or_is_cancelled(
    kind: type[AdaHedgeD] | type[DUB],
) -> None:
    """Zero in the end: the step size catches up, whichever way the ticket is closed."""
    late, never, prompt = (bl.Learner(kind(3)) for _ in range(3))
    rows = COSTS[:40].copy()
    rows[3] = 0.0
    for t, row in enumerate(rows):
        for learner in (late, never, prompt):
            learner.predict()
            if learner is prompt or t != 3:
                learner.observe(t, row)
    rate = prompt.report().rate
    assert late.report().rate != rate
    late.observe(3, rows[3])
    never.cancel(3)
    assert late.predict().x.tolist() == never.predict().x.tolist()
    assert late.report().rate == never.report().rate
    assert late.open == 1
    assert late._player.tickets.held == 0, "nothing is kept any more but the new ticket"
