"""Leader and dual averaging: their formulas, the proof of Leader's guarantee, and refusals."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import belated as bl
import naive
from belated.research.game.allowed import bound_of
from compositions import Array, Event, events
from conftest import shortened
from naive_game import answered
from naive_portfolio import LeaderConfig, NaiveLeader, around, length
from test_theorems import (
    SLACK,
    TINY,
    Adversary,
    adversaries,
    all_delays,
    all_signs,
    chart_set,
    patterns,
    quick,
)

LIPSCHITZ, CURVATURE = 1.4, 0.7
RATE = bl.rates.StronglyConvex(CURVATURE, LIPSCHITZ)
BALL = bl.Ball(2)
LEADER = bl.Leader(BALL, RATE)


def surrogate_regret(
    domain: bl.domains.Domain, plays: list[Array], costs: list[Array], curvature: float
) -> float:
    """Regret of <c_t, x> + (lambda / 2) |x - x_t|^2: no strongly convex loss has more.

    The best point is the projected mean of x_t - c_t / lambda.
    """
    mean = np.mean([x - c / curvature for x, c in zip(plays, costs, strict=True)], axis=0)
    best = chart_set(domain).project(mean)
    return math.fsum(
        float(c @ (x - best) - 0.5 * curvature * (x - best) @ (x - best))
        for x, c in zip(plays, costs, strict=True)
    )


def bound(timeline: bl.Timeline, base: bl.Leader = LEADER) -> float:
    assert isinstance(base.rate, bl.rates.StronglyConvex)
    found = bl.bounds.leader(
        timeline,
        lipschitz=LIPSCHITZ,
        curvature=base.rate.curvature,
        diameter=base.domain.diameter,
        reach=base.reach,
    )
    return found.total


def slow_leader(dim: int, reach: int) -> NaiveLeader:
    """Return the slow version on the unit ball."""
    return NaiveLeader(
        LeaderConfig(dim=dim, rate="strongly-convex", curvature=CURVATURE, reach=reach)
    )


def lived(slow: NaiveLeader, life: list[Event], seed: int) -> NaiveLeader:
    """Return the slow version after a life with costs of norm at most G, many of them G."""
    rng = np.random.default_rng(seed)
    for kind, ticket in life:
        if kind == "predict":
            slow.predict()
        else:
            v = rng.standard_normal(slow.config.dim)
            size = LIPSCHITZ * min(1.0, 2.0 * rng.random())
            slow.observe(ticket, size * v / float(np.linalg.norm(v)))
    return slow


# --- The formula ---------------------------------------------------------------------------------


@pytest.mark.parametrize("reach", [1, 15, 16, 31, 90, 61_440])
def test_points_are_those_of_the_slow_version(reach: int) -> None:
    """With delays of all lengths, below the reach and beyond."""
    rng = np.random.default_rng(reach)
    delays = [min(int(d), 199 - t) for t, d in enumerate(rng.choice([0, 1, 20, 60, 150], 200))]
    costs = rng.standard_normal((200, 2))
    fast = bl.Learner(bl.FirstOrder(bl.Leader(BALL, RATE, reach)))
    slow = slow_leader(2, reach)
    for event in answered(bl.Timeline.from_delays(delays)):
        if event >= 0:
            np.testing.assert_allclose(fast.predict().x, slow.predict()[1], atol=1e-12)
        else:
            fast.observe(~event, costs[~event])
            slow.observe(~event, costs[~event])
    assert max(slow.history.dual_delays) > 90


def test_without_delay_it_is_pftrl() -> None:
    rng = np.random.default_rng(1)
    for domain in (bl.Ball(3), bl.Simplex(3)):
        pair = [bl.Learner(bl.FirstOrder(kind(domain, RATE))) for kind in (bl.Leader, bl.PFTRL)]
        for _ in range(500):
            plays = [learner.predict() for learner in pair]
            np.testing.assert_allclose(plays[0].x, plays[1].x, atol=1e-11)
            cost = 2.0 * rng.standard_normal(3)
            for learner, play in zip(pair, plays, strict=True):
                learner.observe(play.ticket, cost)
            assert pair[0].report().rate == pair[1].report().rate


@pytest.mark.parametrize("longest", [0, 3, 7])
def test_young_answers_are_those_of_qiu_esposito_and_zhang(longest: int) -> None:
    """While no answer waits for more than 15 others the points played are known exactly."""
    rng = np.random.default_rng(longest)
    timeline = bl.Timeline.from_delays(rng.integers(0, longest + 1, 400))
    costs = rng.standard_normal((400, 3))
    happening = np.array(answered(timeline))
    ours = bl.Learner(bl.FirstOrder(bl.Leader(bl.Ball(3), RATE)))
    theirs = bl.Learner(bl.rivals.QiuEspositoZhang(bl.Ball(3), CURVATURE))
    plays = ours.replay(happening, costs)
    np.testing.assert_allclose(plays, theirs.replay(happening, costs), atol=1e-11)
    assert ours.report().max_dual_delay <= 15


# --- The proof, step by step ---------------------------------------------------------------------


@given(
    life=st.builds(
        lambda rounds, seed: (events(rounds, seed, cancel=False), seed),
        st.integers(1, 80),
        st.integers(0, 10**6),
    ),
    dim=st.integers(1, 3),
    reach=st.sampled_from([1, 5, 20, 1000]),
)
def test_every_step_of_the_proof(life: tuple[list[Event], int], dim: int, reach: int) -> None:
    slow = lived(slow_leader(dim, reach), *life)
    history, width = slow.history, slow.diameter
    costs, points = history.costs, history.points
    for m, (z, after) in enumerate(itertools.pairwise(points), 1):
        moved = float(np.linalg.norm(after - z))
        assert moved <= 3.0 * LIPSCHITZ / (CURVATURE * m) * SLACK
    misread = []
    for n, (y, lag) in enumerate(zip(slow.about, history.dual_delays, strict=True)):
        misread.append(float(np.linalg.norm(points[n - lag] - y)))
        a, b = around(n, n - lag)
        most = length(points[a : b + 1]) / 2.0 if lag <= reach else width
        assert misread[-1] <= min(width, most) * SLACK + TINY
    if not costs:
        return
    plays = [history.plays[ticket] for ticket in history.tickets]
    regret = surrogate_regret(bl.Ball(dim), plays, costs, CURVATURE)
    waits = math.fsum((1 + s) / n for n, s in enumerate(history.dual_backlogs, 1))
    allowed = 3.0 * LIPSCHITZ**2 / CURVATURE * waits + CURVATURE * width * math.fsum(misread)
    assert regret <= allowed * SLACK + TINY


# --- The guarantee -------------------------------------------------------------------------------


def bowls(dim: int, seed: int) -> dict[str, Adversary]:
    """Gradients (lambda_t) (x - a_t) of quadratics that are bent by lambda or more, at most G."""
    rng = np.random.default_rng(seed)
    axis = np.eye(dim)[0]

    def bowl(bend: float, goal: Array) -> Adversary:
        return lambda _, x: np.asarray(bend * (x - goal))

    def random(_: int, x: Array) -> Array:
        bend = CURVATURE * rng.uniform(1.0, 2.0)
        goal = naive.project_ball(rng.standard_normal(dim), LIPSCHITZ / bend - 1.0)
        return bowl(bend, goal)(0, x)

    def opposite(_: int, x: Array) -> Array:
        size = float(np.linalg.norm(x))
        return bowl(CURVATURE, -x / size if size else axis)(0, x)

    def turning(t: int, x: Array) -> Array:
        bend = CURVATURE if t % 3 else 1.5 * CURVATURE
        return bowl(bend, axis * (LIPSCHITZ / bend - 1.0) * (-1.0) ** (t // 15))(0, x)

    return {"random bowls": random, "opposite bowls": opposite, "turning bowls": turning}


@pytest.mark.parametrize("reach", [7, 61_440])
@pytest.mark.parametrize("curvature", [CURVATURE, LIPSCHITZ, 0.05])
def test_patterns(curvature: float, reach: int) -> None:
    """Any costs at the points played that are at most G, and quadratics."""
    base = bl.Leader(BALL, bl.rates.StronglyConvex(curvature, LIPSCHITZ), reach)
    against = adversaries(2, LIPSCHITZ, 51) | (bowls(2, 52) if curvature == CURVATURE else {})
    for pattern, timeline in patterns(shortened(120), 53).items():
        for name, adversary in against.items():
            record = quick(bl.FirstOrder(base), timeline, adversary)
            regret = surrogate_regret(BALL, record.plays, record.gradients, curvature)
            assert regret <= bound(timeline, base), (pattern, name)


@pytest.mark.parametrize("reach", [1, 61_440])
def test_exhaustive(reach: int) -> None:
    """All delay sequences with T <= 4 and all costs."""
    ball = bl.Ball(1)
    base = bl.Leader(ball, bl.rates.StronglyConvex(LIPSCHITZ, LIPSCHITZ), reach)
    for delays in all_delays(4):
        timeline = bl.Timeline.from_delays(delays)
        allowed = bound(timeline, base)
        happening = np.array(answered(timeline))
        for signs in all_signs(len(delays)):
            costs = LIPSCHITZ * signs
            plays = bl.Learner(bl.FirstOrder(base)).replay(happening, costs)
            regret = surrogate_regret(ball, list(plays), list(costs), LIPSCHITZ)
            assert regret <= allowed, (delays, signs.T)


def test_the_bound_is_its_formula() -> None:
    rng = np.random.default_rng(57)
    for longest, reach in itertools.product((0, 10, 60, 119), (1, 20, 61_440)):
        delays = [min(int(d), 119 - t) for t, d in enumerate(rng.integers(0, longest + 1, 120))]
        counts = naive.interval_counts(naive.intervals_of_delays(delays))
        moves = [3.0 * LIPSCHITZ / (CURVATURE * n) for n in range(1, 121)]
        total = 0.0
        for n, ticket in enumerate(counts.order):
            lag = counts.dual_delays[ticket]
            a, b = around(n, n - lag)
            away = min(2.0, math.fsum(moves[a:b]) / 2.0) if lag <= reach else 2.0
            total += LIPSCHITZ * moves[n] * (1 + counts.dual_backlogs[ticket])
            total += CURVATURE * 2.0 * away
        timeline = bl.Timeline.from_delays(delays)
        assert bound(timeline, bl.Leader(BALL, RATE, reach)) == pytest.approx(total, rel=1e-12)


def test_where_there_is_a_guarantee() -> None:
    late = bl.Timeline.from_delays([3] * 50)
    expected = bl.bounds.leader(late, lipschitz=LIPSCHITZ, curvature=CURVATURE, diameter=2.0)
    assert bound_of(bl.FirstOrder(LEADER), late) == expected
    skipped = bl.bounds.corollary_6_2(
        late,
        bl.bounds.leader,
        lipschitz=LIPSCHITZ,
        curvature=CURVATURE,
        diameter=2.0,
        outer_radius=1.0,
    )
    assert bound_of(bl.Skip(bl.FirstOrder(LEADER)), late) == skipped
    assert bound_of(bl.TwoPoint(LEADER), late) is None
    untold = bl.Leader(BALL, bl.rates.StronglyConvex(CURVATURE))
    assert bound_of(bl.FirstOrder(untold), late) is None
    for wrong in ({"lipschitz": 0.0}, {"curvature": -1.0}, {"diameter": 0.0}):
        constants: dict[str, Any] = {"lipschitz": 1.0, "curvature": 1.0, "diameter": 1.0, **wrong}
        with pytest.raises(
            bl.errors.SpecError, match=f"leader: {next(iter(wrong))} must be positive"
        ):
            bl.bounds.leader(late, **constants)
    for reach in (-1, 0):
        with pytest.raises(bl.errors.SpecError, match="leader: reach must be at least 1"):
            bl.bounds.leader(late, lipschitz=1.0, curvature=1.0, diameter=1.0, reach=reach)
