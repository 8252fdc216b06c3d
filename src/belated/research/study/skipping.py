"""With and without giving up on late answers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from belated import bounds
from belated.report import Section
from belated.research.study.fits import geometric_mean
from belated.research.study.games import ball, game_of, measure
from belated.research.study.layout import regret_figure
from belated.research.study.paper import Answer, paper_learner
from belated.research.study.plan import Cell, Numbers, Row, Study, crossed
from belated.research.study.tables import by, mean_of, means, means_table, quoted, short, where

_LOSS, _DIM = "linear", 3
_PATTERNS = ("first_rounds", "heavy tails", "outages", "often lost", "constant, long")
_WAYS = {"without Skip": False, "with Skip": True}
_FEEDBACK: tuple[Answer, ...] = ("gradient", "value")


class Skipping(Study):
    """The learner of Section 6 beside the plain one."""

    name = "skipping"
    title = "When giving up on late answers pays"
    question = (
        "A few answers that come very late, or never, make the total delay large, and a learner "
        "that waits for them slow. Algorithm 3 gives up on them. When does that pay, how close is "
        "it to the best set of rounds to give up on, and what does it cost where nothing is lost?"
    )

    def cells(self, quick: bool) -> Iterator[Cell]:
        """Both ways on every pattern and horizon, told gradients or values."""
        horizons = (1_000, 4_000, 16_000) if quick else (1_000, 3_000, 10_000, 30_000, 100_000)
        games = {"feedback": _FEEDBACK, "pattern": _PATTERNS, "rounds": horizons}
        yield from crossed(**games, seed=range(3 if quick else 8), way=_WAYS)

    def run(self, cell: Cell) -> dict[str, Any]:
        """Play one game; costs are numbers of rounds given up on plus the root of what is left."""
        game = game_of(_LOSS, cell["pattern"], _DIM, cell["rounds"], cell["seed"])
        skip = _WAYS[cell["way"]]
        spec = paper_learner(game.problem(ball(_DIM)), cell["feedback"], skip=skip)
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

    def numbers(self, rows: Sequence[Row]) -> Numbers:
        """In how many kinds of games it pays at the end, and how close it is to the optimum."""
        ends = [_at_end(group) for group in by(rows, "feedback", "pattern").values()]
        verdicts = [_verdict(*each) for each in ends]
        paid = verdicts.count("pays")
        worst = short(max(_factors(rows), default=None))
        ratios = [skips / waits for skips, waits in ends if min(skips, waits) > 0.0]
        return (
            (f"{paid} of {len(ends)}", "kinds of games in which giving up pays"),
            (f"{short(geometric_mean(ratios))} times", "the regret without it, in the mean"),
            (f"{worst} times", "the best choice, at worst; 3 allowed"),
        )

    def sections(self, rows: Sequence[Row]) -> tuple[Section, ...]:
        """One section per kind of answer and pattern, then the cost beside the optimum."""
        regret = [
            _regret(feedback, pattern, group)
            for (feedback, pattern), group in by(rows, "feedback", "pattern").items()
        ]
        costs = [_costs(pattern, group) for pattern, group in by(rows, "pattern").items()]
        return (*regret, *costs)


def _regret(feedback: str, pattern: str, rows: Sequence[Row]) -> Section:
    end = max(row["rounds"] for row in rows)
    skips, waits = _at_end(rows)
    told = {"gradient": "gradients", "value": "single values"}[feedback]
    return Section(
        question=f"Does giving up pay under {quoted(pattern)}, told {told}?",
        figure=regret_figure(
            f"Regret with and without Skip, {pattern}, {told}",
            rows,
            *("rounds", "rounds T"),
            per="way",
        ),
        says=f"At T = {end:,} giving up {_verdict(skips, waits)}: regret {short(skips)} with Skip "
        f"and {short(waits)} without.",
    )


def _at_end(rows: Sequence[Row]) -> tuple[float, float]:
    """Return the mean regrets with and without giving up, at the longest horizon."""
    last = means(where(rows, rounds=max(row["rounds"] for row in rows)), "way")
    return last["with Skip"], last["without Skip"]


def _factors(rows: Sequence[Row]) -> list[float]:
    """Return what giving up paid over the best that could be paid, game by game."""
    ours = where(rows, way="with Skip")
    return [row["cost"] / row["best_cost"] for row in ours if row["best_cost"]]


def _verdict(skips: float, waits: float) -> str:
    if abs(skips - waits) <= 0.005 * abs(waits):
        return "makes no difference"
    return "pays" if skips < waits else "does not pay"


def _costs(pattern: str, rows: Sequence[Row]) -> Section:
    ours, plain = {"way": "with Skip"}, {"way": "without Skip"}
    return Section(
        question=f"How good are the rounds that Skip gives up on under {quoted(pattern)}?",
        figure=None,
        says=f"What Skip pays was at most {short(max(_factors(rows), default=None))} times the "
        "optimum, where Theorem 6.1 allows 3 times, and 3 more.",
        table=means_table(
            rows,
            "rounds",
            {
                "given up on": mean_of("skipped", **ours),
                "best to give up on": mean_of("best_skipped"),
                "delay left": mean_of("left_delay", **ours),
                "delay without Skip": mean_of("left_delay", **plain),
                "cost": mean_of("cost", **ours),
                "optimum": mean_of("best_cost"),
                "cost without Skip": mean_of("cost", **plain),
            },
            "Means over seeds and both kinds of answers; the cost is the rounds given up on, plus "
            "the root of the delays left.",
        ),
    )
