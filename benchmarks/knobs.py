"""What rivals of ``bl.Knobs`` lose in its worlds, played once and kept.

``python -m benchmarks.knobs [rivals | tight | packages] [seeds]`` plays what is not in
``knobs.jsonl`` yet. A line of it is a world, a method and its mean regret per round for every seed;
a line whose world has another spec today is played again.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any, cast, get_args

import numpy as np

from belated.research.worlds import Lateness
from benchmarks.knob_games import WORLDS, Make, regrets
from benchmarks.knob_packages import MISSING, PACKAGES
from benchmarks.knob_rivals import RIVALS, one_point
from benchmarks.seeds import seeds
from benchmarks.surfaces import Errors, Motion, Seen, Shape, Surface, Unseen

KEPT = Path(__file__).with_suffix(".jsonl")
TIGHT: Mapping[str, Make] = {
    "OnePoint, tight": partial(one_point, rate="tight"),
    "OnePoint, tight, baseline": partial(one_point, rate="tight", baseline="mean"),
}
"""The learner with a theorem, with the steps and radii that are best for its bound."""
SEEDS = {"rivals": 20, "tight": 20, "packages": 4}
"""How many seeds are played unless another number is given; packages take seconds for each."""

Rows = dict[tuple[str, str], list[float]]
"""By world and method: mean regret per round of every seed."""


def kept(path: Path = KEPT) -> Rows:
    """Return the newest rows whose worlds are as they were."""
    rows: Rows = {}
    for line in path.read_text().splitlines() if path.exists() else []:
        data = json.loads(line)
        world = WORLDS.get(data["world"])
        if world is not None and repr(world) == data["spec"]:
            rows[data["world"], data["method"]] = data["regrets"]
    return rows


def play(methods: Mapping[str, Make], draws: int, path: Path = KEPT) -> Iterator[str]:
    """Play what is missing and keep it; yield a line for each."""
    known = kept(path)
    for world, surface in WORLDS.items():
        todo = [name for name in methods if len(known.get((world, name), ())) < draws]
        ground = surface.drawn(range(draws)) if todo else None
        for name in todo:
            assert ground is not None
            begin = process_time()
            found = regrets(methods[name], ground, range(draws)).mean(axis=0)
            row = {"world": world, "spec": repr(surface), "method": name}
            with path.open("a") as file:
                file.write(
                    json.dumps({**row, "regrets": [float(f"{r:.6g}") for r in found]}) + "\n"
                )
            yield f"{world:<32}{name:<28}{found.mean():.5f}  {process_time() - begin:.1f} s"


def drawn_worlds(count: int) -> dict[str, Surface]:
    """Return worlds of all kinds, drawn from the hash of this run: nothing can be tuned to them."""
    return {f"drawn {i}": _drawn(seed) for i, seed in enumerate(seeds("worlds of knobs", count))}


def _drawn(seed: int) -> Surface:
    rng = np.random.default_rng(seed)
    shape = str(rng.choice(list(get_args(Seen) + get_args(Unseen))))
    most = 3 if shape in ("basins", "bump", "cliff") else 8  # with more they are hardly ever met
    return Surface(
        cast("Shape", shape),
        knobs=2 if shape == "bent" else int(rng.integers(1, most + 1)),
        noise=_log_uniform(rng, 0.02, 0.5),
        errors=cast("Errors", str(rng.choice(get_args(Errors), p=(0.45, 0.25, 0.15, 0.15)))),
        motion=cast("Motion", str(rng.choice(get_args(Motion), p=(0.6, 0.1, 0.1, 0.1, 0.1)))),
        season=float(rng.choice((0.0, 0.5), p=(0.75, 0.25))),
        lateness=Lateness(
            _log_uniform(rng, 10.0, 2000.0),
            cast("Any", str(rng.choice(("geometric", "constant", "heavy")))),
            lost=float(rng.choice((0.0, 0.1), p=(0.8, 0.2))),
        ),
    )


def _log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    return float(f"{np.exp(rng.uniform(np.log(low), np.log(high))):.2g}")


def main(kind: str = "rivals", draws: str = "") -> None:
    """Play one kind of methods."""
    if kind == "packages" and MISSING:
        print(f"not installed: {', '.join(MISSING)}")
    methods = {"rivals": RIVALS, "tight": TIGHT, "packages": PACKAGES}[kind]
    for line in play(methods, int(draws or SEEDS[kind])):
        print(line, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
