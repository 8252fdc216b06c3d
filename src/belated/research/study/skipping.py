"""With and without giving up on late answers."""

from __future__ import annotations

import math
from typing import Any

from belated import bounds
from belated.report import Section
from belated.research.study.games import ball, game_of, measure, paper_learner
from belated.research.study.plan import Cell, Numbers, Study, axes
from belated.research.study.sections import growth_sections
from belated.research.study.tables import (
    Rows,
    by,
    geometric_mean,
    means,
    means_table,
    short,
    where,
)

_WAYS = {"without Skip": False, "with Skip": True}
_COLUMNS = {
    "given up on": "skipped",
    "best to give up on": "best_skipped",
    "delay left": "left_delay",
    "cost": "cost",
    "optimum": "best_cost",
}


class Skipping(Study):
    """The learner of Section 6 beside the plain one."""

    name = "skipping"
    title = "When giving up on late answers pays"
    question = (
        "A few answers that come very late, or never, make the total delay large, and a learner "
        "that waits for them slow. Algorithm 3 gives up on them. When does that pay, how close is "
        "it to the best set of rounds to give up on, and what does it cost where nothing is lost?"
    )
    grid = axes(
        feedback=("gradient", "value"),
        pattern=("first_rounds", "heavy tails", "outages", "often lost", "constant, long"),
        rounds=(1_000, 3_000, 10_000, 30_000, 100_000),
        seed=range(8),
        way=_WAYS,
    )

    def run(self, cell: Cell) -> dict[str, Any]:
        """Play one game; costs are numbers of rounds given up on plus the root of what is left."""
        game = game_of("linear", cell["pattern"], 3, cell["rounds"], cell["seed"])
        skip = _WAYS[cell["way"]]
        spec = paper_learner(game.problem(ball(3)), cell["feedback"], skip=skip)
        run, row = measure(spec, game, cell["seed"])
        best = run.timeline.skip_tradeoff()
        left = bounds.skipping(run.timeline)
        total = left.total_delay if skip else run.timeline.total_delay
        return {
            **row,
            "skipped": run.report.skipped,
            "left_delay": total,
            "cost": run.report.skipped + math.sqrt(total),
            "best_skipped": best.skipped,
            "best_cost": best.cost,
        }

    def numbers(self, rows: Rows) -> Numbers:
        """In how many kinds of games it pays at the end, and how close it is to the optimum."""
        ends = [_at_end(group) for group in by(rows, "feedback", "pattern").values()]
        paid = sum(skips < waits - 0.005 * abs(waits) for skips, waits in ends)
        ratios = [skips / waits for skips, waits in ends if min(skips, waits) > 0.0]
        return (
            (f"{paid} of {len(ends)}", "kinds of games in which giving up pays"),
            (f"{short(geometric_mean(ratios))} times", "the regret without it, in the mean"),
            (f"{_worst(rows)} times", "the best choice, at worst; 3 allowed"),
        )

    def sections(self, rows: Rows) -> tuple[Section, ...]:
        """One section per kind of answer and pattern, then the cost beside the optimum."""
        end = max(row["rounds"] for row in rows)
        last = where(rows, way="with Skip", rounds=end)
        return (
            *growth_sections(rows, ("feedback", "pattern"), ("rounds", "rounds T"), per="way"),
            Section(
                question="How good are the rounds that Skip gives up on?",
                figure=None,
                says=f"What Skip pays was at most {_worst(rows)} times the optimum, where Theorem "
                "6.1 allows 3 times, and 3 more.",
                table=means_table(
                    last,
                    "pattern",
                    _COLUMNS,
                    f"At T = {end:,}, means over seeds and both kinds of answers; the cost is the "
                    "rounds given up on, plus the root of the delays left.",
                ),
            ),
        )


def _at_end(rows: Rows) -> tuple[float, float]:
    """Return the mean regrets with and without giving up, at the longest horizon."""
    last = means(where(rows, rounds=max(row["rounds"] for row in rows)), "way")
    return last["with Skip"], last["without Skip"]


def _worst(rows: Rows) -> str:
    """Return what giving up paid at most, over the best that could be paid."""
    ours = where(rows, way="with Skip")
    factors = [row["cost"] / row["best_cost"] for row in ours if row["best_cost"]]
    return short(max(factors, default=None))
