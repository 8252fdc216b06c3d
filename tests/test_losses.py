"""Losses against their formulas, written apart and slowly, and against what they promise.

Run as a script, this prints a digest of every loss; without a compiler, it must be the same.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import pickle
from collections.abc import Callable, Iterator
from decimal import Decimal, localcontext
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_losses as slow
from belated.domains import Ball, Box, ConvexSet, Domain, L1Ball, Simplex
from belated.errors import SpecError
from belated.rates import Tight
from belated.research.core.losses import PART
from belated.research.losses import (
    Absolute,
    Adaptive,
    Alternating,
    Blocks,
    Custom,
    Drifting,
    Given,
    Hinge,
    Linear,
    Logistic,
    Loss,
    Quadratic,
    Random,
    Source,
    Squared,
    Switching,
)
from belated.spec import from_json
from conftest import INTERPRETED, Python, everything
from naive_losses import TARGETS, Family, Kind, NaiveSource, Targets

ROUNDS = 40
Array = npt.NDArray[np.float64]
# Without types, as some of what follows is wrong on purpose.
wrong: Any = __import__("belated.research.losses", fromlist=["*"])

CURVATURE = 0.7
FAMILIES: dict[Family, Callable[[Source], Loss]] = {
    "linear": Linear,
    "quadratic": lambda source: Quadratic(source, CURVATURE),
    "absolute": Absolute,
    "squared": Squared,
    "logistic": Logistic,
    "hinge": Hinge,
}


def source_of(kind: Kind, dim: int, scale: float = 1.3, seed: int = 11) -> Source:
    """A generated source with numbers of its own."""
    common: dict[str, Any] = {"scale": scale, "seed": seed}
    made: dict[Kind, Callable[[], Source]] = {
        "random": lambda: Random(dim, noise=0.3, **common),
        "drifting": lambda: Drifting(dim, 7, noise=0.3, **common),
        "switching": lambda: Switching(dim, 5, noise=0.3, **common),
        "blocks": lambda: Blocks(dim, 3, **common),
        "alternating": lambda: Alternating(dim, scale),
        "adaptive": lambda: Adaptive(dim, scale),
    }
    return made[kind]()


def slow_source(kind: Kind, dim: int, scale: float = 1.3, seed: int = 11) -> NaiveSource:
    """The same, slowly."""
    lengths: dict[Kind, int] = {"drifting": 7, "switching": 5, "blocks": 3}
    return NaiveSource(kind, dim, scale, 0.3, lengths.get(kind, 1), seed)


def given_arrays(targets: Targets, dim: int, rounds: int = ROUNDS) -> tuple[Array, Array | None]:
    """Vectors, and targets where there are any."""
    rng = np.random.default_rng(dim)
    vectors, numbers = rng.standard_normal((rounds, dim)), rng.standard_normal(rounds)
    if targets == "none":
        return vectors, None
    return vectors, numbers if targets == "numbers" else np.where(numbers > 0.0, 1.0, -1.0)


def given_loss(family: Family, dim: int, rounds: int = ROUNDS) -> Loss:
    """A family over arrays."""
    return FAMILIES[family](Given(*given_arrays(TARGETS[family], dim, rounds)))


class Pair(NamedTuple):
    """A family over a source; no kind of source means arrays."""

    family: Family
    kind: Kind | None

    @property
    def name(self) -> str:
        """How tests call it."""
        return f"{self.family}-{self.kind or 'given'}"

    def loss(self, dim: int = 3) -> Loss:
        """The loss itself."""
        if self.kind is None:
            return given_loss(self.family, dim)
        return FAMILIES[self.family](source_of(self.kind, dim))

    def draw(self, t: int, x: Array) -> tuple[Array, float]:
        """The round as the slow version draws it."""
        targets = TARGETS[self.family]
        if self.kind is None:
            vectors, numbers = given_arrays(targets, x.size)
            return vectors[t], 0.0 if numbers is None else float(numbers[t])
        return slow_source(self.kind, x.size).draw(t, targets, x)


KINDS: list[Kind] = ["random", "drifting", "switching", "blocks", "alternating"]
PAIRS = [Pair(family, kind) for family in FAMILIES for kind in (None, *KINDS)]
PAIRS.append(Pair("linear", "adaptive"))
COMPILED = [Pair("logistic", "blocks"), Pair("hinge", "alternating"), PAIRS[-1]]
"""What no game of the compiled pass has, and one that has a logarithm."""
OBLIVIOUS = [pair for pair in PAIRS if pair.kind != "adaptive"]
each_pair = pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
each_oblivious = pytest.mark.parametrize("pair", OBLIVIOUS, ids=lambda pair: pair.name)
each_family = pytest.mark.parametrize("family", FAMILIES)


def some_points(dim: int, count: int = 6) -> Array:
    """Points of many lengths, the origin among them."""
    rng = np.random.default_rng(5)
    points = rng.standard_normal((count, dim)) * 10.0 ** rng.uniform(-2.0, 1.0, (count, 1))
    points[0] = 0.0
    return points


def digest(pair: Pair) -> str:
    """A digest of values, gradients, rows and sums of a loss."""
    loss = pair.loss(5)
    parts: list[Any] = []
    for x in some_points(5, 3):
        parts += [np.float64(loss.value(t, x)) for t in (0, 1, 30, 2)]
        parts += [loss.gradient(t, x) for t in (0, 1, 30, 2)]
        if not loss.is_adaptive:
            value, gradient = loss.total(x, ROUNDS)
            parts += [np.float64(value), gradient, loss.curve(x, [0, 3, ROUNDS])]
    if not loss.is_adaptive:
        parts += loss.rows(0, ROUNDS)
    return hashlib.sha256(b"".join(np.asarray(part).tobytes() for part in parts)).hexdigest()


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


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("family", ["linear", "absolute", "logistic"])
@pytest.mark.parametrize(
    ("dim", "seed", "start"), [(1, 0, 0), (2, 7, 0), (5, 2**64 - 1, 2**32 - 8), (200, 3, 10**12)]
)
def test_rows_against_the_slow_version(
    kind: Kind, family: Family, dim: int, seed: int, start: int
) -> None:
    vectors, targets = FAMILIES[family](source_of(kind, dim, 2.0, seed)).rows(start, start + 20)
    naively = slow_source(kind, dim, 2.0, seed)
    rounds = [naively.draw(start + i, TARGETS[family], np.zeros(dim)) for i in range(20)]
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


@each_family
@given(data=st.data())
def test_gradients_are_differences(family: Family, data: Any) -> None:
    """Away from kinks, against the central difference."""
    loss = given_loss(family, 3)
    t = data.draw(st.integers(0, ROUNDS - 1))
    x = np.array(data.draw(st.lists(st.integers(-30, 30), min_size=3, max_size=3))) / 10.0
    (a,), (b,) = loss.rows(t, t + 1)
    inner, h = float(a @ x), 1e-5
    kink = {"absolute": b, "hinge": b}.get(family)
    if kink is not None and abs(inner - kink) < 10.0 * h:
        return
    steps = h * np.eye(3)
    found = [(loss.value(t, x + step) - loss.value(t, x - step)) / (2.0 * h) for step in steps]
    np.testing.assert_allclose(loss.gradient(t, x), found, rtol=1e-8, atol=1e-8)


@each_family
@given(data=st.data())
def test_gradients_support_the_loss(family: Family, data: Any) -> None:
    """f(y) >= f(x) + <g, y - x>, and lambda/2 |y - x|^2 more than that, everywhere."""
    loss = given_loss(family, 2)
    curvature = CURVATURE if family == "quadratic" else 0.0
    numbers = st.lists(st.integers(-40, 40), min_size=2, max_size=2)
    t = data.draw(st.integers(0, ROUNDS - 1))
    x, y = (np.array(data.draw(numbers)) / 10.0 for _ in range(2))
    below = loss.value(t, x) + loss.gradient(t, x) @ (y - x)
    below += curvature / 2.0 * float((y - x) @ (y - x))
    assert loss.value(t, y) >= below - 1e-12 * (1.0 + abs(below))


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


# --- Sources -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("family", ["linear", "absolute"])
def test_vectors_and_targets_stay_within_the_scale(kind: Kind, family: Family) -> None:
    vectors, targets = FAMILIES[family](source_of(kind, 4, 1.7)).rows(0, 500)
    assert np.linalg.norm(vectors, axis=1).max() <= 1.7 * (1.0 + 1e-14)
    assert np.abs(targets).max() <= 1.7
    if family == "absolute" and kind != "alternating":
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.7, rtol=1e-14)


@pytest.mark.parametrize("noise", [0.0, 0.2, 1.0])
def test_noise_is_the_distance_from_the_hidden_direction(noise: float) -> None:
    vectors, _ = Linear(Random(3, 2.0, noise, seed=4)).rows(0, 50)
    mean = slow.unit_vector(4, slow.MEANS, 0, 3)
    away = np.linalg.norm(vectors - 2.0 * (1.0 - noise) * mean, axis=1)
    np.testing.assert_allclose(away, 2.0 * noise, rtol=1e-12, atol=1e-15)
    vectors, targets = Absolute(Random(3, 2.0, noise, seed=4)).rows(0, 50)
    rest = np.abs(targets - (1.0 - noise) * vectors @ mean)
    assert rest.max() <= 2.0 * noise + 1e-15
    assert noise == 0.0 or rest.max() > 1.5 * noise


def test_switching_and_drifting_move_as_they_say() -> None:
    switching, _ = Linear(Switching(3, 4, noise=0.0)).rows(0, 40)
    moves = np.flatnonzero(np.abs(np.diff(switching, axis=0)).max(axis=1) > 0.0) + 1
    assert moves.tolist() == list(range(4, 40, 4))
    drifting, _ = Linear(Drifting(3, 4, noise=0.0)).rows(0, 40)
    np.testing.assert_allclose(drifting[::4], switching[::4], rtol=1e-13)
    bends = np.abs(np.diff(drifting, 2, axis=0)).max(axis=1) > 1e-12
    assert (np.flatnonzero(bends) + 1).tolist() == list(range(4, 39, 4))


def test_blocks_are_constant_inside_and_fair_outside() -> None:
    vectors, targets = Absolute(Blocks(4, 5, 3.0)).rows(0, 5000)
    np.testing.assert_array_equal(np.abs(vectors), np.full((5000, 4), 1.5))
    np.testing.assert_array_equal(np.abs(targets), np.full(5000, 3.0))
    both = np.column_stack([vectors, targets]).reshape(1000, 5, 5)
    assert (both == both[:, :1]).all()
    signs = np.sign(both[:, 0])
    np.testing.assert_allclose(signs.T @ signs / 1000.0, np.eye(5), atol=5.0 / math.sqrt(1000.0))
    assert np.abs(signs.mean(axis=0)).max() < 5.0 / math.sqrt(1000.0)


def test_adaptive_losses_follow_the_play() -> None:
    loss = Linear(Adaptive(2, scale=2.0))
    assert loss.is_adaptive
    assert loss.rounds is None
    assert loss.value(3, [3.0, -4.0]) == pytest.approx(10.0, rel=1e-15)
    np.testing.assert_allclose(loss.gradient(3, [3.0, -4.0]), [1.2, -1.6], rtol=1e-15)
    for nothing in ([0.0, 0.0], [0.0, 1e-200]):
        assert loss.gradient(0, nothing).tolist() == [2.0, 0.0]
    assert not Linear(Random(2)).is_adaptive


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
    loss, x = given_loss("squared", 2, rounds), np.array([0.3, -0.2])
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
    loss, domain = given_loss(family, 3), DOMAINS[place]
    constants = loss.constants(domain)
    lipschitz, magnitude = largest(loss, domain, lambda a: extremes(domain, a))
    assert constants.lipschitz == pytest.approx(lipschitz, rel=1e-12)
    assert constants.magnitude == pytest.approx(magnitude, rel=1e-12)


@each_family
@pytest.mark.parametrize("kind", ["blocks", "alternating"])
@pytest.mark.parametrize("place", ["ball", "box", "simplex", "floored", "l1"])
def test_constants_of_signs_are_attained(family: Family, kind: Kind, place: str) -> None:
    """Few vectors occur, so 40 rounds meet the worst of them."""
    loss, domain = FAMILIES[family](source_of(kind, 3)), DOMAINS[place]
    constants = loss.constants(domain)
    points = corners(domain)
    if isinstance(domain, Ball):  # its farthest points along the vectors that occur
        diagonals = np.array(list(itertools.product((-1.0, 1.0), repeat=3))) / math.sqrt(3.0)
        points = domain.radius * np.concatenate([diagonals, np.eye(3), -np.eye(3)])
    lipschitz, magnitude = largest(loss, domain, lambda a: points)
    assert constants.lipschitz == pytest.approx(lipschitz, rel=1e-12)
    assert constants.magnitude == pytest.approx(magnitude, rel=1e-12)


@pytest.mark.parametrize("place", ["ball", "shifted", "simplex", "l1"])
def test_constants_of_adaptive_losses_are_attained(place: str) -> None:
    loss, domain = Linear(Adaptive(3, 1.3)), DOMAINS[place]
    far = extremes(domain, np.zeros(3)) if place == "shifted" else inside(domain, 5)
    lipschitz, magnitude = largest(loss, domain, lambda a: far)
    assert loss.constants(domain).lipschitz == pytest.approx(lipschitz, rel=1e-12)
    assert loss.constants(domain).magnitude == pytest.approx(magnitude, rel=1e-12)


def test_constants_of_random_losses_are_nearly_attained() -> None:
    ball = Ball(1, 2.0)
    for family, make in FAMILIES.items():
        loss = make(Random(1, 1.3, noise=1.0))
        constants = loss.constants(ball)
        ends = np.array([[-2.0], [2.0]])
        found = [
            (float(np.linalg.norm(loss.gradient(t, x))), abs(loss.value(t, x)))
            for t, x in itertools.product(range(ROUNDS), ends)
        ]
        lipschitz, magnitude = np.max(found, axis=0)
        assert constants.lipschitz is not None
        assert constants.magnitude is not None
        assert lipschitz >= 0.9 * constants.lipschitz, family
        assert magnitude >= 0.8 * constants.magnitude, family


def test_constants_of_many_rounds_are_found_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    losses = [given_loss(family, 3) for family in FAMILIES]
    domain = DOMAINS["box"]
    whole = [loss.constants(domain) for loss in losses]
    monkeypatch.setattr("belated.research.losses.sources._CHUNK", 7)
    assert [loss.constants(domain) for loss in losses] == whole


# --- A user's own losses -------------------------------------------------------------------------


def test_custom_losses_do_what_the_families_do() -> None:
    ours = given_loss("squared", 3)
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

SPECS: list[Loss] = [
    *(pair.loss() for pair in PAIRS if pair.kind is not None),
    Linear(Random(2)),
    Quadratic(Blocks(2)),
]


@pytest.mark.parametrize("loss", SPECS, ids=repr)
def test_specs_are_written_and_read(loss: Loss) -> None:
    assert from_json(loss.to_json()) == loss
    assert Loss.from_json(loss.to_json()) == loss
    assert eval(repr(loss), {"losses": wrong}) == loss
    assert hash(pickle.loads(pickle.dumps(loss))) == hash(loss)


def nothing(t: int, x: Any) -> Any:
    """Give a value that is no number and a gradient of the wrong shape."""
    return [1.0, 2.0, 3.0]


REFUSED: list[tuple[Callable[[], object], str]] = [
    (lambda: wrong.Random(0), "losses.Random: dim must be at least 1, got 0"),
    (lambda: wrong.Random(2, -1.0), "losses.Random: scale must be positive, got -1.0"),
    (lambda: wrong.Random(2, noise=1.5), "losses.Random: noise must be between 0 and 1, got 1.5"),
    (lambda: wrong.Random(2, noise=math.nan), "losses.Random: noise must be finite"),
    (lambda: wrong.Random(2, seed=-1), "losses.Random: seed must be at least 0"),
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
    (lambda: Linear(np.zeros((3, 0))), "losses.Given: vectors must not be empty"),
    (lambda: Linear([[0.0, 1.0], [2.0, math.nan]]), r"vectors\[1, 1\] must be finite .* got .*nan"),
    (lambda: Linear([[1e101]]), r"vectors\[0, 0\] must be finite and at most 1e100"),
    (lambda: Absolute([[1.0]], [math.inf]), r"losses.Given: targets\[0\] must be finite"),
    (lambda: Absolute([[1.0]], [[1.0]]), "losses.Given: targets must be an array .* 1 axes"),
    (lambda: Absolute([[1.0]], [1.0, 2.0]), "targets must be one per row of vectors, 1, got 2"),
    (lambda: Linear([[1.0]]).value(1, [0.0]), "losses.Linear: has 1 rounds, got t=1"),
    (lambda: Linear([[1.0]]).value(-1, [0.0]), "losses.Linear: t must be at least 0, got -1"),
    (lambda: Linear([[1.0]]).total([0.0], 2), "losses.Linear: has 1 rounds, got rounds=2"),
    (lambda: Linear([[1.0]]).rows(0, 2), "losses.Linear: has 1 rounds, got stop=2"),
    (lambda: Linear([[1.0]]).rows(-1, 1), "losses.Linear: start must be at least 0"),
    (lambda: Linear([[1.0]]).curve([0.0], [1, 2]), "losses.Linear: has 1 rounds, got marks=2"),
    (lambda: Linear([[1.0]]).curve([0.0], [-1, 1]), "losses.Linear: marks must be at least 0"),
    (lambda: Linear(Random(1)).curve([0.0], [2, 1]), "losses.Linear: marks must be ascending"),
    (lambda: Linear(Random(1)).curve([0.0], [0.5]), "marks must be ascending whole numbers"),
    (lambda: Linear(Random(1)).curve([0.0], [[1]]), "marks must be ascending whole numbers"),
    (lambda: Linear([[1.0]]).gradient(0, [0.0, 1.0]), r"x must be 1 finite numbers, got shape"),
    (lambda: Linear([[1.0]]).value(0, [math.nan]), "x must be 1 finite numbers, got .nan."),
    (lambda: Linear([[1.0]]).value(0, ["a"]), "x must be 1 finite numbers"),
    (lambda: Linear([[1.0]]).value(0, [[1.0], [1.0, 2.0]]), "x must be 1 finite numbers"),
    (lambda: Linear(Random(2)).constants(Ball(3)), "dimension of the losses, 2, got 3"),
    (lambda: wrong.Linear(Random(2)).constants("ball"), "domain must be a belated domain"),
    (lambda: Linear(Adaptive(2)).rows(0, 1), "losses.Linear: rows does not exist for adaptive"),
    (lambda: Linear(Adaptive(2)).total([0, 0], 1), "losses.Linear: total does not exist"),
    (lambda: Linear(Adaptive(2)).curve([0, 0], [1]), "losses.Linear: curve does not exist"),
    (lambda: wrong.Custom(0, nothing, nothing), "losses.Custom: dim must be at least 1"),
    (lambda: wrong.Custom(1, 2, nothing), "losses.Custom: value must be a function, got 2"),
    (lambda: wrong.Custom(1, nothing, 2), "losses.Custom: gradient must be a function, got 2"),
    (lambda: Custom(1, nothing, nothing, 0.0), "losses.Custom: lipschitz must be positive"),
    (lambda: Custom(1, nothing, nothing, None, -1.0), "curvature must be at least 0, got -1.0"),
    (lambda: Custom(1, nothing, nothing, magnitude=-1.0), "magnitude must be positive"),
    (lambda: Custom(1, nothing, nothing).rows(0, 1), "losses.Custom: has no rows"),
    (lambda: Custom(1, nothing, nothing).curve([0.0], [1]), r"value\(0, x\) must be a number"),
    (lambda: Custom(1, nothing, nothing).total([0.0], 1), r"gradient\(0, x\) must return 1 finite"),
    (lambda: Linear([[1.0]]).to_json(), "losses.Linear.sequence.vectors .* has no JSON form"),
    (lambda: Custom(1, nothing, nothing).to_json(), "losses.Custom.value .* has no JSON form"),
]


@pytest.mark.parametrize(("make", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_refusals(make: Callable[[], object], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        make()


# --- In fresh processes --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def interpreted(python: Python) -> dict[str, str]:
    """Digests of every loss, from the source without a compiler."""
    digests: dict[str, str] = json.loads(python("test_losses.py", BELATED_INTERPRETED="1"))
    return digests


@pytest.mark.needs_compiler
@pytest.mark.parametrize(
    "pair",
    [
        pytest.param(pair, id=pair.name, marks=[pytest.mark.compiled] * (pair in COMPILED))
        for pair in PAIRS
    ],
)
def test_compiled_is_interpreted_bit_for_bit(pair: Pair, interpreted: dict[str, str]) -> None:
    assert digest(pair) == interpreted[pair.name]


if __name__ == "__main__":
    print(json.dumps({pair.name: digest(pair) for pair in PAIRS}))
