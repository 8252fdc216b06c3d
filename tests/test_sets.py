"""Sets: where learners start on them, what a projection is, and numbers of any size."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import belated as bl
from belated.errors import SpecError
from belated.geometry import shape_of
from conftest import examples
from naive import Array

FAR = bl.ConvexSet(2, lambda v: np.clip(v, 100.0, 101.0), math.sqrt(2.0))


def first_order(domain: Any, lipschitz: float = 1.0) -> bl.FirstOrder:
    return bl.FirstOrder(bl.PFTRL(domain, bl.rates.Tight(lipschitz)))


# ---- a centre outside the set -------------------------------------------------------------------


def linear_regret(spec: Any, costs: Array, best: float) -> tuple[float, bl.reports.Report]:
    """Play linear losses without delay; ``best`` is the loss of the best fixed play."""
    learner, loss = bl.Learner(spec), 0.0
    for cost in costs:
        ticket, x = learner.predict()
        loss += float(cost @ x)
        learner.observe(ticket, cost)
    return loss - best, learner.report()


def test_a_set_away_from_its_centre_is_played_from_inside() -> None:
    learner = bl.Learner(first_order(FAR))
    assert learner.predict().x.tolist() == [100.0, 100.0]
    costs = np.tile([-0.6, -0.8], (400, 1))
    regret, report = linear_regret(first_order(FAR), costs, 101.0 * float(costs.sum()))
    assert report.certificate is not None
    assert 0.0 <= regret <= report.certificate.total


corner = st.floats(-50.0, 50.0)


@settings(max_examples=40, deadline=None)
@given(
    low=st.tuples(corner, corner),
    size=st.tuples(st.floats(0.1, 5.0), st.floats(0.1, 5.0)),
    center=st.none() | st.tuples(corner, corner),
    seed=st.integers(0, 1000),
)
def test_every_play_is_inside_and_certificates_hold(
    low: tuple[float, float],
    size: tuple[float, float],
    center: tuple[float, float] | None,
    seed: int,
) -> None:
    """Theorem 4.1 on boxes anywhere, whatever is said about their centre."""
    a, b = np.array(low), np.array(low) + np.array(size)
    diameter = float(np.linalg.norm(b - a)) * (1.0 + 1e-12)
    domain = bl.ConvexSet(2, lambda v: np.clip(v, a, b), diameter, center=center)  # type: ignore[arg-type]
    assert ((a <= domain.center) & (domain.center <= b)).all()
    rng = np.random.default_rng(seed)
    costs = rng.uniform(-0.7, 0.7, (60, 2)) * rng.integers(0, 2, (60, 1))
    learner, loss = bl.Learner(first_order(domain)), 0.0
    for cost in costs:
        ticket, x = learner.predict()
        assert ((a - 1e-13 <= x) & (x <= b + 1e-13)).all()
        loss += float(cost @ x)
        learner.observe(ticket, cost)
    total = costs.sum(axis=0)
    regret = loss - float(np.minimum(total * a, total * b).sum())
    certificate = learner.report().certificate
    assert certificate is None or regret <= certificate.total + 1e-9 * (1.0 + abs(loss))


def clip(v: Array) -> Array:
    return np.clip(v, 0.0, 1.0)


NO_PROJECTIONS: list[tuple[Callable[[Array], Any], dict[str, Any], str]] = [
    (lambda v: v / 2.0 + 1.0, {}, "must leave its own points where they are"),
    (lambda v: np.full(2, np.nan), {}, r"what project returns\[0\] must be finite"),
    (lambda v: v[:1], {}, "what project returns must have 2 entries, got 1"),
    (lambda v: v[None], {}, r"what project returns\[0\] must be a number"),
    (lambda v: 0.5, {}, "what project returns must be a sequence"),
    (lambda v: None, {}, "what project returns must be a sequence"),
    (
        lambda v: np.abs(v) / np.abs(v).sum(),
        {"center": [0.1, 0.2]},
        "nearest point of a convex set",
    ),
    (lambda v: np.round(v), {"center": [0.4, 0.7]}, "nearest point of a convex set"),
    (clip, {"inner_radius": 0.5}, "around center .* must lie in the set, but"),
    (
        clip,
        {"inner_radius": 0.5, "center": [3.0, 3.0]},
        "around center .* must lie in the set, but",
    ),
]


@pytest.mark.parametrize(("project", "more", "words"), NO_PROJECTIONS)
def test_what_is_no_projection_is_refused(
    project: Callable[[Array], Any], more: dict[str, Any], words: str
) -> None:
    with pytest.raises(SpecError, match=f"ConvexSet: .*{words}"):
        bl.ConvexSet(2, project, 1.5, **more)


# ---- numbers of any size ------------------------------------------------------------------------


def exactly_on_simplex(v: list[float], mass: Fraction, floor: Fraction) -> list[Fraction]:
    """Project on {x_i >= floor, sum x_i - floor = mass} in exact arithmetic, by sorting."""
    exact = [Fraction(value) - floor for value in v]
    total, level = Fraction(0), Fraction(0)
    for count, value in enumerate(sorted(exact, reverse=True), start=1):
        total += value
        if value > (total - mass) / count:
            level = (total - mass) / count
    return [floor + max(Fraction(0), value - level) for value in exact]


def exactly_on_l1(v: list[float], radius: float) -> list[Fraction]:
    if sum(abs(Fraction(value)) for value in v) <= Fraction(radius):
        return [Fraction(value) for value in v]
    heights = exactly_on_simplex([abs(value) for value in v], Fraction(radius), Fraction(0))
    return [height if value > 0 else -height for height, value in zip(heights, v, strict=True)]


def exactly_on_ball(v: list[float], radius: float) -> list[float]:
    scale = max(map(abs, v))
    if scale <= radius / len(v) or math.hypot(*v) <= radius:
        return v
    unit = [value / scale for value in v]
    return [radius * value / math.hypot(*unit) for value in unit]


huge = st.builds(
    lambda digits, exponent: digits * 10.0**exponent,
    st.floats(-1.0, 1.0),
    st.one_of(st.integers(-3, 3), st.integers(-307, 308)),
)
vectors = st.lists(huge, min_size=2, max_size=7)


@examples(100)
@given(vectors, st.sampled_from([1e-100, 0.3, 1.0, 1e100]))
def test_projections_of_vectors_of_any_size(v: list[float], radius: float) -> None:
    k = len(v)
    room = 1e-12 * radius
    ball = bl.Ball(k, radius).project(v)
    assert np.abs(ball - exactly_on_ball(v, radius)).max() <= room
    l1 = bl.L1Ball(k, radius).project(v)
    assert largest_gap(exactly_on_l1(v, radius), l1) <= room
    floor = 0.5 / k
    simplex = bl.Simplex(k, floor).project(v)
    exact = exactly_on_simplex(v, 1 - k * Fraction(floor), Fraction(floor))
    assert largest_gap(exact, simplex) <= 1e-12


def largest_gap(exact: list[Fraction], found: Array) -> float:
    return max(abs(float(a - Fraction(b))) for a, b in zip(exact, found.tolist(), strict=True))


EXTREME: list[tuple[str, Any]] = [
    ("omd", bl.OMD(bl.Ball(2), bl.rates.Constant(1e100))),
    ("pftrl", bl.PFTRL(bl.Ball(2), bl.rates.Constant(1e100))),
    ("dual averaging", bl.DualAveraging(bl.Ball(2), bl.rates.Constant(1e100))),
    ("leader", bl.Leader(bl.Ball(2), bl.rates.StronglyConvex(1e-100))),
    ("portfolio", bl.Portfolio([bl.OMD(bl.Ball(2), bl.rates.Constant(1e100))])),
    ("user", bl.OMD(bl.ConvexSet(2, bl.Ball(2).project, 2.0), bl.rates.Constant(1e100))),
]


@pytest.mark.parametrize("base", [base for _, base in EXTREME], ids=[name for name, _ in EXTREME])
def test_extreme_steps_end_on_the_border(base: Any) -> None:
    learner = bl.Learner(bl.FirstOrder(base))
    learner.predict()
    assert learner.observe(0, [-6e80, 8e80])
    assert learner.predict().x == pytest.approx([0.6, -0.8])


def test_a_portfolio_of_huge_numbers_certifies_only_what_is_true() -> None:
    ball = bl.Ball(1, 1e100)
    steps = [bl.rates.Tight(1e100), bl.rates.Constant(1.0)]
    learner = bl.Learner(bl.FirstOrder(bl.Portfolio([bl.OMD(ball, rate) for rate in steps])))
    lost, total = 0.0, 0.0
    for t in range(300):
        ticket, x = learner.predict()
        assert np.isfinite(x).all()
        cost = 1e100 if t % 3 else -1e100
        lost, total = lost + cost * x[0], total + cost
        learner.observe(ticket, [cost])
    certificate = learner.report().certificate
    assert certificate is None or certificate.total >= lost + abs(total) * 1e100


@pytest.mark.parametrize("size", [1e-200, 1.0, 1e200])
def test_the_lowest_point_for_slopes_of_any_size(size: float) -> None:
    ball = bl.Ball(2, 2.0, [1.0, 1.0])
    x, least = shape_of(ball).lowest(size * np.array([0.6, 0.8]))
    assert x == pytest.approx([-0.2, -0.6])
    assert least == pytest.approx(-0.6 * size, rel=1e-12, abs=0.0)


# ---- equal specs, and answers without a dimension ------------------------------------------------


@pytest.mark.parametrize(
    "made",
    [
        lambda: bl.Ball(1, 1.0, [1e17]),
        lambda: bl.Ball(2, 1e-6, [0.0, 1e9]),
        lambda: bl.Box(1e16, 1e16 + 4.0),
        lambda: bl.Box(1.0, 1.0 + 2.0**-40),
        lambda: bl.ConvexSet(1, lambda v: np.clip(v, 1e17, 1e17 + 64.0), 64.0, center=[1e17]),
    ],
)
def test_sets_too_far_away_for_their_size(made: Callable[[], object]) -> None:
    """Plays there are rounded by more than what certificates are about."""
    with pytest.raises(bl.errors.SpecError, match="count from a point nearer to the set"):
        made()
