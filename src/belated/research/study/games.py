"""Losses, delays and the paper's algorithm by name, so that a cell can be plain text."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final, Literal

import numpy as np

from belated import rates
from belated.bases import OMD, PFTRL
from belated.domains import Ball, Domain, Simplex
from belated.problem import Problem
from belated.reductions import FirstOrder, LearnerSpec, OnePoint, Reduction, Skip, TwoPoint
from belated.research import delays, losses
from belated.research.game import Game, Run, play
from belated.research.game.single import Record
from belated.timeline import Timeline

Maker = Callable[[int, int], losses.Loss]


def _made(
    family: Any, source: Any, family_words: Any = MappingProxyType({}), **words: Any
) -> Maker:
    """Return how to make losses of a family from a source that takes a seed."""
    return lambda dim, seed: family(source(dim, seed=seed, **words), **family_words)


PHASE: Final = 1000
"""Rounds from one direction of drifting or switching losses to the next."""

BLOCK: Final = 11
"""Rounds in a block: as long as the constant pattern keeps every answer of a block away."""

NOISE: Final = 0.95
"""Share of noise in the vectors of noisy losses; elsewhere it is one half."""

CURVATURE: Final = 0.5
"""lambda of the quadratic losses; with it G = 1 on the unit ball."""

_CURVED: Final = {"curvature": CURVATURE}

LOSSES: Final[Mapping[str, Maker]] = MappingProxyType(
    {
        "linear": _made(losses.Linear, losses.Random),
        "linear, noisy": _made(losses.Linear, losses.Random, noise=NOISE),
        "linear, drifting": _made(losses.Linear, losses.Drifting, period=PHASE),
        "linear, switching": _made(losses.Linear, losses.Switching, every=PHASE),
        "linear, blocks": _made(losses.Linear, losses.Blocks, length=BLOCK),
        "alternating": lambda dim, seed: losses.Linear(losses.Alternating(dim)),
        "adversary": lambda dim, seed: losses.Linear(losses.Adaptive(dim)),
        "absolute": _made(losses.Absolute, losses.Random),
        "squared": _made(losses.Squared, losses.Random),
        "logistic": _made(losses.Logistic, losses.Random),
        "hinge": _made(losses.Hinge, losses.Random),
        "quadratic": _made(losses.Quadratic, losses.Random, _CURVED),
        "quadratic, noisy": _made(losses.Quadratic, losses.Random, _CURVED, noise=NOISE),
    }
)
"""Dimension and seed in, losses out; the quadratic ones are strongly convex.

The adversary looks at every play and picks the linear loss that is worst for it. All vectors have
length one, so G = 1 on the unit ball, and 2 for the squared losses.
"""

PLAIN: Final = MappingProxyType({"convex": "linear", "strongly convex": "quadratic"})
"""The losses by which a setting is shown where one kind is enough."""

DELAYS: Final[Mapping[str, delays.Pattern]] = MappingProxyType(
    {
        **delays.PATTERNS,
        "constant, root T": lambda rounds, seed: delays.constant(rounds, math.isqrt(rounds)),
        "constant, long": lambda rounds, seed: delays.constant(rounds, 200),
        "heavy tails": lambda rounds, seed: delays.pareto(rounds, shape=0.75, seed=seed),
        "often lost": lambda rounds, seed: delays.lost(
            delays.uniform(rounds, 0, 20, seed=seed), 0.1, seed=seed
        ),
        "constant, lost": lambda rounds, seed: delays.lost(
            delays.constant(rounds, 10), 0.1, seed=seed
        ),
    }
)
"""The patterns of ``delays`` and a few harder ones: rounds and seed in, timeline out."""


def ball(dim: int) -> Ball:
    """Return the set of all studies but those of experts."""
    return Ball(dim)


@lru_cache(maxsize=8)
def game_of(loss: str, pattern: str, dim: int, rounds: int, seed: int) -> Game:
    """Return a game by the names of its parts; cells that follow each other may share it."""
    return Game(LOSSES[loss](dim, seed), DELAYS[pattern](rounds, seed), f"{loss}, {pattern}")


def late_start(rounds: int, wait: int, total: int) -> Timeline:
    """Let the first ``total / wait`` rounds wait for ``wait`` rounds each, all others not at all.

    So d_tot = ``total``, up to rounding, and sigma_max = ``wait`` for ``wait`` <= sqrt(total): the
    delays come where they hurt most, as a learner for strongly convex losses slows down with time.

    >>> timeline = late_start(100, wait=5, total=50)
    >>> timeline.total_delay, timeline.max_backlog
    (50, 5)
    """
    waits = np.zeros(rounds, dtype=np.int64)
    waits[: total // wait] = wait
    return Timeline.from_delays(waits)


def measure(
    spec: LearnerSpec, game: Game, seed: int, *, record: Record = "totals"
) -> tuple[Run, dict[str, Any]]:
    """Play one game; return the run, and what every row holds."""
    run = play(spec, game, seed, record=record, checkpoints=0)
    timeline = run.timeline
    bound = run.bound
    row = {
        "total_delay": timeline.total_delay,
        "max_delay": timeline.max_delay,
        "max_backlog": timeline.max_backlog,
        "regret": run.regret,
        "bound": None if bound is None else bound.total,
    }
    return run, row


def experts(dim: int) -> Domain:
    """Return the set of prediction with expert advice."""
    return Simplex(dim)


# ---- the paper's algorithm, part by part --------------------------------------------------------

Answer = Literal["gradient", "value", "two-values"]


def paper_learner(
    problem: Problem,
    answer: Answer = "gradient",
    *,
    base: type[PFTRL] | type[OMD] = PFTRL,
    rate: Callable[[float], rates.Rate] = rates.DelayAdaptive,
    skip: bool = False,
) -> Reduction | Skip:
    """Return the paper's algorithm for a problem, part by part.

    ``Problem.learner`` returns whatever is good by default; this stays what the theorems are about.
    ``rate`` is for convex losses, those that bend have a rate of their own.

    >>> from belated import Ball
    >>> paper_learner(Problem(Ball(2), lipschitz=1.0))
    FirstOrder(base=PFTRL(domain=Ball(dim=2), rate=rates.DelayAdaptive(lipschitz=1.0)))
    """
    steps = (
        rates.StronglyConvex(problem.curvature, problem.lipschitz)
        if problem.curvature
        else rate(problem.lipschitz)
    )
    inner = _reduced(answer, base(problem.domain, steps), problem)
    return Skip(inner) if skip else inner


def _reduced(answer: Answer, base: PFTRL | OMD, problem: Problem) -> Reduction:
    """Put a base learner into the reduction for such answers."""
    if answer == "gradient":
        return FirstOrder(base)
    if answer == "two-values":
        return TwoPoint(base)
    assert problem.magnitude is not None  # all losses of the studies know their largest value
    return OnePoint(base, problem.magnitude)
