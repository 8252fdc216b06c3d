"""Components of the core against mathematics and the slow reference.

The interpreted run lives through every composition once more, for coverage.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import belated as bl
import naive
from belated import refusals
from belated.compose import schedule_of
from belated.core import rates as core_rates
from belated.core.rates import Smoothing
from belated.core.tickets import Tickets
from belated.reductions import Reduction
from compositions import ALL, COMPILED, COMPOSITIONS, Array, Composition, Drive, Kind, codes, events
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


@pytest.mark.parametrize("dim", [1, 2, 3, 7])
def test_directions_are_uniform_on_the_sphere(dim: int) -> None:
    count = 5_000
    u = directions(7, dim, count)
    np.testing.assert_allclose((u * u).sum(axis=1), 1.0, rtol=1e-14)
    wide = 5.0 / math.sqrt(count)
    assert np.abs(u.mean(axis=0)).max() < wide
    assert np.abs(np.sign(u).mean(axis=0)).max() < wide
    second = u.T @ u / count
    np.testing.assert_allclose(second, np.eye(dim) / dim, atol=wide)
    # Neighbouring tickets, and both seeds next to this one, know nothing of each other.
    assert abs(float((u[1:] * u[:-1]).sum(axis=1).mean())) < wide
    assert abs(float((u * directions(8, dim, count)).sum(axis=1).mean())) < wide
    assert abs(float((u * directions(7 + 2**32, dim, count)).sum(axis=1).mean())) < wide
    if dim == 1:
        assert stats.binomtest(int((u[:, 0] > 0).sum()), count).pvalue > 1e-3
        return
    # (1 + u_i) / 2 has a beta distribution on the sphere.
    half = (dim - 1) / 2.0
    edges = stats.beta.ppf(np.linspace(0.0, 1.0, 17), half, half)
    for i in range(dim):
        seen, _ = np.histogram((1.0 + u[:, i]) / 2.0, edges)
        assert stats.chisquare(seen).pvalue > 1e-3


# --- The table of tickets ------------------------------------------------------------------------


class Table:
    """A table that starts with a single entry."""

    def __init__(self, capacity: int = 1) -> None:
        self.tickets = Tickets()
        self.tickets.resize(capacity)

    def predict(self) -> int:
        return int(self.tickets.issue())

    def observe(self, ticket: int) -> tuple[int, int, int]:
        """Return the status (0 for found), the lag and the open lags."""
        status = int(self.tickets.arrive(ticket))
        return min(0, status), self.tickets.lag, self.tickets.open_lags


class Model:
    """The same with a dictionary."""

    def __init__(self) -> None:
        self.open: dict[int, int] = {}
        self.rounds = self.arrived = 0
        self.backlogs: list[int] = []

    def predict(self) -> int:
        self.backlogs.append(len(self.open))
        self.open[self.rounds] = self.arrived
        self.rounds += 1
        return self.rounds - 1

    def observe(self, ticket: int) -> tuple[int, int, int] | int:
        if not 0 <= ticket < self.rounds:
            return refusals.UNKNOWN
        if ticket not in self.open:
            return refusals.CLOSED
        lag = self.arrived - self.open.pop(ticket)
        self.arrived += 1
        return 0, lag, len(self.open)


@given(
    moves=st.lists(st.integers(-3, 40), max_size=200),
    capacity=st.sampled_from([1, 2, 3, 4, 64]),
)
def test_the_table_against_a_dictionary(moves: list[int], capacity: int) -> None:
    table, model = Table(capacity), Model()
    for move in moves:
        if move < 14:
            assert table.predict() == model.predict()
            continue
        some = sorted(model.open) or [0]
        ticket = {14: -1, 15: model.rounds, 16: move % max(1, model.rounds)}.get(
            move, some[move % len(some)]
        )
        expected = model.observe(ticket)
        got = table.observe(ticket)
        assert got == expected or got[0] == expected
        tickets = table.tickets
        assert (tickets.rounds, tickets.open) == (model.rounds, model.rounds - model.arrived)
        state = tickets.state()
        kept = zip(state["number"].tolist(), state["seen"].tolist(), strict=True)
        assert dict(kept) == model.open
        assert len(model.open) <= tickets.capacity
    assert table.tickets.total_delay == sum(model.backlogs)
    assert table.tickets.max_backlog == max(model.backlogs, default=0)


def test_the_table_stays_small_when_answers_come() -> None:
    table = Table()
    for t in range(3000):
        table.predict()
        if t >= 10:
            assert table.observe(t - 10)[0] == 0
    assert table.tickets.capacity <= 64


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


@each_set
def test_projections_against_a_solver(domain: Any, slow: ChartSet) -> None:
    rng = np.random.default_rng(3)
    for size in (0.3, 1.0, 3.0):
        for _ in range(5):
            v = size * rng.standard_normal(slow.dim)
            found = naive.omd_argmin(np.zeros(slow.dim), v, 1.0, slow)
            np.testing.assert_allclose(domain.project(v), found, atol=3e-6)
            # <p - v, p - w> <= 0 for every w in the set: the definition, without a solver
            p = domain.project(v)
            assert naive.optimality_gap(p - v, p, slow) <= 1e-13 * (1.0 + size**2)


def test_projections_in_shifted_and_stretched_sets() -> None:
    ball = bl.Ball(2, 5.0, center=[1.0, 2.0])
    np.testing.assert_array_equal(ball.project([7.0, 10.0]), [4.0, 6.0])
    box = bl.Box([10.0, 0.1], [200.0, 5.0])
    np.testing.assert_array_equal(box.project([-3.0, 7.0]), [10.0, 5.0])
    given_point = np.array([3.0, 1.0])
    assert bl.Ball(2).project(given_point) is not given_point
    np.testing.assert_array_equal(given_point, [3.0, 1.0])


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


# --- Schedules -----------------------------------------------------------------------------------

KINDS: tuple[Kind, Kind] = ("predict", "observe")
SCHEDULES = [
    c
    for c in ALL
    if not c.row.gives_up
    and c.row.base not in ("adagrad", "portfolio")
    and c.row.rate not in ("gradient", "unscaled")
]


@pytest.mark.parametrize("composition", SCHEDULES, ids=lambda c: c.name)
def test_schedules_against_the_formulas(composition: Composition) -> None:
    life = [event for event in events(cancel=False) if event[0] == "predict" or event[1] % 7]
    answered = {t for kind, t in life if kind == "observe"}
    life += [("observe", t) for kind, t in life if kind == "predict" and t not in answered]
    slow = composition.reference()
    Drive(composition, composition.answers())(slow, life)
    at = {event: moment for moment, event in enumerate(life)}
    rounds = range(len(life) // 2)
    predicted, observed = ([at[kind, t] for t in rounds] for kind in KINDS)
    spec = composition.spec()
    assert isinstance(spec, Reduction)
    found = schedule_of(spec, bl.Timeline.from_intervals(predicted, observed))
    np.testing.assert_allclose(found.etas, np.array(slow.history.rates, dtype=float), rtol=1e-12)
    if composition.explores:
        radii = [slow.smoothing(t + 1) for t in rounds]
        np.testing.assert_allclose(found.radii, radii, rtol=1e-12)
        np.testing.assert_allclose(found.late_radii, slow.history.smoothings, rtol=1e-12)
    else:
        assert not found.radii.any()


def test_a_schedule_refuses_answers_to_tickets_that_are_not_open() -> None:
    for wrong in ([~0], [0, ~1], [0, 1, ~1, ~1]):
        rate = core_rates.Constant(Tickets(), 0.5)
        with pytest.raises(ValueError, match=r"event \d: ticket [01] is not open"):
            core_rates.schedule(rate, Smoothing(0.0), wrong)


# --- Longer lives than those of the laws ---------------------------------------------------------


@pytest.mark.parametrize(
    "composition",
    [pytest.param(c, id=c.name, marks=[pytest.mark.slow] * (c not in COMPILED)) for c in ALL],
)
def test_every_composition_in_a_long_life(composition: Composition) -> None:
    """The laws have all of them in shorter ones."""
    answers, life = composition.answers(110), events(110)
    fast, slow = composition.learner(), composition.reference()
    quick = Drive(composition, answers)(fast, life)
    patient = Drive(composition, answers)(slow, life)
    scale = float(np.abs(np.array(patient.plays)).max())
    np.testing.assert_allclose(quick.plays, patient.plays, rtol=1e-8, atol=1e-8 * scale)
    assert quick.used == patient.used
    if composition.answer != "function":
        short = [event for event in life if event[0] != "cancel"]
        again, live = composition.learner(), composition.learner()
        Drive(composition, answers)(live, short)
        again.replay(codes(short), answers, keep=False)
        assert again.snapshot() == live.snapshot()


@pytest.mark.parametrize("size", [1e9, 1e17, 1e40])
@pytest.mark.parametrize("name", ["simplex", "floored", "l1", "ball", "box"])
def test_a_huge_step_stays_in_the_set(name: str, size: float) -> None:
    domain, slow = next((fast, slow) for known, fast, slow in SETS if known == name)
    corner = {"simplex": 1.0, "floored": 0.85, "l1": 1.3, "ball": 0.8, "box": 1.0}[name]
    v = np.zeros(slow.dim)
    v[0] = size
    assert domain.project(v)[0] == pytest.approx(corner, rel=1e-12)
    for sign in (1.0, -1.0):
        for count in (1, 2):
            v[:count] = sign * size
            assert slow.violation(domain.project(v)) <= 1e-12


class BoxWalker:
    """Projected descent on a box in the user's own terms; ``OMD`` on the box does the same."""

    def __init__(self, domain: bl.Box, step: float) -> None:
        self.domain = domain
        self.step = step
        self.x = np.array(domain.center)

    def start(self) -> Array:
        self.x = np.array(self.domain.center)
        return self.x

    def update(self, cost: Array, lag: int, open_lags: int) -> Array:
        low, high = self.domain.bounds
        self.x = np.clip(self.x - self.step * np.square(self.domain.half_widths) * cost, low, high)
        return self.x


def test_a_users_base_on_a_box_works_in_the_users_terms() -> None:
    composition = COMPOSITIONS["one-omd-box-constant-convex-2"]
    domain = composition.domain()
    assert isinstance(domain, bl.Box)
    theirs = bl.Learner(bl.OnePoint(BoxWalker(domain, 0.07), 1.5, bl.smoothing.Convex(0.2)), 9)
    ours = composition.learner(seed=9)
    answers, life = composition.answers(), events()
    plays = [Drive(composition, answers)(learner, life).plays for learner in (theirs, ours)]
    np.testing.assert_allclose(plays[0], plays[1], rtol=1e-12)
    assert theirs.report().rate is None


def test_events_at_the_edges() -> None:
    simplex = COMPOSITIONS["first-entropy-floored-gradient-3"].learner()
    simplex.predict()
    for bad in ([0.0, math.nan, 1.0], [0.0, 1.0, -math.inf], [1e150, 0.0, 0.0]):
        with pytest.raises(bl.BadFeedback, match="finite"):
            simplex.observe(0, np.array(bad))
    with pytest.raises(bl.BadFeedback, match="shape"):
        simplex.observe(0, np.zeros(5))
    for name in ("first-entropy-floored-gradient-3", "full-entropy-simplex-constant-skip-3"):
        full = COMPOSITIONS[name].learner()
        for t in range(200):
            assert full.predict().ticket == t
        assert full.open + full.report().skipped == 200
    skipped = full.report().skipped
    assert skipped > 0
    full.cancel(0)
    assert (full.report().skipped, full.report().cancelled) == (skipped, 0)
    with pytest.raises(bl.AlreadyObserved):
        full.cancel(0)
