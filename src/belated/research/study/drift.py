"""The regret of the base learner in its game without delay, and the cost of lateness."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from typing import Any

import numpy as np

from belated import bounds
from belated.arrays import Floats
from belated.bases import OMD, PFTRL
from belated.compose import schedule_of
from belated.reductions import FirstOrder
from belated.report import Bars, Section
from belated.report.plain import listed
from belated.research.game import Run
from belated.research.study.games import ball, game_of, measure, paper_learner
from belated.research.study.plan import Cell, Numbers, Study, axes
from belated.research.study.sections import bars, named_groups
from belated.research.study.tables import (
    Rows,
    by,
    mean,
    means,
    means_table,
    percent,
    quoted,
    short,
)

_BASES: dict[str, type[PFTRL] | type[OMD]] = {"P-FTRL": PFTRL, "OMD": OMD}


class Drift(Study):
    """Undelayed regret and drift of P-FTRL and OMD, with Theorem 4.1 and Lemma 4.2."""

    name = "drift"
    title = "Learning and lateness, measured apart"
    question = (
        "The regret of our learners is that of the base learner in a game without delay, plus the "
        "drift: what it costs that points had moved when their answers came. How large is each, "
        "and how much do Theorem 4.1 and Lemma 4.2 allow?"
    )

    grid = axes(
        loss=("linear", "linear, noisy", "quadratic"),
        pattern=(
            *("none", "constant", "constant, long", "pareto", "heavy tails", "bursts"),
            *("outages", "footnote", "first_rounds", "often lost"),
        ),
        seed=range(8),
        base=_BASES,
        rounds=20_000,
        dim=5,
    )

    def run(self, cell: Cell) -> dict[str, Any]:
        """Play one game with records, and evaluate what the two results allow."""
        game = game_of(cell["loss"], cell["pattern"], cell["dim"], cell["rounds"], cell["seed"])
        problem = game.problem(ball(cell["dim"]))
        spec = paper_learner(problem, base=_BASES[cell["base"]])
        run, row = measure(spec, game, cell["seed"], record="plays")
        return {
            **row,
            "undelayed": run.undelayed_regret,
            "drift": run.drift,
            **_allowed(run, problem.lipschitz),
        }

    def numbers(self, rows: Rows) -> Numbers:
        """The cost of lateness beside that of learning, and its share of its bound."""
        groups = by(rows, "loss", "base", "pattern").values()
        late = [group for group in groups if (mean(group, "theorem_4_1") or 0.0) > 0.0]
        if not late:
            return ()
        parts = [[mean(group, name) or 0.0 for name in ("drift", "undelayed")] for group in late]
        shares = sorted(drift / (drift + other) for drift, other in parts if drift + other > 0.0)
        larger = sum(drift > other for drift, other in parts)
        allowed = max(row["drift"] / row["theorem_4_1"] for row in rows if row["theorem_4_1"])
        typical = median(shares) if shares else 0.0
        return (
            (percent(typical), "of the cost is drift, in the median of late games"),
            (f"{larger} of {len(late)}", "kinds of games in which drift exceeds learning"),
            (short(allowed), "of what Theorem 4.1 allows: the most that was reached"),
        )

    def sections(self, rows: Rows) -> Iterator[Section]:
        """One per loss and base: the two parts on a scale of their own, and their bounds."""
        for kind, group in named_groups(rows, ("loss", "base")):
            patterns = by(group, "pattern")
            drift, learning = (means(group, "pattern", part) for part in _PARTS.values())
            larger = [quoted(name) for name in drift if drift[name] > learning[name]]
            yield Section(
                question=f"How large are drift and undelayed regret ({kind})?",
                figure=Bars(
                    title=f"Measured, {kind}",
                    labels=tuple(patterns),
                    groups=tuple(bars(n, patterns.values(), part) for n, part in _PARTS.items()),
                    y_label="summed over all rounds",
                ),
                says="Lateness cost more than learning under "
                f"{listed(larger) or 'none of these patterns'}.",
                table=means_table(
                    group,
                    "pattern",
                    _COLUMNS,
                    "Means over seeds. Undelayed regret and drift make up the linear regret of the "
                    "answered rounds, which is at least the regret for losses that bend. Lemma 4.2 "
                    "is about P-FTRL.",
                ),
            )


def _allowed(run: Run, lipschitz: float) -> dict[str, float | None]:
    """Evaluate Theorem 4.1 and Lemma 4.2 with the costs that the base learner saw.

    A cost that never came counts as the others do.
    """
    spec, timeline, domain = run.spec, run.timeline, run.domain
    assert isinstance(spec, FirstOrder) and domain is not None
    costs, lags = _gradients(run)[timeline.order], timeline.dual_delay[timeline.order]
    game = bounds.LinearGame(spec, costs, schedule_of(spec, timeline).etas, lags)
    allowed = bounds.theorem_4_1(game)
    is_convex = not run.game.constants(domain).curvature
    is_proximal = isinstance(spec.base, PFTRL)
    return {
        "learning_bound": allowed.regret if is_convex else None,
        "theorem_4_1": lipschitz * allowed.drift,
        "lemma_4_2": lipschitz * bounds.lemma_4_2(game) if is_proximal else None,
    }


def _gradients(run: Run) -> Floats:
    """Return the gradient of every round at its play: a_t, or lambda (x_t - a_t)."""
    assert run.plays is not None and run.domain is not None
    vectors = run.game.losses.rows(0, run.rounds)[0]
    curvature = run.game.constants(run.domain).curvature
    return np.asarray(curvature * (run.plays - vectors) if curvature else vectors)


_PARTS = {"drift": "drift", "undelayed regret": "undelayed"}
"""The cost of learning and the cost of lateness."""
_COLUMNS = {
    "regret": "regret",
    **_PARTS,
    "learning bound": "learning_bound",
    "Theorem 4.1": "theorem_4_1",
    "Lemma 4.2": "lemma_4_2",
}
