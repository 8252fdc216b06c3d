"""The best fixed action: closed forms, the solver and its proof, against scipy and mathematics."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize

import belated as bl
from belated import losses
from belated.arrays import Floats
from belated.domains import Domain
from belated.research.game import solver
from belated.research.game.best import best_action
from belated.research.game.solver import Minimum, Oracle, minimise, support

DOMAINS: list[Domain] = [
    bl.Ball(1),
    bl.Ball(4, 2.0, [1.0, -2.0, 0.5, 30.0]),
    bl.Box(-1.0, 0.5),
    bl.Box([10.0, 0.1, -1.0], [200.0, 5.0, 1.0]),
    bl.Simplex(2),
    bl.Simplex(5),
    bl.Simplex(4, floor=0.1),
    bl.L1Ball(1, 3.0),
    bl.L1Ball(5, 0.5),
]
HALF_SPACE = bl.ConvexSet(2, lambda v: np.minimum(v, 1.0), 10.0)


def points(domain: Domain, count: int, seed: int = 0) -> Floats:
    """Return random points of a built-in set, many of them on its boundary."""
    rng = np.random.default_rng(seed)
    width = np.array(domain.half_widths or np.full(domain.dim, domain.diameter))
    scattered = np.array(domain.center) + 2.0 * width * rng.normal(size=(count, domain.dim))
    return np.array([nearest(domain, point) for point in scattered])


def nearest(domain: Domain, point: npt.ArrayLike) -> Floats:
    """Return the projection of a point."""
    return np.asarray(domain.project(point))  # type: ignore[attr-defined]


def is_inside(domain: Domain, x: Floats) -> bool:
    """Say whether x is in the set, but for rounding."""
    return bool(np.allclose(nearest(domain, x), x, rtol=1e-12, atol=1e-14))


def counted(oracle: Oracle) -> tuple[Oracle, list[Floats]]:
    """Return the oracle and a list that it fills with the points it was asked about."""
    asked: list[Floats] = []

    def watched(x: Floats) -> tuple[float, npt.ArrayLike]:
        asked.append(x.copy())
        return oracle(x)

    return watched, asked


# --- Functions to minimise -----------------------------------------------------------------------


def rows(dim: int, rounds: int, seed: int = 1) -> tuple[Floats, Floats]:
    """Return vectors of length 1 and targets that a hidden vector explains in part."""
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(rounds, dim))
    vectors /= np.linalg.norm(vectors, axis=1)[:, None]
    hidden = rng.normal(size=dim) / np.sqrt(dim)
    return vectors, vectors @ hidden / 2.0 + rng.uniform(-0.5, 0.5, size=rounds)


def family(name: str, vectors: Floats, targets: Floats) -> Oracle:
    """Return a sum of losses over rows; labels are the signs of the targets."""
    labels = np.where(targets >= 0.0, 1.0, -1.0)

    def absolute(x: Floats) -> tuple[float, npt.ArrayLike]:
        rests = vectors @ x - targets
        return float(np.abs(rests).sum()), np.sign(rests) @ vectors

    def squared(x: Floats) -> tuple[float, npt.ArrayLike]:
        rests = vectors @ x - targets
        return float(rests @ rests) / 2.0, rests @ vectors

    def hinge(x: Floats) -> tuple[float, npt.ArrayLike]:
        margins = labels * (vectors @ x)
        return float(np.maximum(0.0, 1.0 - margins).sum()), -(labels * (margins < 1.0)) @ vectors

    def logistic(x: Floats) -> tuple[float, npt.ArrayLike]:
        margins = labels * (vectors @ x)
        value = float(np.logaddexp(0.0, -margins).sum())
        return value, -(labels * np.exp(-np.logaddexp(0.0, margins))) @ vectors

    return {f.__name__: f for f in (absolute, squared, hinge, logistic)}[name]


def largest_plane(dim: int, seed: int = 3) -> tuple[Oracle, Floats, Floats]:
    """Return the largest of some linear functions, and their slopes and offsets."""
    rng = np.random.default_rng(seed)
    slopes, offsets = rng.normal(size=(5 * dim, dim)), 0.1 * rng.normal(size=5 * dim)

    def oracle(x: Floats) -> tuple[float, npt.ArrayLike]:
        heights = slopes @ x + offsets
        top = int(np.argmax(heights))
        return float(heights[top]), slopes[top]

    return oracle, slopes, offsets


def distance_to(a: Floats) -> Oracle:
    """Return |x - a|: a single kink at the minimum."""

    def oracle(x: Floats) -> tuple[float, npt.ArrayLike]:
        far = float(np.linalg.norm(x - a))
        return far, (x - a) / far if far > 0.0 else np.zeros_like(a)

    return oracle


def half_kinked(a: Floats) -> Oracle:
    """Return a sum of |x_i - a_i| over the first half and squares, ever flatter, over the rest."""
    dim = len(a)
    kinked = np.arange(dim) < dim // 2
    weights = np.logspace(0.0, -2.0, dim)

    def oracle(x: Floats) -> tuple[float, npt.ArrayLike]:
        d = x - a
        value = np.abs(d[kinked]).sum() + (weights * d * d)[~kinked].sum() / 2.0
        return float(value), np.where(kinked, np.sign(d), weights * d)

    return oracle


def fourth_powers(a: Floats) -> Oracle:
    """Return sum (x_i - a_i)^4: no curvature at the minimum."""
    return lambda x: (float(((x - a) ** 4).sum()), 4.0 * (x - a) ** 3)


def by_linear_program(domain: Domain, slopes: Floats, offsets: Floats, group: Floats) -> float:
    """Minimise sum_j max over the rows i of group j of slopes_i x + offsets_i, over a polytope."""
    count, dim = int(group.max()) + 1, domain.dim
    tops = np.eye(count)[group.astype(int)]
    left, right = [np.hstack([slopes, -tops])], [-offsets]
    equal: Floats | None = None
    bounds: list[tuple[float | None, float | None]] = [(None, None)] * dim
    if isinstance(domain, bl.Box):
        bounds = list(zip(*domain.bounds, strict=True))
    elif isinstance(domain, bl.Simplex):
        equal, bounds = np.append(np.ones(dim), np.zeros(count))[None], [(domain.floor, 1.0)] * dim
    else:
        assert isinstance(domain, bl.L1Ball)
        signs = np.array(np.meshgrid(*[[-1.0, 1.0]] * dim)).reshape(dim, -1).T
        left.append(np.hstack([signs, np.zeros((len(signs), count))]))
        right.append(np.full(len(signs), domain.radius))
    found = optimize.linprog(
        np.append(np.zeros(dim), np.ones(count)),
        A_ub=np.vstack(left),
        b_ub=np.concatenate(right),
        A_eq=equal,
        b_eq=None if equal is None else np.ones(1),
        bounds=bounds + [(None, None)] * count,
        method="highs",
    )
    assert found.fun is not None
    return float(found.fun)


# --- Closed forms --------------------------------------------------------------------------------


@pytest.mark.parametrize("domain", DOMAINS, ids=repr)
def test_support_is_the_smallest_value(domain: Domain) -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        g = rng.normal(size=domain.dim)
        x, value = support(domain, g)
        assert is_inside(domain, x)
        assert value == pytest.approx(g @ x, rel=1e-12, abs=1e-12)
        assert (points(domain, 30) @ g >= value - 1e-12 * np.abs(g).max() * 300.0).all()


# --- The solver against known minima -------------------------------------------------------------


def check(found: Minimum, domain: Domain, oracle: Oracle, least: float, accuracy: float) -> None:
    """Check a minimum: in the set, its own value, and a proof that holds."""
    assert is_inside(domain, found.x)
    assert found.value == oracle(found.x)[0]
    assert found.gap >= 0.0
    assert found.value >= least - accuracy
    assert found.value - found.gap <= least + accuracy


@pytest.mark.parametrize("domain", DOMAINS, ids=repr)
def test_squares_have_their_minimum_at_the_nearest_point(domain: Domain) -> None:
    rng = np.random.default_rng(2)
    a = np.array(domain.center) + rng.normal(size=domain.dim)

    def oracle(x: Floats) -> tuple[float, npt.ArrayLike]:
        return float((x - a) @ (x - a)) / 2.0, x - a

    least = oracle(nearest(domain, a))[0]
    gap = 1e-10 * domain.diameter**2  # so much of the range of the function
    found = minimise(oracle, domain, gap=gap)
    check(found, domain, oracle, least, 1e-14 * max(1.0, least))
    assert found.gap <= gap
    assert found.calls <= 15 * domain.dim + 20


POLYTOPES = [
    bl.Box(-0.1, 0.2, dim=4),
    bl.Box(-50.0, 60.0, dim=4),
    bl.Simplex(4),
    bl.Simplex(4, 0.05),
    bl.L1Ball(4, 0.4),
    bl.L1Ball(4, 40.0),
]


@pytest.mark.parametrize("domain", POLYTOPES, ids=repr)
@pytest.mark.parametrize("name", ["absolute", "hinge"])
def test_kinked_sums_against_linear_programs(name: str, domain: Domain) -> None:
    vectors, targets = rows(4, 150)
    oracle = family(name, vectors, targets)
    if name == "absolute":
        pieces = np.vstack([vectors, -vectors]), np.append(-targets, targets)
    else:
        labels = np.where(targets >= 0.0, 1.0, -1.0)
        flat, zeros = np.zeros_like(vectors), np.zeros(len(labels))
        pieces = np.vstack([-labels[:, None] * vectors, flat]), np.append(zeros + 1.0, zeros)
    least = by_linear_program(domain, *pieces, np.tile(np.arange(150.0), 2))
    found = minimise(oracle, domain, gap=1e-8)
    check(found, domain, oracle, least, 1e-6)
    assert found.gap <= 1e-8
    assert found.calls <= 80


HARD: dict[str, Callable[[Floats], Oracle]] = {
    "distance": distance_to,
    "half kinked": half_kinked,
    "fourth powers": fourth_powers,
}


@pytest.mark.parametrize("name", HARD)
@pytest.mark.parametrize("dim", [1, 2, 10])
def test_hard_shapes_with_minimum_zero(name: str, dim: int) -> None:
    rng = np.random.default_rng(5)
    a = rng.normal(size=dim)
    a *= 0.5 / np.linalg.norm(a)
    oracle = HARD[name](a)
    for domain in (bl.Ball(dim), bl.Box(-1.0, 3.0, dim=dim), bl.L1Ball(dim, 3.0)):
        found = minimise(oracle, domain, gap=1e-8)
        check(found, domain, oracle, 0.0, 0.0)
        assert found.gap <= 1e-8
        assert found.calls <= 15 * dim + 20


# --- The proof -----------------------------------------------------------------------------------


@given(seed=st.integers(0, 2**32), limit=st.integers(1, 12), dim=st.integers(1, 6))
def test_the_proof_holds_whenever_the_search_is_stopped(seed: int, limit: int, dim: int) -> None:
    """A function with its minimum in the set and known: the largest of some planes through it."""
    rng = np.random.default_rng(seed)
    domain = [bl.Ball(dim), bl.Box(-1.0, 1.0, dim=dim), bl.L1Ball(dim)][seed % 3]
    low = nearest(domain, rng.normal(size=dim))
    slopes = rng.normal(size=(2 * dim + 2, dim))
    slopes[-1] = -slopes[:-1].mean(axis=0)  # 0 is a mean of the slopes: low is a minimum

    def oracle(x: Floats) -> tuple[float, npt.ArrayLike]:
        heights = slopes @ (x - low)
        top = int(np.argmax(heights))
        return float(heights[top]), slopes[top]

    watched, asked = counted(oracle)
    found = minimise(watched, domain, gap=1e-9, limit=limit)
    assert found.calls == len(asked) <= limit
    assert found.value == min(oracle(x)[0] for x in asked)
    assert all(is_inside(domain, x) for x in asked)
    assert found.value >= -1e-12
    assert found.value - found.gap <= 1e-12


class _Liar:
    """A solver that answers with noise, or with nothing at all."""

    def __init__(self, unit: Domain, seed: int) -> None:
        self.dim, self.rng = unit.dim, np.random.default_rng(seed)

    def solve(
        self, c: Floats, reach: float, rows: Floats, room: Floats, is_nearest: bool
    ) -> solver._Answer:
        weights = self.rng.choice([self.rng.uniform(size=len(rows)), np.zeros(len(rows))])
        if self.rng.uniform() < 0.2:
            weights = np.full(len(rows), np.nan)
        return solver._Answer(
            self.rng.normal(size=self.dim) * self.rng.choice([1.0, np.nan]), weights
        )


@pytest.mark.parametrize("seed", range(10))
def test_the_proof_does_not_trust_the_solver(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solver, "_Solver", lambda unit: _Liar(unit.domain, seed))
    a = np.array([0.3, -0.2, 0.1])
    for make in HARD.values():
        found = minimise(make(a), bl.Ball(3), gap=1e-6, limit=50)
        assert found.value - found.gap <= 0.0 <= found.value
        assert np.linalg.norm(found.x) <= 1.0 + 1e-12


# --- When the search ends ------------------------------------------------------------------------


def test_the_limit_is_kept_and_the_gap_told() -> None:
    oracle, _, _ = largest_plane(8)
    gaps = [minimise(oracle, bl.Ball(8), gap=1e-9, limit=limit) for limit in (1, 4, 10)]
    assert [found.calls for found in gaps] == [1, 4, 10]
    assert gaps[0].gap > gaps[1].gap > gaps[2].gap > 1e-9


# --- What is refused -----------------------------------------------------------------------------


def bowl(x: Floats) -> tuple[float, npt.ArrayLike]:
    """Return |x|^2 / 2 and its gradient."""
    return float(x @ x) / 2.0, x


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"gap": -1.0}, "minimise: gap must not be negative, got -1.0"),
        ({"gap": float("nan")}, "minimise: gap must be finite"),
        ({"limit": 0}, "minimise: limit must be at least 1"),
        ({"domain": HALF_SPACE}, "the best action is found on Ball, Box, Simplex or L1Ball, where"),
        ({"oracle": lambda x: (np.inf, x)}, "oracle must return a finite value and 2 finite"),
        ({"oracle": lambda x: (-float(x @ x), 1.0 - 2.0 * x)}, "not convex or its subgradient"),
        ({"oracle": lambda x: (float(np.abs(x - 0.5).sum()), -np.ones(2))}, "not convex or its"),
    ],
)
def test_refused(arguments: dict[str, Any], message: str) -> None:
    given = {"oracle": bowl, "domain": bl.Ball(2), "gap": 1e-9, **arguments}
    with pytest.raises(bl.errors.SpecError, match=message):
        minimise(**given)


@pytest.mark.parametrize("package", ["clarabel", "scipy.sparse"])
def test_without_the_extra(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The solver says what to install before any pass; closed forms do not need it."""
    monkeypatch.setitem(sys.modules, package, None)
    watched, asked = counted(bowl)
    name = package.partition(".")[0]
    message = rf"best fixed action needs {name}, which is not installed: .*belated\[solver\]"
    with pytest.raises(bl.errors.MissingExtra, match=message):
        minimise(watched, bl.Ball(2), gap=1e-9)
    assert asked == []
    for loss in (losses.Linear(losses.Random(3)), losses.Quadratic(losses.Random(3))):
        assert best_action(loss, bl.Ball(3), 100).how == "closed form"


# --- The best action in a game -------------------------------------------------------------------

Make: TypeAlias = Callable[[losses.Source], losses.Loss]
PLAIN: list[Make] = [losses.Linear, losses.Quadratic]
TARGETED: list[Make] = [losses.Absolute, losses.Squared, losses.Logistic, losses.Hinge]
SOURCES = [
    losses.Random(3, seed=1),
    losses.Drifting(3, period=40, seed=2),
    losses.Switching(3, every=30, seed=3),
    losses.Blocks(3, length=7, seed=4),
    losses.Alternating(3),
]
THREE: list[Domain] = [
    bl.Ball(3, 2.0),
    bl.Ball(3, 0.5, [1.0, 0.0, -1.0]),
    bl.Box([0.0, -1.0, -5.0], [1.0, 1.0, 5.0]),
    bl.Simplex(3),
    bl.Simplex(3, floor=0.2),
    bl.L1Ball(3, 1.5),
]


@pytest.mark.needs_compiler
@pytest.mark.parametrize("domain", THREE, ids=repr)
@pytest.mark.parametrize(
    ("loss", "source"),
    [(loss, source) for loss in [*PLAIN, *TARGETED] for source in SOURCES],
)
def test_no_action_is_better(loss: Make, source: losses.Source, domain: Domain) -> None:
    others = points(domain, 60)
    game = loss(source)
    found = best_action(game, domain, 200)
    near = [nearest(domain, found.x + 1e-3 * step) for step in others - others.mean(axis=0)]
    assert found.how == ("closed form" if loss in PLAIN else "solver")
    assert is_inside(domain, found.x)
    assert found.loss == pytest.approx(game.total(found.x, 200)[0], rel=1e-12, abs=1e-12)
    rounding = 1e-11 * (1.0 + abs(found.loss))
    for x in [*others, *near]:
        assert game.total(x, 200)[0] >= found.loss - found.gap - rounding


@pytest.mark.parametrize("loss", [*PLAIN, *TARGETED])
def test_same_as_the_users_own_functions(loss: Make) -> None:
    game, domain = loss(losses.Random(3, seed=6)), bl.Ball(3, 2.0)
    lipschitz = game.constants(domain).lipschitz
    own = losses.Custom(3, game.value, game.gradient, lipschitz=lipschitz)
    ours, theirs = best_action(game, domain, 60), best_action(own, domain, 60)
    assert theirs.how == "solver"
    assert theirs.loss == pytest.approx(ours.loss, abs=ours.gap + theirs.gap + 1e-11)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"losses": losses.Linear(losses.Adaptive(2))}, "losses depend on the plays"),
        ({"domain": bl.Ball(3)}, "must have the same dimension, got 2 and 3"),
        ({"domain": HALF_SPACE}, "of a ConvexSet only the projection is known"),
        ({"rounds": 0}, "best_action: rounds must be at least 1"),
        ({"gap": -1.0}, "gap must not be negative"),
        ({"losses": 3}, "best_action: takes losses and a domain, got 3"),
        (
            {"losses": losses.Custom(2, lambda t, x: 0.0, lambda t, x: 0.0 * x)},
            "losses do not tell their lipschitz, so gap must be given",
        ),
        ({"losses": losses.Absolute([[1.0, 2.0]], [1.0])}, "rounds"),
    ],
)
def test_best_action_refuses(arguments: dict[str, Any], message: str) -> None:
    given = {"losses": losses.Absolute(losses.Random(2)), "domain": bl.Ball(2), "rounds": 5}
    with pytest.raises(bl.errors.SpecError, match=message):
        best_action(**{**given, **arguments})
