"""Whole games of decisions: a chooser in a world, and its regret."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from belated.arrays import Floats, Ints
from belated.errors import SpecError
from belated.models.chooser.chooser import Chooser
from belated.models.chooser.report import ChooserReport
from belated.research.worlds import Drawn, World


@dataclass(frozen=True, eq=False)
class DecisionRun:
    """The result of a game of decisions.

    The regret of a round is the largest expected reward of the actions that were there less that of
    the one chosen: the best policy in hindsight is the one that knows the means.
    """

    regret: float
    """Sum over all rounds."""
    reward: float
    """Sum of the rewards of all choices, whether they were heard or not."""
    regrets: Floats
    """Regret round by round."""
    choices: Ints
    """Actions by their place in the world."""
    probabilities: Floats
    seconds: float
    report: ChooserReport

    @property
    def regret_curve(self) -> Floats:
        """Regret up to every round."""
        return np.cumsum(self.regrets)


def play_decisions(chooser: Any, world: World, seed: int) -> DecisionRun:
    """Let a fresh chooser with these settings play a world; ``seed`` is that of both."""
    if not isinstance(chooser, Chooser):
        raise SpecError(f"play: in a world of decisions a Chooser plays, got {chooser!r}")
    if chooser.rounds:
        raise SpecError("play: a Chooser plays from the start, and this one has made choices")
    drawn = world.drawn(seed)
    player = chooser.fresh(seed)
    begin = perf_counter()
    choices, probabilities = _rounds(player, drawn)
    seconds = perf_counter() - begin
    rounds = np.arange(choices.size)
    best = np.where(drawn.present, drawn.means, -np.inf).max(axis=1)
    regrets = best - drawn.means[rounds, choices]
    return DecisionRun(
        regret=float(regrets.sum()),
        reward=float(drawn.rewards[rounds, choices].sum()),
        regrets=regrets,
        choices=choices,
        probabilities=probabilities,
        seconds=seconds,
        report=player.report(),
    )


def _rounds(player: Chooser, drawn: Drawn) -> tuple[Ints, Floats]:
    """Play all rounds; a reward with delay d is heard before choice t + 1 + d."""
    count = len(drawn.contexts)
    place = {name: a for a, name in enumerate(drawn.names)}
    choices, probabilities = np.empty(count, dtype=np.int64), np.empty(count)
    due: list[tuple[int, int, float]] = []
    always = drawn.names if drawn.present.all() else None
    for t, context in enumerate(drawn.contexts):
        while due and due[0][0] <= t:
            _, ticket, reward = heapq.heappop(due)
            player.observe(ticket, reward)
        names = always or [drawn.names[a] for a in np.flatnonzero(drawn.present[t])]
        if drawn.features is None:
            choice = player.choose(context, names)
        else:
            choice = player.choose(context, {n: drawn.features[place[n]] for n in names})
        a = place[choice.action]
        choices[t], probabilities[t] = a, choice.probability
        when = t + 1 + int(drawn.delays[t, a])
        if when < count:
            heapq.heappush(due, (when, choice.ticket, float(drawn.rewards[t, a])))
    return choices, probabilities
