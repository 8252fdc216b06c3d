"""Uses every kind of model once, with nothing installed but belated, and prints what came of it.

    python scripts/smoke.py

The digest is the same on every machine, and interpreted and compiled. Wheels run it after they are
built (``[tool.cibuildwheel]``), and ``tests/test_wheel.py`` compares it with that of the sources.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import belated as bl
from belated.core import COMPILED

ROUNDS, DELAY = 60, 4


def plays_of_learners() -> Iterator[bytes]:
    """Yield what learners have become after games and live rounds."""
    problem = bl.Problem(bl.Ball(3), lipschitz=2.0, magnitude=2.0)
    game = bl.Game(
        bl.losses.Absolute(bl.losses.Random(3, seed=5)), bl.delays.uniform(ROUNDS, 0, DELAY, seed=1)
    )
    for feedback in ("gradient", "value", "two-values"):
        spec = problem.learner(feedback, skip=True)
        yield str(bl.play(spec, game, seed=7).loss).encode()
    learner = bl.Learner(problem.learner())
    for ticket in range(ROUNDS):
        learner.predict()
        if ticket >= DELAY:
            learner.observe(ticket - DELAY, [0.5, -0.25, ticket % 3])
    yield bl.Learner.restore(learner.snapshot()).snapshot()


def plays_of_models() -> Iterator[bytes]:
    """Yield what the other models have become after live rounds with dicts and late answers."""
    model = bl.LinearModel("squared", bits=6)
    intervals = bl.Intervals(bl.LinearModel("squared", bits=6))
    chooser = bl.Chooser(["low", "high"], loss="logistic", bits=6, seed=3)
    knobs = bl.Knobs({"batch": bl.ranges.Int(1, 64), "rate": bl.ranges.Log(1e-3, 1.0)}, seed=2)
    for ticket in range(ROUNDS):
        features = {"hour": ticket % 24 / 24, f"shop={ticket % 5}": 1.0}
        for each in (model, intervals):
            each.predict(features)
        chooser.choose(features)
        knobs.predict()
        if ticket >= DELAY:
            label = ticket % 7 / 3
            model.observe(ticket - DELAY, label)
            intervals.observe(ticket - DELAY, label)
            chooser.observe(ticket - DELAY, ticket % 2)
            knobs.observe(ticket - DELAY, label)
    for live in (model, intervals, chooser, knobs):
        yield live.snapshot()


def main() -> None:
    """Print the mode and the digest."""
    digest = hashlib.sha256()
    for part in (*plays_of_learners(), *plays_of_models()):
        digest.update(part)
    print("compiled" if COMPILED else "interpreted", digest.hexdigest())


if __name__ == "__main__":
    main()
