"""Measured regret over what each corollary allows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from belated import rates
from belated.bases import OMD
from belated.report import Heat, Section
from belated.research import losses
from belated.research.game import Game
from belated.research.study.games import CURVATURE, DELAYS, ball, measure, paper_learner
from belated.research.study.plan import Cell, Numbers, Study, crossed
from belated.research.study.tables import Rows, by, mean, means_table, quoted, short
from belated.timeline import Timeline

_DIM = 3


class Result(NamedTuple):
    """One result of the paper: the parts of its learner, and whether losses must bend."""

    parts: dict[str, Any]
    curved: bool = False


RESULTS: dict[str, Result] = {
    "Corollary 5.3": Result({}),
    "Corollary 5.3, OMD": Result({"base": OMD}),
    "Corollary 5.3, tight rate": Result({"rate": rates.Tight}),
    "Corollary 5.3, gradient-adaptive": Result({"rate": rates.GradientAdaptive}),
    "Corollary 5.4": Result({}, curved=True),
    "Corollary 5.4, OMD": Result({"base": OMD}, curved=True),
    "Corollary 5.7": Result({"answer": "value"}),
    "Corollary 5.8": Result({"answer": "value"}, curved=True),
    "Corollary 6.2 over 5.3": Result({"skip": True}),
    "Corollary 6.2 over 5.7": Result({"answer": "value", "skip": True}),
    "Corollary G.3": Result({"answer": "two-values"}),
    "Corollary G.4": Result({"answer": "two-values"}, curved=True),
}
"""The corollaries by name, with the arguments of ``paper_learner``."""

_PATTERNS = ("none", "constant", "constant, long", "pareto", "heavy tails", "first_rounds")
_KINDS = ("rounds", "pattern", "against")
"""The differences between games of one result, besides their seeds."""
_ADVERSARIES = {False: ("blocks", "random", "adversary"), True: ("blocks", "random")}


class Tightness(Study):
    """Every corollary against several adversaries, on every pattern."""

    name = "tightness"
    title = "How loose the bounds are"
    question = (
        "A bound that is never approached says little. What share of what each corollary allows "
        "do its learners lose, and against which losses and delays do they come closest?"
    )

    def cells(self) -> Iterator[Cell]:
        """Every result on every pattern, against losses made to hurt."""
        games = {"pattern": _PATTERNS, "rounds": (10_000, 100_000), "seed": range(4)}
        for name, result in RESULTS.items():
            yield from crossed(result=name, against=_ADVERSARIES[result.curved], **games)

    def run(self, cell: Cell) -> dict[str, Any]:
        """Play one game and compare with the bound."""
        result = RESULTS[cell["result"]]
        timeline = DELAYS[cell["pattern"]](cell["rounds"], cell["seed"])
        game = Game(_losses(cell["against"], result.curved, timeline, cell["seed"]), timeline)
        spec = paper_learner(game.problem(ball(_DIM)), **result.parts)
        run, row = measure(spec, game, cell["seed"])
        bound = run.bound
        assert bound is not None  # every entry of RESULTS has its corollary
        return {**row, "ratio": run.regret / bound.total, "vacuous": int(bound.vacuous)}

    def numbers(self, rows: Rows) -> Numbers:
        """The largest shares, and whether any bound was exceeded."""
        broken = sum(row["ratio"] > 1.0 for row in rows)
        shares = {
            name: max(_ratios(group, *_KINDS).values())
            for name, group in by(rows, "result").items()
        }
        closest, loosest = (end(shares, key=lambda name: shares[name]) for end in (max, min))
        return (
            (short(shares[closest]), f"of the bound at most: the closest, {closest}"),
            (short(shares[loosest]), f"of the bound at most: the loosest, {loosest}"),
            (f"{broken} of {len(rows):,}", "games in which regret exceeded its bound"),
        )

    def sections(self, rows: Rows) -> tuple[Section, ...]:
        """One heat map per horizon."""
        return tuple(_section(rounds, group) for rounds, group in by(rows, "rounds").items())


def _losses(against: str, curved: bool, timeline: Timeline, seed: int) -> losses.Loss:
    """Return losses that hurt on these delays: blocks are as long as a typical answer takes."""
    source: Any
    if against == "blocks":
        typical = round(timeline.total_delay / timeline.rounds) + 1
        source = losses.Blocks(_DIM, length=min(typical, timeline.rounds), seed=seed)
    elif against == "random":
        source = losses.Random(_DIM, seed=seed)
    else:
        source = losses.Adaptive(_DIM)
    return losses.Quadratic(source, curvature=CURVATURE) if curved else losses.Linear(source)


def _ratios(rows: Rows, *kinds: str) -> dict[Any, float]:
    """Return the mean shares of the bounds, by kind of game."""
    return {kind: mean(group, "ratio") or 0.0 for kind, group in by(rows, *kinds).items()}


def _section(rounds: int, rows: Rows) -> Section:
    shares = _ratios(rows, "result", "pattern", "against")
    top: dict[tuple[str, str], float] = {}
    for (result, pattern, _), share in shares.items():
        top[result, pattern] = max(share, top.get((result, pattern), 0.0))
    patterns, results = tuple(by(rows, "pattern")), tuple(by(rows, "result"))
    result, pattern, against = max(shares, key=lambda kind: shares[kind])
    return Section(
        question=f"What share of each bound is reached in {rounds:,} rounds?",
        figure=Heat(
            title=f"Regret over bound, T = {rounds:,}",
            rows=results,
            columns=patterns,
            values=tuple(tuple(top[name, late] or None for late in patterns) for name in results),
            value_label="regret over bound",
        ),
        says=f"The closest is {quoted(result)}: {short(shares[result, pattern, against])} of the "
        f"bound under {quoted(pattern)}, against {against}.",
        table=means_table(
            rows,
            "result",
            {"regret": "regret", "bound": "bound", "share": "ratio", "vacuous": "vacuous"},
            "Means over all games; results for values hold in expectation only. A bound is vacuous "
            "where it exceeds G D T: it says no more than that a round costs G D.",
        ),
    )
