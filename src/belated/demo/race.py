"""Five learners on the same orders; they differ only in how they treat lateness."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from belated import rates
from belated.demo.shop import LIPSCHITZ, PROMISES, Floats, Orders
from belated.learners import PFTRL
from belated.live import Certificate, Learner, Report
from belated.problem import Problem
from belated.reductions import FirstOrder, Reduction, Skip

PROBLEM = Problem(PROMISES, lipschitz=LIPSCHITZ)
PATIENCE = 72
"""Rounds after which the third learner stops waiting: three days."""
SAMPLES = 240
"""How often a run notes its backlog and certificate."""

SKIPPING = "belated, skipping"
PATIENT = "belated"
WAITING = "wait 3 days, drop the rest"
BLIND = "delay-blind"
AT_ONCE = "told at once (no delay)"
RIVALS = (WAITING, BLIND)
"""Those that treat lateness in another way than belated."""

Specs = Reduction | Skip


@dataclass(frozen=True)
class Sample:
    """How a learner stood at some round."""

    round: int
    open: int
    certificate: Certificate | None


@dataclass(frozen=True, eq=False)
class Run:
    """What one learner promised, and how it stood on the way."""

    name: str
    promises: Floats
    losses: Floats
    regret: Floats
    """Cumulative, against the best fixed promise of the whole run."""
    report: Report
    samples: list[Sample]

    @property
    def loss(self) -> float:
        """Total loss."""
        return float(self.losses.sum())

    @property
    def final_regret(self) -> float:
        """Regret at the end."""
        return float(self.regret[-1])


def spec(*, skip: bool) -> Specs:
    """Return belated's learner for the shop's problem."""
    return PROBLEM.learner(feedback="gradient", skip=skip, rate="tight")


def blind_spec(rounds: int) -> Specs:
    """Return the same base with the textbook's rate D / (G sqrt(n)), which ignores the backlog."""
    steps = PROMISES.diameter / (LIPSCHITZ * np.sqrt(np.arange(1, rounds + 1)))
    return FirstOrder(PFTRL(PROMISES, rates.Table(steps.tolist(), lipschitz=LIPSCHITZ)))


def race(orders: Orders, started: Callable[[str], None]) -> list[Run]:
    """Play all five; ``started`` is told the name of each before it plays."""
    events = _events(orders)
    at_once = (event for ticket in range(orders.rounds) for event in (ticket, ~ticket))
    plans: list[tuple[str, Specs, Iterable[int], int | None]] = [
        (SKIPPING, spec(skip=True), events, None),
        (PATIENT, spec(skip=False), events, None),
        (WAITING, spec(skip=False), events, PATIENCE),
        (BLIND, blind_spec(orders.rounds), events, None),
        (AT_ONCE, spec(skip=False), at_once, None),
    ]
    runs = []
    for name, what, when, patience in plans:
        started(name)
        runs.append(_play(name, what, orders, _impatient(when, patience)))
    return runs


def wait(orders: Orders, patience: int) -> Run:
    """Play the waiting learner with another patience, to see how much hangs on that number."""
    steps = _impatient(_events(orders), patience)
    return _play(f"wait {patience} rounds", spec(skip=False), orders, steps)


def _events(orders: Orders) -> list[int]:
    """List t for the order of ticket t and ~t for its report, without those that never came."""
    observed = orders.timeline.observed
    return [e for e in orders.timeline.events.tolist() if e >= 0 or observed[~e]]


Step = tuple[str, int]


def _impatient(events: Iterable[int], patience: int | None) -> Iterator[Step]:
    """Name what to do at each event; what is older than ``patience`` is cancelled and dropped."""
    waiting: deque[int] = deque()
    closed: set[int] = set()
    for event in events:
        if event >= 0:
            while patience is not None and waiting and event - waiting[0] > patience:
                overdue = waiting.popleft()
                if overdue not in closed:
                    closed.add(overdue)
                    yield "cancel", overdue
            waiting.append(event)
            yield "predict", event
        elif ~event not in closed:
            closed.add(~event)
            yield "observe", ~event


def _play(name: str, what: Specs, orders: Orders, steps: Iterator[Step]) -> Run:
    """Run one learner through its steps, as a live system would: event by event."""
    learner = Learner(what)
    promises = np.empty((orders.rounds, PROMISES.dim))
    samples: list[Sample] = []
    every = max(1, orders.rounds // SAMPLES)
    for action, ticket in steps:
        if action == "predict":
            promises[ticket] = learner.predict().x
            if (ticket + 1) % every == 0:
                samples.append(Sample(ticket + 1, learner.open, learner.report().certificate))
        elif action == "observe":
            learner.observe(ticket, orders.gradient(ticket, promises[ticket]))
        else:
            learner.cancel(ticket)
    losses = orders.losses(promises)
    best = np.broadcast_to(orders.best_promise(), promises.shape)
    regret = np.cumsum(losses - orders.losses(best))
    return Run(name, promises, losses, regret, learner.report(), samples)
