"""Minimise a convex function over a built-in set, with a proof of how far the answer is off.

Every call of the oracle, at a point z_i, gives a cut: F(z) >= F_i + <g_i, z - z_i> everywhere. A
mean of cuts, with weights w >= 0 that sum to 1, is a linear function below F, and its smallest
value over the set K has a closed form (:func:`support`). So, with c the best point so far,

    F(c) - min F  <=  sum_i w_i e_i + max_{z in K} <sum_i w_i g_i, c - z>,

where e_i = F(c) - F_i - <g_i, c - z_i> >= 0. A solver proposes the weights, but the number is
computed here and holds for any of them: a bad solver makes it large, never wrong.

The next point is that of a doubly stabilised bundle method (de Oliveira and Solodov, "A doubly
stabilized bundle method for nonsmooth convex optimization", 2016): with M the largest of the cuts,

    minimise  M(z) + (z - c)' B (z - c) / 2  over the z in K with M(z) <= level,

where the level lies between the best value and the proven lower bound. B is the BFGS estimate of
the curvature. From afar a sum of many terms looks smooth even when each has a kink, and this makes
quasi-Newton steps; close by, the cuts take over.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from belated.arrays import Floats, Ints
from belated.domains import Domain, Simplex
from belated.errors import MissingExtra, SpecError
from belated.geometry import Unit, shape_of
from belated.spec import number, whole

Oracle: TypeAlias = Callable[[Floats], tuple[float, npt.ArrayLike]]

LIMIT = 1000
"""Calls of the oracle after which the search ends in any case."""

PROMISE = 0.1
"""Part of the gap by which the cuts must let a step descend: the level is F(c) - PROMISE * gap."""

STEEPEST, FLATTEST, SPREAD = 10.0, 0.1, 1e8
"""Limits on the eigenvalues of B; see :func:`_limited`."""

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
    slope = _vector("support", domain, g)
    return shape_of(domain).lowest(slope)


def _vector(who: str, domain: Domain, value: npt.ArrayLike) -> Floats:
    """Return a finite vector with one entry per coordinate of the set."""
    vector = np.array(value, dtype=np.float64)
    if vector.shape != (domain.dim,) or not np.isfinite(vector).all():
        raise SpecError(f"{who}: takes {domain.dim} finite numbers, got {value!r}")
    return vector


# --- The search ----------------------------------------------------------------------------------


def minimise(
    oracle: Oracle,
    domain: Domain,
    *,
    gap: float,
    start: npt.ArrayLike | None = None,
    limit: int = LIMIT,
) -> Minimum:
    """Minimise a convex function over the set, given by ``oracle(x) -> (value, subgradient)``.

    The search ends when the proven gap is at most ``gap``, after ``limit`` calls, or when rounding
    hides all further progress; the result tells the gap that was reached. It begins at ``start``,
    by default the centre of the set. Multiplying the function by a number changes nothing but the
    units. Needs the extra ``solver``.

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
    first = chart.center if start is None else chart.inside(_vector("minimise", domain, start))
    search = _Search(oracle, chart, target)
    search.call(first)
    while not search.is_done and search.calls < most:
        point = search.propose()
        if not search.is_done:
            search.call(point)
    return search.result()


class _Chart:
    """The set in the coordinates of its unit set: x = origin + scale * z."""

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        self.parts = shape_of(domain).unit()
        self.unit, self.origin, self.scale = self.parts[:3]

    @property
    def center(self) -> Floats:
        """Centre of the unit set."""
        return np.array(self.unit.center)

    def inside(self, x: Floats) -> Floats:
        """Return z for any x, moved into the unit set."""
        return self.unit.project((x - self.origin) / self.scale)

    def outside(self, z: Floats) -> Floats:
        """Return x for a z of the unit set, in the set also after rounding."""
        x = self.domain.project(self.origin + self.scale * z)  # type: ignore[attr-defined]
        return np.asarray(x, dtype=np.float64)

    def slope(self, gradient: Floats) -> Floats:
        """Return a gradient in z. On the simplex its mean has no effect, and is taken off."""
        slope = self.scale * gradient
        return slope - slope.mean() if isinstance(self.unit, Simplex) else slope


class _Cut(NamedTuple):
    """What one call of the oracle said."""

    z: Floats
    x: Floats
    value: float
    slope: Floats


class _Bundle:
    """The cuts in use, one row each."""

    def __init__(self, dim: int) -> None:
        self.most = 3 * dim // 2 + 20
        """More cuts make the problems slower, and no better."""
        self.points: Floats = np.empty((0, dim))
        self.slopes: Floats = np.empty((0, dim))
        self.values: Floats = np.empty(0)
        self.used: Ints = np.empty(0, dtype=np.int64)
        """Number of the call after which a cut had a weight for the last time."""

    def add(self, cut: _Cut, now: int) -> None:
        """Append a cut; if there are too many, drop those that were of no use for longest."""
        self.points = np.vstack([self.points, cut.z])
        self.slopes = np.vstack([self.slopes, cut.slope])
        self.values = np.append(self.values, cut.value)
        self.used = np.append(self.used, now)
        if len(self.values) > self.most:
            self.used[self.values.argmin()] = now
            kept = np.sort(np.argsort(self.used, kind="stable")[-self.most :])
            self.points, self.slopes = self.points[kept], self.slopes[kept]
            self.values, self.used = self.values[kept], self.used[kept]

    def heights(self, z: Floats) -> Floats:
        """Return the value of every cut at z."""
        steps: Floats = np.einsum("ij,ij->i", self.slopes, z - self.points)
        return self.values + steps

    def errors(self, best: _Cut) -> Floats:
        """Return e_i: how far each cut lies below the function at the best point."""
        steps: Floats = np.einsum("ij,ij->i", self.slopes, best.z - self.points)
        return (best.value - self.values) - steps


class _Search:
    """State of one minimisation. All of it is in the chart."""

    def __init__(self, oracle: Oracle, chart: _Chart, target: float) -> None:
        self.oracle, self.chart, self.target = oracle, chart, target
        self.solver = _Solver(chart.parts)
        self.dim = chart.domain.dim
        self.bundle = _Bundle(self.dim)
        self.best: _Cut
        self.metric: Floats | None = None
        self.below = -math.inf
        self.calls = 0
        self.futile = 0
        self.highest = 0.0
        self.steepest = 0.0

    @property
    def gap(self) -> float:
        """Best value less the proven lower bound."""
        return max(0.0, self.best.value - self.below)

    @property
    def rounding(self) -> float:
        """Size of differences that may be rounding."""
        return ROUNDING * (self.highest + self.steepest)

    @property
    def is_done(self) -> bool:
        """Whether the gap is small enough, or rounding hides the rest."""
        return self.gap <= max(self.target, self.rounding) or self.futile == 3

    def result(self) -> Minimum:
        """Return the best point and its proof."""
        return Minimum(self.best.x, self.best.value, self.gap, self.calls)

    def propose(self) -> Floats:
        """Return the next point to look at; the weights found on the way may close the gap."""
        is_due = self.calls % (1 + self.dim // 25) == 0
        if is_due:  # not every time in high dimension, where the bound moves slowly
            self._raise_bound()
        if self.is_done:
            return self.best.z
        answer = self._step()
        if answer.is_empty and not self.is_done:  # the cuts prove that the level is out of reach
            self._raise_bound()
            answer = answer if self.is_done else self._step()
        if np.isfinite(answer.z).all():
            return self.chart.unit.project(answer.z)
        return (self.best.z + support(self.chart.unit, self.best.slope)[0]) / 2.0

    def call(self, z: Floats) -> None:
        """Call the oracle and draw all conclusions."""
        cut = self._ask(z)
        if self.calls == 1:
            self.best = cut
        else:
            self._compare(cut)
            self.metric = _curved(self.metric, self.best, cut, self.gap, self.steepest)
        self.bundle.add(cut, self.calls)
        if cut.value < self.best.value:
            self.best = cut
        self._certify(np.eye(1, len(self.bundle.values), len(self.bundle.values) - 1)[0])

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
        known = float(self.bundle.heights(cut.z).max())
        back = cut.value + (self.bundle.points - cut.z) @ cut.slope - self.bundle.values
        excess = max(known - cut.value, float(back.max()))
        if excess > CONVEX * (self.highest + self.steepest):
            raise SpecError(
                "minimise: the function is not convex or its subgradient is wrong: a tangent lies "
                f"{excess:.3g} above a value, where values are at most {self.highest:.3g} in size"
            )
        is_futile = cut.value >= self.best.value and cut.value - known <= self.rounding
        self.futile = self.futile + 1 if is_futile else 0

    def _certify(self, weights: Floats) -> None:
        """Raise the lower bound to what these weights prove."""
        total = float(weights.sum())
        if not 0.0 < total < math.inf:
            return
        w = weights / total
        slope = w @ self.bundle.slopes
        fall = float(slope @ self.best.z) - support(self.chart.unit, slope)[1]
        error = float(w @ np.maximum(self.bundle.errors(self.best), 0.0))
        self.below = max(self.below, self.best.value - (error + max(fall, 0.0)))
        self.bundle.used[w > TOLERANCE] = self.calls

    def _raise_bound(self) -> None:
        reach, slopes, errors, _ = self._scaled()
        self._certify(self.solver.lowest(self.best.z, reach, slopes, errors).weights)

    def _step(self) -> _Answer:
        answer = self.solver.step(self.best.z, *self._scaled())
        self._certify(answer.weights)
        return answer

    def _scaled(self) -> tuple[float, Floats, Floats, Floats]:
        """Return reach, slopes, errors and metric in the units of the solver.

        The unit of values is the gap; the unit of steps is the reach at which the mean curvature
        changes the function by about a gap. So the problems look alike at every stage.
        """
        gap, metric = self.gap, self.metric
        if metric is None:
            metric = np.eye(self.dim) * (self.steepest**2 / gap)
        mean = float(np.trace(metric)) / self.dim
        reach = math.sqrt(gap / mean)
        errors = np.maximum(self.bundle.errors(self.best), 0.0)
        return reach, self.bundle.slopes * (reach / gap), errors / gap, metric / mean


# --- Curvature -----------------------------------------------------------------------------------


def _curved(
    metric: Floats | None, best: _Cut, cut: _Cut, gap: float, steepest: float
) -> Floats | None:
    """Return the metric after the BFGS update with the step from the best point to a new one."""
    s, y = cut.z - best.z, cut.slope - best.slope
    length, bend = float(s @ s), float(s @ y)
    if length == 0.0:
        return metric
    flat = FLATTEST * gap
    if bend < flat * length:
        y, bend = flat * s, flat * length
    if metric is None:
        metric = np.eye(len(s)) * (float(y @ y) / bend)
    pulled = metric @ s
    updated = metric - np.outer(pulled, pulled) / float(s @ pulled) + np.outer(y, y) / bend
    return _limited(updated, flat, STEEPEST * steepest**2 / gap)


def _limited(metric: Floats, flat: float, steep: float) -> Floats:
    """Return the metric with its eigenvalues moved into the range that matters.

    Across a set of unit size, curvature far below the gap does not count. Where slopes are at most
    G, curvature far above G^2 / gap would only forbid steps that descend by a part of the gap. At
    kinks BFGS leaves both ranges, and a matrix with a larger ``SPREAD`` would be worth nothing to
    the solver.
    """
    values, vectors = np.linalg.eigh(metric)
    high = min(float(values[-1]), steep)
    limited: Floats = (vectors * np.clip(values, max(flat, high / SPREAD), high)) @ vectors.T
    return limited


# --- The cutting-plane problems ------------------------------------------------------------------


class _Answer(NamedTuple):
    """What the solver said, none of it trusted."""

    z: Floats
    weights: Floats
    """One per row, never negative."""
    is_empty: bool
    """Whether no point reaches the level, to believe the solver."""


class _Solver:
    """Clarabel on a unit set, in d = (z - c) / reach and t = (M - F(c)) / gap.

    ``Unit`` says how a set is written for it.
    """

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

    def lowest(self, c: Floats, reach: float, slopes: Floats, errors: Floats) -> _Answer:
        """Minimise M(z) over the set: its weights prove the best bound that the cuts allow."""
        none = np.zeros((self.dim, self.dim))
        return self._solve(c, reach, none, _with_column(slopes, -1.0), errors)

    def step(
        self, c: Floats, reach: float, slopes: Floats, errors: Floats, metric: Floats
    ) -> _Answer:
        """Minimise M(z) + (z - c)' B (z - c) / 2 over the points of the set below the level."""
        level = np.append(np.zeros(self.dim), 1.0)
        rows = np.vstack([_with_column(slopes, -1.0), level])
        answer = self._solve(c, reach, metric, rows, np.append(errors, -PROMISE))
        return answer._replace(weights=answer.weights[:-1])

    def _solve(
        self, c: Floats, reach: float, metric: Floats, rows: Floats, room: Floats
    ) -> _Answer:
        """Minimise t + d' metric d / 2 over the set with ``rows`` @ (d, t) <= ``room``."""
        at = np.append(c, np.abs(c)) if self.sides.shape[1] > self.dim else c
        n, extra = self.dim, len(at) - self.dim
        left = np.zeros((len(rows) + len(self.sides), n + 1 + extra))
        left[: len(rows), : n + 1] = rows
        left[len(rows) :, :n] = reach * self.sides[:, :n]
        left[len(rows) :, n + 1 :] = reach * self.sides[:, n:]
        quadratic = np.zeros((n + 1 + extra, n + 1 + extra))
        quadratic[:n, :n] = np.triu(metric)
        linear = np.zeros(n + 1 + extra)
        linear[n] = 1.0
        answer = self.clarabel.DefaultSolver(
            self.sparse.csc_matrix(quadratic),
            linear,
            self.sparse.csc_matrix(left),
            np.append(room, self.room - self.sides @ at),
            [self.clarabel.NonnegativeConeT(len(rows)), *self.cones],
            self.settings,
        ).solve()
        return _Answer(
            z=c + reach * np.array(answer.x)[:n],
            weights=np.maximum(np.array(answer.z)[: len(rows)], 0.0),
            is_empty="PrimalInfeasible" in str(answer.status),
        )


def _with_column(matrix: Floats, value: float) -> Floats:
    return np.column_stack([matrix, np.full(len(matrix), value)])


def _module(name: str) -> Any:
    """Import an optional module, or say which extra has it."""
    try:
        return importlib.import_module(name)
    except ImportError:
        package = name.partition(".")[0]
        raise MissingExtra(package, extra="solver", where="the best fixed action") from None
