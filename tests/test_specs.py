"""Specs: what they refuse, and what they are equal to."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest

import belated
from belated import bounds, rivals
from belated.errors import BelatedError, SpecError
from compositions import AdaGrad
from pins import specs

# Without types, as half of what follows is wrong on purpose.
bl: Any = belated
rates: Any = belated.rates
smoothing: Any = belated.smoothing
BALL = bl.Ball(2)
TIGHT = rates.Tight(1.0)
PACE = rates.DelayAdaptive(1.0)
BASE = bl.PFTRL(BALL, PACE)


def whatever(v: Any) -> Any:
    return v


class NoUpdate:
    """Half a base."""

    def start(self) -> list[float]:
        return [0.0]


class Homeless(NoUpdate):
    """A base that does not say its set."""

    def update(self, cost: Any, lag: int, open_lags: int) -> Any:
        return cost


class Endless(Homeless):
    """A base on a set of unknown interior."""

    domain = bl.ConvexSet(1, whatever, 1.0)


REFUSED: list[tuple[Callable[[], object], str]] = [
    # numbers
    (lambda: bl.Ball(0), "Ball: dim must be at least 1, got 0"),
    (lambda: bl.Ball(2.0), "Ball: dim must be a whole number, got 2.0"),
    (lambda: bl.Ball(2, -1.0), "Ball: radius must be positive, got -1.0"),
    (lambda: bl.Ball(2, math.nan), "Ball: radius must be finite, got nan"),
    (lambda: bl.Ball(2, "wide"), "Ball: radius must be a number, got 'wide'"),
    (lambda: bl.Ball(2, 1.0, [0.0]), "Ball: center must have 2 entries, got 1"),
    (lambda: bl.Ball(2, 1.0, 3.0), "Ball: center must be a sequence"),
    (lambda: bl.Box(1.0, 0.0), r"Box: low must be below high, got \[1.0, 0.0\] at index 0"),
    (lambda: bl.Box([0, 0], [1, 1, 1]), r"Box: low, high and dim must agree .* \[2, 3\]"),
    (lambda: bl.Box([0, 0], 1.0, dim=3), r"Box: .* got lengths \[2\] and dim 3"),
    (lambda: bl.Box([], []), "Box: low, high and dim must agree and not be empty"),
    (lambda: bl.Simplex(1), "Simplex: dim must be at least 2"),
    (lambda: bl.Simplex(4, floor=0.25), r"Simplex: floor must be in \[0, 1/dim = 0.25\), got 0.25"),
    (lambda: bl.Simplex(4, floor=-0.1), "Simplex: floor must be in"),
    (lambda: bl.L1Ball(0), "L1Ball: dim must be at least 1"),
    (lambda: bl.ConvexSet(2, "p", 1.0), "ConvexSet: project must be a function"),
    (lambda: bl.ConvexSet(2, whatever, 1.0, 0.6), "ConvexSet: needs 2 inner_radius <= diameter"),
    (lambda: bl.ConvexSet(2, whatever, 4.0, 1.0, 0.5), "inner_radius <= outer_radius"),
    (lambda: bl.ConvexSet(2, whatever, 4.0, None, 5.0), "outer_radius <= diameter"),
    (lambda: bl.ConvexSet(2, whatever, 1.0, center=[1.0]), "ConvexSet: center must have 2"),
    (lambda: rates.DelayAdaptive(0.0), "rates.DelayAdaptive: lipschitz must be positive, got 0.0"),
    (lambda: rates.Tight(-1.0), "rates.Tight: lipschitz must be positive"),
    (lambda: rates.GradientAdaptive(math.inf), "rates.GradientAdaptive: lipschitz must be finite"),
    (lambda: rates.StronglyConvex(0.0), "rates.StronglyConvex: curvature must be positive"),
    (lambda: rates.Constant(0.0), "rates.Constant: step must be positive"),
    (lambda: rates.Table([]), "rates.Table: steps must be positive and not empty"),
    (lambda: rates.Table([0.5, 0.6]), "rates.Table: steps must not increase"),
    (lambda: smoothing.Convex(0.0), "smoothing.Convex: ratio must be positive"),
    (lambda: smoothing.StronglyConvex(-1.0), "smoothing.StronglyConvex: ratio must be positive"),
    (lambda: smoothing.InverseRoot(1.5), "smoothing.InverseRoot: horizon must be a whole number"),
    (lambda: smoothing.Inverse(-1), "smoothing.Inverse: horizon must be at least 1"),
    (lambda: smoothing.Constant(0.0), "smoothing.Constant: radius must be positive"),
    (lambda: bl.OnePoint(BASE, 0.0), "OnePoint: magnitude must be positive"),
    # nesting
    (lambda: bl.PFTRL("ball", PACE), "PFTRL: domain must be a belated domain, got 'ball'"),
    (lambda: bl.PFTRL(BALL, 0.1), "PFTRL: rate must come from belated.rates, got 0.1"),
    (lambda: bl.PFTRL(BALL, smoothing.Inverse()), "PFTRL: rate must come from"),
    (lambda: bl.OMD(PACE, BALL), "OMD: domain must be a belated domain"),
    (lambda: bl.OMD(BALL, PACE, "log"), "OMD: mirror is 'euclidean' or 'entropy', got 'log'"),
    (
        lambda: bl.OMD(BALL, PACE, "entropy"),
        "OMD: the entropy mirror works on a Simplex",
    ),
    (
        lambda: bl.OMD(bl.Simplex(3), PACE, "entropy"),
        r"use Simplex\(3, floor=...\) or",
    ),
    (
        lambda: bl.FirstOrder(BALL),
        "FirstOrder: base must be one of belated's or an object .* got Ball",
    ),
    (lambda: bl.FirstOrder(bl.FirstOrder(BASE)), "FirstOrder: base must be .* got FirstOrder"),
    (
        lambda: bl.FirstOrder(NoUpdate()),
        r"object with start\(\) and update\(cost, lag",
    ),
    (lambda: bl.FullInformation(NoUpdate()), "FullInformation: base must be"),
    (
        lambda: bl.OnePoint(Homeless(), 1.0),
        "OnePoint: a user's base must say its set",
    ),
    (lambda: bl.TwoPoint(Homeless()), "TwoPoint: a user's base must say its set as base.domain"),
    (lambda: bl.TwoPoint(Endless()), "TwoPoint: ConvexSet needs inner_radius"),
    (
        lambda: bl.OnePoint(AdaGrad(2), 1.0),
        "OnePoint: the default smoothing needs the gradient bound",
    ),
    (
        lambda: bl.OnePoint(bl.PFTRL(bl.Simplex(3), PACE), 1.0),
        "OnePoint: Simplex has no interior to explore; play on a Box of dim - 1",
    ),
    (lambda: bl.TwoPoint(bl.OMD(bl.Simplex(3), PACE)), "TwoPoint: Simplex has no interior"),
    (
        lambda: bl.TwoPoint(bl.PFTRL(BALL, rates.GradientAdaptive())),
        "TwoPoint: rates.GradientAdaptive uses the observed values",
    ),
    (
        lambda: bl.OnePoint(bl.PFTRL(BALL, TIGHT), 1.0),
        "OnePoint: rates.Tight is proved for",
    ),
    (lambda: bl.TwoPoint(BASE, PACE), "TwoPoint: smoothing must come from belated.smoothing"),
    (
        lambda: bl.TwoPoint(BASE, 0.1),
        "TwoPoint: smoothing must come .* got 0.1",
    ),
    (
        lambda: bl.TwoPoint(BASE, smoothing.Constant(1.5)),
        "TwoPoint: smoothing radius 1.5 exceeds the inner radius 1.0",
    ),
    (lambda: bl.OnePoint(BASE, 1.0, baseline="median"), "OnePoint: baseline is None or 'mean'"),
    (lambda: bl.Skip(bl.Skip(bl.FirstOrder(BASE))), "Skip: wraps FirstOrder, .* got Skip"),
    # points
    (lambda: BALL.project([1.0]), r"Ball: project takes 2 finite numbers, got shape \(1,\)"),
]


@pytest.mark.parametrize(("build", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_refused_at_construction(build: Callable[[], object], message: str) -> None:
    with pytest.raises(SpecError, match=message) as caught:
        build()
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, BelatedError)


def test_specs_are_values() -> None:
    """All kinds of specs that have a pin, which also reads them from JSON."""
    found = specs()
    assert found == specs()
    names = {name: getattr(bl, name) for name in bl.__all__}
    for spec, again in zip(found, specs(), strict=True):
        assert hash(spec) == hash(again)
        assert spec != "something else"
        assert eval(repr(spec), names) == spec
        assert type(spec).from_json(spec.to_json(indent=2)) == spec
        document = json.loads(spec.to_json())
        assert (document["belated"], document["spec"]["type"]) == (1, spec.kind)
    with pytest.raises(FrozenInstanceError):
        found[0].dim = 2


def test_numpy_numbers_are_welcome() -> None:
    spec = bl.OnePoint(
        bl.PFTRL(
            bl.Box(np.zeros(3), np.array([1, 2, 3], dtype=np.float32)),
            rates.Table(np.array([0.5, 0.25]), np.float64(1.0)),
        ),
        np.int64(2),
        smoothing.Convex(np.float32(0.5), np.int32(10)),
    )
    same = bl.OnePoint(
        bl.PFTRL(bl.Box((0.0,) * 3, (1.0, 2.0, 3.0)), rates.Table([0.5, 0.25], 1.0)),
        2.0,
        smoothing.Convex(0.5, 10),
    )
    assert spec == same
    assert hash(spec) == hash(same)
    assert spec.to_json() == same.to_json()
    assert "np." not in repr(spec)
    assert type(bl.Ball(np.int64(3)).dim) is int
    assert bl.Ball(2, center=np.array([1, 2])) == bl.Ball(2, center=[1.0, 2.0])
    assert bl.Simplex(3, floor=np.float64(0.1)) == bl.Simplex(3, 0.1)


def test_python_objects_have_no_json() -> None:
    halfspace = bl.ConvexSet(2, whatever, 4.0, 1.0, 2.0)
    for spec in (
        halfspace,
        bl.FirstOrder(bl.PFTRL(halfspace, PACE)),
        bl.Skip(bl.FirstOrder(AdaGrad(2))),
    ):
        with pytest.raises(SpecError, match=r"is a Python object .* has no JSON form"):
            spec.to_json()
    assert halfspace == bl.ConvexSet(2, whatever, 4.0, 1.0, 2.0)


# --- Fact B.1: lambda D <= 2 G. Inputs that contradict it are refused wherever they meet ----------


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
