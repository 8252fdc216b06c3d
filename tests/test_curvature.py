"""Fact B.1: lambda D <= 2 G. Inputs that contradict it are refused wherever they meet."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import belated as bl
from belated import bounds, rivals
from belated.errors import SpecError

BALL = bl.Ball(2)
STEEP = bl.rates.StronglyConvex(10.0, lipschitz=0.1)
LATE = bl.Timeline.from_delays([1, 0, 0])
FREE = bl.rates.StronglyConvex(10.0)

CONTRADICTIONS: list[tuple[str, Callable[[], object]]] = [
    ("PFTRL", lambda: bl.PFTRL(BALL, STEEP)),
    ("OMD", lambda: bl.OMD(BALL, STEEP)),
    ("OMD", lambda: bl.OMD(bl.Simplex(3, 0.1), STEEP, mirror="entropy")),
    ("DualAveraging", lambda: bl.DualAveraging(BALL, STEEP)),
    ("Leader", lambda: bl.Leader(BALL, STEEP)),
    ("Problem", lambda: bl.Problem(BALL, lipschitz=0.1, curvature=10.0)),
    ("leader", lambda: bounds.leader(LATE, lipschitz=0.1, curvature=10.0, diameter=2.0)),
    (
        "corollary_5_4",
        lambda: bounds.corollary_5_4(LATE, lipschitz=0.1, curvature=10.0, diameter=2.0),
    ),
    (
        "corollary_5_8",
        lambda: bounds.corollary_5_8(
            LATE, domain=BALL, lipschitz=0.1, curvature=10.0, magnitude=1.0
        ),
    ),
    (
        "corollary_g_4",
        lambda: bounds.corollary_g_4(LATE, domain=BALL, lipschitz=0.1, curvature=10.0),
    ),
    (
        "theorem_e_1",
        lambda: bounds.theorem_e_1(LATE, base=bl.PFTRL(BALL, FREE), lipschitz=0.1, curvature=10.0),
    ),
    (
        "theorem_e_2",
        lambda: bounds.theorem_e_2(LATE, base=bl.OMD(BALL, FREE), lipschitz=0.1, curvature=10.0),
    ),
    ("rivals", lambda: rivals.DMD(BALL, lipschitz=0.1, curvature=10.0)),
    ("rivals", lambda: rivals.LangfordSmolaZinkevich(BALL, lipschitz=0.1, curvature=10.0)),
    ("rivals", lambda: rivals.AgarwalDekelXiao(BALL, lipschitz=0.1, curvature=10.0)),
    ("rivals", lambda: rivals.DOGDSCTwoPoint(BALL, curvature=10.0, lipschitz=0.1)),
    ("PFTRL", lambda: rivals.BOLD(bl.FirstOrder(bl.PFTRL(BALL, STEEP)))),
]


@pytest.mark.parametrize(("who", "make"), CONTRADICTIONS)
def test_contradictions_are_refused(who: str, make: Callable[[], object]) -> None:
    with pytest.raises(SpecError, match=rf"^{who.split('.')[0]}.*: inputs contradict"):
        make()


def test_what_may_hold_is_taken() -> None:
    """Equality is possible, and without lipschitz nothing contradicts."""
    for curvature, lipschitz in ((1.0, 1.0), (0.1, 0.1), (10.0, None)):
        rate = bl.rates.StronglyConvex(curvature, lipschitz)
        for kind in (bl.PFTRL, bl.OMD, bl.DualAveraging, bl.Leader):
            kind(BALL, rate)
    third = bl.rates.StronglyConvex(1.0, 1.0 / 3.0)
    bl.PFTRL(bl.Ball(2, 1.0 / 3.0), third)
    tight = bounds.leader(LATE, lipschitz=1.0, curvature=1.0, diameter=2.0)
    assert tight.total > 0.0
