"""Losses against their formulas, written apart and slowly, and against what they promise."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from decimal import Decimal, localcontext
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt
import pytest

import belated as bl
import naive_losses as slow
from belated import losses
from belated.domains import Ball, Box, ConvexSet, Domain, L1Ball, Simplex
from belated.errors import SpecError
from belated.rates import Tight
from belated.research.core.losses import PART
from belated.research.losses import (
    Absolute,
    Adaptive,
    Custom,
    Given,
    Hinge,
    Linear,
    Logistic,
    Loss,
    Quadratic,
    Random,
)
from conftest import INTERPRETED, everything
from naive_game import CURVATURE, FAMILIES, SOURCES, SlowLosses, SourceName, fast_losses
from naive_losses import Family

ROUNDS = 40
Array = npt.NDArray[np.float64]
# Without types, as some of what follows is wrong on purpose.
wrong: Any = __import__("belated.research.losses", fromlist=["*"])


class Pair(NamedTuple):
    """A family over a source."""

    family: Family
    source: SourceName

    @property
    def name(self) -> str:
        return f"{self.family}-{self.source}"

    def loss(self, dim: int = 3) -> Loss:
        return fast_losses(self.family, self.source, dim, ROUNDS)

    def draw(self, t: int, x: Array) -> tuple[Array, float]:
        """The round as the slow version draws it."""
        return SlowLosses(self.family, self.source, x.size, ROUNDS).draw(t, x)


OBLIVIOUS = [Pair(family, source) for family in FAMILIES for source in SOURCES[:-1]]
PAIRS = [*OBLIVIOUS, Pair("linear", "adaptive")]
each_pair = pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
each_oblivious = pytest.mark.parametrize("pair", OBLIVIOUS, ids=lambda pair: pair.name)
each_family = pytest.mark.parametrize("family", FAMILIES)


def some_points(dim: int, count: int = 6) -> Array:
    """Points of many lengths, the origin among them."""
    rng = np.random.default_rng(5)
    points = rng.standard_normal((count, dim)) * 10.0 ** rng.uniform(-2.0, 1.0, (count, 1))
    points[0] = 0.0
    return points


# --- Rounds, values and gradients ----------------------------------------------------------------


@each_pair
def test_values_and_gradients_against_the_formulas(pair: Pair) -> None:
    for dim in (1, 3, 10):
        loss = pair.loss(dim)
        for t, x in itertools.product((0, 1, 2, 6, 7, 39), some_points(dim)):
            a, b = pair.draw(t, x)
            wanted = slow.value(pair.family, a, b, x, CURVATURE)
            size = 1.0 + float(np.abs(x).max())
            assert loss.value(t, x) == pytest.approx(wanted, rel=1e-12, abs=1e-13 * size**2)
            slope = slow.gradient(pair.family, a, b, x, CURVATURE)
            np.testing.assert_allclose(loss.gradient(t, x), slope, rtol=1e-12, atol=1e-13 * size)


@pytest.mark.parametrize("source", SOURCES[1:-1])
@pytest.mark.parametrize("family", ["linear", "absolute", "logistic"])
@pytest.mark.parametrize(
    ("dim", "seed", "start"), [(1, 0, 0), (2, 7, 0), (5, 2**64 - 1, 2**32 - 8), (200, 3, 10**12)]
)
def test_rows_against_the_slow_version(
    source: SourceName, family: Family, dim: int, seed: int, start: int
) -> None:
    vectors, targets = fast_losses(family, source, dim, ROUNDS, seed).rows(start, start + 20)
    naively = SlowLosses(family, source, dim, ROUNDS, seed)
    rounds = [naively.draw(start + i, np.zeros(dim)) for i in range(20)]
    np.testing.assert_allclose(vectors, [a for a, _ in rounds], rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(targets, [b for _, b in rounds], rtol=1e-12, atol=1e-14)


@each_oblivious
def test_rounds_may_be_drawn_in_any_order(pair: Pair) -> None:
    loss = pair.loss()
    vectors, targets = loss.rows(0, ROUNDS)
    for first in (31, 2, 14):
        again, numbers = loss.rows(first, first + 5)
        assert again.tobytes() == vectors[first : first + 5].tobytes()
        assert numbers.tobytes() == targets[first : first + 5].tobytes()


def test_logistic_keeps_its_digits_at_every_margin() -> None:
    loss = Logistic([[1.0]], [1])
    margins = [0.0, 1e-9, 0.3, -0.3, 5.0, -5.0, 36.0, -36.0, 40.0, -40.0, 300.0, -300.0, 700.0]
    with localcontext(prec=400):
        for margin in margins:
            e = Decimal(-margin).exp()
            assert loss.value(0, [margin]) == pytest.approx(float((1 + e).ln()), rel=1e-15)
            slope = float(-e / (1 + e))
            assert loss.gradient(0, [margin])[0] == pytest.approx(slope, rel=2e-15)
    assert loss.value(0, [1e5]) == 0.0
    assert loss.value(0, [-1e5]) == 1e5
    assert loss.gradient(0, [1e5]).tolist() == [0.0]
    assert loss.gradient(0, [-1e5]).tolist() == [-1.0]


# --- Sums ----------------------------------------------------------------------------------------


@each_oblivious
def test_totals_and_curves_are_sums(pair: Pair) -> None:
    loss, x = pair.loss(), some_points(3)[3]
    values = [loss.value(t, x) for t in range(ROUNDS)]
    gradients = [loss.gradient(t, x) for t in range(ROUNDS)]
    value, gradient = loss.total(x, ROUNDS)
    assert value == pytest.approx(math.fsum(values), rel=1e-13, abs=1e-13)
    np.testing.assert_allclose(gradient, np.sum(gradients, axis=0), rtol=1e-12, atol=1e-13)
    marks = [0, 0, 1, 7, 7, 30, ROUNDS]
    curve = loss.curve(x, marks)
    wanted = [math.fsum(values[:mark]) for mark in marks]
    np.testing.assert_allclose(curve, wanted, rtol=1e-13, atol=1e-13)
    assert curve[-1] == value
    assert loss.total(x, 0)[0] == 0.0
    assert loss.curve(x, []).shape == (0,)


@pytest.mark.compiled
@pytest.mark.needs_compiler
def test_long_sums_keep_their_digits() -> None:
    rounds = 3 * PART + 17
    loss, x = fast_losses("squared", "given", 2, rounds), np.array([0.3, -0.2])
    vectors, targets = loss.rows(0, rounds)
    rest = vectors @ x - targets
    value, gradient = loss.total(x, rounds)
    assert value == pytest.approx(math.fsum(rest**2 / 2.0), rel=1e-14)
    sums = [math.fsum(column) for column in (rest[:, None] * vectors).T]
    np.testing.assert_allclose(gradient, sums, rtol=1e-12)
    marks = [1, PART, PART + 1, rounds]
    assert loss.curve(x, marks).tolist() == [loss.total(x, mark)[0] for mark in marks]


# --- Constants -----------------------------------------------------------------------------------

DOMAINS: dict[str, Domain] = {
    "ball": Ball(3, 2.0),
    "shifted": Ball(3, 0.7, [1.0, -2.0, 0.5]),
    "box": Box([1.0, -3.0, 0.1], [2.0, 5.0, 0.3]),
    "simplex": Simplex(3),
    "floored": Simplex(3, floor=0.1),
    "l1": L1Ball(3, 1.4),
    "user": ConvexSet(3, lambda v: np.clip(v, 0.0, 1.0), 1.8, center=[0.5, 0.5, 0.5]),
}


def corners(domain: Domain) -> Array:
    """The extreme points of a domain with corners."""
    if isinstance(domain, Box):
        return np.array(list(itertools.product(*zip(*domain.bounds, strict=True))))
    if isinstance(domain, Simplex):
        free = 1.0 - domain.dim * domain.floor
        return domain.floor + free * np.eye(domain.dim)
    if isinstance(domain, L1Ball):
        return domain.radius * np.concatenate([np.eye(domain.dim), -np.eye(domain.dim)])
    return np.zeros((0, domain.dim))


def extremes(domain: Domain, a: Array) -> Array:
    """Where a convex function of <a, x>, or of |x - a|, is largest over a built-in domain."""
    if not isinstance(domain, Ball):
        return corners(domain)
    center = np.array(domain.center)
    ways = [way for way in (a, -a, center - a) if way.any()]
    return np.array([center + domain.radius * way / np.linalg.norm(way) for way in ways])


def inside(domain: Domain, count: int = 40) -> Array:
    """Random points of a domain, most of them on its boundary, and its corners."""
    rng = np.random.default_rng(8)
    center = np.array(domain.center)
    project = cast("Any", domain).project
    points = [project(center + 3.0 * rng.standard_normal(domain.dim)) for _ in range(count)]
    return np.concatenate([points, corners(domain)])


def scales(domain: Domain) -> Array:
    """The scale of the chart."""
    return np.ones(domain.dim) if domain.half_widths is None else np.array(domain.half_widths)


def largest(
    loss: Loss, domain: Domain, points: Callable[[Array], Array], every: int = 1
) -> tuple[float, float]:
    """The largest gradient norm in the chart and the largest |f_t| over 40 rounds and points."""
    lipschitz = magnitude = 0.0
    vectors = np.zeros((ROUNDS, 3)) if loss.is_adaptive else loss.rows(0, ROUNDS)[0]
    for t, a in [*enumerate(vectors)][::every]:
        for x in points(a):
            gradient = scales(domain) * loss.gradient(t, x)
            lipschitz = max(lipschitz, float(np.linalg.norm(gradient)))
            magnitude = max(magnitude, abs(loss.value(t, x)))
    return lipschitz, magnitude


def half() -> Iterator[Any]:
    """Yield every pair with every set; of these, half are slow, as on a chessboard."""
    for i, pair in enumerate(PAIRS):
        for j, place in enumerate(DOMAINS):
            marks = [pytest.mark.slow] * ((i + j) % 2)
            yield pytest.param(pair, place, id=f"{place}-{pair.name}", marks=marks)


@pytest.mark.parametrize(("pair", "place"), [*half()])
def test_constants_hold_everywhere(pair: Pair, place: str) -> None:
    loss, domain = pair.loss(), DOMAINS[place]
    constants = loss.constants(domain)
    many, every = (8, 1) if everything() or not INTERPRETED else (2, 4)
    points = inside(domain, many)
    lipschitz, magnitude = largest(loss, domain, lambda a: points, every)
    assert constants.lipschitz is not None
    assert constants.magnitude is not None
    assert lipschitz <= constants.lipschitz * (1.0 + 1e-12)
    assert magnitude <= constants.magnitude * (1.0 + 1e-12)
    small = float(scales(domain).min())
    assert constants.curvature == (CURVATURE * small**2 if pair.family == "quadratic" else 0.0)


@each_family
@pytest.mark.parametrize("place", [place for place in DOMAINS if place != "user"])
def test_constants_of_arrays_are_attained(family: Family, place: str) -> None:
    loss, domain = fast_losses(family, "given", 3, ROUNDS), DOMAINS[place]
    constants = loss.constants(domain)
    lipschitz, magnitude = largest(loss, domain, lambda a: extremes(domain, a))
    assert constants.lipschitz == pytest.approx(lipschitz, rel=1e-12)
    assert constants.magnitude == pytest.approx(magnitude, rel=1e-12)


def public(room: Any, kind: type) -> set[type]:
    """Return all that a module shows of a kind."""
    shown = {getattr(room, name) for name in room.__all__}
    return {each for each in shown if isinstance(each, type) and issubclass(each, kind)} - {kind}


def test_none_is_forgotten() -> None:
    families = {each.__name__.lower() for each in public(losses, Loss) - {Custom}}
    sources = {each.__name__.lower() for each in public(losses, losses.Source)}
    assert (families, sources) == ({*FAMILIES}, {*SOURCES})
    assert {type(each) for each in DOMAINS.values()} == public(bl, Domain)


@each_pair
def test_a_game_has_the_constants_of_its_losses(pair: Pair) -> None:
    """So that a regret is below the bound of what is played, on every set."""
    for domain in DOMAINS.values():
        loss = pair.loss()
        game = bl.Game(loss, bl.delays.constant(ROUNDS, 2))
        problem = game.problem(domain)
        assert problem.lipschitz == loss.constants(domain).lipschitz
        run = bl.play(problem.learner("gradient", rate="paper"), game)
        assert run.bound is not None
        assert run.regret_against(np.array(domain.center)) <= run.bound.total


# --- A user's own losses -------------------------------------------------------------------------


def test_custom_losses_do_what_the_families_do() -> None:
    ours = fast_losses("squared", "given", 3, ROUNDS)
    theirs = Custom(3, ours.value, ours.gradient, lipschitz=2.0, magnitude=3.0)
    x, marks = [0.1, 0.2, -0.4], [0, 3, 20]
    value, gradient = ours.total(x, 20)
    found, slope = theirs.total(x, 20)
    assert found == pytest.approx(value, rel=1e-13)
    np.testing.assert_allclose(slope, gradient, rtol=1e-12)
    np.testing.assert_allclose(theirs.curve(x, marks), ours.curve(x, marks), rtol=1e-13)
    assert theirs.curve(x, []).shape == (0,)
    assert theirs.total(x, 0)[0] == 0.0
    assert theirs.constants(Ball(3)) == (2.0, 0.0, 3.0)
    assert Custom(3, ours.value, ours.gradient).constants(Ball(3)) == (None, 0.0, None)
    assert theirs.rounds is None
    assert not theirs.is_adaptive
    assert theirs.value(4, x) == ours.value(4, x)


# --- Specs ---------------------------------------------------------------------------------------


def nothing(t: int, x: Any) -> Any:
    """Give a value that is no number and a gradient of the wrong shape."""
    return [1.0, 2.0, 3.0]


REFUSED: list[tuple[Callable[[], object], str]] = [
    (lambda: wrong.Random(0), "losses.Random: dim must be at least 1, got 0"),
    (lambda: wrong.Random(2, -1.0), "losses.Random: scale must be positive, got -1.0"),
    (lambda: wrong.Random(2, noise=1.5), "losses.Random: noise must be between 0 and 1, got 1.5"),
    (lambda: wrong.Random(2, noise=math.nan), "losses.Random: noise must be finite"),
    (
        lambda: wrong.Random(2, seed=2**64),
        "losses.Random: seed must be at most 18446744073709551615",
    ),
    (lambda: wrong.Drifting(2, 0), "losses.Drifting: period must be at least 1, got 0"),
    (lambda: wrong.Switching(2, 1.5), "losses.Switching: every must be a whole number, got 1.5"),
    (lambda: wrong.Blocks(2, 2**60), "losses.Blocks: length must be at most"),
    (lambda: wrong.Alternating(2, 0.0), "losses.Alternating: scale must be positive"),
    (lambda: wrong.Adaptive("2"), "losses.Adaptive: dim must be a whole number"),
    (lambda: Quadratic(Random(2), 0.0), "losses.Quadratic: curvature must be positive, got 0.0"),
    (lambda: Quadratic(Adaptive(2)), "losses.Quadratic: only losses.Linear can be adaptive"),
    (lambda: Hinge(Adaptive(2)), "losses.Hinge: only losses.Linear can be adaptive"),
    (lambda: wrong.Linear(Tight(1.0)), "losses.Linear: sequence must be an array or a source"),
    (lambda: Absolute(Random(2), [1.0]), "losses.Absolute: targets go with an array"),
    (lambda: Absolute([[1.0]]), "losses.Absolute: needs targets, one for every row"),
    (lambda: Linear(Given([[1.0]], [1.0])), "losses.Linear: has no targets, only vectors"),
    (lambda: Logistic([[1.0]] * 2, [1, 0]), r"losses.Logistic: labels .* got 0.0 at index 1"),
    (lambda: Hinge([[1.0]], [2.0]), "losses.Hinge: labels must be 1 or -1, got 2.0 at index 0"),
    (lambda: Linear([1.0, 2.0]), r"losses.Given: vectors .* 2 axes, got shape \(2,\)"),
    (lambda: Linear([[1.0], [2.0, 3.0]]), "losses.Given: vectors .* 2 axes, got"),
    (lambda: Linear([["a"]]), "losses.Given: vectors must be an array of numbers"),
    (lambda: Linear(np.zeros((0, 3))), r"losses.Given: vectors must not be empty, got shape \(0"),
    (lambda: Linear([[1e101]]), r"vectors\[0, 0\] must be finite and at most 1e100"),
    (lambda: Absolute([[1.0]], [[1.0]]), "losses.Given: targets must be an array .* 1 axes"),
    (lambda: Absolute([[1.0]], [1.0, 2.0]), "targets must be one per row of vectors, 1, got 2"),
    (lambda: Linear([[1.0]]).value(1, [0.0]), "losses.Linear: has 1 rounds, got t=1"),
    (lambda: Linear(Random(1)).curve([0.0], [2, 1]), "losses.Linear: marks must be ascending"),
    (lambda: Linear(Random(1)).curve([0.0], [0.5]), "marks must be ascending whole numbers"),
    (lambda: Linear([[1.0]]).gradient(0, [0.0, 1.0]), r"x must be 1 finite numbers, got shape"),
    (lambda: Linear(Random(2)).constants(Ball(3)), "dimension of the losses, 2, got 3"),
    (lambda: wrong.Linear(Random(2)).constants("ball"), "domain must be a belated domain"),
    (lambda: Linear(Adaptive(2)).rows(0, 1), "losses.Linear: rows does not exist for adaptive"),
    (lambda: Linear(Adaptive(2)).total([0, 0], 1), "losses.Linear: total does not exist"),
    (lambda: Linear(Adaptive(2)).curve([0, 0], [1]), "losses.Linear: curve does not exist"),
    (lambda: wrong.Custom(0, nothing, nothing), "losses.Custom: dim must be at least 1"),
    (lambda: wrong.Custom(1, 2, nothing), "losses.Custom: value must be a function, got 2"),
    (lambda: Custom(1, nothing, nothing).rows(0, 1), "losses.Custom: has no rows"),
    (lambda: Custom(1, nothing, nothing).curve([0.0], [1]), r"value\(0, x\) must be a number"),
    (
        lambda: Custom(1, nothing, nothing).total([0.0], 1),
        r"gradient\(0, x\) must return a vector of 1",
    ),
    (lambda: Linear([[1.0]]).to_json(), "losses.Linear.sequence.vectors .* has no JSON form"),
    (lambda: Custom(1, nothing, nothing).to_json(), "losses.Custom.value .* has no JSON form"),
]


@pytest.mark.parametrize(("make", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_refusals(make: Callable[[], object], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        make()
