"""Steps, radii and bounds of rivals that can be computed by hand."""

from __future__ import annotations

from typing import Any

import pytest

import belated as bl
from belated import delays
from belated.research.rivals import (
    DFTBL,
    DMD,
    DORM,
    DUB,
    FTDRL,
    GOLD,
    ODFTRL,
    SDMD,
    SOLID,
    WOFTRL,
    AdaDelay,
    AdaGrad,
    AdaHedgeD,
    AgarwalDekelXiao,
    AnytimeExp3,
    BankerTINF,
    Bistritz,
    DelayAdaptiveSGD,
    DelayedDualAveraging,
    DelayedExp3,
    DelayedFrankWolfe,
    DelayedFrankWolfeStronglyConvex,
    DelayedOGD,
    DelayedONS,
    DFTBLStronglyConvex,
    DOGDSCManyPoint,
    DOGDSCTwoPoint,
    DORMPlus,
    Flaxman,
    HazanAgarwalKale,
    KoloskovaStichJaggi,
    LangfordSmolaZinkevich,
    LearnedHints,
    MasoudianZimmertSeldin,
    MildOGD,
    QuanrudKhashabi,
    Ringmaster,
    Rival,
    Shamir,
    SkippingExp3,
    ZimmertSeldin,
)

BALL, DISC = bl.Ball(3), bl.Ball(2)
SHARES: dict[str, Any] = {"lipschitz": 1.0, "rounds": 100, "total_delay": 22}
UNIT: dict[str, Any] = {"magnitude": 1.0, "lipschitz": 1.0}


@pytest.mark.parametrize(
    ("spec", "name", "expected"),
    [
        *((kind(BALL, **SHARES), "step", 1 / 6) for kind in (DelayedOGD, SOLID, DMD)),
        (QuanrudKhashabi(BALL, **SHARES), "step", 1 / 6),
        (FTDRL(BALL, **SHARES), "step", 1 / 12),
        (
            SDMD(bl.Simplex(8), lipschitz=1.0, rounds=64, total_delay=18, mirror="entropy"),
            "step",
            0.203933,
        ),
        (LangfordSmolaZinkevich(BALL, lipschitz=1.0, delay=4), "sigma", 0.5),
        (MildOGD(BALL, lipschitz=1.0, rounds=100, max_delay=3), "experts", 5),
        (WOFTRL(bl.Simplex(3), smoothness=2.0, delay=2, mirror="entropy"), "strength", 24.0),
        (DelayedONS(bl.Ball(2, 0.5), lipschitz=1.0, exp_concavity=0.25), "beta", 0.125),
        (Flaxman(BALL, **UNIT, rounds=4), "smoothing", 0.5),
        (AgarwalDekelXiao(BALL, lipschitz=1.0, rounds=1), "smoothing", 1.0),
        (Shamir(bl.Ball(4), lipschitz=1.0, rounds=64), "smoothing", 0.25),
        (DFTBL(DISC, **UNIT, rounds=1024, max_delay=7), "smoothing", 0.25),
        (DFTBL(DISC, **UNIT, rounds=1024, max_delay=7), "block", 64),
        (DFTBLStronglyConvex(bl.Ball(1), **UNIT, curvature=0.5, rounds=1), "smoothing", 1.0),
        (DFTBLStronglyConvex(bl.Ball(1), **UNIT, curvature=0.5, rounds=1), "block", 1),
        (DOGDSCTwoPoint(BALL, curvature=1.0, lipschitz=2.0, rounds=1), "smoothing", 1.0),
        (DelayedExp3(4, rounds=1000, total_delay=5000), "rate", 0.0140727),
        (SkippingExp3(4, rounds=1000, total_delay=5000), "threshold", 71.06),
        (MasoudianZimmertSeldin(8, max_delay=10), "head_start", 105.78),
        (MasoudianZimmertSeldin(8, max_delay=10), "floor", 479103.0),
    ],
)
def test_numbers_of_a_method(spec: Rival, name: str, expected: float) -> None:
    assert getattr(spec, name) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize(
    ("spec", "rounds", "expected"),
    [
        (DelayedDualAveraging(BALL, lipschitz=1.0), 50, 10.0),
        (ODFTRL(BALL, strength=10.0, lipschitz=1.0), 100, 10.0),
        (LearnedHints(BALL, strength=20.0, lipschitz=1.0), 100, 17.5),
        (DelayedONS(bl.Ball(2, 0.5), lipschitz=1.0, exp_concavity=0.25), 64, 10.487),
        (DORM(4), 100, 20.0),
        (DORMPlus(4), 100, 20.0),
        (DUB(3), 100, 45.16),
        (AdaHedgeD(3), 100, 45.16),
        (AnytimeExp3(4), 400, 94.19),
        (ZimmertSeldin(4), 400, 160.0),
        (BankerTINF(4), 400, 117.1),
    ],
)
def test_bounds_without_delay(spec: Rival, rounds: int, expected: float) -> None:
    bound = spec.bound(delays.constant(rounds, 0))
    assert bound is not None
    assert bound.total == pytest.approx(expected, rel=1e-3)


def test_the_best_set_of_skipped_rounds() -> None:
    """One of ten rounds is late: skipping it costs 1, less than sqrt(9 ln 2)."""
    spec = ZimmertSeldin(2, skipping=True)
    prompt, late = (spec.bound(bl.Timeline.from_delays([first] + [0] * 9)) for first in (0, 9))
    assert prompt is not None
    assert late is not None
    assert late.total == prompt.total


@pytest.mark.parametrize(
    ("spec", "gradient", "expected"),
    [
        (HazanAgarwalKale(DISC, curvature=4.0), [2.0, 0.0], [-0.5, 0.0]),
        (AdaGrad(bl.Ball(2, radius=2.0), scale=0.5), [3.0, 4.0], [-0.8485281, -1.1313708]),
        (AdaDelay(DISC, smoothness=3.0, scale=1.0), [2.0, 0.0], [-0.5, 0.0]),
        (DelayAdaptiveSGD(DISC, step=0.25, workers=2), [2.0, 0.0], [-0.5, 0.0]),
        (
            KoloskovaStichJaggi(DISC, step=0.25, smoothness=1.0, workers=2),
            [2.0, 0.0],
            [-0.5, 0.0],
        ),
        (
            DelayedFrankWolfe(bl.L1Ball(2), lipschitz=1.0, rounds=14),
            [0.5, 0.25],
            [-0.0625, 0.0],
        ),
        (
            DelayedFrankWolfeStronglyConvex(bl.L1Ball(2), curvature=1.0, lipschitz=1.0),
            [0.5, 0.25],
            [-0.5, 0.0],
        ),
    ],
)
def test_the_first_step(spec: Rival, gradient: list[float], expected: list[float]) -> None:
    learner = bl.Learner(spec)
    learner.predict()
    learner.observe(0, gradient)
    assert learner.predict().x == pytest.approx(expected)


def test_the_first_plays_of_methods_that_explore() -> None:
    """At distance delta = 1 / 2 from the centre; and along the axes."""
    around = bl.Learner(Bistritz(DISC, **UNIT, rounds=64, total_delay=0)).predict().x
    assert around @ around == pytest.approx(0.25)
    axes = bl.Learner(DOGDSCManyPoint(DISC, curvature=1.0, lipschitz=2.0, rounds=1)).predict().x
    assert axes.tolist() == [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]


def test_stale_gradients_are_dropped() -> None:
    learner = bl.Learner(Ringmaster(DISC, step=0.25, stalest=1))
    tickets = [learner.predict().ticket for _ in range(3)]
    assert [learner.observe(ticket, [1.0, 0.0]) for ticket in tickets] == [True] * 3
    assert learner.predict().x == pytest.approx([-0.5, 0.0])


def test_one_step_with_all_gradients_of_a_round() -> None:
    learner = bl.Learner(bl.rivals.DOGDSC(DISC, curvature=4.0))
    learner.predict()
    learner.predict()
    assert learner.observe(1, [2.0, 0.0])
    assert learner.observe(0, [0.0, 2.0])
    assert learner.predict().x == pytest.approx([-0.25, -0.25])


def test_the_pool_takes_values_in_any_order() -> None:
    learner = bl.Learner(GOLD(DISC, **UNIT))
    tickets = [learner.predict().ticket for _ in range(3)]
    assert all(learner.observe(ticket, 0.5) for ticket in reversed(tickets))
    assert learner.open == 0
