"""Evaluating policies on logs with late rewards: how often intervals hold what is true.

A world has six kinds of visitors and three actions with a chance of a reward each, drawn anew for
every log. A reward takes a time that depends on the action, and counts if it comes by the deadline;
so the true value of a policy is known. Logs have 5,000 decisions that are old enough.

**Fixed**: a policy with fixed probabilities, which differ by visitor, wrote the log.
**Chooser**: a ``Chooser`` that learned while it wrote it, with a floor of 0.02.
**No floor**: the same without one, so that some weights are extreme and intervals are made wider.

The coverage of 95 % intervals is to be from 0.93 to 0.97 for every policy and every estimator, and
for differences, on 1,000 logs each; without a floor, on 300, it is not to be below 0.93. A log
takes about a second of processor time, so that all of them take 40 minutes.
"""

from __future__ import annotations

import heapq
import sys
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import belated as bl
from belated.evaluations.estimators import ESTIMATORS
from benchmarks.seeds import seeds
from benchmarks.timing import Result

LOGS = 1_000
WITHOUT_FLOOR = 300
ROUNDS = 5_000
DEADLINE = 1_000.0
VISITORS, ACTIONS = 6, ("a", "b", "c")
MEAN_WAITS = np.array([100.0, 200.0, 400.0])
ASKED, SLACK = 0.95, 0.02
PAIRS = (("chooser", "uniform"), ("rule", "uniform"), ("always a", "always b"))

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class World(NamedTuple):
    """The chance of a reward by the deadline, visitors x actions, and what a rule would do."""

    chances: Floats
    in_time: Floats
    rule: Ints

    @property
    def values(self) -> Floats:
        """The expected reward of every action for every visitor."""
        return self.chances * self.in_time


class Logged(NamedTuple):
    """A log, and the visitor of each decision."""

    columns: dict[str, Any]
    visitors: Ints


def main(logs: int = LOGS) -> Iterator[Result]:
    """Yield the figures."""
    for name, floor in (("fixed", None), ("Chooser", 0.02)):
        found = covered(floor, logs)
        for how in (*ESTIMATORS, "difference"):
            shares = {key: float(np.mean(hits)) for (key, of), hits in found.items() if of == how}
            worst = max(shares.values(), key=lambda share: abs(share - ASKED))
            note = ", ".join(f"{key} {share:.3f}" for key, share in shares.items())
            title = f"evaluation, {name}: off 0.95, {how}"
            off = abs(worst - ASKED)
            yield Result(title, off / SLACK, 1.0, off, SLACK, "share", 0.0, note)
    found = covered(0.0, min(logs, WITHOUT_FLOOR))
    for how in (*ESTIMATORS, "difference"):
        shares = {key: float(np.mean(hits)) for (key, of), hits in found.items() if of == how}
        least = min(shares.values())
        note = ", ".join(f"{key} {share:.3f}" for key, share in shares.items())
        title = f"evaluation, no floor: least coverage, {how}"
        floor_of = ASKED - SLACK
        yield Result(title, floor_of / least, 1.0, least, floor_of, "share", 0.0, note)


def covered(floor: float | None, logs: int) -> dict[tuple[str, str], list[bool]]:
    """Return whether intervals held the truth, by policy or pair and by estimator, log by log."""
    hits: dict[tuple[str, str], list[bool]] = {}
    for done, seed in enumerate(seeds("evaluation", logs), start=1):
        world, log = simulated(seed, floor)
        found, truth = evaluated(world, log)
        for name, judged in found.policies.items():
            if name in truth:
                for how, estimate in judged.estimates.items():
                    is_held = estimate is not None and _holds(estimate, truth[name])
                    hits.setdefault((name, how), []).append(is_held)
        for first, second in PAIRS:
            gap = found.compare(first, second)
            is_held = _holds(gap, truth[first] - truth[second])
            hits.setdefault((f"{first} less {second}", "difference"), []).append(is_held)
        if done % 100 == 0:
            print(f"{done} of {logs} logs, floor {floor}", file=sys.stderr, flush=True)
    return hits


def _holds(estimate: bl.reports.Estimate, truth: float) -> bool:
    return estimate.low <= truth <= estimate.high


def simulated(seed: int, floor: float | None, rounds: int = ROUNDS) -> tuple[World, Logged]:
    """Return a world, and a log that a fixed policy or a chooser wrote in it."""
    generator = np.random.default_rng(seed)
    chances = generator.uniform(0.05, 0.45, (VISITORS, len(ACTIONS)))
    in_time = 1.0 - np.exp(-DEADLINE / MEAN_WAITS)
    world = World(chances, in_time, generator.integers(0, len(ACTIONS), VISITORS))
    visitors = generator.integers(0, VISITORS, rounds)
    luck = generator.random(rounds)
    waits = generator.exponential(1.0, (rounds, 1)) * MEAN_WAITS
    if floor is None:
        of_visitor = generator.dirichlet(np.full(len(ACTIONS), 5.0), VISITORS)
        of_visitor = 0.1 + 0.7 * of_visitor
        actions = (generator.random((rounds, 1)) > of_visitor.cumsum(axis=1)[visitors]).sum(axis=1)
        probabilities = of_visitor[visitors, actions]
    else:
        actions, probabilities = _chosen(visitors, chances, luck, waits, floor, seed)
    took = waits[np.arange(rounds), actions]
    heard = luck < chances[visitors, actions]
    at = np.arange(rounds, dtype=np.float64)
    columns = {
        "decided_at": np.append(at, rounds + DEADLINE),  # somebody looks when all are old enough
        "rewarded_at": np.append(np.where(heard, at + took, np.nan), np.nan),
        "action": np.array(ACTIONS)[np.append(actions, 0)],
        "probability": np.append(probabilities, 1.0),
        "reward": np.append(np.where(heard, 1.0, np.nan), np.nan),
        "visitor": np.array([f"v{visitor}" for visitor in (*visitors, 0)]),
    }
    return world, Logged(columns, visitors)


def _chosen(
    visitors: Ints, chances: Floats, luck: Floats, waits: Floats, floor: float, seed: int
) -> tuple[Ints, Floats]:
    """Let a chooser decide, which hears rewards when they come."""
    rule = bl.explore.GapWeighted(growth=10.0, floor=floor)
    chooser = bl.Chooser(
        ACTIONS, explore=rule, silence=0.0, deadline=DEADLINE, bits=10, seed=seed + 1
    )
    actions = np.zeros(len(visitors), dtype=np.int64)
    probabilities = np.zeros(len(visitors))
    waiting: list[tuple[float, int]] = []
    for t, visitor in enumerate(visitors.tolist()):
        while waiting and waiting[0][0] <= t:
            at, ticket = heapq.heappop(waiting)
            chooser.observe(ticket, 1.0, at=at)
        choice = chooser.choose({"visitor": f"v{visitor}"}, at=float(t))
        actions[t], probabilities[t] = ACTIONS.index(choice.action), choice.probability
        if luck[t] < chances[visitor, actions[t]] and waits[t, actions[t]] <= DEADLINE:
            heapq.heappush(waiting, (t + float(waits[t, actions[t]]), choice.ticket))
    return actions, probabilities


def evaluated(world: World, log: Logged) -> tuple[bl.reports.Evaluation, dict[str, float]]:
    """Return the evaluation of a log, and the true values of its policies."""

    def rule(context: dict[str, Any], actions: Sequence[str]) -> str:
        return actions[int(world.rule[int(context["visitor"][1:])])]

    found = bl.evaluate(log.columns, {"rule": rule}, silence=0.0, deadline=DEADLINE)
    values = world.values
    truth = {f"always {name}": float(values[:, i].mean()) for i, name in enumerate(ACTIONS)}
    truth["uniform"] = float(values.mean())
    truth["rule"] = float(values[np.arange(VISITORS), world.rule].mean())
    probabilities = found.given["chooser"].probabilities
    assert probabilities is not None  # it said them of all actions
    truth["chooser"] = _value_of_walk(probabilities, log.visitors, values)
    return found, truth


def _value_of_walk(probabilities: Floats, visitors: Ints, values: Floats) -> float:
    """Return the mean over time of what a policy that changes would earn from anybody.

    What it would do for a visitor is what it did when one of that kind came last.
    """
    total = 0.0
    moments = np.arange(len(visitors))
    for visitor in range(VISITORS):
        came = np.flatnonzero(visitors == visitor)
        last = came[np.maximum(np.searchsorted(came, moments, side="right") - 1, 0)]
        total += float((probabilities[last] @ values[visitor]).mean())
    return total / VISITORS


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else LOGS
    for result in main(count):
        print(result, result.note)
