"""A base of your own: AdaGrad on a ball, learning from late answers.

belated's reductions are black boxes over the base learner. Whatever has ``start`` and ``update``
can stand where ``PFTRL`` stands: the reduction hands it one cost after the other, as if there were
no delay, and says how late each one was. ``save`` and ``load`` make snapshots work.

Run it: python examples/adagrad_base.py
"""

from __future__ import annotations

import heapq

import numpy as np
from numpy.typing import NDArray

import belated as bl

Floats = NDArray[np.float64]


class AdaGrad:
    """Diagonal AdaGrad: every coordinate has its own step, step / sqrt(sum of squared costs)."""

    def __init__(self, ball: bl.Ball, step: float) -> None:
        self.ball = ball
        self.step = step

    def start(self) -> Floats:
        """Forget everything and return the first point."""
        self.point = np.array(self.ball.center)
        self.squares = np.zeros(self.ball.dim)
        return self.point

    def update(self, cost: Floats, lag: int, open_lags: int) -> Floats:
        """Take one step; ``open_lags`` answers are still out when this one comes in.

        The steps of those answers will be taken from points that do not know of this one, so we
        count each cost once for itself and once for every answer that is still out. That is how
        the paper's own rates make a backlog shorten the steps; ``lag`` is not needed here.
        """
        self.squares += (1 + open_lags) * cost**2
        scale = np.sqrt(np.maximum(self.squares, 1e-12))
        self.point = self._project(self.point - self.step * cost / scale, scale)
        return self.point

    def _project(self, point: Floats, scale: Floats) -> Floats:
        """Return the point of the ball nearest to ``point`` in the norm of AdaGrad's own steps.

        It is scale * point / (scale + m) around the centre, for the m at which it touches the
        sphere; halving an interval finds that m.
        """
        offset = point - self.ball.center
        if np.linalg.norm(offset) <= self.ball.radius:
            return point
        low, high = 0.0, float(scale.max() * np.linalg.norm(offset) / self.ball.radius)
        for _ in range(60):
            middle = (low + high) / 2
            outside = np.linalg.norm(scale * offset / (scale + middle)) > self.ball.radius
            low, high = (middle, high) if outside else (low, middle)
        nearest: Floats = self.ball.center + scale * offset / (scale + high)
        return nearest

    def save(self) -> bytes:
        """Return what ``load`` needs to go on from here."""
        return np.stack([self.point, self.squares]).tobytes()

    def load(self, saved: bytes) -> None:
        """Go on from what ``save`` returned."""
        self.point, self.squares = np.frombuffer(saved).reshape(2, -1).copy()


def main(rounds: int = 2000, seed: int = 0) -> None:
    """Learn a linear model whose features differ in size a hundredfold, with late labels."""
    generator = np.random.default_rng(seed)
    ball = bl.Ball(dim=5, radius=2.0)
    spec = bl.FirstOrder(AdaGrad(ball, step=1.0))
    learner = bl.Learner(spec)

    truth = np.array([1.0, -0.5, 0.5, -1.0, 0.8])
    sizes = np.array([1.0, 0.3, 0.1, 0.03, 0.01])
    due: list[tuple[float, int, Floats]] = []  # answers on their way, the earliest first
    losses = []
    for now in range(rounds):
        while due and due[0][0] <= now:
            _, ticket, gradient = heapq.heappop(due)
            learner.observe(ticket, gradient)

        ticket, weights = learner.predict()
        features = sizes * generator.normal(size=5)
        error = float(features @ (weights - truth))
        losses.append(abs(error))
        # The label comes later: a few rounds, or, once in a while, a few hundred.
        heapq.heappush(due, (now + 5 * generator.pareto(1.5), ticket, np.sign(error) * features))

        if now == rounds // 2:
            # A snapshot cannot hold Python objects, so the spec is given again.
            learner = bl.Learner.restore(learner.snapshot(), spec)

    print(learner.report())
    print(f"mean |error|, first 200 rounds  {np.mean(losses[:200]):.4f}")
    print(f"mean |error|, last 200 rounds   {np.mean(losses[-200:]):.4f}")


if __name__ == "__main__":
    main()
