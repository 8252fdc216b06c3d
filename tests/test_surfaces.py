"""Worlds of knobs, games in them, and the rivals that play there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from benchmarks.knob_games import WORLDS, regrets
from benchmarks.knob_rivals import RIVALS
from benchmarks.surfaces import Surface

from belated.arrays import Floats, Ints
from belated.research.worlds import Lateness

SMALL = {name: replace(world, rounds=60) for name, world in WORLDS.items()}


@pytest.mark.parametrize("name", SMALL)
def test_nothing_costs_less_than_the_best(name: str) -> None:
    world = SMALL[name]
    ground = world.drawn([0, 1, 2])
    rng = np.random.default_rng(0)
    for t in (0, 30, 59):
        assert ground.excess(t, ground.best[t]) == pytest.approx(0.0, abs=1e-9)
        for _ in range(20):
            x = rng.uniform(-1.0, 1.0, size=(3, world.knobs))
            assert (ground.excess(t, x) >= 0.0).all()
    assert (np.abs(ground.best) <= 1.0).all()


def test_what_is_heard_is_right_in_the_mean() -> None:
    for world in (Surface(season=0.5), Surface("sale"), Surface(errors="growing")):
        ground = replace(world, rounds=4000).drawn([0])
        x = np.full((1, 2), 0.2)
        excess = ground.excess(0, x)
        heard = [ground.heard(t, x, excess)[0] - ground.level[t] for t in range(4000)]
        assert np.mean(heard) - ground.least[0] == pytest.approx(excess[0], abs=0.03)


class Listening:
    """Plays its own round number, and notes what it hears."""

    def __init__(self, knobs: int, seeds: Sequence[int]) -> None:
        self.t = 0
        self.heard: list[tuple[int, int, int]] = []
        self._shape = (len(seeds), knobs)

    def ask(self) -> Floats:
        self.t += 1
        return np.full(self._shape, 0.01 * self.t)

    def tell(self, seeds: Ints, tickets: Ints, costs: Floats) -> None:
        self.heard += [(self.t, ticket, seed) for ticket, seed in zip(tickets, seeds, strict=True)]


def test_costs_are_told_once_when_they_are_due() -> None:
    ground = Surface(rounds=80, lateness=Lateness(9, lost=0.2)).drawn([0, 1])
    found: list[Listening] = []

    def make(knobs: int, seeds: Sequence[int]) -> Listening:
        found.append(Listening(knobs, seeds))
        return found[0]

    lost = regrets(make, ground, [0, 1])
    assert lost.shape == (80, 2)
    due = {
        (t + 1 + int(ground.delays[t, s]), t, s)
        for t in range(80)
        for s in range(2)
        if t + 1 + ground.delays[t, s] < 80
    }
    assert set(found[0].heard) == due
    assert len(found[0].heard) == len(due)
    assert lost[4, 1] == ground.excess(4, np.full((2, 2), 0.05))[1]


@pytest.mark.parametrize("name", [name for name in RIVALS if not name.startswith(("One", "GOLD"))])
def test_rivals_learn(name: str) -> None:
    """Better than the middle after a while, and the same when played again."""
    ground = Surface(rounds=1200, lateness=Lateness(10)).drawn(range(4))
    lost = regrets(RIVALS[name], ground, range(4))
    middle = ground.excess(0, np.zeros((4, 2))).mean()
    assert lost[-200:].mean() < 0.7 * middle
    short = Surface(rounds=50).drawn(range(2))
    again = [regrets(RIVALS[name], short, range(2)) for _ in range(2)]
    assert (again[0] == again[1]).all()


@pytest.mark.parametrize("name", ["OnePoint", "GOLD, 1"])
def test_learners_of_ours_play_too(name: str) -> None:
    ground = replace(WORLDS["season"], rounds=40).drawn(range(2))
    assert regrets(RIVALS[name], ground, range(2)).shape == (40, 2)
