"""Sections 4 and 5 for a game that was played: what its record allows, as numbers.

A ``LinearGame`` holds the costs, lags, rates and points of a base learner in order of arrival. The
theorems about it are inequalities for these very numbers, so each function returns the right-hand
side. Everything is measured in the chart of the set.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from belated.arrays import Floats, Ints
from belated.bases import OMD, PFTRL
from belated.bounds.play import Play
from belated.domains import Domain
from belated.errors import SpecError
from belated.geometry import shape_of
from belated.reductions import FirstOrder, OnePoint, Reduction, TwoPoint

if TYPE_CHECKING:
    from belated.timeline import Timeline


@dataclass(frozen=True, eq=False)
class LinearGame:
    """A game of linear losses with drift penalties (section 4), one entry per arrival.

    >>> from belated import Ball, FirstOrder, Learner, Timeline, rates
    >>> learner = Learner(FirstOrder(PFTRL(Ball(2), rates.Tight(1.0))))
    >>> late = Timeline.from_delays([1, 1, 0])
    >>> game = record_game(learner, late, [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    >>> game.lags, game.open_lags
    (array([0, 1, 1]), array([1, 1, 0]))
    >>> bool(game.drift <= theorem_4_1(game).drift)
    True
    """

    spec: Reduction
    """A reduction over P-FTRL or OMD."""
    costs: Floats
    """c_n, a row each."""
    rates: Floats
    """eta_n."""
    lags: Ints
    """lambda_n: the dual delay of the n-th arrival."""
    points: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    """z_n: where the base was when the n-th answer came, a row each. Not needed by
    ``theorem_4_1`` without a comparator, nor by the lemmas."""
    bias: float = 0.0
    """R delta_tot / r, where plays explore."""

    @property
    def base(self) -> PFTRL | OMD:
        """The learner that plays this game."""
        return _base_of(self.spec)

    @property
    def open_lags(self) -> Ints:
        """nu_n: how many later costs have a lag that reaches back to the n-th point."""
        rounds = np.arange(len(self.lags))
        begun = np.bincount(rounds - self.lags, minlength=len(self.lags))
        ended = np.append(0, np.bincount(rounds, minlength=len(self.lags))[:-1])
        counts: Ints = np.cumsum(begun - ended) - 1
        return counts

    @property
    def misalignment(self) -> float:
        """H = sum_n (1 - eta_n / eta_{n - lambda_n})."""
        return float(np.sum(1.0 - self.rates / self.rates[self._starts]))

    @property
    def drift(self) -> float:
        """D_N = sum_n |z_{n - lambda_n} - z_n|."""
        return float(np.sum(self._norms(self.points[self._starts] - self.points)))

    def regret(self, comparator: ArrayLike) -> float:
        """Return R_N(u) = sum_n <c_n, z_n - u>; u is a point of the set."""
        return float(np.sum(self.costs * (self.points - self._in_chart(comparator))))

    @property
    def _starts(self) -> Ints:
        """n - lambda_n."""
        return np.arange(len(self.lags)) - self.lags

    @property
    def _is_entropy(self) -> bool:
        return isinstance(self.base, OMD) and self.base.mirror == "entropy"

    def _norms(self, rows: Floats, *, dual: bool = False) -> Floats:
        """Return the norm of every row, in which the mirror is strongly convex, or its dual."""
        order = (np.inf if dual else 1) if self._is_entropy else 2
        return np.asarray(np.linalg.norm(rows, order, axis=1))

    def _in_chart(self, x: ArrayLike) -> Floats:
        domain = self.base.domain
        point = np.asarray(x, dtype=np.float64) - np.array(domain.origin)
        return np.asarray(point / shape_of(domain).scales)

    def _divergences(self, comparator: ArrayLike) -> Floats:
        """Return B(u; z_n): half the squared distance, or the Kullback-Leibler divergence."""
        u = self._in_chart(comparator)
        if not self._is_entropy:
            return np.asarray(0.5 * np.sum((self.points - u) ** 2, axis=1))
        used = u > 0.0
        with np.errstate(divide="ignore"):
            ratios = np.log(u[used] / self.points[:, used])
        return np.asarray(ratios @ u[used])


def _base_of(spec: Reduction) -> PFTRL | OMD:
    if not isinstance(spec.base, PFTRL | OMD):
        raise SpecError(f"LinearGame: the base must be a PFTRL or an OMD, got {spec.base!r}")
    return spec.base


def record_game(learner: Any, timeline: Timeline, answers: ArrayLike) -> LinearGame:
    """Let a fresh ``Learner`` play along a timeline and return the game of its base.

    ``answers[t]`` is what ticket t hears: a gradient, a value or two values. Answers of tickets
    that the timeline marks as unanswered are ignored.
    """
    spec = learner.spec
    if not isinstance(spec, FirstOrder | OnePoint | TwoPoint) or getattr(spec, "baseline", None):
        raise SpecError(
            "record_game: needs a learner over FirstOrder, OnePoint without a baseline, or "
            f"TwoPoint, got {spec!r}"
        )
    if learner.rounds:
        raise SpecError(f"record_game: the learner must be fresh, got {learner.rounds} rounds")
    if not timeline.observed.any():
        raise SpecError("record_game: the timeline has no answer, so its base plays no game")
    given = np.asarray(answers, dtype=np.float64)
    domain = _base_of(spec).domain
    scales = shape_of(domain).scales
    explores = not isinstance(spec, FirstOrder)
    play = Play(timeline, spec) if explores else None
    points, costs, etas, lags, directions = [], [], [], [], []
    for event in timeline.events.tolist():
        point = learner.state()["base.point"]
        if event >= 0:
            x = np.atleast_2d(learner.predict().x)[0]
            if play is not None:
                seen = (x - np.array(domain.origin)) / scales
                directions.append(_direction(domain, play.radii[event], seen, point))
        elif timeline.observed[~event]:
            answer = given[~event]
            learner.observe(~event, answer)
            state = learner.state()
            points.append(point)
            lags.append(state["tickets.lag"])
            etas.append(state["base.sums.rate"])
            costs.append(directions[~event] * _value(answer) if explores else answer * scales)
    rates = np.array(etas)
    # Before the first cost that is not zero any rate leaves the base where it is.
    rates[rates == 0.0] = next(filter(None, etas), 1.0)
    return LinearGame(
        spec,
        np.array(costs).reshape(len(costs), -1),
        rates,
        np.array(lags, dtype=np.int64),
        np.array(points).reshape(len(points), -1),
        0.0 if play is None else play.bias,
    )


def _direction(domain: Domain, radius: float, x: Floats, point: Floats) -> Floats:
    """Return k u / delta of a play x = (1 - delta / r) z + delta u."""
    assert domain.inner_radius  # as the spec explores
    moved = x - (1.0 - radius / domain.inner_radius) * point
    return np.asarray(domain.dim * moved / radius**2)


def _value(answer: Any) -> float:
    """Return the value by which a direction is weighed: half the difference of two."""
    return float(answer) if np.ndim(answer) == 0 else 0.5 * float(answer[0] - answer[1])


class Allowed(NamedTuple):
    """The bound of Theorem 4.1."""

    regret: float
    """Of ``LinearGame.regret``."""
    drift: float
    """Of ``LinearGame.drift``."""


def theorem_4_1(game: LinearGame, comparator: ArrayLike | None = None) -> Allowed:
    """Theorem 4.1: P-FTRL or OMD with any rates that do not increase.

    Regret: sum_n (1/eta_n - 1/eta_{n-1}) |z_n - u|^2 / 2 + sum_n eta_n |c_n|^2 / 2, and without a
    comparator D^2 / (2 eta_N) in the place of the first sum. Drift: sum_n eta_n nu_n |c_n|. Under
    the entropy mirror divergences stand for halves of squares (``theorem_d_4``).
    """
    sizes = game._norms(game.costs, dual=True)
    if comparator is None:
        start = game.base.diameter**2 / (2.0 * float(game.rates[-1]))
    else:
        growth = np.diff(1.0 / game.rates, prepend=0.0)
        far = growth > 0.0  # a divergence may be infinite where the rate stays
        start = float(growth[far] @ game._divergences(comparator)[far])
    learning = start + 0.5 * float(game.rates @ sizes**2)
    return Allowed(learning, float(game.rates @ (game.open_lags * sizes)))


def theorem_d_4(game: LinearGame, comparator: ArrayLike | None = None) -> Allowed:
    """Theorem D.4: Theorem 4.1 for OMD with the divergence B of its mirror.

    Regret: sum_n (1/eta_n - 1/eta_{n-1}) B(u; z_n) + sum_n eta_n |c_n|^2 / 2. Every step is at most
    eta_n |c_n|, which makes the drift that of Theorem 4.1.
    """
    if not isinstance(game.base, OMD):
        raise SpecError(f"theorem_d_4: the base must be an OMD, got {game.base!r}")
    return theorem_4_1(game, comparator)


def lemma_4_2(game: LinearGame) -> float:
    """Lemma 4.2: drift of P-FTRL <= sum_n eta_n |sum of the lambda_n costs before c_n| + D H.

    H is ``game.misalignment``.
    """
    if not isinstance(game.base, PFTRL):
        raise SpecError(f"lemma_4_2: the base must be a PFTRL, got {game.base!r}")
    sums = np.vstack([np.zeros(game.costs.shape[1]), np.cumsum(game.costs, axis=0)])
    waiting = game._norms(sums[:-1] - sums[game._starts], dual=True)
    return float(game.rates @ waiting) + game.base.diameter * game.misalignment


class Misalignment(NamedTuple):
    """The two bounds of Lemma D.6 on ``LinearGame.misalignment``."""

    logarithmic: float
    """(max nu_n + 1) ln(e eta_1 / eta_N)."""
    window: float
    """The largest sum of eta_n .. eta_{n + nu_n}, over eta_N."""


def lemma_d_6(game: LinearGame) -> Misalignment:
    """Lemma D.6: two bounds on H = sum_n (1 - eta_n / eta_{n - lambda_n})."""
    first, last = float(game.rates[0]), float(game.rates[-1])
    waiting = game.open_lags
    total = np.append(0.0, np.cumsum(game.rates))
    ends = np.minimum(np.arange(len(waiting)) + waiting + 1, len(waiting))
    window = float(np.max(total[ends] - total[:-1])) / last
    return Misalignment((int(waiting.max()) + 1) * math.log(math.e * first / last), window)


def theorem_5_2(
    game: LinearGame, comparator: ArrayLike, *, lipschitz: float, curvature: float = 0.0
) -> float:
    """Theorem 5.2: the regret against u over answered rounds is at most R_N(u) + G D_N.

    With ``curvature`` lambda: R_N(u) + 3 G D_N - (lambda / 2) sum_n |z_n - u|^2.
    """
    if not curvature:
        return game.regret(comparator) + lipschitz * game.drift
    if game._is_entropy:
        raise SpecError("theorem_5_2: the strongly convex case needs Euclidean distances")
    pull = curvature * float(np.sum(game._divergences(comparator)))
    return game.regret(comparator) + 3.0 * lipschitz * game.drift - pull


def theorem_5_6(
    game: LinearGame, comparator: ArrayLike, *, lipschitz: float, curvature: float = 0.0
) -> float:
    """Theorem 5.6: with one value per round the mean of this over directions bounds that of regret.

    Theorem 5.2 for the game of estimates, and 6 G R delta_tot / r, or 10 with ``curvature``.
    """
    allowed = theorem_5_2(game, comparator, lipschitz=lipschitz, curvature=curvature)
    return allowed + (10.0 if curvature else 6.0) * lipschitz * game.bias


def theorem_g_2(
    game: LinearGame, comparator: ArrayLike, *, lipschitz: float, curvature: float = 0.0
) -> float:
    """Theorem G.2: the same for two values per round.

    Differs from the paper: 6 and 10 stand for its 7 and 11, which count one G delta twice.
    """
    return theorem_5_6(game, comparator, lipschitz=lipschitz, curvature=curvature)
