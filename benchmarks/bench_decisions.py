"""Choosing among actions with late rewards: ours against Vowpal Wabbit's bandits.

Quality: regret summed over worlds and delays, on average over five draws, over that of the single
setting of VW (five rules times five learning rates) with the least sum, chosen afterwards: the
first draw names three, and all draws one of them. And the worst cell in which that setting has a
regret above 60. Of one draw alone, the regret of a cell is within a factor of two of that of
another. Nothing of ours is tuned per world. Speed: a decision from Python,
over VW's, each from dicts of features.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from time import process_time

import numpy as np

import belated as bl
from belated.research.worlds import Featured, Lateness, Linear, Logistic, Switching, World
from benchmarks.decision_peers import RATES, RULES, play, workspace, written
from benchmarks.seeds import seeds
from benchmarks.timing import Result, compared

SEEDS = 5
FINALISTS = 3
LATENESS = {
    "no delay": Lateness(),
    "mean 200": Lateness(200),
    "mean 2,000": Lateness(2000),
    "heavy tail": Lateness(40, "heavy"),
}
WORLDS = {"linear": Linear, "logistic": Logistic, "switching": Switching, "twenty": Featured}

Cell = tuple[str, str]


def main() -> Iterator[Result]:
    """Yield quality, then speed."""
    yield from _quality()
    yield from _speed()


def _quality() -> Iterator[Result]:
    cells = [(world, late) for world in WORLDS for late in LATENESS]
    ours = {cell: _mean(cell, _ours) for cell in cells}
    settings = {
        f"{rule}, {rate}": partial(_theirs, f"{explores} {learns}")
        for rule, explores in RULES.items()
        for rate, learns in RATES.items()
    }
    first = {name: sum(_mean(cell, each, 1) for cell in cells) for name, each in settings.items()}
    finalists = sorted(first, key=lambda name: first[name])[:FINALISTS]
    theirs = {name: {cell: _mean(cell, settings[name]) for cell in cells} for name in finalists}
    best = min(theirs, key=lambda name: sum(theirs[name].values()))
    total, floor = sum(ours.values()), sum(theirs[best].values())
    yield Result(
        name="decisions, regret over VW's best setting",
        ratio=total / floor,
        target=0.75,
        ours=total,
        floor=floor,
        unit="regret",
        spread=0.0,
        note=f"best: {best}",
    )
    ratios = {cell: ours[cell] / theirs[best][cell] for cell in cells if theirs[best][cell] > 60.0}
    worst = max(ratios, key=lambda cell: ratios[cell])
    yield Result(
        name="decisions, worst world",
        ratio=ratios[worst],
        target=1.1,
        ours=ours[worst],
        floor=theirs[best][worst],
        unit="regret",
        spread=0.0,
        note=", ".join(worst),
    )


def _mean(cell: Cell, regret: Callable[[World, int], float], draws: int = SEEDS) -> float:
    world = WORLDS[cell[0]](lateness=LATENESS[cell[1]])
    return float(np.mean([regret(world, seed) for seed in seeds("decisions", draws)]))


def _theirs(arguments: str, world: World, seed: int) -> float:
    return play(world.drawn(seed), arguments, seed)


def _ours(world: World, seed: int) -> float:
    return bl.play(bl.Chooser(), world, seed).regret


def _speed() -> Iterator[Result]:
    yield _decision(10, 0.15, repeats=101)  # a millisecond each, so that a median needs many
    yield _decision(1000, 1 / 3, repeats=9)


def _decision(count: int, target: float, repeats: int, rounds: int = 20) -> Result:
    """Time decisions among actions with 20 numbers each, in contexts of 10 numbers."""
    rng = np.random.default_rng(0)
    contexts = [_numbers(rng, "x", 10) for _ in range(rounds)]
    actions = [{f"item {a}": _numbers(rng, "z", 20) for a in range(count)} for _ in range(rounds)]
    chooser, vw = bl.Chooser(), workspace("--squarecb")

    def ours() -> None:
        for context, offered in zip(contexts, actions, strict=True):
            chooser.observe(chooser.choose(context, offered).ticket, 0.5)

    def theirs() -> None:
        for context, offered in zip(contexts, actions, strict=True):
            shared = "shared |S " + written(context)
            rows = [f"|A item_{a} {written(own)}" for a, own in enumerate(offered.values())]
            p = vw.predict([shared, *rows])
            rows[0] = f"0:-0.5:{p[0]:.7g} {rows[0]}"
            vw.learn([shared, *rows])

    return compared(
        f"decision and reward, {count:,} actions",
        ours,
        theirs,
        target=target,
        per=rounds * 1e-6,
        unit="us",
        repeats=repeats,
        clock=process_time,  # both use one core, which others may use too
    )


def _numbers(rng: np.random.Generator, letter: str, count: int) -> dict[str, float]:
    return {f"{letter}{i}": value for i, value in enumerate(rng.normal(size=count).tolist())}
