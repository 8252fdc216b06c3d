"""Knobs against what people do instead: mean regret per round, and time.

Ours is played anew, rivals are those of ``benchmarks/knobs.jsonl`` (see ``benchmarks.knobs``), with
the same seeds. Worlds that are drawn from the hash of a commit are played anew by both. Nothing of
ours is tuned per world; rivals get their better setting, and the best one of each world is chosen
afterwards. What has no floor is measured against its target.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import count
from math import exp, inf, log
from time import process_time

import numpy as np

import belated as bl
from benchmarks.knob_games import SEEN, UNSEEN, WORLDS, regrets
from benchmarks.knob_rivals import RIVALS, ours
from benchmarks.knobs import Rows, drawn_worlds, kept
from benchmarks.seeds import seeds
from benchmarks.timing import Result

SEEDS = int(os.environ.get("BELATED_SEEDS", "4"))
"""How many seeds are played; the recorded figures have 20."""
DRAWN, DRAWS = 24, 2
"""How many worlds are drawn anew, and how many seeds are played there."""
SIMPLE = ("surrogate, 0.2, careful", "SPSA, 0.1", "ten lines, 0.5")
"""The rivals there: the best three alone of those that are recorded."""
ABSOLUTE = {
    "quadratic": 0.0035,
    "kinked": 0.015,
    "two basins": 0.008,
    "drifting": 0.017,
    "season": 0.006,
    "quadratic, 8 knobs": 0.012,
}
"""What a round may cost more than the best."""
ALONE = {"UCB on a grid": 0.35, "Thompson on a grid": 0.35, "CMA-ES": 0.35}
"""What ours may lose of what a rival does, in the geometric mean over all worlds."""


def main() -> Iterator[Result]:
    """Yield quality, then time."""
    rivals = kept()
    missing = {world for world in WORLDS if not any(of == world for of, _ in rivals)}
    if missing:
        print(f"no rivals in {', '.join(sorted(missing))}: run python -m benchmarks.knobs")
    mean = {world: _mean(world) for world in WORLDS}
    yield from _against_the_best(mean, rivals)
    yield from _against_each(mean, rivals)
    for world, target in ABSOLUTE.items():
        yield _result(f"knobs, {world}", mean[world], target, "regret", f"{SEEDS} seeds")
    yield from _in_drawn_worlds()
    yield _long()
    yield _round(2, 12.0)
    yield _round(8, 50.0)


@cache
def _mean(world: str) -> float:
    return float(regrets(ours, WORLDS[world].drawn(range(SEEDS)), range(SEEDS)).mean())


def _theirs(rivals: Rows, world: str) -> dict[str, float]:
    """Return means over our seeds, or over those that a package was played with."""
    return {
        name: float(np.mean(each[:SEEDS])) for (of, name), each in rivals.items() if of == world
    }


def _against_the_best(mean: dict[str, float], rivals: Rows) -> Iterator[Result]:
    ratios, who = {}, {}
    for world, own in mean.items():
        theirs = _theirs(rivals, world)
        if theirs:
            who[world] = min(theirs, key=lambda name: theirs[name])
            ratios[world] = own / theirs[who[world]]
    for title, some, target in (
        ("knobs, over the best rival of each world", WORLDS, 0.70),
        ("knobs, the same, seen worlds", SEEN, inf),
        ("knobs, the same, unseen worlds", UNSEEN, inf),
    ):
        known = [ratios[world] for world in some if world in ratios]
        if known:
            yield _result(title, _geometric(known), target, "ratio", f"{len(known)} worlds")
    if ratios:
        worst = max(ratios, key=lambda world: ratios[world])
        note = f"{worst}: {who[worst]}"
        yield _result("knobs, worst world", ratios[worst], 1.25, "ratio", note)


def _against_each(mean: dict[str, float], rivals: Rows) -> Iterator[Result]:
    """Compare with every rival alone, in its better setting."""
    alone: dict[str, dict[str, float]] = {}
    for method in dict.fromkeys(name for _, name in rivals):
        ratios = [
            mean[world] / float(np.mean(rivals[world, method][:SEEDS]))
            for world in mean
            if (world, method) in rivals
        ]
        alone.setdefault(method.partition(",")[0], {})[method] = _geometric(ratios)
    for family, settings in alone.items():
        best = max(settings, key=lambda method: settings[method])
        title = f"knobs, over {family}"
        yield _result(title, settings[best], ALONE.get(family, inf), "ratio", best)


def _in_drawn_worlds() -> Iterator[Result]:
    """Compare with the best of three rivals in worlds that are drawn from the hash of this run."""
    ratios: dict[str, float] = {}
    drawn = seeds("knobs", DRAWS)
    for name, world in drawn_worlds(DRAWN).items():
        ground = world.drawn(drawn)
        theirs = min(float(regrets(RIVALS[rival], ground, drawn).mean()) for rival in SIMPLE)
        ratios[f"{name}, {world!r}"] = float(regrets(ours, ground, drawn).mean()) / theirs
    note = f"{DRAWN} worlds, {DRAWS} seeds"
    mean = _geometric(list(ratios.values()))
    yield _result("knobs, drawn worlds, over the best of three", mean, inf, "ratio", note)
    worst = max(ratios, key=lambda world: ratios[world])
    yield _result("knobs, worst drawn world", ratios[worst], inf, "ratio", worst)


def _geometric(ratios: list[float]) -> float:
    return exp(sum(map(log, ratios)) / len(ratios))


def _result(name: str, ours: float, target: float, unit: str, note: str = "") -> Result:
    """Return a figure that is no ratio of times."""
    return Result(name, ours, target, ours, 1.0, unit, 0.0, note)


def _long(seeds: int = 2) -> Result:
    """Compare with the plain surrogate where it is at home, in the long run."""
    ground = replace(WORLDS["quadratic"], rounds=100_000).drawn(range(seeds))
    own = float(regrets(ours, ground, range(seeds)).mean())
    plain = float(regrets(RIVALS["surrogate, 0.2"], ground, range(seeds)).mean())
    return Result(
        "knobs, over the surrogate at T = 100,000",
        own / plain,
        1.1,
        own,
        plain,
        "regret",
        0.0,
        f"{seeds} seeds",
    )


# ---- time --------------------------------------------------------------------------------------


def _round(knobs: int, target: float, rounds: int = 3000, repeats: int = 5) -> Result:
    """Time a prediction and an answer, 200 rounds late, after a few hundred of them."""
    model = bl.Knobs({f"x{i}": (-1.0, 1.0) for i in range(knobs)})
    rng = np.random.default_rng(0)
    costs = iter(lambda: float(rng.normal()), None)
    ticket = count()
    for _ in range(200):
        model.predict()
    took = []
    for _ in range(repeats):
        begin = process_time()
        for _ in range(rounds):
            model.predict()
            model.observe(next(ticket), next(costs))
        took.append((process_time() - begin) / rounds * 1e6)
    best = float(np.median(took))
    spread = (max(took) - min(took)) / 2.0 / best
    return Result(f"knobs, a round, {knobs} knobs", best, target, best, 1.0, "us", spread)
