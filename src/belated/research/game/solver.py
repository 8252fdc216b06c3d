"""Minimise a convex function over a built-in set, with a proof of how far the answer is off.

Every call of the oracle, at a point z_i, gives a cut: F(z) >= F_i + <g_i, z - z_i> everywhere. A
mean of cuts, with weights w >= 0 that sum to 1, is a linear function below F, and its smallest
value over the set K has a closed form (:func:`support`). So, with c the best point so far,

    F(c) - min F  <=  sum_i w_i e_i + max_{z in K} <sum_i w_i g_i, c - z>,

where e_i = F(c) - F_i - <g_i, c - z_i> >= 0. A solver proposes the weights, but the number is
computed here and holds for any of them: a bad solver makes it large, never wrong.

The next point is that of the level method (Lemarechal, Nemirovskii and Nesterov, "New variants of
bundle methods", 1995): with M the largest of the cuts, the point nearest to c among those of K with
M(z) <= level, which lies between the proven lower bound and F(c).
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from belated.arrays import Floats
from belated.domains import Domain, Simplex
from belated.errors import MissingExtra, SpecError
from belated.geometry import Unit, shape_of
from belated.spec import number, whole

Oracle: TypeAlias = Callable[[Floats], tuple[float, npt.ArrayLike]]

LIMIT = 1000
"""Calls of the oracle after which the search ends in any case."""

LEVEL = 0.2
"""The level is F(c) - LEVEL * gap."""

LOWEST = 6
"""One call in so many is where the cuts are smallest."""

TOLERANCE = 1e-9
"""Accuracy asked of the solver, in units of the gap."""

ROUNDING = 4.0 * float(np.finfo(np.float64).eps)
"""Differences below this part of the numbers involved are rounding."""

CONVEX = 1e-7
"""Part of the numbers involved by which a cut may exceed a value before the function is refused."""


@dataclass(frozen=True, eq=False)
class Minimum:
    """A point of the set and a proof of its quality: value - gap <= min F <= value."""

    x: Floats
    """The best point found."""
    value: float
    """F there."""
    gap: float
    """Proven bound on value - min F, as exact as the numbers that the oracle returned."""
    calls: int
    """Calls of the oracle."""


# --- Closed forms --------------------------------------------------------------------------------


def support(domain: Domain, g: npt.ArrayLike) -> tuple[Floats, float]:
    """Return a point of the set where <g, x> is smallest, and that smallest value.

    >>> from belated import Ball
    >>> support(Ball(2, radius=5.0), [3.0, 4.0])
    (array([-3., -4.]), -25.0)
    """
    slope = np.array(g, dtype=np.float64)
    if slope.shape != (domain.dim,) or not np.isfinite(slope).all():
        raise SpecError(f"support: takes {domain.dim} finite numbers, got {g!r}")
    return shape_of(domain).lowest(slope)


# --- The search ----------------------------------------------------------------------------------


def minimise(oracle: Oracle, domain: Domain, *, gap: float, limit: int = LIMIT) -> Minimum:
    """Minimise a convex function over the set, given by ``oracle(x) -> (value, subgradient)``.

    The search ends when the proven gap is at most ``gap``, after ``limit`` calls, or when rounding
    hides all further progress; the result tells the gap that was reached. Multiplying the function
    by a number changes nothing but the units. Needs the extra ``solver``.

    >>> import numpy as np
    >>> from belated import Box
    >>> found = minimise(lambda x: (np.abs(x).sum(), np.sign(x)), Box(-1, 2, dim=3), gap=1e-9)
    >>> found.value < 1e-9, found.gap <= 1e-9
    (True, True)
    """
    target, most = number("minimise", "gap", gap), whole("minimise", "limit", limit)
    if target < 0.0:
        raise SpecError(f"minimise: gap must not be negative, got {gap!r}")
    chart = _Chart(domain)
    search = _Search(oracle, chart, target)
    search.call(np.array(chart.unit.center))
    while not search.is_done and search.calls < most:
        point = search.propose()
        if not search.is_done:
            search.call(point)
    return Minimum(search.best.x, search.best.value, search.gap, search.calls)


class _Chart:
    """The set in the coordinates of its unit set: x = origin + scale * z."""

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        self.parts = shape_of(domain).unit()
        self.unit, self.origin, self.scale = self.parts[:3]

    def outside(self, z: Floats) -> Floats:
        """Return x for a z of the unit set, in the set also after rounding."""
        x = self.domain.project(self.origin + self.scale * z)  # type: ignore[attr-defined]
        return np.asarray(x, dtype=np.float64)

    def slope(self, gradient: Floats) -> Floats:
        """Return a gradient in z. On the simplex its mean has no effect, and is taken off."""
        slope = self.scale * gradient
        return slope - slope.mean() if isinstance(self.unit, Simplex) else slope


class _Cut(NamedTuple):
    """The answer of one call of the oracle, in the chart."""

    z: Floats
    x: Floats
    value: float
    slope: Floats


class _Search:
    """State of one minimisation. All of it is in the chart; a cut is a row of three arrays."""

    def __init__(self, oracle: Oracle, chart: _Chart, target: float) -> None:
        self.oracle, self.chart, self.target = oracle, chart, target
        self.solver, self.dim = _Solver(chart.parts), chart.domain.dim
        self.points: Floats = np.empty((0, self.dim))
        self.slopes: Floats = np.empty((0, self.dim))
        self.values: Floats = np.empty(0)
        self.best: _Cut
        self.below = -math.inf
        self.calls = self.futile = 0
        self.highest = self.steepest = 0.0
        self.reach = 1.0
        """Length of the last step, the unit of steps for the solver."""

    @property
    def gap(self) -> float:
        """Best value less the proven lower bound."""
        return max(0.0, self.best.value - self.below)

    @property
    def is_done(self) -> bool:
        """Whether the gap is small enough, or rounding hides the rest."""
        rounding = ROUNDING * (self.highest + self.steepest)
        return self.gap <= max(self.target, rounding) or self.futile == 3

    def call(self, z: Floats) -> None:
        """Call the oracle and draw all conclusions."""
        cut = self._ask(z)
        if self.calls > 1:
            self._compare(cut)
            self.reach = float(np.linalg.norm(z - self.best.z)) or self.reach
        self.points = np.vstack([self.points, cut.z])
        self.slopes = np.vstack([self.slopes, cut.slope])
        self.values = np.append(self.values, cut.value)
        if self.calls == 1 or cut.value < self.best.value:
            self.best = cut
        self._certify(np.eye(1, self.calls, self.calls - 1)[0])

    def _ask(self, z: Floats) -> _Cut:
        self.calls += 1
        x = self.chart.outside(z)
        value, told = self.oracle(x.copy())
        gradient = np.array(told, dtype=np.float64)
        if gradient.shape != x.shape or not np.isfinite([value, *gradient]).all():
            raise SpecError(
                f"minimise: oracle must return a finite value and {self.dim} finite slopes, got "
                f"{value!r} and {told!r}"
            )
        slope = self.chart.slope(gradient)
        self.highest = max(self.highest, abs(float(value)))
        self.steepest = max(self.steepest, float(np.linalg.norm(slope)))
        return _Cut(z, x, float(value), slope)

    def _compare(self, cut: _Cut) -> None:
        """Check a new cut against the others, and count calls in a row that taught nothing."""
        known = float((self.values + _along(self.slopes, cut.z - self.points)).max())
        back = cut.value + (self.points - cut.z) @ cut.slope - self.values
        excess = max(known - cut.value, float(back.max()))
        scale = self.highest + self.steepest
        if excess > CONVEX * scale:
            raise SpecError(
                "minimise: the function is not convex or its subgradient is wrong: a tangent lies "
                f"{excess:.3g} above a value, where values are at most {self.highest:.3g} in size"
            )
        is_futile = cut.value >= self.best.value and cut.value - known <= ROUNDING * scale
        self.futile = self.futile + 1 if is_futile else 0

    def _errors(self) -> Floats:
        """Return e_i: how far each cut lies below the function at the best point."""
        steps = _along(self.slopes, self.best.z - self.points)
        return np.maximum((self.best.value - self.values) - steps, 0.0)

    def _certify(self, weights: Floats) -> None:
        """Raise the lower bound to what these weights prove."""
        total = float(weights.sum())
        if not 0.0 < total < math.inf:
            return
        w = weights / total
        slope = w @ self.slopes
        fall = float(slope @ self.best.z) - support(self.chart.unit, slope)[1]
        error = float(w @ self._errors())
        self.below = max(self.below, self.best.value - (error + max(fall, 0.0)))

    def propose(self) -> Floats:
        """Return the next point; the weights found on the way may close the gap.

        It is the point below the level that is nearest to the best one, and now and then that where
        M is smallest, which ends the search at once where F is linear around a corner.
        """
        rows = np.column_stack([self._unit_slopes(), np.full(self.calls, -1.0)])
        answer = self._answer(rows, self._errors() / self.gap, False)
        if self.calls % LOWEST and not self.is_done:
            answer = self._answer(self._unit_slopes(), self._errors() / self.gap - LEVEL, True)
        if np.isfinite(answer.z).all():
            return self.chart.unit.project(answer.z)
        return (self.best.z + support(self.chart.unit, self.best.slope)[0]) / 2.0

    def _answer(self, rows: Floats, room: Floats, is_nearest: bool) -> _Answer:
        """Solve a problem, and raise the bound to what its weights prove."""
        answer = self.solver.solve(self.best.z, self.reach, rows, room, is_nearest)
        self._certify(answer.weights)
        return answer

    def _unit_slopes(self) -> Floats:
        """Return the slopes where a gap is the unit of values and the reach that of steps."""
        return np.asarray(self.slopes * (self.reach / self.gap))


def _along(slopes: Floats, steps: Floats) -> Floats:
    """Return <g_i, s_i> for every row."""
    products: Floats = np.einsum("ij,ij->i", slopes, steps)
    return products


# --- The cutting-plane problems ------------------------------------------------------------------


class _Answer(NamedTuple):
    """A proposal of the solver, none of it trusted."""

    z: Floats
    weights: Floats
    """One per row, never negative."""


class _Solver:
    """Clarabel on a unit set, in d = (z - c) / reach; ``Unit`` says how a set is written for it."""

    def __init__(self, unit: Unit) -> None:
        self.clarabel, self.sparse = _module("clarabel"), _module("scipy.sparse")
        self.settings = self.clarabel.DefaultSettings()
        self.settings.verbose = False
        self.settings.direct_solve_method = "qdldl"  # three times as fast as the default here
        self.settings.tol_gap_abs = self.settings.tol_gap_rel = TOLERANCE
        self.settings.tol_feas = TOLERANCE
        self.dim, self.sides, self.room = unit.domain.dim, unit.sides, unit.room
        cones = {
            "zero": self.clarabel.ZeroConeT,
            "positive": self.clarabel.NonnegativeConeT,
            "second order": self.clarabel.SecondOrderConeT,
        }
        self.cones = [cones[kind](size) for kind, size in unit.cones]

    def solve(
        self, c: Floats, reach: float, rows: Floats, room: Floats, is_nearest: bool
    ) -> _Answer:
        """Minimise |d|^2 / 2, or else t, over the set with ``rows`` @ (d, t) <= ``room``."""
        at = np.append(c, np.abs(c)) if self.sides.shape[1] > self.dim else c
        n, own, extra = self.dim, rows.shape[1], len(at) - self.dim
        left = np.zeros((len(rows) + len(self.sides), own + extra))
        left[: len(rows), :own] = rows
        left[len(rows) :, :n] = reach * self.sides[:, :n]
        left[len(rows) :, own:] = reach * self.sides[:, n:]
        quadratic, linear = np.zeros((own + extra, own + extra)), np.zeros(own + extra)
        if is_nearest:
            quadratic[:n, :n] = np.eye(n)
        else:
            linear[n] = 1.0
        answer = self.clarabel.DefaultSolver(
            self.sparse.csc_matrix(quadratic),
            linear,
            self.sparse.csc_matrix(left),
            np.append(room, self.room - self.sides @ at),
            [self.clarabel.NonnegativeConeT(len(rows)), *self.cones],
            self.settings,
        ).solve()
        weights = np.maximum(np.array(answer.z)[: len(rows)], 0.0)
        return _Answer(c + reach * np.array(answer.x)[:n], weights)


def _module(name: str) -> Any:
    """Import an optional module, or say which extra has it."""
    try:
        return importlib.import_module(name)
    except ImportError:
        package = name.partition(".")[0]
        raise MissingExtra(package, extra="solver", where="the best fixed action") from None
