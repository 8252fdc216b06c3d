"""What the base learner loses in its game without delay, and what lateness adds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from belated.game import Run
from belated.learners import PFTRL
from belated.problem import BaseName
from belated.program import schedule_of
from belated.reductions import FirstOrder
from belated.report import Bars, Section, Series, Table
from belated.study.games import ball, code_of, game_of, measure
from belated.study.plan import Cell, Row, Study
from belated.study.tables import by, listed, mean, short

_BASES: dict[str, BaseName] = {"P-FTRL": "pftrl", "OMD": "omd"}
_PATTERNS = (
    *("none", "constant", "constant, long", "pareto", "heavy tails", "bursts", "outages"),
    *("footnote", "first_rounds", "often lost"),
)
_QUICK_PATTERNS = ("none", "constant", "pareto", "footnote", "first_rounds")


class Drift(Study):
    """Undelayed regret and drift of P-FTRL and OMD, with Theorem 4.1 and Lemma 4.2."""

    name = "drift"
    title = "Learning and lateness, measured apart"
    question = (
        "The regret of our learners is that of the base learner in a game without delay, plus the "
        "drift: what it costs that points had moved when their answers came. How large is each, "
        "and how much do Theorem 4.1 and Lemma 4.2 allow?"
    )

    def cells(self, quick: bool) -> Iterator[Cell]:
        """Both bases, convex and strongly convex, on every pattern."""
        rounds, seeds = (5_000, 3) if quick else (20_000, 8)
        for loss in ("linear", "quadratic") if quick else ("linear", "linear, noisy", "quadratic"):
            for pattern in _QUICK_PATTERNS if quick else _PATTERNS:
                for seed in range(seeds):
                    for base in _BASES:
                        yield Cell.of(
                            f"{base}/{code_of(loss)}",
                            base=base,
                            loss=loss,
                            pattern=pattern,
                            rounds=rounds,
                            dim=5,
                            seed=seed,
                        )

    def run(self, cell: Cell) -> dict[str, Any]:
        """Play one game with records, and evaluate what the two results allow."""
        game = game_of(cell["loss"], cell["pattern"], cell["dim"], cell["rounds"], cell["seed"])
        problem = game.problem(ball(cell["dim"]))
        spec = problem.learner("gradient", base=_BASES[cell["base"]])
        run, row = measure(spec, game, cell["seed"], record="plays")
        return {
            **row,
            "undelayed": run.undelayed_regret,
            "drift": run.drift,
            **_allowed(run, problem.lipschitz),
        }

    def sections(self, rows: Sequence[Row]) -> tuple[Section, ...]:
        """One section per loss and base."""
        return tuple(
            _section(loss, base, group) for (loss, base), group in by(rows, "loss", "base").items()
        )


def _allowed(run: Run, lipschitz: float) -> dict[str, float | None]:
    """Evaluate Theorem 4.1 and Lemma 4.2 with the costs that the base learner saw.

    Learning: D^2 / (2 eta_N) + sum eta_n |c_n|^2 / 2, for linear losses. Drift: G sum eta_n s*_n
    |c_n|, and for P-FTRL also G (sum eta_n |sum of the d*_n costs before c_n| + D H). A cost that
    never came counts as the others do.
    """
    spec, timeline, domain = run.spec, run.timeline, run.domain
    assert isinstance(spec, FirstOrder) and domain is not None
    costs = _gradients(run)[timeline.order]
    sizes = np.linalg.norm(costs, axis=1)
    etas = schedule_of(spec, timeline.events).etas
    lags = timeline.dual_delay[timeline.order]
    opened = timeline.dual_backlog[timeline.order]
    sums = np.vstack([np.zeros(costs.shape[1]), np.cumsum(costs, axis=0)])
    start = np.arange(len(costs)) - lags
    waiting = np.linalg.norm(sums[:-1] - sums[start], axis=1)
    misaligned = float(np.sum(1.0 - etas / etas[start]))
    is_convex = not run.game.constants(domain).curvature
    learning = domain.diameter**2 / (2.0 * etas[-1]) + float(etas @ sizes**2) / 2.0
    is_proximal = isinstance(spec.base, PFTRL)
    lemma = lipschitz * (float(etas @ waiting) + domain.diameter * misaligned)
    return {
        "learning_bound": float(learning) if is_convex else None,
        "theorem_4_1": lipschitz * float(etas @ (opened * sizes)),
        "lemma_4_2": lemma if is_proximal else None,
    }


def _gradients(run: Run) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return the gradient of every round at its play: a_t, or lambda (x_t - a_t)."""
    assert run.plays is not None and run.domain is not None
    vectors = run.game.losses.rows(0, run.rounds)[0]
    curvature = run.game.constants(run.domain).curvature
    return np.asarray(curvature * (run.plays - vectors) if curvature else vectors)


_BARS = {
    "measured": ("undelayed", "drift"),
    "Theorem 4.1": ("learning_bound", "theorem_4_1"),
    "Lemma 4.2": ("learning_bound", "lemma_4_2"),
}
"""What is stacked: the part of learning and the part of lateness, measured and allowed."""


def _section(loss: str, base: str, rows: Sequence[Row]) -> Section:
    bars = {
        f"{pattern}, {name}": (name == "measured", mean(group, learning), mean(group, lateness))
        for pattern, group in by(rows, "pattern").items()
        for name, (learning, lateness) in _BARS.items()
        if mean(group, lateness) is not None
    }

    def series_of(name: str, measured: bool, place: int) -> Series:
        values = [(bar[0], bar[1:][place]) for bar in bars.values()]
        return Series(name, (), tuple(y if kind == measured else None for kind, y in values))

    series = (
        series_of("undelayed regret", True, 0),
        series_of("drift", True, 1),
        series_of("undelayed regret (bound)", False, 0),
        series_of("drift (bound)", False, 1),
    )
    smallest = min((y for each in series for y in each.y if y is not None), default=0.0)
    return Section(
        question=f"How large are undelayed regret and drift of {base} with {loss} losses?",
        figure=Bars(
            title=f"Measured and allowed, {base}, {loss} losses",
            labels=tuple(bars),
            groups=series,
            y_label="summed over all rounds",
            stacked=smallest >= 0.0,
        ),
        says=_says(base, rows),
        table=_table(rows),
    )


def _says(base: str, rows: Sequence[Row]) -> str:
    """Say how close the drift comes to what is allowed, and when Lemma 4.2 is the better one."""
    late = [row for row in rows if row["theorem_4_1"]]
    if not late:
        return "No answer was late in these games, so there is no drift."
    groups = by(late, "pattern")
    share = max(row["drift"] / row["theorem_4_1"] for row in late)
    larger = [
        pattern
        for pattern, group in groups.items()
        if (mean(group, "drift") or 0.0) > (mean(group, "undelayed") or 0.0)
    ]
    first = (
        f"Lateness cost more than learning under {listed(larger) or 'none of these patterns'}; the "
        f"drift was at most {short(share)} of what Theorem 4.1 allows."
    )
    if mean(late, "lemma_4_2") is None:
        return f"{first} Lemma 4.2 does not hold for {base}."
    better = [
        pattern
        for pattern, group in groups.items()
        if (mean(group, "lemma_4_2") or 0.0) < (mean(group, "theorem_4_1") or 0.0)
    ]
    return f"{first} Lemma 4.2 is the smaller bound under {listed(better) or 'none of them'}."


def _table(rows: Sequence[Row]) -> Table:
    columns = ("regret", "undelayed", "drift", "learning_bound", "theorem_4_1", "lemma_4_2")
    names = ("regret", "undelayed regret", "drift", "learning bound", "Theorem 4.1", "Lemma 4.2")
    return Table(
        columns=("pattern", *names),
        rows=tuple(
            (pattern, *(mean(group, column) for column in columns))
            for pattern, group in by(rows, "pattern").items()
        ),
        caption="Means over seeds. Undelayed regret and drift make up the linear regret of the "
        "answered rounds, which is at least the regret for losses that bend.",
    )
