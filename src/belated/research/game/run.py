"""``Run``: what came out of one game."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from belated.arrays import Floats, Ints
from belated.bounds import Bound
from belated.domains import ConvexSet, Domain
from belated.errors import SpecError
from belated.geometry import shape_of
from belated.models.learner.report import Report
from belated.reductions import LearnerSpec
from belated.research.game.allowed import bound_of, set_of, wants_fixed_delays
from belated.research.game.best import Best, best_action
from belated.research.game.game import Game
from belated.research.game.solver import support
from belated.research.losses import Custom, Loss
from belated.timeline import Timeline
from belated.validation import numbers


@dataclass(frozen=True, eq=False)
class Run:
    """One learner in one game.

    Sums run over all rounds, answered or not. ``regret`` is measured against the best fixed action
    in hindsight; ``regret_against`` takes any other comparator.

    >>> import belated as bl
    >>> game = bl.Game(bl.losses.Linear(bl.losses.Random(3)), bl.delays.constant(1000, 5))
    >>> run = bl.play(game.problem(bl.Ball(3)).learner("gradient"), game)
    >>> run.regret < run.bound.total
    True
    """

    spec: LearnerSpec
    game: Game
    seed: int
    timeline: Timeline
    """The delays of this game; where they depend on the plays, those that came about."""
    loss: float
    """Sum of f_t(x_t); a play of several points pays the mean over them."""
    report: Report
    """The learner's own counts at the end."""
    checkpoints: Ints
    """Numbers of rounds after which the curves are taken."""
    loss_curve: Floats
    """Sum of losses after so many rounds."""
    seconds: float
    """Time in the loop."""
    losses: Floats | None = None
    """Loss of every round, where records were asked for."""
    plays: Floats | None = None
    """All plays, where records were asked for: one row per round."""
    linear: LinearSums | None = None
    """Sums for the linear regret, where details were asked for and a play is one point."""
    base: LinearSums | None = None
    """The same for the game of the base learner, in its chart; only for our own learners."""
    undelayed_loss: float | None = None
    """Sum of <c_n, z_n>: what the base learner pays in its game if drift is forgiven."""
    vectors: Floats | None = None
    """Sum of a_t per checkpoint and in total, for losses chosen after seeing the plays."""

    @property
    def rounds(self) -> int:
        """T."""
        return self.game.rounds

    @property
    def domain(self) -> Domain | None:
        """The set that the learner plays in."""
        return set_of(self.spec)

    @functools.cached_property
    def best(self) -> Best:
        """The best fixed action in hindsight, with the gap up to which that is certain."""
        domain = self.domain
        if domain is None or not self._knows_best:
            raise SpecError(
                "Run: the best fixed action is found on Ball, Box, Simplex and L1Ball, for losses "
                "that say their lipschitz; use regret_against(comparator) here"
            )
        if self.vectors is not None:
            x, loss = support(domain, self.vectors[-1])
            return Best(x, loss, 0.0, "closed form")
        try:
            return _best(self.game.losses, domain, self.rounds)
        except TypeError:  # a user's function without a hash: there is nothing to share it by
            return best_action(self.game.losses, domain, self.rounds)

    @property
    def _knows_best(self) -> bool:
        losses = self.game.losses
        says_enough = not isinstance(losses, Custom) or losses.lipschitz is not None
        return self.domain is not None and not isinstance(self.domain, ConvexSet) and says_enough

    @property
    def regret(self) -> float:
        """Loss above that of the best fixed action; at most ``best.gap`` too small."""
        return self.loss - self.best.loss

    def regret_against(self, comparator: ArrayLike) -> float:
        """Loss above that of a given action."""
        return self.loss - float(self._curve_of(self._point(comparator))[-1])

    @property
    def regret_curve(self) -> Floats:
        """Regret against the best action of the whole game, after so many rounds."""
        return self.regret_curve_against(self.best.x)

    def regret_curve_against(self, comparator: ArrayLike) -> Floats:
        """Regret against a given action, after so many rounds."""
        return self.loss_curve - self._curve_of(self._point(comparator))[:-1]

    def dynamic_regret(self, path: ArrayLike) -> float:
        """Loss above that of a path: row t of ``path`` is the action of round t to compare with.

        >>> import belated as bl
        >>> losses = bl.losses.Quadratic([[0.5], [-0.5]] * 50)
        >>> game = bl.Game(losses, bl.delays.constant(100, 2))
        >>> run = bl.play(game.problem(bl.Ball(1)).learner("gradient"), game)
        >>> run.dynamic_regret([[0.5], [-0.5]] * 50) == run.loss > run.regret
        True
        """
        points = numbers(path, "Run: a path is numbers", SpecError)
        if points.shape != (self.rounds, self.game.losses.dim):
            raise SpecError(
                f"Run: a path has shape {(self.rounds, self.game.losses.dim)}, got {points.shape}"
            )
        return self.loss - self.game.losses.along(points)

    @property
    def movement(self) -> float:
        """Sum of |x_t - x_{t-1}|; for plays of several points, of the mean over these."""
        if self.plays is None:
            raise SpecError("Run: movement needs all plays: play with record='plays'")
        steps = np.linalg.norm(np.diff(self.plays, axis=0), axis=-1)
        return float(steps.sum() / (1 if steps.ndim == 1 else steps.shape[1]))

    @property
    def linear_regret(self) -> float:
        """Sum of <g_t, x_t - u> with u the best fixed action: at least the regret."""
        if self.linear is None:
            raise SpecError(_NO_DETAIL)
        return self.linear.against(self.best.x)

    @property
    def drift(self) -> float:
        """Sum of <c_n, z_s - z_n>: what it cost that the points had moved when answers came."""
        base, undelayed = self._base_sums()
        return base.played - undelayed

    @property
    def undelayed_regret(self) -> float:
        """Sum of <c_n, z_n - u>: regret of the base learner in its game without delay.

        With ``drift`` it makes up the linear regret of the answered rounds, as in the paper's
        decomposition (for one-point and two-point feedback that of the estimates).
        """
        base, undelayed = self._base_sums()
        return undelayed - float(base.gradients @ self._in_chart(self.best.x))

    @functools.cached_property
    def bound(self) -> Bound | None:
        """The regret that the learner's corollary allows on these delays; None where there is none.

        It assumes what the learner was told of the losses (``report.excess`` counts the answers
        that were larger). For gradients it holds for every sequence of plays, losses and delays, so
        also where the plays choose the delays; for values it is a bound on the mean over
        exploration directions, for delays that do not depend on them.
        """
        return None if self._obstacle else bound_of(self.spec, self.timeline)

    @property
    def bound_note(self) -> str:
        """Why there is no bound, or nothing."""
        if self.bound is not None:
            return ""
        if self._obstacle:
            return f"no theorem: {self._obstacle}"
        return "no corollary is about exactly this learner"

    @property
    def _obstacle(self) -> str:
        return wants_fixed_delays(self.spec) if self.delays_depend_on_plays else ""

    @property
    def delays_depend_on_plays(self) -> bool:
        """Whether the plays chose the delays."""
        return not isinstance(self.game.timeline, Timeline)

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain data, one row of a table.

        Where the best fixed action is unknown (a user's set, a base that does not say its set, or
        losses that do not say their lipschitz), what needs it is None.
        """
        bound, timeline = self.bound, self.timeline
        best = self.best if self._knows_best else None
        row: dict[str, Any] = {
            "learner": repr(self.spec),
            "game": self.game.name,
            "seed": self.seed,
            "rounds": self.rounds,
            "total_delay": timeline.total_delay,
            "max_delay": timeline.max_delay,
            "max_backlog": timeline.max_backlog,
            "loss": self.loss,
            "best_loss": None if best is None else best.loss,
            "regret": None if best is None else self.regret,
            "regret_gap": None if best is None else best.gap,
            "bound": bound.total if bound is not None else None,
            "skipped": self.report.skipped,
            "excess": self.report.excess,
            "seconds": self.seconds,
        }
        if self.linear is not None:
            row["linear_regret"] = None if best is None else self.linear_regret
        if self.base is not None:
            row["undelayed_regret"] = None if best is None else self.undelayed_regret
            row["drift"] = self.drift
        return row

    def __str__(self) -> str:
        """Return a short table for people."""
        lines = [
            f"{self.spec!r}",
            f"rounds          {self.rounds:>12,}   total delay {self.timeline.total_delay:,}",
        ]
        if not self._knows_best:
            lines.append(f"loss            {self.loss:>12,.6g}   best fixed action unknown")
            return "\n".join(lines)
        lines += [
            f"loss            {self.loss:>12,.6g}   best fixed action {self.best.loss:,.6g}",
            f"regret          {self.regret:>12,.6g}   {self._in_words()}",
        ]
        if self.base is not None:
            lines.append(
                f"  of its game   {self.undelayed_regret + self.drift:>12,.6g}   without delay "
                f"{self.undelayed_regret:,.6g} + drift {self.drift:,.6g}"
            )
        return "\n".join(lines)

    def _in_words(self) -> str:
        bound = self.bound
        if bound is None:
            return self.bound_note
        vacuous = ", which is vacuous" if bound.vacuous else ""
        return f"{bound.name} allows {bound.total:,.6g}{vacuous}"

    def _base_sums(self) -> tuple[LinearSums, float]:
        if self.base is None or self.undelayed_loss is None:
            raise SpecError(_NO_DETAIL)
        return self.base, self.undelayed_loss

    def _point(self, comparator: ArrayLike) -> Floats:
        point = numbers(comparator, "Run: a comparator must be numbers", SpecError)
        if point.shape != (self.game.losses.dim,):
            raise SpecError(
                f"Run: a comparator has {self.game.losses.dim} numbers, got shape {point.shape}"
            )
        return point

    def _curve_of(self, x: Floats) -> Floats:
        """Return the sum of f_t(x) at every checkpoint, and in total."""
        if self.vectors is not None:
            return self.vectors @ x
        return self.game.losses.curve(x, np.append(self.checkpoints, self.rounds))

    def _in_chart(self, x: Floats) -> Floats:
        """Return a point of the set in the chart of the base learner."""
        domain = self.domain
        assert domain is not None
        return np.asarray((x - np.array(domain.origin)) / shape_of(domain).scales)


@dataclass(frozen=True, eq=False)
class LinearSums:
    """Sums of a linear game: what was paid, and all gradients."""

    played: float
    """Sum of <g_t, x_t>."""
    gradients: Floats
    """Sum of g_t."""

    def against(self, u: Floats) -> float:
        """Sum of <g_t, x_t - u>."""
        return self.played - float(self.gradients @ u)


_NO_DETAIL = (
    "Run: not recorded: play with record='detail' (or 'plays'); linear regret is there where a "
    "play is one point, drift for our own learners that are told gradients or values"
)


@functools.lru_cache(maxsize=64)
def _best(losses: Loss, domain: Domain, rounds: int) -> Best:
    """Return the best fixed action; several runs in one game share it."""
    return best_action(losses, domain, rounds)
