"""With and without giving up on late answers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from belated import bounds
from belated.bases import OMD
from belated.problem import Problem
from belated.reductions import LearnerSpec
from belated.report import Section, Table
from belated.report.plain import listed
from belated.research.study.games import ball, game_of, measure, paper_learner
from belated.research.study.plan import Cell, Numbers, Study, crossed
from belated.research.study.sections import bar_sections, growth_sections
from belated.research.study.tables import Rows, by, means, means_table, quoted, short, where

_WAYS = {"without Skip": False, "with Skip": True}
_STATIONARY = "linear"
_DEFAULT = "default"
_EXAMPLE = "first_rounds"
"""The pattern that motivates Algorithm 3."""
_MARGIN = 0.005
"""Giving up pays where it saves more than this part of the regret."""
_GRIDS = (
    {"pattern": _EXAMPLE, "rounds": (1_000, 3_000, 10_000, 30_000, 100_000)},
    {
        "pattern": ("heavy tails", "outages", "often lost", "constant, lost", "constant, long"),
        "rounds": 100_000,
    },
)
_COLUMNS = {
    "given up on": "skipped",
    "best to give up on": "best_skipped",
    "delay left": "left_delay",
    "cost": "cost",
    "optimum": "best_cost",
}


def _spec(learner: str, problem: Problem, skip: bool) -> LearnerSpec:
    if learner == _DEFAULT:
        return problem.learner(skip=skip)
    if learner == "OMD":
        return paper_learner(problem, base=OMD, skip=skip)
    return paper_learner(problem, "value" if learner == "one value" else "gradient", skip=skip)


class Skipping(Study):
    """The learners of Section 6 beside the plain ones, with losses that stay and that change."""

    name = "skipping"
    title = "When giving up on late answers pays"
    question = (
        "A few answers that come very late, or never, make the total delay large, and a learner "
        "that waits for them slow. Algorithm 3 gives up on them. When does that pay, how close is "
        "it to the best set of rounds to give up on, and what does it cost where nothing is lost?"
    )

    def cells(self) -> Iterator[Cell]:
        """Every learner with every pattern; growth with the rounds for the motivating one."""
        losses = (_STATIONARY, "linear, drifting", "linear, switching")
        learners = ("P-FTRL", "OMD", "one value", _DEFAULT)
        for grid in _GRIDS:
            yield from crossed(loss=losses, learner=learners, **grid, seed=range(8), way=_WAYS)

    def run(self, cell: Cell) -> dict[str, Any]:
        """Play one game; costs are numbers of rounds given up on plus the root of what is left."""
        game = game_of(cell["loss"], cell["pattern"], 3, cell["rounds"], cell["seed"])
        skip = _WAYS[cell["way"]]
        run, row = measure(_spec(cell["learner"], game.problem(ball(3)), skip), game, cell["seed"])
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
        """In how many kinds of games it pays at the end, by losses and learners."""
        games = _games(rows)
        changing = [each for each in games if each[1] != _STATIONARY]
        of_paper = [each for each in changing if each[0] != _DEFAULT]
        of_default = [each for each in changing if each[0] == _DEFAULT]
        stationary = [each for each in games if each[1] == _STATIONARY]
        return (
            (_paid(of_paper), "kinds of games with changing losses in which giving up pays"),
            (_paid(of_default), "of these kinds of games if the learner is the default portfolio"),
            (_paid(stationary), "kinds of games with stationary losses in which it pays"),
        )

    def sections(self, rows: Rows) -> Iterator[Section]:
        """All games at the end, the growth in the motivating ones, then cost beside optimum."""
        games = _games(rows)
        yield Section(
            question="Where does giving up pay?",
            figure=None,
            says=" ".join(_verdict(learner, games) for learner in by(rows, "learner")),
            table=Table(
                ("learner", "losses", "pattern", *_WAYS, "pays"),
                tuple((*each[:5], "yes" if _pays(each) else "no") for each in games),
                "Mean regrets over seeds at the longest horizon. It pays where it saves more than "
                f"{100.0 * _MARGIN:g} % of the regret. Negative: less loss than the best fixed "
                "action.",
            ),
        )
        last = _last(rows)
        yield from bar_sections(last, ("learner", "loss"), "pattern", "way")
        example = where(rows, pattern=_EXAMPLE, learner="P-FTRL")
        yield from growth_sections(example, ("pattern", "loss"), ("rounds", "rounds T"), per="way")
        yield Section(
            question="How good are the rounds that Skip gives up on?",
            figure=None,
            says=f"What Skip pays was at most {_worst(rows)} times the optimum, where Theorem "
            "6.1 allows 3 times, and 3 more.",
            table=means_table(
                where(last, way="with Skip"),
                "pattern",
                _COLUMNS,
                "At the longest horizon, means over seeds, losses and learners; the cost is the "
                "rounds given up on, plus the root of the delays left.",
            ),
        )


Kind = tuple[str, str, str, float, float]
"""Learner, losses and pattern, with the mean regrets without and with giving up."""


def _last(rows: Rows) -> Rows:
    return where(rows, rounds=max(row["rounds"] for row in rows))


def _games(rows: Rows) -> list[Kind]:
    groups = by(_last(rows), "learner", "loss", "pattern").items()
    found = [(kind, means(group, "way")) for kind, group in groups]
    order = [*by(rows, "learner")]
    return sorted(
        [(*kind, *(regrets[way] for way in _WAYS)) for kind, regrets in found],
        key=lambda kind: (order.index(kind[0]), kind[1]),
    )


def _pays(kind: Kind) -> bool:
    waits, skips = kind[3:]
    return skips < waits - _MARGIN * abs(waits)


def _paid(games: list[Kind]) -> str:
    return f"{sum(map(_pays, games))} of {len(games)}"


def _verdict(learner: str, games: list[Kind]) -> str:
    parts = []
    for loss in dict.fromkeys(each[1] for each in games):
        games_of = [each for each in games if each[:2] == (learner, loss)]
        parts.append(f"{_paid(games_of)} with {quoted(loss)} losses")
    name = "the default portfolio" if learner == _DEFAULT else learner
    return f"For {name} it pays in {listed(parts)}."


def _worst(rows: Rows) -> str:
    """Return what giving up paid at most, over the best that could be paid."""
    ours = where(rows, way="with Skip")
    factors = [row["cost"] / row["best_cost"] for row in ours if row["best_cost"]]
    return short(max(factors, default=None))
