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

**Warnings**: the chances of all rewards change with time (a random walk, the hour, a trend, good
and bad days), and a fixed policy, a chooser with a floor, and one that takes the best action but in
a tenth of the decisions write 60 logs each. The warning that actions were kept is to appear in at
most 5 % of them. It is to appear in 90 % of the logs whose actions are kept for 50 decisions.
"""

from __future__ import annotations

import heapq
import sys
from collections.abc import Iterator, Sequence
from itertools import combinations
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
WARNED_LOGS = 60
CHANGES = ("none", "walk", "hours", "trend", "days")
RULES = {
    "fixed": None,
    "Chooser": bl.explore.GapWeighted(growth=10.0, floor=0.02),
    "best in 90 %": bl.explore.Uniform(0.1),
}
KEPT = 50
WARNING = "the same action was taken in neighbouring decisions"
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
    change: Floats
    """By what chances were multiplied, rounds x actions."""


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
    yield from warnings(min(logs, WARNED_LOGS))


def warnings(logs: int) -> Iterator[Result]:
    """Yield how often the warning of kept actions appears, and how many intervals hold."""
    for keeps, allowed in ((1, 0.05), (KEPT, 0.9)):
        cells, warned, hits = [], [], []
        rules = RULES if keeps == 1 else {"fixed": None}
        for name, change in ((name, change) for name in rules for change in CHANGES):
            found = [_warned(seed, change, rules[name], keeps) for seed in seeds(name, logs)]
            warned += [is_warned for is_warned, _ in found]
            hits += [is_held for _, several in found for is_held in several]
            held = np.mean([is_held for _, several in found for is_held in several])
            cells.append(f"{name}, {change}: {np.mean([w for w, _ in found]):.2f}, {held:.3f}")
            print(cells[-1], file=sys.stderr, flush=True)
        share = float(np.mean(warned))
        ratio = share / allowed if keeps == 1 else allowed / max(share, 1e-9)
        title = f"evaluation, actions kept for {keeps}: warned"
        note = f"coverage {np.mean(hits):.3f}; {'; '.join(cells)}"
        yield Result(title, ratio, 1.0, share, allowed, "share", 0.0, note)


def _warned(seed: int, change: str, rule: Any, keeps: int) -> tuple[bool, list[bool]]:
    """Return whether the warning appears, and which intervals hold what is true."""
    world, log = simulated(seed, rule, change=change, keeps=keeps)
    found = bl.evaluate(log.columns, silence=0.0, deadline=DEADLINE, chooser=False)
    values = world.values.mean(axis=0) * log.change.mean(axis=0)
    held = [
        _holds(found.compare(f"always {one}", f"always {other}"), values[i] - values[j])
        for (i, one), (j, other) in combinations(enumerate(ACTIONS), 2)
    ]
    held += [
        _holds(estimate, value)
        for name, value in zip(ACTIONS, values.tolist(), strict=True)
        if (estimate := found.estimate(f"always {name}")) is not None
    ]
    return any(text.startswith(WARNING) for text in found.warnings), held


def _changing(change: str, rounds: int, generator: np.random.Generator) -> Floats:
    """Return by what every chance is multiplied, rounds x actions."""
    moments = np.arange(rounds)[:, None]
    if change == "walk":
        return np.exp(np.cumsum(generator.normal(0.0, 0.01, (rounds, len(ACTIONS))), axis=0) - 0.7)
    if change == "hours":
        phases = 2.0 * np.pi * (moments / 240.0 + generator.random(len(ACTIONS)))
        return 1.0 + 0.8 * np.sin(phases)
    if change == "trend":
        return 0.4 + 1.2 * np.repeat(moments / rounds, len(ACTIONS), axis=1)
    if change == "days":
        days = generator.choice([0.4, 1.6], rounds // 240 + 1)
        return np.repeat(np.repeat(days, 240)[:rounds, None], len(ACTIONS), axis=1)
    return np.ones((rounds, len(ACTIONS)))


def covered(floor: float | None, logs: int) -> dict[tuple[str, str], list[bool]]:
    """Return whether intervals held the truth, by policy or pair and by estimator, log by log."""
    hits: dict[tuple[str, str], list[bool]] = {}
    for done, seed in enumerate(seeds("evaluation", logs), start=1):
        rule = None if floor is None else bl.explore.GapWeighted(growth=10.0, floor=floor)
        world, log = simulated(seed, rule)
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


def simulated(
    seed: int, rule: Any, rounds: int = ROUNDS, *, change: str = "none", keeps: int = 1
) -> tuple[World, Logged]:
    """Return a world, and a log that a fixed policy or a chooser wrote in it."""
    generator = np.random.default_rng(seed)
    chances = generator.uniform(0.05, 0.45, (VISITORS, len(ACTIONS)))
    in_time = 1.0 - np.exp(-DEADLINE / MEAN_WAITS)
    world = World(chances, in_time, generator.integers(0, len(ACTIONS), VISITORS))
    visitors = generator.integers(0, VISITORS, rounds)
    luck = generator.random(rounds)
    waits = generator.exponential(1.0, (rounds, 1)) * MEAN_WAITS
    changing = _changing(change, rounds, generator)
    if change != "none":  # chances are at most 1
        changing = np.minimum(changing, 1.0 / chances.max())
    of_row = chances[visitors] * changing
    if rule is None:
        of_visitor = generator.dirichlet(np.full(len(ACTIONS), 5.0), VISITORS)
        of_visitor = 0.1 + 0.7 * of_visitor
        if keeps > 1:
            of_visitor[:] = 1.0 / len(ACTIONS)
        actions = (generator.random((rounds, 1)) > of_visitor.cumsum(axis=1)[visitors]).sum(axis=1)
        actions = np.repeat(actions[::keeps], keeps)[:rounds]
        probabilities = of_visitor[visitors, actions]
    else:
        actions, probabilities = _chosen(visitors, of_row, luck, waits, rule, seed)
    took = waits[np.arange(rounds), actions]
    heard = luck < of_row[np.arange(rounds), actions]
    at = np.arange(rounds, dtype=np.float64)
    columns = {
        "decided_at": np.append(at, rounds + DEADLINE),  # somebody looks when all are old enough
        "rewarded_at": np.append(np.where(heard, at + took, np.nan), np.nan),
        "action": np.array(ACTIONS)[np.append(actions, 0)],
        "probability": np.append(probabilities, 1.0),
        "reward": np.append(np.where(heard, 1.0, np.nan), np.nan),
        "visitor": np.array([f"v{visitor}" for visitor in (*visitors, 0)]),
    }
    return world, Logged(columns, visitors, changing)


def _chosen(
    visitors: Ints, chances: Floats, luck: Floats, waits: Floats, rule: Any, seed: int
) -> tuple[Ints, Floats]:
    """Let a chooser decide, which hears rewards when they come."""
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
        if luck[t] < chances[t, actions[t]] and waits[t, actions[t]] <= DEADLINE:
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
