"""Slow, obvious versions of the algorithms, written from the paper.

Nothing here imports the library and nothing here is fast. Every quantity is recomputed from
complete lists whenever it is needed, so that a reader can hold each function against one equation.

Coordinates. All vectors are in *chart coordinates* y unless said otherwise. A decision is
x = center + scale * y (componentwise), so a gradient g in x is the cost scale * g in y. Sets are
centred and of standard shape in the chart: a ball |y|_2 <= radius, the box [-1, 1]^k, the simplex
{y_i >= floor, sum y = 1} (whose chart is the identity) and the cross-polytope |y|_1 <= radius.

Indices. Lists start at 0 and the paper starts at 1: z_n is ``points[n - 1]``, c_n is
``costs[n - 1]``, and so on. Observation n is the n-th closing of a ticket, whether by an answer,
by skipping or by cancelling.

Differs from the paper, throughout: the P-FTRL regulariser has alpha_m on its m-th term (not
alpha_n), and the strongly convex one-point smoothing has ln(e t) in place of ln t.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy import optimize

Array = npt.NDArray[np.float64]
Feedback = Any
"""A gradient, a value, or two values."""
SetKind = Literal["ball", "box", "simplex", "l1"]
BaseKind = Literal["pftrl", "omd", "entropy-omd", "dual-averaging"]
Reduction = Literal["first-order", "one-point", "two-point"]
RateKind = Literal[
    "delay-adaptive",
    "tight",
    "gradient-adaptive",
    "strongly-convex",
    "constant",
    "inverse-root",
    "table",
]
SmoothingKind = Literal["convex", "strongly-convex", "inverse-root", "inverse", "constant"]
Geometry = Literal["euclidean", "entropy"]

_scipy_minimize: Callable[..., Any] = optimize.minimize


# --- Sets ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ChartSet:
    """A convex set K in chart coordinates.

    ``radius`` is used by the ball and the cross-polytope, ``floor`` by the simplex.
    """

    kind: SetKind
    dim: int
    radius: float = 1.0
    floor: float = 0.0

    @property
    def start(self) -> Array:
        """The first point z_1: the origin, or the uniform distribution on the simplex."""
        if self.kind == "simplex":
            return np.full(self.dim, 1.0 / self.dim)
        return np.zeros(self.dim)

    @property
    def diameter(self) -> float:
        """Euclidean diameter D of the set (Assumption 2.1)."""
        if self.kind == "box":
            return 2.0 * math.sqrt(self.dim)
        if self.kind == "simplex":
            return math.sqrt(2.0) * (1.0 - self.dim * self.floor)
        return 2.0 * self.radius

    @property
    def inner_radius(self) -> float:
        """Radius r of the largest centred ball inside the set (Assumption 2.5)."""
        if self.kind == "ball":
            return self.radius
        if self.kind == "box":
            return 1.0
        if self.kind == "l1":
            return self.radius / math.sqrt(self.dim)
        raise ValueError("the simplex contains no ball")

    def project(self, v: Array) -> Array:
        """Euclidean projection Pi_K(v)."""
        if self.kind == "ball":
            return project_ball(v, self.radius)
        if self.kind == "box":
            return project_box(v)
        if self.kind == "simplex":
            return project_simplex(v, self.floor)
        return project_l1(v, self.radius)

    def violation(self, y: Array) -> float:
        """By how much y breaks the worst constraint of the set; zero for a member."""
        if self.kind == "ball":
            return max(0.0, float(np.linalg.norm(y)) - self.radius)
        if self.kind == "box":
            return max(0.0, float(np.abs(y).max()) - 1.0)
        if self.kind == "simplex":
            return max(0.0, self.floor - float(y.min()), abs(float(y.sum()) - 1.0))
        return max(0.0, float(np.abs(y).sum()) - self.radius)

    def linear_minimum(self, g: Array) -> float:
        """Return the minimum over v in K of <g, v>, which sits at an extreme point."""
        if self.kind == "ball":
            return -self.radius * float(np.linalg.norm(g))
        if self.kind == "box":
            return -float(np.abs(g).sum())
        if self.kind == "simplex":
            free = 1.0 - self.dim * self.floor
            return self.floor * float(g.sum()) + free * float(g.min())
        return -self.radius * float(np.abs(g).max())


def project_ball(v: Array, radius: float) -> Array:
    """Nearest point of {|y|_2 <= radius}: shrink v to the sphere if it lies outside."""
    norm = float(np.linalg.norm(v))
    if norm <= radius:
        return v.copy()
    return v * (radius / norm)


def project_box(v: Array) -> Array:
    """Nearest point of [-1, 1]^k: clip every coordinate."""
    return np.clip(v, -1.0, 1.0)


def project_simplex(v: Array, floor: float = 0.0, mass: float = 1.0) -> Array:
    """Nearest point of {y_i >= floor, sum y = mass}.

    The solution is y_i = max(floor, v_i - tau). Try every number j of coordinates above the floor,
    largest first: tau then follows from the sum, and the right j is the one for which exactly
    those coordinates come out above the floor.
    """
    k = len(v)
    order = sorted((float(value) for value in v), reverse=True)
    for j in range(k, 0, -1):
        tau = (math.fsum(order[:j]) - (mass - (k - j) * floor)) / j
        if order[j - 1] - tau > floor:
            return np.maximum(v - tau, floor)
    return np.full(k, floor)


def project_l1(v: Array, radius: float) -> Array:
    """Nearest point of {|y|_1 <= radius}: project |v| on a simplex and restore the signs."""
    if float(np.abs(v).sum()) <= radius:
        return v.copy()
    return np.sign(v) * project_simplex(np.abs(v), 0.0, radius)


def project_entropy(w: Array, floor: float) -> Array:
    """Minimise KL(z, w) over {z_i >= floor, sum z = 1} for positive weights w.

    The solution is z_i = max(floor, tau w_i). Fix coordinates at the floor one after another,
    rescaling the others to the remaining mass, until none is below it.
    """
    fixed = np.zeros(len(w), dtype=bool)
    while True:
        tau = (1.0 - floor * int(fixed.sum())) / float(w[~fixed].sum())
        below = ~fixed & (tau * w < floor)
        if not below.any():
            return np.where(fixed, floor, tau * w)
        if bool((fixed | below).all()):
            return np.full(len(w), floor)
        fixed |= below


# --- Direct minimisation, for checking closed forms ----------------------------------------------


def _minimise(
    objective: Callable[[Array], float], gradient: Callable[[Array], Array], domain: ChartSet
) -> Array:
    """Minimise a smooth convex function over K from the constraints themselves (SLSQP).

    Projections are not used. The cross-polytope is written as its 2^k half-spaces, so keep k small.
    """
    k = domain.dim
    bounds: list[tuple[float, float]] | None = None
    constraints: list[dict[str, object]] = []
    if domain.kind == "ball":
        constraints.append({"type": "ineq", "fun": lambda z: domain.radius**2 - float(z @ z),
                            "jac": lambda z: -2.0 * z})  # fmt: skip
    elif domain.kind == "box":
        bounds = [(-1.0, 1.0)] * k
    elif domain.kind == "simplex":
        bounds = [(max(domain.floor, 1e-14), 1.0)] * k
        constraints.append({"type": "eq", "fun": lambda z: float(z.sum()) - 1.0,
                            "jac": lambda z: np.ones(k)})  # fmt: skip
    else:
        signs = np.array(list(itertools.product((-1.0, 1.0), repeat=k)))
        constraints.append({"type": "ineq", "fun": lambda z: domain.radius - signs @ z,
                            "jac": lambda z: -signs})  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        result = _scipy_minimize(
            objective,
            domain.start,
            jac=gradient,
            method="SLSQP",
            bounds=bounds,
            constraints=constraints,
            options={"ftol": 1e-16, "maxiter": 2000},
        )
    return np.asarray(result.x, dtype=np.float64)


def regulariser_weights(etas: Sequence[float]) -> list[float]:
    """alpha_m = 1/eta_m - 1/eta_{m-1} with 1/eta_0 = 0 (below equation (P-FTRL), section 4)."""
    inverse = [0.0] + [1.0 / eta for eta in etas]
    return [inverse[m] - inverse[m - 1] for m in range(1, len(inverse))]


def pftrl_gradient(
    z: Array, costs: Sequence[Array], points: Sequence[Array], etas: Sequence[float]
) -> Array:
    """Gradient at z of the P-FTRL objective, sum c_m + sum alpha_m (z - z_m)."""
    total = np.zeros(len(z))
    for cost, point, alpha in zip(costs, points, regulariser_weights(etas), strict=True):
        total = total + cost + alpha * (z - point)
    return total


def pftrl_argmin(
    costs: Sequence[Array], points: Sequence[Array], etas: Sequence[float], domain: ChartSet
) -> Array:
    """P-FTRL solved literally: argmin over K of sum <c_m, z> + sum (alpha_m / 2) |z - z_m|^2.

    ``points`` are z_1 .. z_n, one per cost. The objective is multiplied by eta_n for the solver.
    """
    alphas = regulariser_weights(etas)

    def objective(z: Array) -> float:
        total = 0.0
        for cost, point, alpha in zip(costs, points, alphas, strict=True):
            total += float(cost @ z) + 0.5 * alpha * float((z - point) @ (z - point))
        return etas[-1] * total

    return _minimise(objective, lambda z: etas[-1] * pftrl_gradient(z, costs, points, etas), domain)


def omd_argmin(cost: Array, point: Array, eta: float, domain: ChartSet) -> Array:
    """OMD solved literally (equation (OMD)): argmin over K of <c, z> + |z - z_n|^2 / (2 eta)."""

    def objective(z: Array) -> float:
        return eta * float(cost @ z) + 0.5 * float((z - point) @ (z - point))

    return _minimise(objective, lambda z: eta * cost + z - point, domain)


def entropy_argmin(cost: Array, point: Array, eta: float, floor: float) -> Array:
    """Minimise <c, z> + KL(z, z_n) / eta over {z_i >= floor, sum z = 1} (update of Lemma D.3)."""
    domain = ChartSet("simplex", len(point), floor=floor)

    def objective(z: Array) -> float:
        return eta * float(cost @ z) + float(z @ np.log(z / point))

    return _minimise(objective, lambda z: eta * cost + np.log(z / point) + 1.0, domain)


def optimality_gap(gradient: Array, z: Array, domain: ChartSet) -> float:
    """Return max over v in K of <gradient, z - v>: zero exactly where z is a minimum.

    It bounds the excess of the objective at z, and needs neither a projection nor a solver.
    """
    return float(gradient @ z) - domain.linear_minimum(gradient)


# --- Base learners -------------------------------------------------------------------------------


class Base:
    """A base algorithm B of section 4 with its step sizes supplied from outside."""

    z: Array

    def start(self) -> Array:
        """Return z_1."""
        return self.z.copy()

    def update(self, cost: Array, eta: float | None) -> Array:
        """Take (c_n, eta_n) and return z_{n+1}; eta None leaves everything as it is."""
        raise NotImplementedError


class PFTRL(Base):
    """P-FTRL in its literal closed form (equation (P-FTRL) with alpha_m, and algorithms S.1).

    theta_n = theta_{n-1} + alpha_n z_n - c_n and z_{n+1} = Pi_K(eta_n theta_n).
    """

    def __init__(self, domain: ChartSet) -> None:
        self.domain = domain
        self.z = domain.start
        self.theta = np.zeros(domain.dim)
        self.etas: list[float] = []

    def update(self, cost: Array, eta: float | None) -> Array:
        """One step; a step without a rate does not count in the alpha sums."""
        if eta is not None:
            self.etas.append(eta)
            alpha = regulariser_weights(self.etas)[-1]
            self.theta = self.theta + alpha * self.z - cost
            self.z = self.domain.project(eta * self.theta)
        return self.z.copy()


class OMD(Base):
    """Euclidean online mirror descent (equation (OMD)): z_{n+1} = Pi_K(z_n - eta_n c_n)."""

    def __init__(self, domain: ChartSet) -> None:
        self.domain = domain
        self.z = domain.start

    def update(self, cost: Array, eta: float | None) -> Array:
        """One step."""
        if eta is not None:
            self.z = self.domain.project(self.z - eta * cost)
        return self.z.copy()


class DualAveraging(Base):
    """z_{n+1} = Pi_K(-eta_n (c_1 + .. + c_n)); a cost of zero leaves the point where it is."""

    def __init__(self, domain: ChartSet) -> None:
        self.domain = domain
        self.z = domain.start
        self.costs: list[Array] = []

    def update(self, cost: Array, eta: float | None) -> Array:
        """One step."""
        self.costs.append(cost)
        if eta is not None and cost.any():
            self.z = self.domain.project(-eta * np.sum(self.costs, axis=0))
        return self.z.copy()


class EntropyOMD(Base):
    """Mirror descent with the entropy (Lemma D.3): argmin <c, z> + KL(z, z_n) / eta.

    Over {z_i >= floor, sum z = 1}: multiply the weights by exp(-eta c_i), then project in KL.
    """

    def __init__(self, dim: int, floor: float = 0.0) -> None:
        self.floor = floor
        self.z = np.full(dim, 1.0 / dim)

    def update(self, cost: Array, eta: float | None) -> Array:
        """One step; the smallest cost in the support is subtracted, which changes nothing."""
        if eta is not None:
            lowest = float(cost[self.z > 0.0].min())
            exponent = np.minimum(-eta * (cost - lowest), 0.0)
            self.z = project_entropy(self.z * np.exp(exponent), self.floor)
        return self.z.copy()


def entropy_diameter(dim: int, floor: float) -> float:
    """The D of the entropy mirror, sqrt(2 Bmax), where Bmax bounds the divergence.

    Without a floor Bmax = ln k, the largest KL(u, z_1). With a floor it is the largest KL between
    two points of the set, (a - floor) ln(a / floor) with a = 1 - (k - 1) floor.
    """
    if floor == 0.0:
        return math.sqrt(2.0 * math.log(dim))
    a = 1.0 - (dim - 1) * floor
    return math.sqrt(2.0 * (a - floor) * math.log(a / floor))


# --- Step sizes ----------------------------------------------------------------------------------
# Every list is complete up to and including observation n; n is its length.


def rate_first_order(backlogs: Sequence[int], diameter: float, lipschitz: float) -> float:
    """Corollary 5.3: eta_n = (D / G) / sqrt(n + sum s*_m)."""
    return (diameter / lipschitz) / math.sqrt(len(backlogs) + sum(backlogs))


def rate_one_point(
    backlogs: Sequence[int],
    smoothings: Sequence[float],
    diameter: float,
    lipschitz: float,
    dim: int,
    magnitude: float,
) -> float:
    """Corollary 5.7: eta_n = (D / G) / sqrt(n + sum (s*_m + (k M / (G delta'_m))^2))."""
    total = float(len(backlogs))
    for backlog, delta in zip(backlogs, smoothings, strict=True):
        total += backlog + (dim * magnitude / (lipschitz * delta)) ** 2
    return (diameter / lipschitz) / math.sqrt(total)


def rate_two_point(backlogs: Sequence[int], diameter: float, lipschitz: float, dim: int) -> float:
    """Corollary G.3: eta_n = (D / G) / sqrt(n k + sum s*_m)."""
    return (diameter / lipschitz) / math.sqrt(len(backlogs) * dim + sum(backlogs))


def rate_tight(
    backlogs: Sequence[int], diameter: float, lipschitz: float, scale: float = 1.0
) -> float:
    """Algorithms S.2, second row: eta_n = (D / 2G) / sqrt(n / 2 + sum s*_m), times a scale."""
    spread = len(backlogs) / 2.0 + sum(backlogs)
    return scale * (diameter / (2.0 * lipschitz)) / math.sqrt(spread)


def rate_gradient_adaptive(
    norms: Sequence[float], backlogs: Sequence[int], diameter: float, lipschitz: float | None
) -> float | None:
    """Algorithms S.2, third row: eta_n = (D / 2) / sqrt(sum (|c_m|^2 / 2 + G s*_m |c_m|)).

    With G None, term m uses the largest of |c_1|, .., |c_m|. None while the sum is zero.
    """
    total = 0.0
    for m, (norm, backlog) in enumerate(zip(norms, backlogs, strict=True)):
        bound = max(norms[: m + 1]) if lipschitz is None else lipschitz
        total += norm**2 / 2.0 + bound * backlog * norm
    if total == 0.0:
        return None
    return (diameter / 2.0) / math.sqrt(total)


def rate_strongly_convex(n: int, curvature: float) -> float:
    """Corollaries 5.4, 5.8, G.4: eta_n = 1 / (lambda n)."""
    return 1.0 / (curvature * n)


def rate_inverse_root(n: int, step: float) -> float:
    """The classical eta_n = step / sqrt(n)."""
    return step / math.sqrt(n)


def rate_table(n: int, table: Sequence[float]) -> float:
    """The n-th entry of a table, its last entry repeated for ever."""
    return table[min(n, len(table)) - 1]


# --- Smoothing -----------------------------------------------------------------------------------


def smoothing_radius(
    kind: SmoothingKind,
    t: int,
    inner_radius: float,
    *,
    dim: int = 1,
    nu: float = 1.0,
    horizon: int | None = None,
    constant: float = 1.0,
) -> float:
    """delta_t of round t = 1, 2, .. in chart units; a horizon T replaces t.

    Corollary 5.7: r min{1, sqrt(nu k) t^(-1/4)}. Corollary 5.8: r min{1, (nu^2 k^2 ln(e t) /
    t)^(1/3)}. Corollary G.3: r / sqrt t. Corollary G.4: r / t. Differs from the paper: ln(e t) in
    Corollary 5.8, where the printed ln t is zero in the first round.
    """
    at = float(t if horizon is None else horizon)
    if kind == "convex":
        return inner_radius * min(1.0, math.sqrt(nu * dim) * math.pow(at, -0.25))
    if kind == "strongly-convex":
        inside = nu**2 * dim**2 * math.log(math.e * at) / at
        return inner_radius * min(1.0, math.pow(inside, 1.0 / 3.0))
    if kind == "inverse-root":
        return inner_radius / math.sqrt(at)
    if kind == "inverse":
        return inner_radius / at
    return constant


# --- Exploration directions ----------------------------------------------------------------------

_WORD = 0xFFFFFFFF


def philox4x32(
    counter: tuple[int, int, int, int], key: tuple[int, int]
) -> tuple[int, int, int, int]:
    """Philox4x32-10 of Salmon, Moraes, Dror and Shaw (2011), in Python integers.

    Ten rounds; each multiplies two words by a constant and mixes the high halves with the other
    two words and the key, and the key is bumped by a Weyl constant between rounds.
    """
    x0, x1, x2, x3 = counter
    k0, k1 = key
    for _ in range(10):
        product0 = 0xD2511F53 * x0
        product1 = 0xCD9E8D57 * x2
        x0, x1, x2, x3 = (
            (product1 >> 32) ^ x1 ^ k0,
            product1 & _WORD,
            (product0 >> 32) ^ x3 ^ k1,
            product0 & _WORD,
        )
        k0 = (k0 + 0x9E3779B9) & _WORD
        k1 = (k1 + 0xBB67AE85) & _WORD
    return x0, x1, x2, x3


def normals(seed: int, ticket: int, count: int) -> list[float]:
    """Standard normals of a ticket by Marsaglia's polar method.

    Key (seed low, seed high), counter (block, 0, ticket low, ticket high) for block 0, 1, 2, ..;
    a block is two candidate pairs. The second normal of the last pair is dropped for odd counts.
    """
    key = (seed & _WORD, seed >> 32)
    values: list[float] = []
    block = 0
    while len(values) < count:
        words = philox4x32((block, 0, ticket & _WORD, ticket >> 32), key)
        for first, second in (words[:2], words[2:]):
            x = (first + 0.5) * 2.0**-31 - 1.0
            y = (second + 0.5) * 2.0**-31 - 1.0
            s = x * x + y * y
            if s < 1.0:
                m = math.sqrt(-2.0 * math.log(s) / s)
                values += [x * m, y * m]
        block += 1
    return values[:count]


def direction(seed: int, ticket: int, dim: int) -> Array:
    """u_t uniform on the unit sphere (Algorithms 2 and 4), a pure function of (seed, ticket)."""
    values = normals(seed, ticket, dim)
    length = math.sqrt(math.fsum(value * value for value in values))
    return np.array([value / length for value in values])


# --- The learner ---------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class NaiveConfig:
    """Everything a ``NaiveLearner`` needs, as plain numbers.

    ``lipschitz``, ``magnitude``, ``curvature`` and ``diameter`` are in chart units. ``diameter``
    None means the set's own (for the entropy, ``entropy_diameter``); ``lipschitz`` None is only for
    the gradient-adaptive rate and for rates that do not use it; ``nu`` None means M / (G r).
    """

    dim: int
    reduction: Reduction = "first-order"
    base: BaseKind = "pftrl"
    set_kind: SetKind = "ball"
    radius: float = 1.0
    floor: float = 0.0
    center: Array | None = None
    scale: Array | None = None
    rate: RateKind = "delay-adaptive"
    diameter: float | None = None
    lipschitz: float | None = 1.0
    curvature: float = 0.0
    step: float = 1.0
    tight_scale: float = 1.0
    table: tuple[float, ...] = ()
    smoothing: SmoothingKind = "convex"
    nu: float | None = None
    horizon: int | None = None
    constant: float = 1.0
    magnitude: float = 1.0
    baseline: bool = False
    skip: bool = False
    deadline: int | None = None
    forget: int | None = None
    seed: int = 0

    @property
    def domain(self) -> ChartSet:
        """The set K in the chart."""
        return ChartSet(self.set_kind, self.dim, self.radius, self.floor)

    @property
    def geometry(self) -> Geometry:
        """Which norm pair the base is analysed in."""
        return "entropy" if self.base == "entropy-omd" else "euclidean"


@dataclass
class History:
    """All that happened, in the paper's observation order.

    ``points`` is z_1 .. z_{N+1}; the other lists have one entry per closing. ``smoothings`` is
    delta'_n and stays empty for first-order feedback. A rate of None means no step was taken.
    """

    points: list[Array] = field(default_factory=list)
    costs: list[Array] = field(default_factory=list)
    norms: list[float] = field(default_factory=list)
    rates: list[float | None] = field(default_factory=list)
    dual_backlogs: list[int] = field(default_factory=list)
    dual_delays: list[int] = field(default_factory=list)
    delays: list[int] = field(default_factory=list)
    smoothings: list[float] = field(default_factory=list)
    tickets: list[int] = field(default_factory=list)
    plays: list[Array] = field(default_factory=list)


@dataclass(frozen=True)
class Counters:
    """Counts of a learner's life so far; see ``NaiveLearner.counters``."""

    rounds: int
    observed: int
    skipped: int
    cancelled: int
    open: int
    late: int
    total_delay: int
    max_delay: int
    max_backlog: int
    max_dual_delay: int


class NaiveLearner:
    """Algorithms 1, 2 and 4 over a base learner, with Algorithm 3 around them if ``skip``.

    With a ``deadline`` it gives up on what is older than so many predictions. What was given up on
    is forgotten ``forget`` predictions later, and with it everything that was handed out before.
    The timeline is kept as a list of events and every count is taken from it by its definition.
    Tickets are 0, 1, 2, ..; the round of a ticket is t = ticket + 1.
    """

    def __init__(self, config: NaiveConfig) -> None:
        self.config = config
        domain = config.domain
        self.base: Base
        if config.base == "pftrl":
            self.base = PFTRL(domain)
        elif config.base == "omd":
            self.base = OMD(domain)
        elif config.base == "dual-averaging":
            self.base = DualAveraging(domain)
        else:
            self.base = EntropyOMD(config.dim, config.floor)
        self.z = self.base.start()
        self.history = History(points=[self.z.copy()])
        self.events: list[tuple[Literal["predict", "close"], int]] = []
        self.status: dict[int, Literal["open", "observed", "skipped", "cancelled"]] = {}
        self.closed: set[int] = set()  # no further word about these tickets is accepted
        self.late = 0
        self.backlogs: list[int] = []  # sigma_t, one per prediction
        self.values: list[float] = []  # answers used, for the baseline
        self.baselines: dict[int, float] = {}
        self.tracked: set[int] = set()  # S of Algorithm 3, as rounds
        self.tracked_total = 0  # cal D_t of Algorithm 3
        self.given_up: dict[int, int] = {}  # before which round, by ticket
        self.forgotten: set[int] = set()

    # - parameters -

    @property
    def diameter(self) -> float:
        """D in the norm of the base."""
        if self.config.diameter is not None:
            return self.config.diameter
        if self.config.geometry == "entropy":
            return entropy_diameter(self.config.dim, self.config.floor)
        return self.config.domain.diameter

    def smoothing(self, t: int) -> float:
        """delta_t of round t."""
        config = self.config
        r = config.domain.inner_radius
        nu = config.nu
        if nu is None and config.smoothing in ("convex", "strongly-convex"):
            assert config.lipschitz is not None
            nu = config.magnitude / (config.lipschitz * r)
        return smoothing_radius(
            config.smoothing,
            t,
            r,
            dim=config.dim,
            nu=1.0 if nu is None else nu,
            horizon=config.horizon,
            constant=config.constant,
        )

    def direction(self, ticket: int) -> Array:
        """u_s of a ticket."""
        return direction(self.config.seed, ticket, self.config.dim)

    # - counting, by definition (equations (2) and (4) of section 3) -

    def predictions(self) -> int:
        """Number of predictions issued so far."""
        return sum(kind == "predict" for kind, _ in self.events)

    def open_tickets(self) -> list[int]:
        """Tickets neither observed, skipped nor cancelled."""
        return [ticket for ticket, status in self.status.items() if status == "open"]

    def _since(self, ticket: int, kind: str) -> int:
        """Events of one kind after the prediction of a ticket."""
        start = self.events.index(("predict", ticket))
        return sum(other == kind for other, _ in self.events[start + 1 :])

    # - the two events -

    def predict(self) -> tuple[int, Array]:
        """Issue the next ticket and its point x (two rows for two-point feedback)."""
        ticket = self.predictions()
        t = ticket + 1
        if self.config.skip:
            self._skip(t)
        if self.config.deadline is not None:
            for s in sorted(self.tracked):
                if t - s > self.config.deadline:
                    self._close(s - 1, "skipped", self._zero_cost())
        self._forget(t)
        self.backlogs.append(len(self.open_tickets()))
        self.events.append(("predict", ticket))
        self.status[ticket] = "open"
        self.tracked.add(t)
        self.baselines[ticket] = 0.0
        if self.config.baseline and self.values:
            self.baselines[ticket] = math.fsum(self.values) / len(self.values)
        y = self._play(ticket)
        self.history.plays.append(y)
        center = np.zeros(self.config.dim) if self.config.center is None else self.config.center
        scale = np.ones(self.config.dim) if self.config.scale is None else self.config.scale
        return ticket, center + scale * y

    def _play(self, ticket: int) -> Array:
        """The play in the chart: line 1 of Algorithms 1, 2 and 4."""
        if self.config.reduction == "first-order":
            return self.z.copy()
        delta = self.smoothing(ticket + 1)
        u = self.direction(ticket)
        shrunk = (1.0 - delta / self.config.domain.inner_radius) * self.z
        if self.config.reduction == "one-point":
            return shrunk + delta * u
        return np.array([shrunk + delta * u, shrunk - delta * u])

    def observe(self, ticket: int, feedback: Feedback) -> bool:
        """Take the answer to a ticket; False if it had been skipped and the answer is dropped."""
        self._check_known(ticket)
        if self.status[ticket] == "skipped":
            self.late += 1
            self.closed.add(ticket)
            return False
        cost = self._cost(ticket, feedback)
        if self.config.reduction == "one-point":
            self.values.append(feedback)
        self._close(ticket, "observed", cost)
        self.closed.add(ticket)
        return True

    def cancel(self, ticket: int) -> None:
        """Declare that no answer will come: zero feedback now. A skipped ticket is only closed."""
        self._check_known(ticket)
        if self.status[ticket] == "open":
            self._close(ticket, "cancelled", self._zero_cost())
        self.closed.add(ticket)

    def _check_known(self, ticket: int) -> None:
        if ticket not in self.status or ticket <= max(self.forgotten, default=-1):
            raise KeyError(ticket)
        if ticket in self.closed:
            raise ValueError(f"ticket {ticket} is closed")

    def _cost(self, ticket: int, feedback: Feedback) -> Array:
        """The vector c sent to the base: line 2 of Algorithms 1, 2 and 4, in the chart."""
        config = self.config
        if config.reduction == "first-order":
            scale = np.ones(config.dim) if config.scale is None else config.scale
            return scale * np.asarray(feedback, dtype=np.float64)
        delta = self.smoothing(ticket + 1)
        u = self.direction(ticket)
        if config.reduction == "one-point":
            return (config.dim / delta) * float(feedback - self.baselines[ticket]) * u
        first, second = feedback
        return (config.dim / (2.0 * delta)) * float(first - second) * u

    def _zero_cost(self) -> Array:
        """The cost of zero feedback.

        A zero loss is not strongly convex, so under the strongly convex rate the substitute is the
        loss (lambda / 2)|y|^2 (end of section 6), its gradient taken at the current point.
        """
        if self.config.rate == "strongly-convex":
            return self.config.curvature * self.z
        return np.zeros(self.config.dim)

    def _skip(self, t: int) -> None:
        """Lines 1 and 2 of Algorithm 3, with t - s > sqrt(D_t) as an integer test."""
        self.tracked_total += len(self.tracked)
        for s in sorted(self.tracked):
            if (t - s) ** 2 > self.tracked_total:
                self._close(s - 1, "skipped", self._zero_cost())

    def _forget(self, t: int) -> None:
        """Forget what was given up on so many rounds ago, and nobody has answered or cancelled."""
        if self.config.forget is None:
            return
        for ticket, status in self.status.items():
            if status == "skipped" and ticket not in self.given_up:
                self.given_up[ticket] = t
            waiting = ticket in self.given_up and ticket not in self.closed
            if waiting and t - self.given_up[ticket] >= self.config.forget:
                self.forgotten.add(ticket)

    def _close(
        self, ticket: int, how: Literal["observed", "skipped", "cancelled"], cost: Array
    ) -> None:
        """Send (c, d*, s*) to the base and set the current point to its new output."""
        history = self.history
        history.delays.append(self._since(ticket, "predict"))
        history.dual_delays.append(self._since(ticket, "close"))
        self.events.append(("close", ticket))
        self.status[ticket] = how
        self.tracked.discard(ticket + 1)
        history.tickets.append(ticket)
        history.dual_backlogs.append(len(self.open_tickets()))
        history.costs.append(cost)
        history.norms.append(dual_norm(cost, self.config.geometry))
        if self.config.reduction != "first-order":
            history.smoothings.append(self.smoothing(self.predictions()))
        self._step(cost)

    def _step(self, cost: Array) -> None:
        """Move the point; the history has everything about this observation but the rate."""
        eta = self._rate()
        self.history.rates.append(eta)
        self.z = self.base.update(cost, eta)
        self.history.points.append(self.z.copy())

    def _rate(self) -> float | None:
        """eta_n from the complete history."""
        config, history = self.config, self.history
        n = len(history.costs)
        backlogs = history.dual_backlogs
        if config.rate == "gradient-adaptive":
            return rate_gradient_adaptive(history.norms, backlogs, self.diameter, config.lipschitz)
        if config.rate == "strongly-convex":
            return rate_strongly_convex(n, config.curvature)
        if config.rate == "constant":
            return config.step
        if config.rate == "inverse-root":
            return rate_inverse_root(n, config.step)
        if config.rate == "table":
            return rate_table(n, config.table)
        assert config.lipschitz is not None
        if config.rate == "tight":
            return rate_tight(backlogs, self.diameter, config.lipschitz, config.tight_scale)
        if config.reduction == "first-order":
            return rate_first_order(backlogs, self.diameter, config.lipschitz)
        if config.reduction == "one-point":
            return rate_one_point(
                backlogs,
                history.smoothings,
                self.diameter,
                config.lipschitz,
                config.dim,
                config.magnitude,
            )
        return rate_two_point(backlogs, self.diameter, config.lipschitz, config.dim)

    # - results -

    @property
    def rate(self) -> float | None:
        """The last step size, None before the first."""
        return self.history.rates[-1] if self.history.rates else None

    @property
    def learning(self) -> float:
        """The learning sum of Theorem 4.1: sum eta_n |c_n|^2 / 2."""
        return math.fsum(
            eta * norm**2 / 2.0
            for eta, norm in zip(self.history.rates, self.history.norms, strict=True)
            if eta is not None
        )

    @property
    def drift(self) -> float:
        """The drift sum of Theorem 4.1: sum eta_n s*_n |c_n|."""
        h = self.history
        return math.fsum(
            eta * backlog * norm
            for eta, backlog, norm in zip(h.rates, h.dual_backlogs, h.norms, strict=True)
            if eta is not None
        )

    def counters(self) -> Counters:
        """All counts.

        ``open`` is neither observed, skipped nor cancelled; ``late`` counts answers dropped because
        of skipping; backlogs are taken just before each prediction, after skipping; delays and
        dual delays are maxima over closed tickets.
        """
        states = list(self.status.values())
        return Counters(
            rounds=self.predictions(),
            observed=states.count("observed"),
            skipped=states.count("skipped"),
            cancelled=states.count("cancelled"),
            open=states.count("open"),
            late=self.late,
            total_delay=sum(self.backlogs),
            max_delay=max(self.history.delays, default=0),
            max_backlog=max(self.backlogs, default=0),
            max_dual_delay=max(self.history.dual_delays, default=0),
        )


def play_rounds(
    learner: Any, delays: Sequence[int], answer: Callable[[int, Array], Feedback]
) -> list[Array]:
    """The protocol of section 2: the answer to round s comes at the end of round s + d_s.

    Answers due in one round come in increasing s; those due after the last round never come.
    ``answer(ticket, x)`` is evaluated at the point played. Returns the points played.
    """
    played: list[Array] = []
    for t in range(len(delays)):
        ticket, x = learner.predict()
        assert ticket == t
        played.append(x)
        for s in range(t + 1):
            if s + delays[s] == t:
                learner.observe(s, answer(s, played[s]))
    return played


# --- The timeline --------------------------------------------------------------------------------


@dataclass(frozen=True)
class IntervalCounts:
    """Delays, backlogs and their duals per round, and the arrival order (all rounds from 0)."""

    delays: list[int]
    backlogs: list[int]
    dual_delays: list[int]
    dual_backlogs: list[int]
    order: list[int]


def interval_counts(
    intervals: Sequence[tuple[tuple[int, int], tuple[int, int]]],
) -> IntervalCounts:
    """d_t, sigma_t, d*_t, s*_t of section 3 by counting endpoints inside open intervals.

    An endpoint is any comparable pair, so that ties can be broken exactly.
    """
    starts = [left for left, _ in intervals]
    ends = [right for _, right in intervals]

    def inside(point: tuple[int, int], interval: tuple[tuple[int, int], tuple[int, int]]) -> bool:
        return interval[0] < point < interval[1]

    return IntervalCounts(
        delays=[sum(inside(s, i) for s in starts) for i in intervals],
        backlogs=[sum(inside(s, i) for i in intervals) for s in starts],
        dual_delays=[sum(inside(e, i) for e in ends) for i in intervals],
        dual_backlogs=[sum(inside(e, i) for i in intervals) for e in ends],
        order=sorted(range(len(intervals)), key=lambda t: ends[t]),
    )


def intervals_of_delays(delays: Sequence[int]) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """The embedding after Lemma 3.2, rounds from 0: prediction t, then answers of round t by s.

    Differs from the paper: integer pairs instead of t + d_t + 1 - 2^-t, which collides in floats.
    """
    return [((t, -1), (t + d, t)) for t, d in enumerate(delays)]


# --- Right-hand sides of the theorems ------------------------------------------------------------
# points are z_1, z_2, .. (one more than costs is allowed), costs c_1 .. c_N, rates eta_1 .. eta_N,
# lags lambda_1 .. lambda_N.


def primal_norm(v: Array, geometry: Geometry = "euclidean") -> float:
    """|v|: Euclidean, or the 1-norm in which the entropy is 1-strongly convex."""
    return float(np.linalg.norm(v)) if geometry == "euclidean" else float(np.abs(v).sum())


def dual_norm(v: Array, geometry: Geometry = "euclidean") -> float:
    """|v|_*: Euclidean, or the sup norm for the entropy."""
    return float(np.linalg.norm(v)) if geometry == "euclidean" else float(np.abs(v).max())


def divergence(u: Array, z: Array, geometry: Geometry = "euclidean") -> float:
    """B(u; z): |u - z|^2 / 2, or KL(u, z) (Lemma D.3)."""
    if geometry == "euclidean":
        return 0.5 * float((u - z) @ (u - z))
    total = 0.0
    for a, b in zip(u.tolist(), z.tolist(), strict=True):
        if a > 0.0:
            total += math.inf if b == 0.0 else a * math.log(a / b)
    return total


def linear_regret(points: Sequence[Array], costs: Sequence[Array], comparator: Array) -> float:
    """R_N(u) = sum <c_n, z_n - u> (below equation (drift regret), section 4)."""
    return math.fsum(float(c @ (points[n] - comparator)) for n, c in enumerate(costs))


def incurred_drift(
    points: Sequence[Array], lags: Sequence[int], geometry: Geometry = "euclidean"
) -> float:
    """D_N = sum |z_{n - lambda_n} - z_n|."""
    return math.fsum(
        primal_norm(points[n - lag] - points[n], geometry) for n, lag in enumerate(lags)
    )


def open_lags(lags: Sequence[int]) -> list[int]:
    """nu_n = |{m : m - lambda_m <= n < m}|, the outstanding lags after round n of N."""
    count = len(lags)
    return [sum(m - lags[m - 1] <= n < m for m in range(1, count + 1)) for n in range(1, count + 1)]


def theorem_4_1_regret(
    points: Sequence[Array],
    costs: Sequence[Array],
    rates: Sequence[float],
    comparator: Array,
    geometry: Geometry = "euclidean",
) -> float:
    """Theorem 4.1: sum (1/eta_n - 1/eta_{n-1}) B(u; z_n) + (1/2) sum eta_n |c_n|_*^2.

    For the entropy this is Theorem D.4.
    """
    total = 0.0
    for n, alpha in enumerate(regulariser_weights(rates)):
        if alpha != 0.0:
            total += alpha * divergence(comparator, points[n], geometry)
        total += 0.5 * rates[n] * dual_norm(costs[n], geometry) ** 2
    return total


def theorem_4_1_drift(
    costs: Sequence[Array],
    rates: Sequence[float],
    outstanding: Sequence[int],
    geometry: Geometry = "euclidean",
) -> float:
    """Theorem 4.1: the drift is at most sum eta_n nu_n |c_n|_*."""
    return math.fsum(
        eta * nu * dual_norm(cost, geometry)
        for cost, eta, nu in zip(costs, rates, outstanding, strict=True)
    )


def misalignment(rates: Sequence[float], lags: Sequence[int]) -> float:
    """H_eta = sum (1 - eta_n / eta_{n - lambda_n}) (Lemma 4.2)."""
    return math.fsum(1.0 - rates[n] / rates[n - lag] for n, lag in enumerate(lags))


def lemma_4_2(
    costs: Sequence[Array], rates: Sequence[float], lags: Sequence[int], diameter: float
) -> float:
    """Lemma 4.2, drift of P-FTRL: sum eta_n |sum_{m=n-lambda_n}^{n-1} c_m| + D H_eta."""
    total = 0.0
    for n, lag in enumerate(lags):
        window = np.zeros(len(costs[n]))
        for m in range(n - lag, n):
            window = window + costs[m]
        total += rates[n] * float(np.linalg.norm(window))
    return total + diameter * misalignment(rates, lags)


def lemma_d_6_logarithmic(rates: Sequence[float], outstanding: Sequence[int]) -> float:
    """First bound on H_eta in Lemma D.6: (max nu_n + 1) ln(e eta_1 / eta_N)."""
    return (max(outstanding) + 1) * math.log(math.e * rates[0] / rates[-1])


def lemma_d_6_window(rates: Sequence[float], outstanding: Sequence[int]) -> float:
    """Second bound on H_eta in Lemma D.6: max_n sum_{m=n}^{n+nu_n} eta_m, over eta_N."""
    windows = [math.fsum(rates[n : n + nu + 1]) for n, nu in enumerate(outstanding)]
    return max(windows) / rates[-1]


def theorem_5_2_convex(
    points: Sequence[Array],
    costs: Sequence[Array],
    lags: Sequence[int],
    comparator: Array,
    lipschitz: float,
) -> float:
    """Theorem 5.2: the regret is at most R^drift(u; G), R^drift(u; W) being R_N(u) + W D_N."""
    return linear_regret(points, costs, comparator) + lipschitz * incurred_drift(points, lags)


def theorem_5_2_strongly_convex(
    points: Sequence[Array],
    costs: Sequence[Array],
    lags: Sequence[int],
    comparator: Array,
    lipschitz: float,
    curvature: float,
) -> float:
    """Theorem 5.2: the regret is at most R^drift(u; 3G) - (lambda / 2) sum |z_n - u|^2."""
    distances = math.fsum(2.0 * divergence(comparator, points[n]) for n in range(len(costs)))
    regret = theorem_5_2_convex(points, costs, lags, comparator, 3.0 * lipschitz)
    return regret - 0.5 * curvature * distances


# --- Skipping ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Skipping:
    """What Algorithm 3 does to a delay sequence; rounds are 1, 2, .., T.

    ``skipped`` is Q* in order of skipping, ``totals`` cal D_1 .. cal D_T, and ``delays`` the
    modified delays d'_t = |{s : t in S_s}|. The wrapped learner sees a delay one less than d'_t for
    a skipped round, since the skip precedes the prediction.
    """

    skipped: list[int]
    totals: list[int]
    delays: list[int]

    @property
    def inner_delays(self) -> list[int]:
        """The delay of each round as the wrapped learner counts it (predictions in between)."""
        gone = set(self.skipped)
        return [d - (t in gone) for t, d in enumerate(self.delays, start=1)]


def skipping(delays: Sequence[int]) -> Skipping:
    """Algorithm 3 with its tracking set, on delays alone; late answers beyond T never arrive."""
    rounds = len(delays)
    tracking: set[int] = set()
    total = 0
    skipped: list[int] = []
    totals: list[int] = []
    modified = [0] * rounds
    due: dict[int, list[int]] = {}
    for s, d in enumerate(delays, start=1):
        due.setdefault(s + d, []).append(s)
    for t in range(1, rounds + 1):
        for s in tracking:
            modified[s - 1] += 1
        total += len(tracking)
        totals.append(total)
        for s in sorted(tracking):
            if (t - s) ** 2 > total:
                tracking.remove(s)
                skipped.append(s)
        tracking.add(t)
        for s in due.get(t, []):
            tracking.discard(s)
    return Skipping(skipped, totals, modified)


def expiring(delays: Sequence[int], wait: int) -> tuple[list[int], list[int]]:
    """A deadline on delays alone: the rounds given up on, and all delays as the learner sees them.

    Rounds are 1, 2, .., T. Round s is given up on before prediction s + wait + 1, if there is such
    a prediction and the answer was to come only then or later.
    """
    rounds = len(delays)
    gone = [s for s, d in enumerate(delays, start=1) if d > wait and s + wait + 1 <= rounds]
    seen = [wait if s in gone else d for s, d in enumerate(delays, start=1)]
    return gone, seen


def skip_optimum(delays: Sequence[int]) -> float:
    """Theorem 6.1: min over all 2^T sets Q of |Q| + sqrt(sum of d_t outside Q)."""
    return min(
        sum(chosen) + math.sqrt(sum(d for d, out in zip(delays, chosen, strict=True) if not out))
        for chosen in itertools.product((False, True), repeat=len(delays))
    )


def skip_optimum_by_size(delays: Sequence[int]) -> float:
    """The same minimum for long sequences: a best Q of given size takes the largest delays."""
    ordered = sorted(delays)
    kept = [0, *itertools.accumulate(ordered)]
    count = len(ordered)
    return min(size + math.sqrt(kept[count - size]) for size in range(count + 1))
