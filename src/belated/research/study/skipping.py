"""With and without giving up on late answers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

from belated import bounds
from belated.report import Lines, Section, Table
from belated.research.study.fits import geometric_mean
from belated.research.study.games import ball, game_of, measure
from belated.research.study.layout import regret_figure
from belated.research.study.paper import Answer, paper_learner
from belated.research.study.plan import Cell, Opening, Row, Study
from belated.research.study.tables import by, line, listed, mean, quoted, short, where

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
        games = product(_FEEDBACK, _PATTERNS, horizons, range(3 if quick else 8), _WAYS)
        for feedback, pattern, rounds, seed, way in games:
            yield Cell.of(
                feedback=feedback,
                way=way,
                pattern=pattern,
                rounds=rounds,
                seed=seed,
            )

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

    def opening(self, rows: Sequence[Row]) -> Opening:
        """In how many kinds of games it pays at the end, and how close it is to the optimum."""
        ends = [_at_end(group) for group in by(rows, "feedback", "pattern").values()]
        both = [(skips, waits) for skips, waits in ends if skips is not None and waits is not None]
        verdicts = [_verdict(*pair) for pair in both]
        paid = verdicts.count("pays")
        same = verdicts.count("makes no difference")
        factors = _factors(rows)
        says = (
            f"At the longest horizon giving up lowers the regret in {paid} of {len(both)} kinds of "
            f"games, makes no difference in {same} and raises it in {len(both) - paid - same}."
        )
        if factors:
            says += (
                f" What it pays was at most {short(max(factors))} times the best choice, where "
                "Theorem 6.1 allows 3 times, and 3 more."
            )
        numbers = [(f"{paid} of {len(both)}", "kinds of games in which giving up pays")]
        ratios = [skips / waits for skips, waits in both if min(skips, waits) > 0.0]
        if ratios:
            numbers.append(
                (f"{short(geometric_mean(ratios))} times", "the regret without it, in the mean")
            )
        if factors:
            numbers.append((f"{short(max(factors))} times", "the best choice, at worst; 3 allowed"))
        return Opening(says, tuple(numbers))

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
    last = by(where(rows, rounds=end), "way")
    skips, waits = _at_end(rows)
    skipped = mean(last.get("with Skip", []), "skipped")
    if waits is None or skips is None:
        says = "One of the two ways has no results here."
    else:
        verdict = _verdict(skips, waits)
        says = (
            f"At T = {end:,} giving up {verdict}: regret {short(skips)} with Skip and "
            f"{short(waits)} without. It gave up on {short(skipped)} rounds, and the delays that "
            f"are left add up to {short(mean(last['with Skip'], 'left_delay'))} in place of "
            f"{short(mean(last['without Skip'], 'left_delay'))}."
        )
    return Section(
        question=f"Does giving up pay under {quoted(pattern)}, told {_told(feedback)}?",
        figure=regret_figure(
            f"Regret with and without Skip, {pattern}, {_told(feedback)}",
            rows,
            "rounds",
            "rounds T",
            per="way",
        ),
        says=says,
    )


def _at_end(rows: Sequence[Row]) -> tuple[float | None, float | None]:
    """Return the mean regrets with and without giving up, at the longest horizon."""
    end = max(row["rounds"] for row in rows)
    last = where(rows, rounds=end)
    with_skip, without = (where(last, way=way) for way in ("with Skip", "without Skip"))
    return mean(with_skip, "regret"), mean(without, "regret")


def _factors(rows: Sequence[Row]) -> list[float]:
    """Return what giving up paid over the best that could be paid, game by game."""
    ours = where(rows, way="with Skip")
    return [row["cost"] / row["best_cost"] for row in ours if row["best_cost"]]


def _verdict(skips: float, waits: float) -> str:
    if abs(skips - waits) <= 0.005 * abs(waits):
        return "makes no difference"
    return "pays" if skips < waits else "does not pay"


def _told(feedback: str) -> str:
    return {"gradient": "gradients", "value": "single values"}[feedback]


def _costs(pattern: str, rows: Sequence[Row]) -> Section:
    ours = where(rows, way="with Skip")
    plain = where(rows, way="without Skip")
    factors = _factors(rows)
    groups = by(ours, "rounds")
    needless = [
        f"T = {rounds:,}"
        for rounds, group in groups.items()
        if (mean(group, "skipped") or 0.0) > (mean(group, "best_skipped") or 0.0)
    ]
    says = (
        f"What Skip pays was at most {short(max(factors, default=None))} times the optimum, where "
        "Theorem 6.1 allows 3 times, and 3 more. "
    )
    says += (
        f"It gave up on more rounds than the best choice would at {listed(needless)}."
        if needless
        else "It never gave up on more rounds than the best choice would."
    )
    return Section(
        question=f"How good are the rounds that Skip gives up on under {quoted(pattern)}?",
        figure=Lines(
            title=f"Rounds given up on, plus the root of the delays left, {pattern}",
            x_label="rounds T",
            y_label="cost",
            series=(
                line("with Skip", ours, "rounds", "cost"),
                line("without Skip", plain, "rounds", "cost"),
                line("optimum", ours, "rounds", "best_cost", dashed=True),
            ),
            log_x=True,
            log_y=True,
            note="Both kinds of answers are in the means; the delays are the same.",
        ),
        says=says,
        table=Table(
            columns=("rounds", "given up on", "best to give up on", "cost", "optimum", "no Skip"),
            rows=tuple(
                (
                    rounds,
                    mean(group, "skipped"),
                    mean(group, "best_skipped"),
                    mean(group, "cost"),
                    mean(group, "best_cost"),
                    mean(where(plain, rounds=rounds), "cost"),
                )
                for rounds, group in groups.items()
            ),
            caption="Means over seeds.",
        ),
    )
