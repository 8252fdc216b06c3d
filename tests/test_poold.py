"""DORM and AdaHedgeD against ``poold``, the code of the authors, number for number."""

from __future__ import annotations

import importlib
import importlib.util
import warnings
from collections.abc import Callable, Sequence
from typing import Any, Literal

import matplotlib
import numpy as np
import numpy.typing as npt
import pytest

import belated as bl
from belated import delays
from belated.research.rivals import DORM, AdaHedgeD
from conftest import shortened

Array = npt.NDArray[np.float64]
Losses = Literal["normal", "unit", "switching"]


PooldName = Literal["dorm", "adahedged"]


def _linear_loss(gradient: Array) -> dict[str, Callable[[Array], object]]:
    """A loss as poold wants it: its value and its gradient as functions of the play w."""
    return {"fun": lambda w: float(gradient @ w), "grad": lambda w: gradient}


def has_poold() -> bool:
    return importlib.util.find_spec("poold") is not None


def _poold() -> Any:
    """Import poold, which on the way changes how all figures of the process are drawn."""
    with matplotlib.rc_context(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module("poold")


def poold_plays(
    name: PooldName,
    gradients: Array,
    delay: int | Sequence[int],
    hint: Literal["none", "recent"] = "none",
) -> Array:
    """Plays of a poold learner, one row per round; gradient s arrives at the end of s + delay_s.

    poold does everything in one call per round: ``update_and_play`` first takes the losses that
    have arrived since the last call, each with its round, and then makes the play of this round.
    Arrivals must be in ticket order for "adahedged". ``recent`` gives DORM the hint (open + 1) *
    last regret received, zero before any. In a round without arrivals "dorm" plays from the hint
    alone, as if it had no regrets yet.
    """
    rounds, experts = gradients.shape
    delays = [delay] * rounds if isinstance(delay, int) else list(delay)
    plays = np.empty((rounds, experts))
    last = np.zeros(experts)
    poold = _poold()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        learner = poold.create(name, model_list=[str(i) for i in range(experts)], T=rounds)
        for t in range(rounds):
            arrived = [s for s in range(t) if s + delays[s] == t - 1]
            if hint == "recent" and arrived:
                s = arrived[-1]
                last = float(gradients[s] @ plays[s]) - gradients[s]
            open_tickets = sum(s + delays[s] >= t for s in range(t))
            guess = _linear_loss((open_tickets + 1) * last)
            losses = [(s, _linear_loss(gradients[s])) for s in arrived]
            plays[t] = learner.update_and_play(losses, guess)
    return plays


pytestmark = pytest.mark.skipif(not has_poold(), reason="poold is not installed")
ROUNDS = shortened(120)
EXACT = 1e-10

METHODS: dict[PooldName, type[DORM | AdaHedgeD]] = {"dorm": DORM, "adahedged": AdaHedgeD}


def losses(kind: Losses, arms: int, seed: int) -> Array:
    """Loss vectors: normal, in [0, 1], or a best expert that changes halfway."""
    rng = np.random.default_rng(seed)
    if kind == "normal":
        return rng.standard_normal((ROUNDS, arms))
    rows = rng.random((ROUNDS, arms))
    if kind == "switching":
        rows[: ROUNDS // 2, 0] *= 0.3
        rows[ROUNDS // 2 :, 1] *= 0.3
    return rows


def in_order(seed: int) -> list[int]:
    """Random delays under which answers come in ticket order, several or none in a round."""
    now = np.arange(ROUNDS)
    due = np.maximum.accumulate(now + np.random.default_rng(seed).integers(0, 9, ROUNDS))
    return [int(delay) for delay in due - now]


def assert_same_plays(
    spec: DORM | AdaHedgeD, timeline: bl.Timeline, rows: Array, theirs: Array
) -> None:
    """A learner of ``spec`` plays what poold plays."""
    plays = bl.Learner(spec).replay(timeline, rows)
    np.testing.assert_allclose(plays, theirs, rtol=0.0, atol=EXACT)


@pytest.mark.parametrize("kind", ["normal", "unit", "switching"])
@pytest.mark.parametrize("arms", [2, 7])
@pytest.mark.parametrize("delay", [0, 1, 4, 15])
@pytest.mark.parametrize("name", METHODS)
def test_plays_are_those_of_the_authors(
    name: PooldName, delay: int, arms: int, kind: Losses
) -> None:
    rows = losses(kind, arms, seed=arms + delay)
    theirs = poold_plays(name, rows, delay)
    assert_same_plays(METHODS[name](arms), delays.constant(ROUNDS, delay), rows, theirs)


@pytest.mark.parametrize("delay", [0, 1, 4, 15])
def test_hinted_plays_are_those_of_the_authors(delay: int) -> None:
    rows = losses("switching", 5, seed=delay)
    theirs = poold_plays("dorm", rows, delay, hint="recent")
    assert_same_plays(DORM(5, hint="recent"), delays.constant(ROUNDS, delay), rows, theirs)


@pytest.mark.parametrize("seed", range(3))
def test_changing_delays(seed: int) -> None:
    """DORM is left out: poold forgets the regrets in a round without arrivals."""
    rows, wait = losses("unit", 4, seed), in_order(seed)
    theirs = poold_plays("adahedged", rows, wait)
    assert_same_plays(AdaHedgeD(4), bl.Timeline.from_delays(wait), rows, theirs)
