"""The best fixed action in hindsight: what regret is measured against."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, cast

import numpy as np
import numpy.typing as npt

from belated.arrays import Floats
from belated.domains import ConvexSet, Domain
from belated.errors import SpecError
from belated.research.game.solver import Oracle, minimise, support
from belated.research.losses import Loss, Quadratic
from belated.research.losses.base import Form
from belated.spec import whole

PRECISION = 1e-9
"""Default gap as a part of lipschitz * diameter * rounds, which bounds what an action can gain."""

CHUNK = 1 << 16
"""Rounds of a squared loss that are held in memory together."""


@dataclass(frozen=True, eq=False)
class Best:
    """The best fixed action: no action has a total loss below loss - gap."""

    x: Floats
    """The action; read-only."""
    loss: float
    """Its total loss."""
    gap: float
    """Proven bound on how much less the least loss can be; 0 for a closed form."""
    how: Literal["closed form", "solver"]
    """Where it comes from."""

    def __post_init__(self) -> None:
        """Protect the action, which several runs may share."""
        self.x.setflags(write=False)


def best_action(losses: Loss, domain: Domain, rounds: int, *, gap: float | None = None) -> Best:
    """Return the action x of the domain with the least sum of f_t(x) over t < ``rounds``.

    ``Linear`` and ``Quadratic`` losses have closed forms. For all others a solver passes over the
    rounds until it has proved that the loss is within ``gap`` of the least one (see
    :func:`belated.research.game.solver.minimise`), by default 1e-9 * lipschitz * diameter * rounds;
    ``Squared`` losses take two passes, since a matrix says all about them. The solver is in the
    extra ``solver``. The gap of the result is larger than asked only where rounding hides the rest
    or a very long search was given up.

    >>> from belated import Ball, losses
    >>> best = best_action(losses.Linear([[3.0, 4.0], [0.0, 0.0]]), Ball(2), 2)
    >>> best.x, best.loss, best.how
    (array([-0.6, -0.8]), -5.0, 'closed form')
    """
    rounds = whole("best_action", "rounds", rounds)
    _check(losses, domain)
    return _FINDERS[losses.form](losses, domain, rounds, gap)


def _check(losses: Loss, domain: Domain) -> None:
    """Refuse what has no best action, or none that can be proved."""
    if not isinstance(losses, Loss) or not isinstance(domain, Domain):
        raise SpecError(f"best_action: takes losses and a domain, got {losses!r} and {domain!r}")
    if losses.is_adaptive:
        raise SpecError(
            "best_action: these losses depend on the plays, so they have a best action only after "
            f"a game: see Run.best; got {losses!r}"
        )
    if losses.dim != domain.dim:
        raise SpecError(
            "best_action: losses and domain must have the same dimension, got "
            f"{losses.dim} and {domain.dim}"
        )
    if isinstance(domain, ConvexSet) and losses.form != "quadratic":
        raise SpecError(
            "best_action: of a ConvexSet only the projection is known, from which no action can be "
            "proved best; compare with an action of your own (Run.regret_against)"
        )


def _of_linear(losses: Loss, domain: Domain, rounds: int, gap: float | None) -> Best:
    x, loss = support(domain, losses.total(domain.center, rounds)[1])
    return Best(x, loss, 0.0, "closed form")


def _of_quadratic(losses: Loss, domain: Domain, rounds: int, gap: float | None) -> Best:
    """Go to the mean of the a_t: the sum of gradients at x is lambda * rounds * (x - mean)."""
    gradient = losses.total(domain.center, rounds)[1]
    mean = np.array(domain.center) - gradient / (cast(Quadratic, losses).curvature * rounds)
    x = np.asarray(domain.project(mean), dtype=np.float64)  # type: ignore[attr-defined]
    return Best(x, losses.total(x, rounds)[0], 0.0, "closed form")


def _of_squared(losses: Loss, domain: Domain, rounds: int, gap: float | None) -> Best:
    oracle = _squared_oracle(losses, np.array(domain.center), rounds)
    found = minimise(oracle, domain, gap=_gap(losses, domain, rounds, gap))
    return Best(found.x, losses.total(found.x, rounds)[0], found.gap, "solver")


def _of_convex(losses: Loss, domain: Domain, rounds: int, gap: float | None) -> Best:
    def total(x: Floats) -> tuple[float, npt.ArrayLike]:
        return losses.total(x, rounds)

    found = minimise(total, domain, gap=_gap(losses, domain, rounds, gap))
    return Best(found.x, found.value, found.gap, "solver")


_FINDERS: dict[Form, Callable[[Loss, Domain, int, float | None], Best]] = {
    "linear": _of_linear,
    "quadratic": _of_quadratic,
    "squared": _of_squared,
    "convex": _of_convex,
}


def _gap(losses: Loss, domain: Domain, rounds: int, gap: float | None) -> float:
    if gap is not None:
        return gap
    lipschitz = losses.constants(domain).lipschitz
    if lipschitz is None:
        raise SpecError("best_action: losses do not tell their lipschitz, so gap must be given")
    return PRECISION * lipschitz * domain.diameter * rounds


def _squared_oracle(losses: Loss, center: Floats, rounds: int) -> Oracle:
    """Return the total of squared losses from three sums over the rounds.

    With d = x - center and the rest r_t = b_t - <a_t, center>,
    sum_t (r_t - <a_t, d>)^2 / 2 = (sum r_t^2 - 2 <sum r_t a_t, d> + d' (sum a_t a_t') d) / 2.
    """
    gram, cross, power = np.zeros((losses.dim, losses.dim)), np.zeros(losses.dim), 0.0
    for start in range(0, rounds, CHUNK):
        vectors, targets = losses.rows(start, min(start + CHUNK, rounds))
        rests = targets - vectors @ center
        gram += vectors.T @ vectors
        cross += rests @ vectors
        power += float(rests @ rests)

    def total(x: Floats) -> tuple[float, npt.ArrayLike]:
        d = x - center
        pull = gram @ d
        return power / 2.0 - float(cross @ d) + float(d @ pull) / 2.0, pull - cross

    return total
