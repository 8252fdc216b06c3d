"""Theorems about games that were played: slow versions agree, and the inequalities hold."""

from __future__ import annotations

import math

import numpy as np
import pytest

import belated as bl
import naive
from belated import bounds
from belated.compose import schedule_of
from belated.errors import SpecError
from belated.problem import Feedback
from conftest import shortened
from naive_game import answered
from test_theorem_values import SHORT, Fixed, linear_losses, quadratic_losses
from test_theorems import (
    LINEAR_GAMES,
    Adversary,
    adversaries,
    comparators,
    geometry,
    patterns,
    targets,
    widths,
    wild,
)

TINY = 1e-9


def play_against(
    base: bl.PFTRL | bl.OMD, timeline: bl.Timeline, adversary: Adversary
) -> bounds.LinearGame:
    """Find the answers of an adversary that sees the plays, then record the game."""
    learner = bl.Learner(bl.FirstOrder(base))
    scales = widths(base.domain)
    answers = [np.zeros(base.domain.dim)] * timeline.rounds
    for event in answered(timeline):
        if event >= 0:
            answers[event] = adversary(event, learner.predict().x / scales) / scales
        else:
            learner.observe(~event, answers[~event])
    return bounds.record_game(learner.fresh(), timeline, answers)


def points_of(base: bl.PFTRL | bl.OMD, costs: list[np.ndarray], seed: int) -> list[np.ndarray]:
    """The worst comparator and a random one, as points of the set."""
    return [u * widths(base.domain) for u in comparators(base.domain, costs, seed)]


def close(value: float, slow: float) -> bool:
    return value == slow or math.isclose(value, slow, rel_tol=1e-9, abs_tol=1e-9)


@pytest.mark.parametrize("name", LINEAR_GAMES)
def test_a_recorded_game(name: str) -> None:
    """Theorems 4.1 and D.4 and Lemmas 4.2 and D.6 are those of the slow versions, and hold."""
    base = LINEAR_GAMES[name]
    assert isinstance(base, bl.PFTRL | bl.OMD)
    kind = geometry(base)
    for number, timeline in enumerate(patterns(shortened(80), 7).values()):
        for adversary in (
            wild(base.domain.dim, number),
            adversaries(base.domain.dim, 1.0, 3)["outward"],
        ):
            game = play_against(base, timeline, adversary)
            costs, lags = list(game.costs), game.lags.tolist()
            steps = game.rates.tolist()
            waiting = naive.open_lags(lags)
            assert game.open_lags.tolist() == waiting
            assert close(game.drift, naive.incurred_drift(list(game.points), lags, kind))
            slow = naive.theorem_4_1_drift(costs, steps, waiting, kind)
            assert close(bounds.theorem_4_1(game).drift, slow)
            assert game.drift <= slow + TINY
            for u in points_of(base, costs, number):
                seen = game._in_chart(u)
                assert close(game.regret(u), naive.linear_regret(list(game.points), costs, seen))
                allowed = bounds.theorem_4_1(game, u).regret
                slow = naive.theorem_4_1_regret(list(game.points), costs, steps, seen, kind)
                assert close(allowed, slow)
                assert game.regret(u) <= allowed + TINY * max(1.0, abs(allowed))
                assert game.regret(u) <= bounds.theorem_4_1(game).regret * (1.0 + TINY) + TINY
            check_misalignment(game, steps, lags, waiting)


def check_misalignment(
    game: bounds.LinearGame, steps: list[float], lags: list[int], waiting: list[int]
) -> None:
    """Lemma D.6 for all, and Lemma 4.2 for P-FTRL."""
    assert close(game.misalignment, naive.misalignment(steps, lags))
    allowed = bounds.lemma_d_6(game)
    assert close(allowed.logarithmic, naive.lemma_d_6_logarithmic(steps, waiting))
    assert close(allowed.window, naive.lemma_d_6_window(steps, waiting))
    assert game.misalignment <= min(allowed) + TINY
    if isinstance(game.base, bl.PFTRL):
        slow = naive.lemma_4_2(list(game.costs), steps, lags, game.base.diameter)
        assert close(bounds.lemma_4_2(game), slow)
        assert game.drift <= slow * (1.0 + TINY) + TINY
    elif isinstance(game.base, bl.OMD):
        assert bounds.theorem_d_4(game) == bounds.theorem_4_1(game)


@pytest.mark.parametrize("kind", [bl.PFTRL, bl.OMD])
@pytest.mark.parametrize("curvature", [0.0, 0.5])
def test_theorem_5_2(kind: type[bl.PFTRL | bl.OMD], curvature: float) -> None:
    """The regret against every comparator is at most what the recorded game says."""
    ball = bl.Ball(3)
    steps = bl.rates.StronglyConvex(0.5, 1.0) if curvature else bl.rates.DelayAdaptive(1.0)
    for number, timeline in enumerate(patterns(shortened(80), 11).values()):
        for adversary in bent(number).values() if curvature else steep(number).values():
            game = play_against(kind(ball, steps), timeline, adversary)
            points, costs, lags = list(game.points), list(game.costs), game.lags.tolist()
            plays = [points[n - lag] for n, lag in enumerate(lags)]
            for u in (np.eye(3)[0], *points_of(kind(ball, steps), costs, number)):
                allowed = bounds.theorem_5_2(game, u, lipschitz=1.0, curvature=curvature)
                lost = [float(c @ (x - u)) for c, x in zip(costs, plays, strict=True)]
                if curvature:  # losses (lambda / 2) |x - a|^2
                    slow = naive.theorem_5_2_strongly_convex(points, costs, lags, u, 1.0, curvature)
                    bend = math.fsum(float((x - u) @ (x - u)) for x in plays)
                    assert math.fsum(lost) - 0.5 * curvature * bend <= allowed + TINY
                else:
                    slow = naive.theorem_5_2_convex(points, costs, lags, u, 1.0)
                    assert math.fsum(lost) <= allowed + TINY
                assert close(allowed, slow)


def steep(seed: int) -> dict[str, Adversary]:
    """Linear losses with gradients of at most length 1."""
    return adversaries(3, 1.0, seed)


def bent(seed: int) -> dict[str, Adversary]:
    """Gradients (x - a) / 2 of losses that are strongly convex, on the unit ball."""
    return {
        name: lambda t, x, aim=aim: 0.5 * (x - aim(t, x))  # type: ignore[misc]
        for name, aim in targets(3, seed).items()
    }


@pytest.mark.parametrize("curvature", [0.0, 0.5])
@pytest.mark.parametrize("feedback", ["value", "two-values"])
def test_theorems_5_6_and_g_2(feedback: Feedback, curvature: float) -> None:
    """Estimates and points are those of the slow version; the mean of the regret is allowed."""
    problem = bl.Problem(bl.Ball(3), 1.0, curvature, magnitude=1.0, horizon=SHORT)
    spec = problem.learner(feedback)
    assert isinstance(spec, bl.OnePoint | bl.TwoPoint)
    timeline = patterns(SHORT, 4)["uniform"]
    radii = schedule_of(spec, timeline).radii
    losses, best = (quadratic_losses if curvature else linear_losses)(3, SHORT)
    theorem = bounds.theorem_5_6 if feedback == "value" else bounds.theorem_g_2
    gaps = []
    for seed in range(12):
        learner, values = bl.Learner(spec, seed), []
        for event in answered(timeline):
            if event >= 0:
                plays = learner.predict().x.reshape(-1, 3)
                each = [losses[event](x) for x in plays]
                values.append(each if feedback == "two-values" else each[0])
            else:
                learner.observe(~event, values[~event])
        game = bounds.record_game(learner.fresh(), timeline, values)
        regret = math.fsum(np.mean(pair) for pair in values) - math.fsum(f(best) for f in losses)
        slow = Fixed(spec, float(radii[0]), curvature).gap(timeline, seed)
        allowed = bounds.theorem_5_2(game, best, lipschitz=1.0, curvature=curvature)
        assert close(regret - allowed, slow)
        bias = (10.0 if curvature else 6.0) * math.fsum(radii)
        limit = theorem(game, best, lipschitz=1.0, curvature=curvature)
        assert close(limit, allowed + bias)
        gaps.append(regret - limit)
    assert np.mean(gaps) + 3.0 * np.std(gaps, ddof=1) / math.sqrt(len(gaps)) <= 0.0


def test_what_is_no_linear_game_is_refused() -> None:
    ball, late = bl.Ball(2), bl.Timeline.from_delays([0])
    answers = [[0.0, 0.0]]
    tight = bl.PFTRL(ball, bl.rates.Tight(1.0))
    for spec in (
        bl.Skip(bl.FirstOrder(tight)),
        bl.FirstOrder(bl.DualAveraging(ball, bl.rates.Tight(1.0))),
    ):
        with pytest.raises(SpecError, match=r"record_game|LinearGame"):
            bounds.record_game(bl.Learner(spec), late, answers)
    learner = bl.Learner(bl.FirstOrder(tight))
    learner.predict()
    with pytest.raises(SpecError, match="fresh"):
        bounds.record_game(learner, late, answers)
    game = bounds.record_game(learner.fresh(), late, answers)
    with pytest.raises(SpecError, match="OMD"):
        bounds.theorem_d_4(game)
    omd = bl.FirstOrder(bl.OMD(ball, bl.rates.Tight(1.0)))
    with pytest.raises(SpecError, match="PFTRL"):
        bounds.lemma_4_2(bounds.record_game(bl.Learner(omd), late, answers))
