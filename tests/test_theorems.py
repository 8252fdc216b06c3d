"""The theorems of first-order feedback and of skipping, with their constants, on the real learner.

Everything is measured in the chart of the set, where a point is y = x / half-widths up to a shift
and a gradient is half-widths * g.
"""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import belated as bl
import naive
from belated.bases import Base
from belated.problem import BaseName, RateName
from belated.reductions import LearnerSpec, Reduction, Wrapper, inner_of
from conftest import everything, shortened
from naive_game import answered

Array = naive.Array
Adversary = Callable[[int, Array], Array]
"""From a round and the point played in the chart to a cost there."""

SLACK = 1.0 + 1e-9
TINY = 1e-9


# --- Delays --------------------------------------------------------------------------------------


def patterns(rounds: int, seed: int) -> dict[str, bl.Timeline]:
    """Timelines of many kinds; in "lost" some answers never come."""
    rng = np.random.default_rng(seed)
    t = np.arange(rounds)
    from_delays = bl.Timeline.from_delays
    due = np.minimum(t + rng.integers(0, rounds // 2 + 1, rounds), rounds - 1)
    return {
        "none": from_delays(0 * t),
        "constant": from_delays(np.minimum(7, rounds - 1 - t)),
        "uniform": from_delays(due - t),
        "batch": from_delays(np.minimum(t // 20 * 20 + 19, rounds - 1) - t),
        "pareto": from_delays(
            np.minimum((rng.pareto(0.7, rounds) * 2).astype(int), rounds - 1 - t)
        ),
        "one huge": from_delays(np.where(t == 0, rounds - 1, 0)),
        "all at the end": from_delays(rounds - 1 - t),
        "out of order": bl.Timeline.from_intervals(t, t + rng.exponential(15.0, rounds)),
        "newest first": bl.Timeline.from_intervals(t, 2.0 * rounds - t),
        "lost": from_delays(np.where(rng.random(rounds) < 0.3, rounds, rng.integers(0, 9, rounds))),
    }


def all_delays(longest: int) -> Iterator[list[int]]:
    """All delay sequences with every answer inside the horizon, for T = 1, .., longest."""
    for rounds in range(1, longest + 1):
        for delays in itertools.product(*(range(rounds - t) for t in range(rounds))):
            yield list(delays)


def all_signs(rounds: int) -> Iterator[Array]:
    """All costs at the ends and in the middle; of two that mirror each other one.

    Four rounds and more have none in the middle unless all is asked for.
    """
    of_one = (-1.0, 0.0, 1.0) if rounds < 4 or everything() else (-1.0, 1.0)
    for signs in itertools.product(of_one, repeat=rounds):
        if next(filter(None, signs), 1.0) > 0.0:
            yield np.array(signs)[:, None]


# --- Playing -------------------------------------------------------------------------------------


@dataclass
class Record:
    """What happened, in the chart: z_n, c_n, eta_n and lags by arrival, x_t by ticket."""

    learner: bl.Learner
    points: list[Array] = field(default_factory=list)
    costs: list[Array] = field(default_factory=list)
    etas: list[float] = field(default_factory=list)
    lags: list[int] = field(default_factory=list)
    backlogs: list[int] = field(default_factory=list)
    plays: list[Array] = field(default_factory=list)
    gradients: list[Array] = field(default_factory=list)

    @property
    def rates(self) -> list[float]:
        """The rates; before the first non-zero cost any rate leaves the point alone."""
        first = next((eta for eta in self.etas if eta), 1.0)
        return [eta or first for eta in self.etas]


def widths(domain: bl.domains.Domain) -> Array:
    return np.array(domain.half_widths or (1.0,) * domain.dim)


def play(
    spec: Reduction, timeline: bl.Timeline, adversary: Adversary, *, all_points: bool = True
) -> Record:
    """Run the learner event by event and look at its point after every arrival.

    The point is what it predicts next, for gradients; before another arrival a copy is asked, if
    ``all_points`` are wanted.
    """
    assert isinstance(spec.base, Base)
    scale = widths(spec.base.domain)
    record = Record(bl.Learner(spec))
    learner, counters = record.learner, bl.Counters()
    for event in answered(timeline):
        is_known = len(record.points) > len(record.costs)
        if event >= 0:
            x = learner.predict().x / scale
            counters.predict()
            if not is_known or not all_points:
                record.points.append(x)
            assert np.array_equal(x, record.points[-1])  # steady (Definition 2.7)
            record.plays.append(x)
            record.gradients.append(adversary(event, x))
            continue
        if all_points and not is_known:
            record.points.append(copy.copy(learner).predict().x / scale)
        cost = record.gradients[~event]
        assert learner.observe(~event, cost / scale)
        arrival = counters.observe(~event)
        record.costs.append(cost)
        record.etas.append(learner.report().rate or 0.0)
        record.lags.append(arrival.dual_delay)
        record.backlogs.append(arrival.dual_backlog)
    if all_points and len(record.points) == len(record.costs):
        record.points.append(copy.copy(learner).predict().x / scale)
    return record


def wild(dim: int, seed: int) -> Adversary:
    """Costs of any size, some zero."""
    rng = np.random.default_rng(seed)

    def cost(_: int, __: Array) -> Array:
        size = rng.choice([0.0, 0.01, 1.0, 30.0], p=[0.1, 0.2, 0.5, 0.2])
        return np.asarray(size * rng.standard_normal(dim))

    return cost


def outward(lipschitz: float) -> Adversary:
    """Adaptive: always pushes back to where the point came from."""

    def cost(_: int, y: Array) -> Array:
        norm = float(np.linalg.norm(y))
        away = y / norm if norm else np.eye(len(y))[0]
        return np.asarray(lipschitz * away)

    return cost


def adversaries(dim: int, lipschitz: float, seed: int) -> dict[str, Adversary]:
    """Ways to choose costs with norm at most G, most of them with norm G."""
    rng = np.random.default_rng(seed)
    fixed = rng.standard_normal(dim)
    fixed /= np.linalg.norm(fixed)

    def random(_: int, __: Array) -> Array:
        v = rng.standard_normal(dim)
        return np.asarray(lipschitz * v / np.linalg.norm(v))

    def small(_: int, __: Array) -> Array:
        return np.asarray(random(0, fixed) * rng.random() ** 4)

    def switching(t: int, _: Array) -> Array:
        return np.asarray(lipschitz * fixed * (-1.0) ** (t // 12))

    return {
        "random": random,
        "small": small,
        "constant": lambda _, __: np.asarray(lipschitz * fixed),
        "switching": switching,
        "outward": outward(lipschitz),
    }


def chart_set(domain: bl.domains.Domain) -> naive.ChartSet:
    """The same set in the reference implementation (centred sets only)."""
    kind: naive.SetKind = {"Ball": "ball", "Box": "box", "L1Ball": "l1", "Simplex": "simplex"}[  # type: ignore[assignment]
        domain.kind
    ]
    return naive.ChartSet(
        kind, domain.dim, getattr(domain, "radius", 1.0), getattr(domain, "floor", 0.0)
    )


def comparators(domain: bl.domains.Domain, costs: list[Array], seed: int) -> list[Array]:
    """The best fixed point for the costs (up to a hair), and a random one, as records have it."""
    rng = np.random.default_rng(seed)
    shape = chart_set(domain)
    centre = np.array(domain.center) / widths(domain) if domain.kind != "Simplex" else 0.0
    total = np.sum(costs, axis=0)
    far = shape.project(-1e7 * total / max(1e-300, float(np.linalg.norm(total))))
    return [centre + far, centre + shape.project(rng.standard_normal(domain.dim))]


def linear_regret(domain: bl.domains.Domain, plays: list[Array], gradients: list[Array]) -> float:
    """Sum of <g_t, x_t> minus its least value: at least the regret of convex losses."""
    centre = np.array(domain.center) / widths(domain) if domain.kind != "Simplex" else 0.0
    paid = math.fsum(float(g @ (x - centre)) for g, x in zip(gradients, plays, strict=True))
    return paid - chart_set(domain).linear_minimum(np.sum(gradients, axis=0))


def quick(spec: LearnerSpec, timeline: bl.Timeline, adversary: Adversary, seed: int = 0) -> Record:
    """The same without looking at the points in between."""
    assert isinstance(spec, Reduction | Wrapper)
    reduction = inner_of(spec)
    assert isinstance(reduction.base, Base)
    scale = widths(reduction.base.domain)
    record = Record(bl.Learner(spec, seed))
    for event in answered(timeline):
        if event >= 0:
            y = record.learner.predict().x / scale
            record.plays.append(y)
            record.gradients.append(adversary(event, y))
        else:
            record.learner.observe(~event, record.gradients[~event] / scale)
    return record


# --- Section 4: the linear game ------------------------------------------------------------------

STEPS = tuple(1.0 / (1.0 + n // 3) for n in range(30))
FAR_BOX = bl.Box([10.0, -3.0, 0.0], [200.0, 1.0, 0.5])

LINEAR_GAMES = {
    "ball, P-FTRL, delay adaptive": bl.PFTRL(bl.Ball(3), bl.rates.DelayAdaptive(1.0)),
    "ball, P-FTRL, tight": bl.PFTRL(bl.Ball(3), bl.rates.Tight(1.0)),
    "ball, P-FTRL, gradient adaptive": bl.PFTRL(bl.Ball(3), bl.rates.GradientAdaptive()),
    "ball, P-FTRL, strongly convex": bl.PFTRL(bl.Ball(3), bl.rates.StronglyConvex(0.2)),
    "ball, P-FTRL, table": bl.PFTRL(bl.Ball(3, 2.0, (1.0, 2.0, 3.0)), bl.rates.Table(STEPS)),
    "ball, OMD, delay adaptive": bl.OMD(bl.Ball(3), bl.rates.DelayAdaptive(1.0)),
    "ball, OMD, tight": bl.OMD(bl.Ball(3), bl.rates.Tight(1.0)),
    "ball, OMD, gradient adaptive": bl.OMD(bl.Ball(3), bl.rates.GradientAdaptive(50.0)),
    "box, P-FTRL, delay adaptive": bl.PFTRL(FAR_BOX, bl.rates.DelayAdaptive(9.0)),
    "box, OMD, constant": bl.OMD(FAR_BOX, bl.rates.Constant(0.2)),
    "cross-polytope, P-FTRL, tight": bl.PFTRL(bl.L1Ball(3, 2.0), bl.rates.Tight(2.0)),
    "simplex, P-FTRL, gradient adaptive": bl.PFTRL(bl.Simplex(4), bl.rates.GradientAdaptive()),
    "simplex, entropy, constant": bl.OMD(bl.Simplex(4), bl.rates.Constant(0.1), "entropy"),
    "simplex, entropy, table": bl.OMD(bl.Simplex(4, 0.02), bl.rates.Table(STEPS), "entropy"),
}


@pytest.mark.parametrize("name", LINEAR_GAMES)
def test_linear_game(name: str) -> None:
    """Theorem 4.1 (regret and drift), one-step stability, Lemma 4.2 and Lemma D.6."""
    base = LINEAR_GAMES[name]
    for number, timeline in enumerate(patterns(shortened(100), 5).values()):
        record = play(bl.FirstOrder(base), timeline, wild(base.domain.dim, number))
        check_theorem_4_1(record, base, number)
        check_stability(record, base)
        if isinstance(base, bl.PFTRL):
            check_lemma_4_2(record, base)


def geometry(base: Base) -> naive.Geometry:
    return "entropy" if isinstance(base, bl.OMD) and base.mirror == "entropy" else "euclidean"


def check_theorem_4_1(record: Record, base: Base, seed: int) -> None:
    kind = geometry(base)
    for u in comparators(base.domain, record.costs, seed):
        paid = naive.linear_regret(record.points, record.costs, u)
        allowed = naive.theorem_4_1_regret(record.points, record.costs, record.rates, u, kind)
        assert paid <= allowed * SLACK + TINY
    drift = naive.incurred_drift(record.points, record.lags, kind)
    still_open = naive.open_lags(record.lags)
    assert all(nu <= s for nu, s in zip(still_open, record.backlogs, strict=True))
    allowed = naive.theorem_4_1_drift(record.costs, record.rates, still_open, kind)
    assert drift <= allowed * SLACK + TINY


def check_stability(record: Record, base: Base) -> None:
    """|z_{n+1} - z_n| <= eta_n |c_n| (Theorem D.4, Lemma D.5)."""
    kind = geometry(base)
    moves = itertools.pairwise(record.points)
    for (before, after), cost, eta in zip(moves, record.costs, record.rates, strict=True):
        moved = naive.primal_norm(after - before, kind)
        assert moved <= eta * naive.dual_norm(cost, kind) * SLACK + TINY


def check_lemma_4_2(record: Record, base: Base) -> None:
    """Lemma 4.2, and both forms of Lemma D.6."""
    drift = naive.incurred_drift(record.points, record.lags)
    allowed = naive.lemma_4_2(record.costs, record.rates, record.lags, base.domain.diameter)
    assert drift <= allowed * SLACK + TINY
    misalignment = naive.misalignment(record.rates, record.lags)
    still_open = naive.open_lags(record.lags)
    assert misalignment <= naive.lemma_d_6_logarithmic(record.rates, still_open) + TINY
    assert misalignment <= naive.lemma_d_6_window(record.rates, still_open) + TINY


# --- Section 5: convex losses --------------------------------------------------------------------

CONVEX: list[tuple[str, bl.Problem, BaseName, RateName]] = [
    (f"ball, {base}, {rate}", bl.Problem(bl.Ball(3), 2.0), base, rate)
    for base in ("pftrl", "omd")
    for rate in ("paper", "tight", "gradient")
]
CONVEX += [
    ("box, pftrl, paper", bl.Problem(FAR_BOX, 1.0), "pftrl", "paper"),
    ("cross-polytope, pftrl, tight", bl.Problem(bl.L1Ball(3, 2.0), 1.0), "pftrl", "tight"),
    ("simplex, pftrl, gradient", bl.Problem(bl.Simplex(4), 1.0), "pftrl", "gradient"),
]


@pytest.mark.parametrize(("name", "problem", "base", "rate"), CONVEX, ids=[c[0] for c in CONVEX])
def test_convex_corollaries(name: str, problem: bl.Problem, base: BaseName, rate: RateName) -> None:
    """Corollary 5.3 and its two variants, and Theorem E.1 or E.2 on the way, for every game."""
    spec = problem.learner("gradient", base, rate=rate)
    for pattern, timeline in patterns(shortened(150), 1).items():
        bound = problem.bound(timeline, "gradient", base, rate=rate)
        for game, adversary in adversaries(problem.domain.dim, problem.lipschitz, 2).items():
            record = quick(spec, timeline, adversary)
            regret = linear_regret(problem.domain, record.plays, record.gradients)
            assert regret <= bound.total * SLACK, (pattern, game)
            if rate == "gradient":
                sizes = [np.linalg.norm(record.gradients[s]) for s in timeline.order]
                seen = bl.bounds.gradient_adaptive(
                    timeline,
                    lipschitz=problem.lipschitz,
                    diameter=problem.domain.diameter,
                    norms=sizes,
                )
                assert regret <= seen.total * SLACK, (pattern, game)
                assert seen.total <= bound.total * SLACK


def theorem_e(
    timeline: bl.Timeline, base: object, lipschitz: float, curvature: float
) -> bl.bounds.Bound:
    """Theorem E.1 or E.2, whichever is about the base."""
    if isinstance(base, bl.PFTRL):
        return bl.bounds.theorem_e_1(timeline, base=base, lipschitz=lipschitz, curvature=curvature)
    assert isinstance(base, bl.OMD)
    return bl.bounds.theorem_e_2(timeline, base=base, lipschitz=lipschitz, curvature=curvature)


def test_theorem_5_2_convex() -> None:
    """Regret <= regret of the base in arrival order + G times its drift."""
    for base in (LINEAR_GAMES["ball, P-FTRL, tight"], LINEAR_GAMES["ball, OMD, delay adaptive"]):
        for name, timeline in patterns(shortened(60), 6).items():
            if name == "lost":  # the theorem is about rounds that are all observed
                continue
            for adversary in adversaries(3, 1.0, 7).values():
                record = play(bl.FirstOrder(base), timeline, adversary)
                for u in comparators(base.domain, record.costs, 8):
                    paid = math.fsum(
                        float(g @ (x - u))
                        for g, x in zip(record.gradients, record.plays, strict=True)
                    )
                    allowed = naive.theorem_5_2_convex(
                        record.points, record.costs, record.lags, u, 1.0
                    )
                    assert paid <= allowed + TINY


@pytest.mark.parametrize("base", ["pftrl", "omd"])
@pytest.mark.parametrize("rate", ["paper", "tight", "gradient"])
def test_convex_exhaustive(base: BaseName, rate: RateName) -> None:
    """All delay sequences with T <= 5 and all signs, up to the side of the first.

    The longest ones only where all is asked for.
    """
    problem = bl.Problem(bl.Ball(1), 1.0)
    spec = problem.learner("gradient", base, rate=rate)
    for delays in all_delays(5 if everything() else 4):
        timeline = bl.Timeline.from_delays(delays)
        bound = problem.bound(timeline, "gradient", base, rate=rate).total
        for signs in itertools.product((-1.0, 1.0), repeat=len(delays)):
            if signs[0] < 0.0:
                continue
            g = np.array(signs)
            x = bl.Learner(spec).replay(timeline, g[:, None])[:, 0]
            assert float(g @ x) + abs(float(g.sum())) <= bound * SLACK, (delays, signs)


def test_full_information() -> None:
    """The constants of Corollary 5.3 hold when gradients are taken at the current point.

    The losses are |x - b_t| on [-1, 1]; the best fixed point is one of the b_t.
    """
    problem = bl.Problem(bl.Ball(1), 1.0)
    spec = problem.learner("function", "pftrl")
    rng = np.random.default_rng(9)
    rounds = shortened(120)
    for timeline in patterns(rounds, 10).values():
        target = np.where(rng.random(rounds) < 0.3, -1.0, rng.random(rounds))
        learner = bl.Learner(spec)
        x = np.zeros(rounds)
        for event in answered(timeline):
            if event >= 0:
                x[event] = learner.predict().x[0]
            else:
                b = float(target[~event])
                learner.observe(~event, lambda y, b=b: np.sign(y - b))
        best = min(float(np.abs(u - target).sum()) for u in target)
        assert float(np.abs(x - target).sum()) - best <= problem.bound(timeline, "function").total


# --- Section 5: strongly convex losses -----------------------------------------------------------


def targets(dim: int, seed: int) -> dict[str, Adversary]:
    """Ways to choose a_t in the unit ball for the losses (lambda / 2) |x - a_t|^2."""
    rng = np.random.default_rng(seed)

    def random(_: int, __: Array) -> Array:
        return naive.project_ball(rng.standard_normal(dim), 1.0)

    return {
        "random": random,
        "opposite": lambda _, y: -outward(1.0)(0, y),
        "switching": lambda t, _: np.eye(dim)[0] * (-1.0) ** (t // 15),
    }


CURVATURE = 0.7
CURVED = bl.Problem(bl.Ball(2), 2.0 * CURVATURE, curvature=CURVATURE)


def curved_regret(plays: list[Array], goals: list[Array]) -> float:
    """Regret of the losses (lambda / 2) |x - a_t|^2 against their mean, the best point."""
    best = np.mean(goals, axis=0)
    return (
        0.5
        * CURVATURE
        * math.fsum(
            float((x - a) @ (x - a) - (best - a) @ (best - a))
            for x, a in zip(plays, goals, strict=True)
        )
    )


@pytest.mark.parametrize("base", ["pftrl", "omd"])
def test_strongly_convex(base: BaseName) -> None:
    """Theorem 5.2, Theorem E.1 or E.2, and Corollary 5.4."""
    spec = CURVED.learner("gradient", base)
    assert isinstance(spec, bl.FirstOrder)
    for pattern, timeline in patterns(shortened(80), 11).items():
        for game, choose in targets(2, 12).items():
            goals: list[Array] = []

            def gradient(
                t: int, y: Array, choose: Adversary = choose, goals: list[Array] = goals
            ) -> Array:
                goals.append(choose(t, y))
                return np.asarray(CURVATURE * (y - goals[-1]))

            record = play(spec, timeline, gradient)
            regret = curved_regret(record.plays, goals)
            explicit = theorem_e(timeline, spec.base, CURVED.lipschitz, CURVATURE)
            bound = CURVED.bound(timeline, "gradient", base)
            assert regret <= explicit.total <= bound.total, (pattern, game)
            if pattern != "lost":
                u = np.mean(goals, axis=0)
                allowed = naive.theorem_5_2_strongly_convex(
                    record.points, record.costs, record.lags, u, CURVED.lipschitz, CURVATURE
                )
                assert regret <= allowed + TINY, (pattern, game)


@pytest.mark.parametrize("base", ["pftrl", "omd"])
def test_strongly_convex_full_information(base: BaseName) -> None:
    """Corollary 5.4 when gradients are taken at the current point."""
    spec = CURVED.learner("function", base)
    for timeline in patterns(shortened(80), 25).values():
        choose = targets(2, 26)["random"]
        learner, plays, goals = bl.Learner(spec), [], []
        for event in answered(timeline):
            if event >= 0:
                plays.append(learner.predict().x)
                goals.append(choose(event, plays[-1]))
            else:
                learner.observe(~event, lambda y, a=goals[~event]: CURVATURE * (y - a))
        bound = CURVED.bound(timeline, "function", base)
        assert curved_regret(plays, goals) <= bound.total


@pytest.mark.parametrize("base", ["pftrl", "omd"])
def test_strongly_convex_exhaustive(base: BaseName) -> None:
    """All delay sequences with T <= 4 and all targets at the ends of [-1, 1]."""
    problem = bl.Problem(bl.Ball(1), 2.0 * CURVATURE, curvature=CURVATURE)
    spec = problem.learner("gradient", base)
    for delays in all_delays(4):
        timeline = bl.Timeline.from_delays(delays)
        bound = problem.bound(timeline, "gradient", base).total
        for signs in itertools.product((-1.0, 1.0), repeat=len(delays)):
            goals = [np.array([sign]) for sign in signs]
            record = quick(spec, timeline, lambda t, y, a=goals: CURVATURE * (y - a[t]))  # type: ignore[misc]
            assert curved_regret(record.plays, goals) <= bound, (delays, signs)


# --- Section 6: skipping -------------------------------------------------------------------------

SKIP = bl.Skip(bl.FirstOrder(bl.PFTRL(bl.Ball(1), bl.rates.DelayAdaptive(1.0))))


def check_skipping(delays: list[int], optimum: float) -> None:
    """The pieces of Theorem 6.1, and that the learner inside sees D_T - |Q*|."""
    timeline = bl.Timeline.from_delays(delays)
    learner = bl.Learner(SKIP)
    learner.replay(timeline, np.zeros((len(delays), 1)))
    report, expected = learner.report(), naive.skipping(delays)
    count, total = len(expected.skipped), sum(expected.delays)
    assert total == expected.totals[-1]
    assert (report.skipped, report.open) == (count, 0)
    assert report.total_delay == total - count
    assert count <= 2.0 * math.sqrt(total)
    assert max(expected.delays) <= math.sqrt(total) + 1.0
    assert math.sqrt(total) <= optimum + 1.0 + TINY
    assert count + math.sqrt(total) <= 3.0 * (optimum + 1.0) + TINY


def test_skipping_exhaustive() -> None:
    """All delay sequences with T <= 5, or 6 where all is asked for."""
    for delays in all_delays(6 if everything() else 5):
        check_skipping(delays, naive.skip_optimum(delays))


def test_skipping_random() -> None:
    """Longer sequences of many kinds."""
    rng = np.random.default_rng(13)
    for _ in range(shortened(60)):
        rounds = int(rng.integers(7, 120))
        longest = rounds - 1 - np.arange(rounds)
        draw = rng.pareto(rng.uniform(0.3, 2.0), rounds) * rng.integers(1, 30)
        delays = np.minimum(np.minimum(draw, rounds), longest).astype(int).tolist()
        check_skipping(delays, naive.skip_optimum_by_size(delays))


def test_corollary_6_2_patterns() -> None:
    """Skipping on every kind of delays."""
    problem = bl.Problem(bl.Ball(2), 1.0)
    spec = problem.learner("gradient", "pftrl", skip=True)
    for timeline in patterns(shortened(200), 15).values():
        bound = problem.bound(timeline, "gradient", "pftrl", skip=True)
        for adversary in adversaries(2, 1.0, 16).values():
            record = quick(spec, timeline, adversary)
            regret = linear_regret(problem.domain, record.plays, record.gradients)
            assert regret <= bound.total


# --- Deadlines -----------------------------------------------------------------------------------

BASES: list[tuple[BaseName, RateName]] = [
    ("pftrl", "paper"),
    ("pftrl", "tight"),
    ("omd", "gradient"),
    ("portfolio", "paper"),
]


WAITS = [
    pytest.param(*how, wait, marks=[pytest.mark.slow] * (how[0] == "portfolio" and wait != 4))
    for how in BASES
    for wait in (0, 4, 30)
]


@pytest.mark.parametrize(("base", "rate", "wait"), WAITS)
def test_deadline(base: BaseName, rate: RateName, wait: int) -> None:
    """Regret on every kind of delays, against its bound and the live certificate."""
    problem = bl.Problem(bl.Ball(2), 1.0)
    words: dict[str, Any] = {"base": base, "rate": rate, "deadline": wait}
    seen = 0
    for timeline in patterns(max(48, shortened(120)), 41).values():  # some wait for more than 30
        bound = problem.bound(timeline, **words)
        for adversary in adversaries(2, 1.0, 42).values():
            record = quick(problem.learner(**words), timeline, adversary)
            regret = linear_regret(problem.domain, record.plays, record.gradients)
            report = record.learner.report()
            assert regret <= bound.total
            assert bound.skipped == problem.domain.diameter * report.skipped
            seen += report.skipped > 0
            if report.certificate is not None:
                assert regret <= report.certificate.total
    assert seen


@given(
    st.lists(st.integers(0, 20), min_size=1, max_size=25),
    st.integers(0, 6),
    st.sampled_from(BASES[:3]),
    st.randoms(use_true_random=False),
)
def test_deadline_on_random_games(
    delays: list[int], wait: int, how: tuple[BaseName, RateName], draw: Any
) -> None:
    """Costs of norm 1 in any direction, and against the play."""
    problem, timeline = bl.Problem(bl.Ball(1), 1.0), bl.Timeline.from_delays(delays)
    words: dict[str, Any] = {"base": how[0], "rate": how[1], "deadline": wait}

    def cost(_: int, y: Array) -> Array:
        away = 1.0 if y[0] >= 0.0 else -1.0
        return np.array([draw.choice([1.0, -1.0, away, 0.25 * away])])

    record = quick(problem.learner(**words), timeline, cost)
    regret = linear_regret(problem.domain, record.plays, record.gradients)
    assert regret <= problem.bound(timeline, **words).total


def test_deadline_exhaustive() -> None:
    """All delays and signs of costs with T <= 4."""
    problem = bl.Problem(bl.Ball(1), 1.0)
    for delays, wait in itertools.product(all_delays(4), (0, 1, 2)):
        timeline = bl.Timeline.from_delays(delays)
        words: dict[str, Any] = {"rate": "tight", "deadline": wait}
        bound = problem.bound(timeline, **words).total
        for signs in itertools.product((-1.0, 1.0), repeat=len(delays)):
            record = quick(
                problem.learner(**words),
                timeline,
                lambda t, _, signs=signs: np.array([signs[t]]),  # type: ignore[misc]
            )
            regret = linear_regret(problem.domain, record.plays, record.gradients)
            assert regret <= bound
