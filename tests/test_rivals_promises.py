"""A bound is about the method as it is, with the steps that it takes and the facts it was told."""

from __future__ import annotations

import dataclasses
import math
import sys
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import belated as bl
from belated import delays, rates, rivals
from belated.errors import BadFeedback, SpecError
from belated.research.rivals import Rival
from belated.research.rivals.base import FACTS
from conftest import examples
from rival_games import adversaries, arena_of, regret, total
from rival_laws import CASES, rival

BALL = bl.Ball(2)
GRADIENTS = bl.FirstOrder(bl.OMD(BALL, rates.DelayAdaptive(1.0)))
TUNED = (rivals.QuanrudKhashabi, rivals.SOLID, rivals.DMD)


# --- Steps ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", TUNED)
def test_the_bound_is_that_of_the_step_taken(kind: Callable[..., Any]) -> None:
    """W^2 / (2 eta) + eta G^2 (T / 2 + d_tot), whatever eta was tuned for."""
    timeline = delays.constant(500, 20)
    width = 2.0
    for rounds, late in ((500, 0), (500, timeline.total_delay), (7, 3)):
        spec = kind(BALL, lipschitz=1.5, rounds=rounds, total_delay=late)
        expected = width**2 / (2 * spec.step) + spec.step * 1.5**2 * (250 + timeline.total_delay)
        assert total(spec, timeline) == pytest.approx(expected)
        assert total(spec, timeline) >= total(spec.told(timeline), timeline) * (1 - 1e-12)
    tuned = kind(BALL, lipschitz=1.5).told(timeline)
    root = 1.5 * width * math.sqrt(500 + 2 * timeline.total_delay)
    assert total(tuned, timeline) == pytest.approx(root)


def test_the_bound_of_flaxman_is_that_of_its_step_and_radius() -> None:
    timeline = delays.constant(10_000, 0)
    tuned = rivals.Flaxman(BALL, magnitude=1.0, lipschitz=1.0).told(timeline)
    published = 2.0 * 10_000**0.75 * math.sqrt(3.0 * 1.0 * 2 * 1.0 * 2.0)
    assert total(tuned, timeline) == pytest.approx(published)
    hasty = dataclasses.replace(tuned, rounds=10)
    assert total(hasty, timeline) > 2.0 * published


@pytest.mark.parametrize("curvature", [0.0, 0.5])
def test_the_bound_of_agarwal_dekel_xiao_is_that_of_its_step_and_radius(curvature: float) -> None:
    timeline = delays.constant(10_000, 0)
    tuned = rivals.AgarwalDekelXiao(BALL, lipschitz=1.0, curvature=curvature).told(timeline)
    growth = 1.0 + math.log(10_000)
    first = 4.0 / 0.5 * growth if curvature else (4.0 + 4.0) * 100.0
    assert total(tuned, timeline) == pytest.approx(first + growth * (3.0 + 2.0))
    hasty = dataclasses.replace(tuned, rounds=10)
    assert total(hasty, timeline) > 2.0 * total(tuned, timeline)


def test_the_bound_of_langford_smola_zinkevich_is_that_of_its_steps() -> None:
    timeline = delays.constant(400, 4)
    for told in (4, 400):
        spec = rivals.LangfordSmolaZinkevich(BALL, lipschitz=1.0, delay=told)
        sigma = spec.sigma
        expected = 20 * sigma + 2 * 20 / sigma + sigma * (4**2 / 2 + 2 * 4 * 20)
        assert total(spec, timeline) == pytest.approx(expected)


@pytest.mark.parametrize("curvature", [0.0, 0.5])
def test_what_langford_smola_zinkevich_refuses_has_no_bound(curvature: float) -> None:
    spec = rivals.LangfordSmolaZinkevich(BALL, lipschitz=1.0, delay=4, curvature=curvature)
    assert spec.bound(delays.constant(400, 4)) is not None
    assert spec.bound(delays.constant(400, 5)) is None, "too late"
    assert spec.bound(bl.Timeline.from_delays([2, 0, 0, 0])) is None, "out of order"


def test_the_bound_of_weinberger_ordentlich_is_that_of_its_copies() -> None:
    timeline = delays.constant(900, 3)
    expected = {3: 1.5 * 2.0 * math.sqrt(4 * 900), 8: 1.5 * 2.0 * math.sqrt(9 * 900)}
    for told, number in expected.items():
        assert total(rivals.WeinbergerOrdentlich(GRADIENTS, told), timeline) == number
    assert rivals.WeinbergerOrdentlich(GRADIENTS, 2).bound(timeline) is None, "it would refuse"


def test_skipping_exp3_gives_up_on_what_costs_more_than_it_brings() -> None:
    """No set of rounds is cheaper at its rate; so it never promises less than delayed Exp3."""
    for pattern in delays.PATTERNS.values():
        timeline = pattern(400, 1)
        spec, plain = rivals.SkippingExp3(3).told(timeline), rivals.DelayedExp3(3).told(timeline)
        assert total(spec, timeline) <= total(plain, timeline) * (1.0 + 1e-12)
        prices = np.minimum(1.0, spec.rate * timeline.delay)  # of lateness alone
        learning = math.log(3) / spec.rate + spec.rate * 1.5 * 400
        assert total(spec, timeline) <= learning + float(prices.sum()) + 1e-9


def test_the_bound_of_zimmert_seldin_with_skipping() -> None:
    """Of one very late round it says no more than of a lost one; see the paper's constants."""
    late, prompt = bl.Timeline.from_delays([900] + [0] * 999), delays.constant(1000, 0)
    spec = rivals.ZimmertSeldin(4, skipping=True)
    plain = 4.0 * math.sqrt(4000.0) + 20.0 * math.log(4)
    assert total(spec, prompt) == total(spec, late) == pytest.approx(plain)
    far = delays.constant(1000, 50)
    best = math.sqrt(far.total_delay * math.log(4))
    assert total(spec, far) == pytest.approx(4.0 * math.sqrt(4000.0) + 10.0 * best)


def test_masoudian_zimmert_seldin_promises_nothing_on_longer_delays() -> None:
    spec = rivals.MasoudianZimmertSeldin(4, max_delay=3)
    assert spec.bound(delays.constant(100, 3)) is not None
    assert spec.bound(delays.constant(100, 4)) is None
    prompt = rivals.MasoudianZimmertSeldin(4, max_delay=0)
    assert total(prompt, delays.constant(400, 0)) <= 4.0 * math.sqrt(1600.0)
    assert total(prompt, bl.Timeline.from_delays([])) == 0.0


def test_the_bound_of_a_banker_is_what_it_borrows() -> None:
    """B is the largest sum of the scales of open rounds, counted here by hand."""
    timeline = bl.Timeline.from_delays([2, 0, 1, 0])
    sigma, s = [0, 1, 1, 1], [0, 1, 2, 3]  # open at a play: none, 0, 0, 2
    late = [0.0, *(math.sqrt(math.log(n + 1) / n) for n in s[1:])]
    scales = [1 / (t**-0.5 + sigma[t - 1] * late[t - 1]) for t in range(1, 5)]
    used = max(scales[0], scales[0] + max(scales[1:3]), scales[2] + scales[3])
    expected = (2 * math.sqrt(3) - 2) * used + math.sqrt(3) * sum(1 / c for c in scales)
    assert total(rivals.BankerTINF(3), timeline) == pytest.approx(expected)


# --- Facts ---------------------------------------------------------------------------------------

needy = pytest.mark.parametrize(
    "case", [case for case in CASES if rival(case).needs], ids=lambda case: case.name
)


@needy
def test_who_was_told_nothing_promises_nothing(case: Any) -> None:
    spec = rival(case)
    timeline = delays.constant(50, 0)
    for name in spec.needs:
        assert _with(spec, name, None).bound(timeline) is None


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_only_what_is_used_is_asked_for(case: Any) -> None:
    """Players depend on every fact that a method needs; any other fact is refused."""
    spec = rival(case)
    for name in spec.facts():
        if name in spec.needs:
            others = (1, 3 * getattr(spec, name) + 2)
            players = [_numbers(_with(spec, name, other)) for other in others]
            assert any(player != _numbers(spec) for player in players), name
        else:
            with pytest.raises(SpecError, match=f"does not use {name}"):
                _with(spec, name, 5)


def _with(spec: Rival, name: str, fact: int | None) -> Rival:
    changed: Rival = dataclasses.replace(spec, **{name: fact})  # type: ignore[type-var]
    return changed


def _numbers(spec: Rival) -> list[Any]:
    """Return the numbers that the player of a spec is made with, and where its set is cut."""
    kind = type(spec)
    if kind.player is Rival.player and kind._player is Rival._player:
        return [getattr(spec, name) for name in spec._core[1:]]
    maker = kind._player if kind.player is Rival.player else kind.player
    module = sys.modules[maker.__module__]
    made: list[Any] = []

    class Maker:
        def __getattr__(self, name: str) -> Callable[..., Any]:
            return lambda *given: made.extend(given)

    with mock.patch.object(module, "core", Maker()):
        spec.player(0, False)
    cut = [getattr(getattr(made[0], "domain", None), "floor", None)]
    return cut + [number for number in made if isinstance(number, int | float)]


@pytest.mark.parametrize("fact", FACTS)
def test_facts_beyond_all_logs_are_refused_in_words(fact: str) -> None:
    makers: dict[str, Callable[..., Any]] = {
        "rounds": lambda **f: rivals.DFTBL(BALL, 1.0, 1.0, **f),
        "max_delay": lambda **f: rivals.DFTBL(BALL, 1.0, 1.0, **f),
        "total_delay": lambda **f: rivals.SOLID(BALL, 1.0, **f),
        "delay": lambda **f: rivals.WeinbergerOrdentlich(GRADIENTS, **f),
    }
    with pytest.raises(SpecError, match=f"{fact} must be below 2\\^63"):
        makers[fact](**{fact: 10**40})
    if fact == "total_delay":
        assert makers[fact](**{fact: 1 << 60}).total_delay == 1 << 60
    else:
        with pytest.raises(SpecError, match=f"{fact} must be at most 2\\*\\*53"):
            makers[fact](**{fact: 1 << 60})


# --- Any step ------------------------------------------------------------------------------------

_PLAYED = {
    *("QuanrudKhashabi, ball", "SOLID, ball", "DelayedFrankWolfe, l1"),
    *("DelayedFrankWolfeStronglyConvex, simplex", "DelayedONS, shifted ball"),
    "WOFTRL, shifted ball, euclidean, copies None",
}
PLAYED = [case for case in CASES if case.name in _PLAYED]


@pytest.mark.parametrize("case", PLAYED, ids=lambda case: case.name)
@given(
    told=st.tuples(st.integers(1, 10_000), st.integers(0, 100_000)),
    seed=st.integers(0, 2**16),
    late=st.integers(0, 40),
)
@examples(8)
def test_the_bound_holds_for_whatever_it_was_told(
    case: Any, told: tuple[int, int], seed: int, late: int
) -> None:
    rounds, total_delay = told
    known = {"rounds": rounds, "total_delay": total_delay, "delay": min(rounds, 12)}
    facts = {fact: known[fact] for fact in rival(case).needs}
    spec: Rival = dataclasses.replace(rival(case), **facts)  # type: ignore[type-var]
    timeline = delays.uniform(60, low=0, high=late, seed=seed)
    for adversary in adversaries(arena_of(case), case, seed).values():
        lost = regret(spec, case, timeline, adversary)
        assert lost <= total(spec, timeline) * (1.0 + 1e-9)
    assert np.isfinite(total(spec, timeline))


def test_copies_of_what_no_theorem_is_about_have_no_bound() -> None:
    curved = bl.rates.StronglyConvex(1.0, 2.0)
    simplex = bl.Simplex(3, 0.001)
    entropy = bl.OMD(simplex, bl.rates.StronglyConvex(1.0, 1.0), mirror="entropy")
    late = bl.Timeline.from_delays([0] * 50)
    for base in (bl.DualAveraging(bl.Ball(1), curved), entropy):
        assert rivals.BOLD(bl.FirstOrder(base)).bound(late) is None
        assert rivals.WeinbergerOrdentlich(bl.FirstOrder(base), delay=0).bound(late) is None
    assert rivals.BOLD(bl.FirstOrder(bl.OMD(bl.Ball(1), curved))).bound(late) is not None


# --- One answer that never comes -----------------------------------------------------------------

ROUNDS = 1500
LOST = 60
RNG = np.random.default_rng(5)
COSTS = (RNG.random((ROUNDS, 3)) < [0.2, 0.5, 0.6]).astype(float)


def regret_with_straggler(spec: rivals.AdaHedgeD, *, comes: bool) -> float:
    """Play with answers at once; that of one ticket comes, or never does."""
    learner = bl.Learner(spec)
    paid = 0.0
    for t, cost in enumerate(COSTS):
        ticket, w = learner.predict()
        paid += float(w @ cost)
        if comes or t != LOST:
            learner.observe(ticket, cost)
    return paid - float(COSTS.sum(axis=0).min())


def test_a_lost_answer_costs_little() -> None:
    spec = rivals.AdaHedgeD(3)
    lost, heard = (regret_with_straggler(spec, comes=comes) for comes in (False, True))
    assert lost <= heard + 2.0


# --- Answers larger than assumed are counted, or with ``strict`` refused, whatever an answer i ---


WIDE_BALL = bl.Ball(2, radius=2.0)
BOX = bl.Box([0.0, 0.0], [4.0, 20.0])
G = 0.5
FEW_ROUNDS = 20

PAIRS: list[Rival] = [
    rivals.AgarwalDekelXiao(WIDE_BALL, G, FEW_ROUNDS),
    rivals.AgarwalDekelXiao(BOX, G, FEW_ROUNDS, curvature=0.1),
    rivals.Shamir(WIDE_BALL, G, FEW_ROUNDS),
    rivals.Shamir(BOX, G, FEW_ROUNDS),
    rivals.DOGDSCTwoPoint(WIDE_BALL, 0.1, G, FEW_ROUNDS),
]
MANY: list[Rival] = [
    rivals.DOGDSCManyPoint(WIDE_BALL, 0.1, G, FEW_ROUNDS),
    rivals.DOGDSCManyPoint(BOX, 0.1, G, FEW_ROUNDS),
]
ARMS: list[Rival] = [
    rivals.DelayedExp3(3, FEW_ROUNDS, 0),
    rivals.SkippingExp3(3, FEW_ROUNDS, 0),
    rivals.ZimmertSeldin(3),
    rivals.BankerTINF(3),
    rivals.MasoudianZimmertSeldin(3, 0),
]


def check(spec: Rival, fine: list[Any], large: list[Any]) -> None:
    """``fine`` is taken; ``large`` is counted or, if strict, refused without a change."""
    lax, strict = bl.Learner(spec), bl.Learner(spec, strict=True)
    for answer in fine:
        for learner in (lax, strict):
            assert learner.observe(learner.predict().ticket, answer)
    assert lax.report().excess == strict.report().excess == 0
    for number, answer in enumerate(large, start=1):
        ticket = strict.predict().ticket
        before = strict.snapshot()
        with pytest.raises(BadFeedback, match="exceeds the assumed bound"):
            strict.observe(ticket, answer)
        assert strict.snapshot() == before
        assert lax.observe(lax.predict().ticket, answer)
        assert (lax.report().excess, strict.report().excess) == (number, 0)


@pytest.mark.parametrize("spec", PAIRS, ids=repr)
def test_two_values_differ_by_at_most_the_slope(spec: Any) -> None:
    """|v1 - v2| <= 2 G delta, whatever the level."""
    step = 2.0 * G * spec.smoothing
    fine = [[0.3, 0.3], [100.0, 100.0 + step], [step, 0.0]]
    check(spec, fine, [[0.0, 1.01 * step], [7.0, 7.0 - 2.0 * step]])


@pytest.mark.parametrize("spec", MANY, ids=repr)
def test_many_values_differ_from_the_first_by_at_most_the_slope(spec: Any) -> None:
    """|v_i - v_0| <= G delta."""
    step = G * spec.smoothing
    fine = [[0.0, 0.0, 0.0], [50.0, 50.0 + step, 50.0 - step]]
    check(spec, fine, [[0.0, 0.0, 1.01 * step], [9.0, 9.0 - 1.01 * step, 9.0]])


@pytest.mark.parametrize("spec", ARMS, ids=repr)
def test_losses_of_arms_are_between_0_and_1(spec: Rival) -> None:
    check(spec, [0.0, 0.5, 1.0, 1.0 + 1e-12, -1e-12], [1.01, -0.01, -5.0])


@pytest.mark.parametrize("spec", [PAIRS[0], PAIRS[1], MANY[0], MANY[1]], ids=repr)
def test_linear_losses_as_steep_as_assumed_are_no_excess(spec: Rival) -> None:
    """As values come from the plays: nothing is lost to rounding or to the chart."""
    learner = bl.Learner(spec, strict=True)
    scale = np.array(spec.domain.half_widths or (1.0, 1.0))
    slope = np.array([0.6, -0.8]) * G / scale
    for _ in range(FEW_ROUNDS):
        ticket, x = learner.predict()
        assert learner.observe(ticket, x @ slope)
