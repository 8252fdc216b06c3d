"""One value, two values or a gradient, over the dimension."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from belated.report import Section, Table
from belated.report.plain import listed
from belated.research.study.contestants import ANSWERS, CURVED_ANSWERS, Field
from belated.research.study.games import ball, game_of, measure
from belated.research.study.plan import Cell, Numbers, Row, Study, crossed
from belated.research.study.sections import growth_sections
from belated.research.study.tables import Rows, by, geometric_mean, least, means, short, where

_CONVEX, _CURVED = "k^(1/2) for one value and for two", "k^(2/3) for one value, and k for two"
_LOSSES: dict[str, tuple[Field, str]] = {
    **dict.fromkeys(("linear", "hinge", "logistic"), (ANSWERS, _CONVEX)),
    "quadratic": (CURVED_ANSWERS, _CURVED),
}
"""The methods for these losses, and how the bounds of ours grow; the last are strongly convex."""
_OURS = _ONE, _TWO, _FULL = "one-point", "two-point", "gradient"


class TwoPointFeedback(Study):
    """The benefit of a second value, and of a gradient, as the dimension grows."""

    name = "two-point"
    title = "One value, two values, or a gradient"
    question = (
        "Asking for a second value of every loss turns the price T^(3/4) of a single one into the "
        "square root of T that gradients have, times the root of the dimension. How much is that "
        "in practice, and do the methods for two values that know T do better?"
    )

    def cells(self) -> Iterator[Cell]:
        """Every kind of answer in every dimension."""
        patterns, dims = ("geometric", "heavy tails"), (2, 4, 8, 16, 32, 64)
        games = {"pattern": patterns, "dim": dims, "seed": range(8), "rounds": 30_000}
        for loss, (field, _) in _LOSSES.items():
            yield from crossed(loss=loss, **games, method=field)

    def run(self, cell: Cell) -> dict[str, Any]:
        """Play one game."""
        loss, dim = cell["loss"], cell["dim"]
        game = game_of(loss, cell["pattern"], dim, cell["rounds"], cell["seed"])
        spec = _LOSSES[loss][0][cell["method"]].make(game, ball(dim))
        return measure(spec, game, cell["seed"])[1]

    def numbers(self, rows: Rows) -> Numbers:
        """The benefit of a second value and of a gradient, and the games where ours loses least."""
        end = max(row["dim"] for row in rows)
        found = [means(group, "method") for group in _games(where(rows, dim=end)).values()]
        one = _typical([(each.get(_ONE), each.get(_TWO)) for each in found])
        two = _typical([(each.get(_TWO), each.get(_FULL)) for each in found])
        return (
            (f"{short(one)} times", f"the regret with one value over two, in {end} dimensions"),
            (f"{short(two)} times", "the regret with two values over a gradient"),
            (
                _wins(rows),
                "kinds of games in which ours with two values is the best",
            ),
        )

    def sections(self, rows: Rows) -> Iterator[Section]:
        """Two values by dimension, then one section per setting and pattern."""
        parts = by(rows, "loss").items()
        yield Section(
            question="Which method for two values loses least, by losses and dimension?",
            figure=None,
            says=" ".join(f"With {name} losses ours is {_dims(group)}." for name, group in parts),
            table=Table(
                ("losses", "delays", "dimension k", "ours", "best rival", "its regret", "ratio"),
                tuple(_beside(kind, group) for kind, group in _games(rows).items()),
                "Mean regrets over seeds. Rivals that hear k + 1 values per round do not count "
                "here.",
            ),
        )
        for loss, group in parts:
            field, promised = _LOSSES[loss]
            yield from growth_sections(
                group,
                ("loss", "pattern"),
                ("dim", "dimension k"),
                field=field,
                says=partial(_promised, promised),
            )


def _games(rows: Rows) -> dict[Any, list[Row]]:
    return by(rows, "loss", "pattern", "dim")


def _rival(regrets: dict[str, float]) -> str | None:
    """Return the best of the published methods that hear two values."""
    return least({n: x for n, x in regrets.items() if n not in _OURS and "k + 1" not in n})


def _beside(kind: tuple[Any, ...], rows: Rows) -> tuple[Any, ...]:
    regrets = means(rows, "method")
    ours, rival = regrets.get(_TWO), _rival(regrets)
    other = regrets.get(rival or "")
    return (*kind, ours, rival, other, ours / other if ours and other else None)


def _is_best(rows: Rows) -> bool:
    ratio = _beside((), rows)[-1]
    return ratio is not None and ratio <= 1.0


def _wins(rows: Rows) -> str:
    games = _games(rows).values()
    return f"{sum(map(_is_best, games))} of {len(games)}"


def _dims(rows: Rows) -> str:
    """Say in which dimensions ours is best under all delays, and in how many games of them."""
    dims = by(rows, "dim").items()
    best = [f"{dim}" for dim, group in dims if all(map(_is_best, _games(group).values()))]
    under = (
        f"under all delays in dimensions {listed(best)}"
        if best
        else "in no dimension under all delays"
    )
    return f"the best in {_wins(rows)} games, {under}"


def _promised(orders: str, _: Rows) -> str:
    return f"The bounds of ours grow like {orders}, and not at all for gradients."


def _typical(pairs: list[tuple[float | None, float | None]]) -> float | None:
    """Return the geometric mean of ratios, where both sides are positive."""
    ratios = [one / other for one, other in pairs if one and other and min(one, other) > 0.0]
    return geometric_mean(ratios) if ratios else None
