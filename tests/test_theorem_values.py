"""The theorems of one-point and two-point feedback, in expectation, on the real learner."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

import belated as bl
import naive
from belated.compose import schedule_of
from belated.problem import Feedback
from conftest import everything
from naive_game import answered
from test_theorems import patterns

pytestmark = [pytest.mark.compiled, pytest.mark.needs_compiler]

Array = naive.Array
Loss = Callable[[Array], float]

DIM, ROUNDS, SEEDS = 3, 150, 24 if everything() else 12
SHOWN = ("none", "constant", "pareto", "lost")


# --- Expected regret -----------------------------------------------------------------------------


def linear(slope: Array) -> Loss:
    return lambda x: float(slope @ x)


def quadratic(goal: Array) -> Loss:
    return lambda x: float((x - goal) @ (x - goal)) / 4.0


def linear_losses(seed: int, rounds: int = ROUNDS) -> tuple[list[Loss], Array]:
    """Losses <a_t, x> with |a_t| <= 1 that prefer one side of the ball, and the best point."""
    rng = np.random.default_rng(seed)
    slopes = rng.standard_normal((rounds, DIM)) + np.array([1.0, -1.0, 0.5])
    slopes /= np.maximum(1.0, np.linalg.norm(slopes, axis=1))[:, None]
    total = slopes.sum(axis=0)
    return [linear(a) for a in slopes], -total / np.linalg.norm(total)


def quadratic_losses(seed: int, rounds: int = ROUNDS) -> tuple[list[Loss], Array]:
    """Losses |x - a_t|^2 / 4 with |a_t| <= 1: curvature 1/2, gradients and values at most 1."""
    rng = np.random.default_rng(seed)
    goals = rng.standard_normal((rounds, DIM)) * 0.2 + np.array([0.4, -0.3, 0.1])
    goals /= np.maximum(1.0, np.linalg.norm(goals, axis=1))[:, None]
    return [quadratic(a) for a in goals], goals.mean(axis=0)


def regret(
    spec: bl.OnePoint | bl.TwoPoint | bl.Skip,
    timeline: bl.Timeline,
    losses: list[Loss],
    best: Array,
    seed: int,
) -> float:
    """Play once; a round with two points costs their mean."""
    learner = bl.Learner(spec, seed=seed, strict=True)
    values: list[list[float]] = []
    for event in answered(timeline):
        if event >= 0:
            plays = learner.predict().x.reshape(-1, DIM)
            values.append([losses[event](x) for x in plays])
        else:
            learner.observe(~event, values[~event])
    paid = math.fsum(math.fsum(pair) / len(pair) for pair in values)
    return paid - math.fsum(loss(best) for loss in losses)


CASES: list[tuple[Feedback, float, bool]] = [
    ("value", 0.0, False),
    ("value", 0.5, False),
    ("two-values", 0.0, False),
    ("two-values", 0.5, False),
    ("value", 0.0, True),
    ("two-values", 0.0, True),
]


@pytest.mark.parametrize(("feedback", "curvature", "skip"), CASES)
def test_expected_regret(feedback: Feedback, curvature: float, skip: bool) -> None:
    """Corollaries 5.7, 5.8, G.3, G.4 and 6.2: three standard errors above the mean still hold."""
    problem = bl.Problem(bl.Ball(DIM), 1.0, curvature=curvature, magnitude=1.0)
    spec = problem.learner(feedback, skip=skip)
    assert isinstance(spec, bl.OnePoint | bl.TwoPoint | bl.Skip)
    losses, best = quadratic_losses(1) if curvature else linear_losses(1)
    for name, timeline in patterns(ROUNDS, 2).items():
        if name not in SHOWN:
            continue
        runs = np.array([regret(spec, timeline, losses, best, seed) for seed in range(SEEDS)])
        high = float(runs.mean() + 3.0 * runs.std(ddof=1) / math.sqrt(SEEDS))
        assert high <= problem.bound(timeline, feedback, skip=skip).total, name


@pytest.mark.parametrize("feedback", ["value", "two-values"])
def test_known_horizon(feedback: Feedback) -> None:
    """The fixed radius of a known horizon: same results."""
    problem = bl.Problem(bl.Ball(DIM), 1.0, magnitude=1.0, horizon=ROUNDS)
    spec = problem.learner(feedback)
    assert isinstance(spec, bl.OnePoint | bl.TwoPoint)
    losses, best = linear_losses(3)
    timeline = patterns(ROUNDS, 4)["uniform"]
    runs = np.array([regret(spec, timeline, losses, best, seed) for seed in range(SEEDS)])
    high = float(runs.mean() + 3.0 * runs.std(ddof=1) / math.sqrt(SEEDS))
    assert high <= problem.bound(timeline, feedback).total


def test_two_points_where_the_bound_says_something() -> None:
    """Corollary G.3 at a horizon where it is below what any play could lose."""
    problem = bl.Problem(bl.Ball(DIM), 1.0)
    spec = problem.learner("two-values")
    assert isinstance(spec, bl.TwoPoint)
    rounds = 8000
    timeline = bl.Timeline.from_delays(np.where(np.arange(rounds) % 50 == 0, 20, 0))
    bound = problem.bound(timeline, "two-values")
    assert not bound.vacuous
    losses, best = linear_losses(7, rounds)
    runs = [regret(spec, timeline, losses, best, seed) for seed in range(3)]
    assert max(runs) <= bound.total


# --- Theorems 5.6 and G.2, Lemmas E.4 and G.6 ----------------------------------------------------

SHORT = 60


@dataclass
class Fixed:
    """A learner with a fixed exploration radius, whose base can be looked at."""

    spec: bl.OnePoint | bl.TwoPoint
    radius: float
    curvature: float

    def gap(self, timeline: bl.Timeline, seed: int) -> float:
        """Regret minus drift-penalised regret of the base (with 3 G and more when curved)."""
        losses, best = (quadratic_losses if self.curvature else linear_losses)(3, SHORT)
        learner = bl.Learner(self.spec, seed=seed)
        points, values = [self.point(learner, seed)], []
        for event in answered(timeline):
            if event >= 0:
                plays = learner.predict().x.reshape(-1, DIM)
                values.append([losses[event](x) for x in plays])
            else:
                learner.observe(~event, values[~event])
                points.append(self.point(learner, seed))
        costs = [self.cost(values[s], seed, int(s)) for s in timeline.order]
        lags = timeline.dual_delay[timeline.order].tolist()
        paid = math.fsum(sum(pair) / len(pair) for pair in values)
        regret = paid - math.fsum(loss(best) for loss in losses)
        if self.curvature:
            return regret - naive.theorem_5_2_strongly_convex(
                points, costs, lags, best, 1.0, self.curvature
            )
        return regret - naive.theorem_5_2_convex(points, costs, lags, best, 1.0)

    def point(self, learner: bl.Learner, seed: int) -> Array:
        """The base's point, from the next play of a copy: x = (1 - delta / r) z + delta u."""
        ticket, x = copy.copy(learner).predict()
        u = naive.direction(seed, ticket, DIM)
        return np.asarray((x.reshape(-1, DIM)[0] - self.radius * u) / (1.0 - self.radius))

    def cost(self, values: list[float], seed: int, ticket: int) -> Array:
        """The cost vector, as in Algorithms 2 and 4."""
        value = values[0] if len(values) == 1 else 0.5 * (values[0] - values[1])
        return DIM / self.radius * value * naive.direction(seed, ticket, DIM)


@pytest.mark.parametrize("curvature", [0.0, 0.5])
@pytest.mark.parametrize("feedback", ["value", "two-values"])
def test_expected_drift_regret(feedback: Feedback, curvature: float) -> None:
    """Regret <= expected drift-penalised regret + 6 G R delta_tot / r, or 10 when curved."""
    problem = bl.Problem(bl.Ball(DIM), 1.0, curvature, magnitude=1.0, horizon=SHORT)
    spec = problem.learner(feedback)
    assert isinstance(spec, bl.OnePoint | bl.TwoPoint)
    timeline = patterns(SHORT, 4)["uniform"]
    radii = schedule_of(spec, timeline).radii
    game = Fixed(spec, float(radii[0]), curvature)
    gaps = np.array([game.gap(timeline, seed) for seed in range(SEEDS)])
    high = float(gaps.mean() + 3.0 * gaps.std(ddof=1) / math.sqrt(SEEDS))
    assert high <= (10.0 if curvature else 6.0) * float(radii.sum())


# --- Unbiased estimates --------------------------------------------------------------------------


class Recorder:
    """A base that stands still and keeps the costs it is given. Copies share the list."""

    def __init__(self, point: Array) -> None:
        self.domain = bl.Ball(len(point))
        self.point = point
        self.costs: list[Array] = []

    def __deepcopy__(self, memo: dict[int, object]) -> Recorder:
        """Return itself: the test wants to see what the learner does."""
        return self

    def start(self) -> Array:
        return self.point

    def update(self, cost: Array, lag: int, open_lags: int) -> Array:
        self.costs.append(cost)
        return self.point


POINT = np.array([0.3, -0.5, 0.2])
SLOPE = np.array([0.4, 0.1, -0.6])
BEND = np.array([[1.0, 0.3, 0.0], [0.3, 0.5, -0.2], [0.0, -0.2, 0.8]])
RADIUS = 0.25


def smoothed_gradient(bend: Array) -> Array:
    """Gradient of the smoothed loss at the shrunk point: smoothing a quadratic adds a constant."""
    return np.asarray(SLOPE + bend @ ((1.0 - RADIUS) * POINT))


def collect(spec_of: Callable[[Recorder], bl.OnePoint | bl.TwoPoint], bend: Array) -> Array:
    """The costs of many tickets at one point, answered three rounds late."""
    recorder = Recorder(POINT)
    learner = bl.Learner(spec_of(recorder), seed=7)
    answers: list[list[float]] = []
    for t in range(6000):
        plays = learner.predict().x.reshape(-1, 3)
        answers.append([float(SLOPE @ x + 0.5 * x @ bend @ x) + 0.7 for x in plays])
        if t >= 3:
            learner.observe(t - 3, answers[t - 3])
    return np.array(recorder.costs)


SMOOTH = bl.smoothing.Convex(1.0 / 3.0, horizon=256)  # sqrt(3 / 3) / 256^(1/4) = RADIUS
ESTIMATORS: dict[str, Callable[[Recorder], bl.OnePoint | bl.TwoPoint]] = {
    "one point": lambda base: bl.OnePoint(base, 5.0, SMOOTH),
    "one point, baseline": lambda base: bl.OnePoint(base, 5.0, SMOOTH, baseline="mean"),
    "two points": lambda base: bl.TwoPoint(base, bl.smoothing.InverseRoot(16)),
}


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("bend", [0.0 * BEND, BEND], ids=["linear", "quadratic"])
def test_unbiased(name: str, bend: Array) -> None:
    """Theorem 5.5 and its two-point form: the mean cost is the gradient of the smoothed loss."""
    costs = collect(ESTIMATORS[name], bend)
    error = costs.std(axis=0, ddof=1) / math.sqrt(len(costs))
    assert np.all(np.abs(costs.mean(axis=0) - smoothed_gradient(bend)) < 4.0 * error)


def test_second_moments() -> None:
    """|c| <= k M / delta for one value, E|c|^2 <= k^2 G^2 / (k - 1) for two; a baseline helps."""
    sizes = {
        name: np.sum(collect(estimator, 0.0 * BEND) ** 2, axis=1)
        for name, estimator in ESTIMATORS.items()
    }
    steep = float(SLOPE @ SLOPE)
    assert sizes["one point"].max() <= (3.0 * (0.7 + math.sqrt(steep)) / RADIUS) ** 2
    assert sizes["two points"].mean() <= 9.0 / 2.0 * steep
    assert sizes["one point, baseline"].mean() < 0.5 * sizes["one point"].mean()
