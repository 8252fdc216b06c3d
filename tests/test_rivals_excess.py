"""Answers larger than assumed are counted, or with ``strict`` refused, whatever an answer is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import belated as bl
from belated import rivals
from belated.errors import BadFeedback
from belated.research.rivals import Rival

BALL = bl.Ball(2, radius=2.0)
BOX = bl.Box([0.0, 0.0], [4.0, 20.0])
G = 0.5
ROUNDS = 20

PAIRS: list[Rival] = [
    rivals.AgarwalDekelXiao(BALL, G, ROUNDS),
    rivals.AgarwalDekelXiao(BOX, G, ROUNDS, curvature=0.1),
    rivals.Shamir(BALL, G, ROUNDS),
    rivals.Shamir(BOX, G, ROUNDS),
    rivals.DOGDSCTwoPoint(BALL, 0.1, G, ROUNDS),
]
MANY: list[Rival] = [
    rivals.DOGDSCManyPoint(BALL, 0.1, G, ROUNDS),
    rivals.DOGDSCManyPoint(BOX, 0.1, G, ROUNDS),
]
ARMS: list[Rival] = [
    rivals.DelayedExp3(3, ROUNDS, 0),
    rivals.SkippingExp3(3, ROUNDS, 0),
    rivals.ZimmertSeldin(3),
    rivals.AnytimeExp3(3),
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


def test_losses_of_any_range_are_not_negative() -> None:
    check(rivals.BankerSFTINF(3), [0.0, 0.5, 300.0, -1e-12], [-0.01, -5.0])


@pytest.mark.parametrize("spec", [PAIRS[0], PAIRS[3], MANY[0], MANY[1]], ids=repr)
def test_linear_losses_as_steep_as_assumed_are_no_excess(spec: Rival) -> None:
    """As values come from the plays: nothing is lost to rounding or to the chart."""
    learner = bl.Learner(spec, strict=True)
    scale = np.array(spec.domain.half_widths or (1.0, 1.0))
    slope = np.array([0.6, -0.8]) * G / scale
    for _ in range(ROUNDS):
        ticket, x = learner.predict()
        assert learner.observe(ticket, x @ slope)
