"""Drives ``poold``, the code of the authors of Flaspohler et al. (2021), on given gradients."""

from __future__ import annotations

import importlib
import importlib.util
import warnings
from collections.abc import Callable, Sequence
from typing import Any, Literal

import matplotlib
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
PooldName = Literal["dorm", "dormplus", "adahedged", "dub"]


def _linear_loss(gradient: Array) -> dict[str, Callable[[Array], object]]:
    """A loss as poold wants it: its value and its gradient as functions of the play w."""
    return {"fun": lambda w: float(gradient @ w), "grad": lambda w: gradient}


def has_poold() -> bool:
    """Whether poold is installed."""
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
    Arrivals must be in ticket order for "adahedged" and "dub". ``recent`` gives DORM and DORM+ the
    hint (open + 1) * last regret received, zero before any. In a round without arrivals "dorm"
    plays from the hint alone, as if it had no regrets yet.
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
