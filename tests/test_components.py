"""Components of the core against mathematics and the slow reference.

The interpreted run lives through every composition once more, for coverage.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import belated as bl
import naive
from compositions import COMPOSITIONS, Array
from naive import ChartSet

# --- Directions ----------------------------------------------------------------------------------


def directions(seed: int, dim: int, count: int, first: int = 0) -> Array:
    """Return the directions of tickets: the plays of a learner that explores the whole ball."""
    base = bl.OMD(bl.Ball(dim), bl.rates.Constant(1.0))
    learner = bl.Learner(bl.OnePoint(base, 1.0, bl.smoothing.Constant(1.0)), seed)
    tickets = learner._player.tickets
    tickets.restore({**tickets.state(), "rounds": first, "arrived": first})
    return np.array([learner.predict().x for _ in range(count)])


@pytest.mark.parametrize("dim", [1, 2, 3, 7, 50])
@pytest.mark.parametrize(
    ("seed", "first"), [(0, 0), (1, 10**6), (2**64 - 1, 2**32 - 5), (2**40 + 7, 2**62)]
)
def test_directions_against_the_slow_reference(dim: int, seed: int, first: int) -> None:
    got = directions(seed, dim, 10, first)
    wanted = np.array([naive.direction(seed, first + i, dim) for i in range(10)])
    np.testing.assert_allclose(got, wanted, rtol=1e-13, atol=1e-15)


# --- Sets ----------------------------------------------------------------------------------------

SETS: list[tuple[str, Any, ChartSet]] = [
    ("ball", bl.Ball(3, 0.8), ChartSet("ball", 3, radius=0.8)),
    ("ball-1", bl.Ball(1, 2.0), ChartSet("ball", 1, radius=2.0)),
    ("box", bl.Box(-1.0, 1.0, dim=3), ChartSet("box", 3)),
    ("simplex", bl.Simplex(4), ChartSet("simplex", 4)),
    ("floored", bl.Simplex(4, floor=0.05), ChartSet("simplex", 4, floor=0.05)),
    ("l1", bl.L1Ball(3, 1.3), ChartSet("l1", 3, radius=1.3)),
    ("l1-1", bl.L1Ball(1), ChartSet("l1", 1)),
]
each_set = pytest.mark.parametrize(
    ("domain", "slow"), [row[1:] for row in SETS], ids=[row[0] for row in SETS]
)


@each_set
@given(data=st.data())
def test_projections_against_the_slow_reference(domain: Any, slow: ChartSet, data: Any) -> None:
    size = data.draw(st.sampled_from([1e-8, 0.1, 1.0, 1.0, 30.0]))
    small = st.integers(-20, 20).map(lambda i: i / 10.0)
    v = size * np.array(data.draw(st.lists(small, min_size=slow.dim, max_size=slow.dim)))
    p = domain.project(v)
    near = 1e-15 * size  # the slow one loses digits where the input is large
    np.testing.assert_allclose(p, slow.project(v), rtol=1e-12, atol=1e-14 + near)
    assert slow.violation(p) <= 1e-14 * max(1.0, slow.radius)
    np.testing.assert_allclose(domain.project(p), p, atol=1e-15 * max(1.0, slow.radius))


# --- Steps of the bases --------------------------------------------------------------------------

STEPS = [
    "first-pftrl-ball-delay-1",
    "first-pftrl-shifted-gradient-2",
    "first-pftrl-l1-gradient-3",
    "first-pftrl-l1-constant-7",
    "full-pftrl-box-tight-skip-2",
    "full-pftrl-simplex-gradient-3",
    "full-pftrl-floored-table-skip-7",
    "first-omd-box-gradient-skip-2",
    "first-omd-simplex-curved-3",
    "first-omd-floored-gradient-skip-7",
    "full-omd-shifted-gradient-skip-3",
    "full-omd-l1-tight-7",
    "first-entropy-floored-tight-2",
    "first-entropy-floored-gradient-3",
    "first-entropy-floored-table-skip-7",
    "full-entropy-simplex-constant-skip-3",
]


@pytest.mark.parametrize("name", STEPS)
def test_steps_are_the_minima_that_define_them(name: str) -> None:
    composition = COMPOSITIONS[name]
    slow, scale = composition.config(), composition.scale()
    center = np.zeros(slow.dim) if slow.center is None else slow.center
    learner = composition.learner()
    points: list[Array] = []
    costs: list[Array] = []
    etas: list[float] = []
    for ticket, row in enumerate(composition.answers(12)):
        z = (learner.predict().x - center) / scale
        if ticket:
            gradient, literal = _objective(slow, z, costs, points, etas)
            assert naive.optimality_gap(gradient, z, slow.domain) < 1e-11
            np.testing.assert_allclose(z, literal, atol=2e-5)
        points.append(z)
        costs.append(scale * row)
        learner.observe(ticket, _constantly(row) if composition.answer == "function" else row)
        rate = learner.report().rate
        assert rate is not None
        etas.append(rate)


def _constantly(row: Array) -> Callable[[Array], Array]:
    return lambda x: row


def _objective(
    slow: naive.NaiveConfig,
    z: Array,
    costs: list[Array],
    points: list[Array],
    etas: list[float],
) -> tuple[Array, Array]:
    """Return the gradient at z of what the newest step minimises, times eta, and its minimum."""
    cost, point, eta = costs[-1], points[-1], etas[-1]
    if slow.base == "entropy-omd":
        gradient = eta * cost + np.log(z / point)
        return gradient, naive.entropy_argmin(cost, point, eta, slow.floor)
    if slow.base == "omd":
        return eta * cost + z - point, naive.omd_argmin(cost, point, eta, slow.domain)
    gradient = eta * naive.pftrl_gradient(z, costs, points, etas)
    return gradient, naive.pftrl_argmin(costs, points, etas, slow.domain)
