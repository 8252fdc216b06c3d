"""Portfolio: the steps of its proof one by one, its two guarantees, and what it refuses.

The first part looks at the slow version, which remembers everything; the others at the learner
itself, whose weights and members are read from its arrays.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import belated as bl
import naive
from belated.core.bases import Sums
from belated.research.game.allowed import bound_of
from compositions import LIPSCHITZ, RATES, SETS, Array, Event, Part, events
from naive import NaiveConfig
from naive_game import answered
from naive_portfolio import PLACES, NaivePortfolio, PortfolioConfig, around, length
from test_theorems import (
    SLACK,
    TINY,
    Adversary,
    adversaries,
    linear_regret,
    patterns,
    quick,
)

Kind = Literal["pftrl", "omd", "dual-averaging"]
Members = tuple[tuple[Kind, str], ...]

# With such a step a member jumps from end to end, farther than the set is wide.
JUMPS = Part[bl.rates.Rate](
    lambda _: bl.rates.Constant(1e4, LIPSCHITZ), lambda _: {"rate": "constant", "step": 1e4}
)
ALL_RATES = RATES | {"quick": JUMPS}
MEMBERS: dict[str, Members] = {
    "two": (("pftrl", "tight"), ("omd", "root")),
    "four": (("pftrl", "gradient"), ("omd", "constant"), ("omd", "curved"), ("pftrl", "delay")),
    "unscaled": (("omd", "unscaled"), ("pftrl", "unscaled"), ("omd", "root")),
    "dual": (("dual-averaging", "root"), ("pftrl", "scaled"), ("dual-averaging", "unscaled")),
    "quick": (("omd", "quick"), ("pftrl", "tight")),
}


def spec_of(domain: bl.domains.Domain, members: Members, reach: int) -> bl.Portfolio:
    """Return a portfolio of named members."""
    kinds = {"pftrl": bl.PFTRL, "omd": bl.OMD, "dual-averaging": bl.DualAveraging}
    return bl.Portfolio(
        [kinds[kind](domain, ALL_RATES[rate].spec(domain.dim)) for kind, rate in members], reach
    )


def slow_one(set_name: str, dim: int, members: Members, reach: int) -> NaivePortfolio:
    """Return the slow version of the same."""
    words: dict[str, Any] = {"dim": dim, "lipschitz": LIPSCHITZ} | SETS[set_name].words(dim)
    told = tuple(
        NaiveConfig(**words | {"base": kind} | ALL_RATES[rate].words(dim)) for kind, rate in members
    )
    known = spec_of(SETS[set_name].spec(dim), members, reach).rate.lipschitz
    return NaivePortfolio(
        PortfolioConfig(**words | {"lipschitz": known}, members=told, reach=reach)
    )


def sizes(count: int, seed: int) -> Array:
    """Return costs' sizes: steady, growing suddenly, falling, wild or mostly nothing."""
    rng = np.random.default_rng(seed)
    t = np.arange(count)
    shapes = [
        np.ones(count),
        np.where(t < 2 * count // 3, 1e-6, 1.0),
        2.0 ** np.minimum(t - count, 0),
        2.0 ** -t.astype(float),
        10.0 ** rng.uniform(-5.0, 0.0, count),
        (rng.random(count) < 0.2).astype(float),
    ]
    return np.asarray(LIPSCHITZ * shapes[seed % len(shapes)])


def lived(slow: NaivePortfolio, life: list[Event], seed: int) -> NaivePortfolio:
    """Return the slow version after a life with costs of many sizes, against its play or not."""
    rng = np.random.default_rng([seed, 1])
    scale = sizes(len(life), seed)
    fixed = rng.standard_normal(slow.config.dim)
    for kind, ticket in life:
        if kind == "predict":
            slow.predict()
        elif kind == "cancel":
            slow.cancel(ticket)
        else:
            y = slow.history.plays[ticket]
            v = [rng.standard_normal(slow.config.dim), y + 1e-9, fixed * (-1.0) ** (ticket // 7)]
            towards = v[seed % len(v)]
            slow.observe(ticket, scale[ticket] * towards / float(np.linalg.norm(towards)))
    return slow


lives = st.builds(
    lambda rounds, seed: (events(rounds, seed), seed), st.integers(1, 70), st.integers(0, 10**6)
)
mixtures = st.tuples(
    st.sampled_from(["ball", "simplex", "l1"]),
    st.integers(2, 3),
    st.sampled_from(list(MEMBERS.values())),
    st.sampled_from([1, 5, 20, 1000]),
)


# --- Which points are kept -----------------------------------------------------------------------


def test_two_points_are_near() -> None:
    for newest in range(300):
        for seen in range(newest + 1):
            a, b = around(newest, seen)
            assert a <= seen <= b <= newest
            assert (b - a) * (PLACES - 1) <= 2 * (newest - seen)
            assert newest - seen >= PLACES or a == b == seen


# --- The proof, step by step ---------------------------------------------------------------------


def nobody_is_charged_less_than_its_own_play(slow: NaivePortfolio) -> None:
    """<c, z_i(s)> <= l_i <= <c, z_i(s)> + 2 |c| min(D, half the way)."""
    for cost, charge in zip(slow.history.costs, slow.charges, strict=True):
        if charge.forgotten:
            assert not charge.values.any()
            continue
        own = np.array([cost @ member.history.points[charge.seen] for member in slow.members])
        room = 1e-12 * (1.0 + float(np.abs(own).max()))
        assert (own <= charge.values + room).all()
        assert (charge.values <= own + 2.0 * charge.misread + room).all()
        assert charge.used != (charge.seen, charge.seen) or not charge.misread.any()


def the_mixture_is_charged_no_less_than_its_play(slow: NaivePortfolio) -> None:
    """<c, x_s> <= <l, w(s)> <= A."""
    rows = zip(slow.history.costs, slow.history.tickets, slow.charges, strict=True)
    for cost, ticket, charge in rows:
        if charge.forgotten or not cost.any():
            continue
        room = 1e-12 * (1.0 + float(np.abs(charge.values).max()))
        mean = float(charge.weights[1] @ charge.values)
        assert float(cost @ slow.history.plays[ticket]) <= mean + room
        assert mean <= charge.mixed + room


def gaps_are_what_adahedge_allows(slow: NaivePortfolio) -> None:
    """gap_j <= ln(1 / prior_j) / rate + sum of max(0, rise), for every j."""
    rates = [eta for eta in slow.rates if eta is not None]
    if not rates:
        return
    assert all(later <= earlier for earlier, later in itertools.pairwise(rates))
    lost = math.fsum(max(0.0, each.rise) for each in slow.charges)
    allowed = np.log(1.0 / slow.told.prior) / rates[-1] + lost
    assert (slow.gaps() <= allowed * SLACK + TINY).all()


def the_inequality_holds_for_every_member(slow: NaivePortfolio) -> None:
    """Regret on answered rounds <= member j's game + 2 misread + its gap, for all j."""
    if not slow.history.costs:
        return
    regret = regret_of(slow)
    gaps = slow.gaps()
    for number, member in enumerate(slow.members):
        if member.config.base == "dual-averaging":
            continue
        misread = math.fsum(float(charge.misread[number]) for charge in slow.charges)
        room = (slow.allowed(number) + 2.0 * misread) * SLACK + TINY
        assert regret <= room + float(gaps[number])


@given(mixture=mixtures, life=lives)
def test_every_step_of_the_proof(
    mixture: tuple[str, int, Members, int], life: tuple[list[Event], int]
) -> None:
    slow = lived(slow_one(*mixture), *life)
    nobody_is_charged_less_than_its_own_play(slow)
    the_mixture_is_charged_no_less_than_its_play(slow)
    gaps_are_what_adahedge_allows(slow)
    the_inequality_holds_for_every_member(slow)


@given(mixture=mixtures, life=lives, leash=st.sampled_from([0.01, 0.1, 0.5]))
def test_the_leash_holds(
    mixture: tuple[str, int, Members, int], life: tuple[list[Event], int], leash: float
) -> None:
    """Regret <= (1 + leash) B_T + 2 misread of the anchor + G D (1 + largest rise of s*)."""
    slow = slow_one(*mixture)
    slow.told = dataclasses.replace(slow.told, leash=leash)
    lived(slow, *life)
    anchor = slow.told.anchor
    if not slow.history.costs or anchor is None:
        return
    waiting = np.array(slow.history.dual_backlogs)
    known = slow.config.lipschitz
    lowest = np.minimum.accumulate(waiting) if known is not None else 0
    largest = max(known or 0.0, *slow.history.norms)
    jump = largest * slow.diameter * (1 + int(np.max(waiting - lowest)))
    misread = math.fsum(float(charge.misread[anchor]) for charge in slow.charges)
    allowed = (1.0 + leash) * slow.allowed(anchor) + 2.0 * misread + jump
    assert regret_of(slow) <= allowed * SLACK + TINY


def regret_of(slow: NaivePortfolio) -> float:
    """Regret on the linear losses that were answered."""
    history = slow.history
    plays = [history.plays[ticket] for ticket in history.tickets]
    paid = math.fsum(float(c @ x) for c, x in zip(history.costs, plays, strict=True))
    return paid - slow.config.domain.linear_minimum(np.sum(history.costs, axis=0))


def game(
    rates: list[float | None], norms: list[float], backlogs: list[int], diameter: float
) -> tuple[float, float]:
    """What Theorem 4.1 allows as regret and as drift."""
    rows = [row for row in zip(rates, norms, backlogs, strict=True) if row[0]]
    if not rows:
        return 0.0, 0.0
    last = rows[-1][0]
    assert last is not None
    start = diameter**2 / (2.0 * last)
    learning = math.fsum((eta or 0.0) * norm**2 / 2.0 for eta, norm, _ in rows)
    return start + learning, math.fsum((eta or 0.0) * s * norm for eta, norm, s in rows)


# --- The learner itself --------------------------------------------------------------------------


@dataclass(frozen=True)
class Inside:
    """What stands in the own region of a learner over a portfolio."""

    state: dict[str, Any]
    weights: Array
    gaps: Array
    misread: Array
    way: float
    ways: list[float]
    sums: list[Sums]
    points: list[Array]

    def gap(self, number: int) -> float:
        """What the mixture was charged more than a member."""
        return float(self.gaps[number])

    def part(self, number: int, lipschitz: float) -> float:
        """What Theorem 4.1 allows a member, and twice what that was charged too much."""
        sums = self.sums[number]
        if sums.rate == 0.0:
            return 0.0
        start = sums.diameter**2 / (2.0 * sums.rate) + sums.learned
        return start + lipschitz * sums.drifted + 2.0 * float(self.misread[number])


def inside(learner: bl.Learner) -> Inside:
    """Read the weights and the members."""
    base = learner._player.base
    state = {name: value for name, value in base.state().items() if name in base.FIELDS}
    return Inside(
        state,
        state["weights"],
        state["gaps"],
        state["misread"],
        base.weights_way,
        [member.way for member in base.members],
        [member.base.sums for member in base.members],
        [member.base.point.copy() for member in base.members],
    )


@pytest.mark.parametrize("reach", [1, 20, 61_440])
@pytest.mark.parametrize("members", MEMBERS)
def test_weights_members_and_sums_are_those_of_the_slow_version(members: str, reach: int) -> None:
    fast = bl.Learner(bl.FirstOrder(spec_of(SETS["ball"].spec(3), MEMBERS[members], reach)))
    slow = lived(slow_one("ball", 3, MEMBERS[members], reach), life := events(90, 3), 4)
    for kind, ticket in life:
        if kind == "predict":
            fast.predict()
        elif kind == "cancel":
            fast.cancel(ticket)
        else:
            n = slow.history.tickets.index(ticket)
            fast.observe(ticket, slow.history.costs[n])
    found = inside(fast)
    np.testing.assert_allclose(found.weights, slow.weights[-1], atol=1e-9)
    for found_way, member in zip(found.ways, slow.members, strict=True):
        way = length(member.history.points)
        assert found_way == pytest.approx(way, rel=1e-9)
    backlogs = slow.history.dual_backlogs
    changes = (np.abs(q - p).sum() for p, q in itertools.pairwise(slow.weights))
    assert found.way == pytest.approx(math.fsum(changes), rel=1e-6)
    gaps = [found.gap(number) for number in range(len(slow.members))]
    np.testing.assert_allclose(gaps, slow.gaps(), rtol=1e-9, atol=1e-9)
    for number, member in enumerate(slow.members):
        np.testing.assert_allclose(found.points[number], member.z, atol=1e-9)
        own, moved = game(member.history.rates, slow.history.norms, backlogs, slow.diameter)
        misread = math.fsum(float(charge.misread[number]) for charge in slow.charges)
        part = own + 7.0 * moved + 2.0 * misread
        assert found.part(number, 7.0) == pytest.approx(part, rel=1e-9)


BAD = bl.Portfolio(
    [
        bl.OMD(bl.Ball(3), bl.rates.Constant(10.0, LIPSCHITZ)),
        bl.OMD(bl.Ball(3), bl.rates.InverseRoot(100.0)),
        bl.PFTRL(bl.Ball(3), bl.rates.Tight(LIPSCHITZ)),
    ],
    reach=24,
)
UNTOLD = bl.Portfolio(
    [
        bl.OMD(bl.Simplex(4), bl.rates.GradientAdaptive()),
        bl.PFTRL(bl.Simplex(4), bl.rates.StronglyConvex(0.3)),
        bl.OMD(bl.Simplex(4), bl.rates.Constant(0.1)),
    ]
)


def default(domain: bl.domains.Domain) -> bl.Portfolio:
    spec = bl.Problem(domain, LIPSCHITZ).learner()
    assert isinstance(spec, bl.FirstOrder)
    assert isinstance(spec.base, bl.Portfolio)
    return spec.base


GAMES = {
    "default": default(bl.Ball(3)),
    "simplex": default(bl.Simplex(4)),
    "bad members": BAD,
    "told nothing": UNTOLD,
}


def opponents(dim: int, rounds: int, seed: int) -> dict[str, Adversary]:
    """Ways to choose costs with norm at most G; some grow suddenly or turn with the delays."""
    rng = np.random.default_rng(seed)
    fixed = rng.standard_normal(dim)
    fixed *= LIPSCHITZ / np.linalg.norm(fixed)

    def scaled(size: Callable[[int], float]) -> Adversary:
        return lambda t, _: np.asarray(size(t) * fixed)

    return adversaries(dim, LIPSCHITZ, seed) | {
        "sudden": scaled(lambda t: 1e-7 if t < rounds // 2 else (-1.0) ** (t // 8)),
        "doubling": scaled(lambda t: 2.0 ** -((rounds - t) // 8) * (-1.0) ** t),
        "echo of 8": scaled(lambda t: (-1.0) ** (t // 8)),
        "echo of 21": scaled(lambda t: (-1.0) ** (t // 21)),
    }


@pytest.mark.compiled
@pytest.mark.needs_compiler
@pytest.mark.parametrize("name", GAMES)
def test_both_guarantees(name: str) -> None:
    """No regret exceeds the bound in advance, nor the certificate of any member."""
    base, rounds = GAMES[name], 150
    certified = 0
    late = patterns(rounds, 41) | {
        "constant 20": bl.Timeline.from_delays([20] * rounds),
        "bursts": bl.Timeline.from_delays([50 - t % 50 for t in range(rounds)]),
    }
    for pattern, timeline in late.items():
        bound = bl.bounds.portfolio(timeline, base=base, lipschitz=LIPSCHITZ)
        for opponent, adversary in opponents(base.domain.dim, rounds, 42).items():
            record = quick(bl.FirstOrder(base), timeline, adversary)
            regret = linear_regret(base.domain, record.plays, record.gradients)
            assert regret <= bound.total * SLACK, (pattern, opponent)
            certified += check_certificates(record.learner, base, regret)
    assert certified > 0 or name == "simplex"


def check_certificates(learner: bl.Learner, base: bl.Portfolio, regret: float) -> bool:
    """Check the inequality for every member; tell whether the learner certified something."""
    report, found = learner.report(), inside(learner)
    missing = LIPSCHITZ * base.domain.diameter * (report.open + report.skipped + report.cancelled)
    totals = {
        member: found.part(number, LIPSCHITZ) + found.gap(number) + missing
        for number, member in enumerate(base.members)
        if not isinstance(member, bl.DualAveraging)
    }
    assert regret <= min(totals.values()) + TINY
    if report.certificate is None:
        return False
    assert regret <= report.certificate.total + TINY
    if base.rate.lipschitz == LIPSCHITZ:
        plain = [
            total
            for member, total in totals.items()
            if not isinstance(member.rate, bl.rates.StronglyConvex)
        ]
        assert report.certificate.total == pytest.approx(min(plain), rel=1e-12)
    return True


@pytest.mark.compiled
@pytest.mark.needs_compiler
def test_skipped_rounds_are_in_both_guarantees() -> None:
    spec = bl.Skip(bl.FirstOrder(default(bl.Ball(3))))
    skipped = 0
    for timeline in patterns(150, 44).values():
        bound = bl.bounds.corollary_6_2(timeline, bl.bounds.portfolio, base=spec.learner.base)
        for adversary in opponents(3, 150, 45).values():
            record = quick(spec, timeline, adversary)
            regret = linear_regret(bl.Ball(3), record.plays, record.gradients)
            assert regret <= bound.total * SLACK
            found = record.learner.report().certificate
            assert found is None or regret <= found.total + TINY
            skipped += record.learner.report().skipped
    assert skipped


@pytest.mark.compiled
@pytest.mark.needs_compiler
def test_a_member_that_jumps_there_and_back_cannot_hide() -> None:
    """Where the way is longer than the set is wide, both kept points are far from the play.

    The jumper stands at the good end after every eighth arrival and at the bad one where it costs.
    """
    rounds, delay = 300_000, 64
    block = np.array([0.4, -1e-3, 1.0, -1e-3, 1.0, -1e-3, 1.0, 1e-3])
    t = np.arange(rounds)
    costs = (block[t % 8] * np.where(t // 1600 % 2 == 0, 1.0, -1.0))[:, None]
    ball = bl.Ball(1)
    base = bl.Portfolio(
        [bl.OMD(ball, bl.rates.Constant(1e4, 1.0)), bl.PFTRL(ball, bl.rates.Tight(1.0))]
    )
    learner = bl.Learner(bl.FirstOrder(base))
    timeline = bl.Timeline.from_delays([delay] * rounds)
    plays = learner.replay(np.array(answered(timeline)), costs)
    regret = float(np.sum(plays * costs)) + abs(float(np.sum(costs)))
    found = learner.report().certificate
    assert found is not None
    assert regret <= found.total <= bl.bounds.portfolio(timeline, base=base).total


# --- Delays beyond the reach, and close to it ----------------------------------------------------


def bad_and_good(reach: int) -> bl.Portfolio:
    """Return a member that always jumps to the last answer, and one with a guarantee."""
    ball = bl.Ball(1)
    return bl.Portfolio(
        [bl.OMD(ball, bl.rates.Constant(10.0, 1.0)), bl.PFTRL(ball, bl.rates.Tight(1.0))], reach
    )


def echo(base: bl.Portfolio, delay: int, rounds: int) -> tuple[float, bl.Learner]:
    """Turn the sign after every delay + 1 rounds, so that the jumper is always wrong."""
    costs = np.where(np.arange(rounds) // (delay + 1) % 2 == 0, 1.0, -1.0)[:, None]
    learner = bl.Learner(bl.FirstOrder(base))
    timeline = bl.Timeline.from_delays([delay] * rounds)
    plays = learner.replay(np.array(answered(timeline)), costs)
    return float(np.sum(plays * costs)) + abs(float(np.sum(costs))), learner


@pytest.mark.compiled
@pytest.mark.needs_compiler
@pytest.mark.parametrize("reach", [1, 15, 16, 17, 30, 31, 32, 64])
def test_the_bound_holds_up_to_the_reach_and_beyond(reach: int) -> None:
    rounds = 12_000
    for delay in (reach - 1, reach, reach + 1):
        base = bad_and_good(reach)
        regret, learner = echo(base, delay, rounds)
        timeline = bl.Timeline.from_delays([delay] * rounds)
        bound = bl.bounds.portfolio(timeline, base=base)
        assert regret <= bound.total
        found = learner.report().certificate
        assert found is None or regret <= found.total
        alone = bl.bounds.tight(timeline, lipschitz=1.0, diameter=2.0).total
        assert regret <= alone  # even beyond the reach it stays with the anchor


# --- Special cases -------------------------------------------------------------------------------

ALONE = [
    bl.PFTRL(bl.Ball(3), bl.rates.Tight(1.0)),
    bl.OMD(bl.Ball(3), bl.rates.InverseRoot(0.7, 1.0)),
    bl.OMD(bl.Ball(3), bl.rates.GradientAdaptive()),
]


@pytest.mark.parametrize("member", ALONE, ids=lambda member: f"{member.kind}-{member.rate.kind}")
def test_one_member_plays_as_it_does_alone(member: bl.PFTRL | bl.OMD) -> None:
    rng = np.random.default_rng(6)
    alone = bl.Learner(bl.FirstOrder(member))
    mixed = bl.Learner(bl.FirstOrder(bl.Portfolio([member], reach=8)))
    for kind, ticket in events(120, 7):
        if kind == "predict":
            np.testing.assert_array_equal(alone.predict().x, mixed.predict().x)
            continue
        cost = rng.standard_normal(3) * rng.integers(0, 3)
        for learner in (alone, mixed):
            learner.cancel(ticket) if kind == "cancel" else learner.observe(ticket, cost)
        assert alone.report().rate == mixed.report().rate
    assert inside(mixed).weights.tolist() == [1.0]


# --- Bounds --------------------------------------------------------------------------------------


def slow_bound(delays: list[int], base: bl.Portfolio, lipschitz: float) -> float:
    """The formula of ``bounds.portfolio``, answer by answer."""
    counts = naive.interval_counts(naive.intervals_of_delays(delays))
    backlogs = [counts.dual_backlogs[t] for t in counts.order]
    lags = [counts.dual_delays[t] for t in counts.order]
    width = base.domain.diameter
    assert base.anchor is not None
    rate = base.members[base.anchor].rate
    etas = [rate_at(rate, backlogs[: n + 1], width) for n in range(len(delays))]
    largest = max(lipschitz, base.rate.lipschitz or 0.0)  # what the leash goes by
    own = leashed = width**2 / (2.0 * etas[-1])
    misread = 0.0
    for n, eta in enumerate(etas):
        a, b = around(n, n - lags[n])
        most = min(2.0 * width, lipschitz * math.fsum(etas[a:b]))
        own += lipschitz**2 * eta * (backlogs[n] + 0.5)
        leashed += largest**2 * eta * (backlogs[n] + 0.5)
        misread += lipschitz * (most if lags[n] <= base.reach else width)
    is_told = (base.rate.lipschitz or 0.0) >= lipschitz
    rises = [n - m for i, n in enumerate(backlogs) for m in backlogs[: i + 1]]
    jump = 1 + max(rises if is_told else backlogs)
    return own + base.leash * leashed + misread + lipschitz * width * jump


def rate_at(rate: bl.rates.Rate, backlogs: list[int], width: float) -> float:
    """The step after so many arrivals."""
    if isinstance(rate, bl.rates.InverseRoot):
        return naive.rate_inverse_root(len(backlogs), rate.step)
    if isinstance(rate, bl.rates.Constant):
        return rate.step
    assert isinstance(rate, bl.rates.Tight | bl.rates.DelayAdaptive)
    if isinstance(rate, bl.rates.Tight):
        return naive.rate_tight(backlogs, width, rate.lipschitz, rate.scale)
    return naive.rate_first_order(backlogs, width, rate.lipschitz)


@pytest.mark.parametrize("name", GAMES)
def test_the_bound_is_its_formula(name: str) -> None:
    base = GAMES[name]
    rng = np.random.default_rng(47)
    for longest in (0, 10, 60, 119):
        delays = [min(int(d), 119 - t) for t, d in enumerate(rng.integers(0, longest + 1, 120))]
        bound = bl.bounds.portfolio(bl.Timeline.from_delays(delays), base=base, lipschitz=LIPSCHITZ)
        assert bound.total == pytest.approx(slow_bound(delays, base, LIPSCHITZ), rel=1e-12)
        free = slow_bound([0] * 120, base, LIPSCHITZ)
        assert bound.learning == pytest.approx(free, rel=1e-12)
        gentle = bl.bounds.portfolio(bl.Timeline.from_delays(delays), base=base, lipschitz=0.1)
        assert gentle.total == pytest.approx(slow_bound(delays, base, 0.1), rel=1e-12)


@pytest.mark.parametrize(
    "timeline",
    [
        bl.delays.constant(10_000, 100),
        bl.delays.geometric(10_000, 20.0, seed=1),
        bl.delays.pareto(10_000, shape=0.75, seed=1),
    ],
    ids=["constant", "geometric", "heavy tails"],
)
def test_the_default_is_promised_at_most_twice_what_the_tight_rate_is(
    timeline: bl.Timeline,
) -> None:
    tight = bl.bounds.tight(timeline, lipschitz=1.0, diameter=2.0).total
    bound = bl.Problem(bl.Ball(2), lipschitz=1.0).bound(timeline)
    assert bound.total <= 1.6 * tight
    assert not bound.vacuous


def test_bounds_that_do_not_exist() -> None:
    late = bl.Timeline.from_delays([1] * 9)
    ball = bl.Ball(2)
    following = bl.Portfolio([bl.OMD(ball, bl.rates.GradientAdaptive(1.0))])
    with pytest.raises(bl.errors.SpecError, match="portfolio: no member has a bound in advance"):
        bl.bounds.portfolio(late, base=following)
    untold = bl.Portfolio([bl.OMD(ball, bl.rates.InverseRoot(1.0))])
    with pytest.raises(bl.errors.SpecError, match="portfolio: needs the gradient bound"):
        bl.bounds.portfolio(late, base=untold)
    with pytest.raises(bl.errors.SpecError, match="portfolio: lipschitz must be positive"):
        bl.bounds.portfolio(late, base=untold, lipschitz=0.0)
    assert bl.bounds.portfolio(late, base=untold, lipschitz=1.0).total > 0.0
    assert bound_of(bl.FirstOrder(following), late) is None
    assert bound_of(bl.FirstOrder(untold), late) is None
    known = default(ball)
    assert bound_of(bl.FullInformation(known), late) is None
    found = bound_of(bl.FirstOrder(known), late)
    assert found == bl.bounds.portfolio(late, base=known)
    skipping = bound_of(bl.Skip(bl.FirstOrder(known)), late)
    assert skipping == bl.bounds.corollary_6_2(late, bl.bounds.portfolio, base=known)
