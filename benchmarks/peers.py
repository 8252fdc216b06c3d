"""Others who do the same: poold, and one-point feedback with NumPy as libraries write it."""

from __future__ import annotations

import importlib
import importlib.util
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class NumpyOnePoint:
    """Gradient descent from single values in a ball: an array call for every operation, no delays.

    Radii and steps are of the order that the theory asks for, so the work per round is that of
    ``OnePoint(OMD(Ball))``; there are no tickets, checks or counts.
    """

    def __init__(self, dim: int, lipschitz: float, magnitude: float, radius: float = 1.0) -> None:
        self.generator = np.random.default_rng(0)
        self.dim, self.radius = dim, radius
        self.breadth = math.sqrt(magnitude * dim / (lipschitz * radius))
        self.gain = 2.0 * radius / (dim * magnitude)
        self.point = np.zeros(dim)
        self.direction = np.zeros(dim)
        self.delta = radius
        self.rounds = 0

    def predict(self) -> Floats:
        """Return a point near the current one, in a random direction from it."""
        self.rounds += 1
        self.delta = self.radius * min(1.0, self.breadth * self.rounds**-0.25)
        self.direction = self.generator.standard_normal(self.dim)
        self.direction /= np.linalg.norm(self.direction)
        shrunk = (1.0 - self.delta / self.radius) * self.point
        return np.asarray(shrunk + self.delta * self.direction)

    def observe(self, value: float) -> None:
        """Estimate the gradient from the value at the point just played, step and project."""
        gradient = self.dim / self.delta * value * self.direction
        point = self.point - self.gain * self.delta / math.sqrt(self.rounds) * gradient
        norm = np.linalg.norm(point)
        self.point = point * (self.radius / norm) if norm > self.radius else point


def has_poold() -> bool:
    """Tell whether poold, the code of the authors of Flaspohler et al. (2021), is installed."""
    return importlib.util.find_spec("poold") is not None


def poold_loss(costs: Floats, delay: int) -> float:
    """Play all rounds with poold's DORM under a constant delay; return the sum of its losses."""
    rounds, experts = costs.shape
    total = 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        poold: Any = importlib.import_module("poold")
        learner = poold.create("dorm", model_list=[f"{i}" for i in range(experts)], T=rounds)
        for t in range(rounds):
            s = t - 1 - delay
            arrived = [(s, _poold_linear(costs[s]))] if s >= 0 else []
            total += float(costs[t] @ learner.update_and_play(arrived, None))
    return total


def _poold_linear(cost: Floats) -> dict[str, Callable[[Floats], object]]:
    """Return <cost, w> as poold wants a loss: value and gradient as functions of the play."""
    return {"fun": lambda w: float(cost @ w), "grad": lambda w: cost}
