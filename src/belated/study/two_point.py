"""One value, two values or a gradient, over the dimension."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

from belated.report import Section, Table
from belated.study.contestants import ANSWERS, CURVED_ANSWERS, Field
from belated.study.games import PLAIN, ball, game_of, measure, setting_cell
from belated.study.layout import Column, growth_table, regret_figure
from belated.study.plan import Cell, Row, Study
from belated.study.tables import by, least, mean, quoted, short, where

_FIELDS: dict[str, Field] = {"convex": ANSWERS, "strongly convex": CURVED_ANSWERS}
_PROMISED = {
    "convex": "k^(1/2) for one value and for two, and not at all for gradients",
    "strongly convex": "k^(2/3) for one value, k for two, and not at all for gradients",
}
_ONE, _TWO, _FULL = "one-point", "two-point", "gradient"


class TwoPointFeedback(Study):
    """What a second value is worth, and what a gradient, as the dimension grows."""

    name = "two-point"
    title = "One value, two values, or a gradient"
    question = (
        "Asking for a second value of every loss turns the price T^(3/4) of a single one into the "
        "square root of T that gradients have, times the root of the dimension. How much is that "
        "in practice, and do the methods for two values that know T do better?"
    )

    def cells(self, quick: bool) -> Iterator[Cell]:
        """Every kind of answer in every dimension."""
        dims = (2, 4, 8, 16) if quick else (2, 4, 8, 16, 32, 64)
        rounds, seeds = (10_000, 3) if quick else (30_000, 8)
        patterns = ("geometric",) if quick else ("geometric", "heavy tails")
        for setting, field in _FIELDS.items():
            for pattern, dim, seed, method in product(patterns, dims, range(seeds), field):
                yield setting_cell(
                    PLAIN[setting],
                    setting,
                    method,
                    pattern=pattern,
                    dim=dim,
                    rounds=rounds,
                    seed=seed,
                )

    def run(self, cell: Cell) -> dict[str, Any]:
        """Play one game."""
        setting, dim = cell["setting"], cell["dim"]
        game = game_of(PLAIN[setting], cell["pattern"], dim, cell["rounds"], cell["seed"])
        spec = _FIELDS[setting][cell["method"]].make(game, ball(dim))
        return measure(spec, game, cell["seed"])[1]

    def sections(self, rows: Sequence[Row]) -> tuple[Section, ...]:
        """One section per setting and pattern."""
        return tuple(
            _section(setting, pattern, group)
            for (setting, pattern), group in by(rows, "setting", "pattern").items()
        )


def _section(setting: str, pattern: str, rows: Sequence[Row]) -> Section:
    title = f"Regret over the dimension, {setting}, {pattern}"
    return Section(
        question=f"What is a second value worth ({setting}, {pattern})?",
        figure=regret_figure(title, rows, "dim", "dimension"),
        says=_says(rows),
        table=_table(setting, rows),
    )


def _says(rows: Sequence[Row]) -> str:
    end = max(row["dim"] for row in rows)
    last = by(where(rows, dim=end), "method")
    regret = {name: mean(group, "regret") for name, group in last.items()}
    one, two, full = regret.get(_ONE), regret.get(_TWO), regret.get(_FULL)
    if not one or not two or not full or min(two, full) <= 0.0:
        return f"In {end} dimensions one of our three has no regret to compare."
    first = (
        f"In {end} dimensions one value costs {short(one / two)} times the regret of two, and two "
        f"cost {short(two / full)} times that of a gradient."
    )
    rivals = [name for name in regret if name not in (_ONE, _TWO, _FULL)]
    best = least(rivals, lambda name: regret[name])
    if best is None:
        return first
    ratio = two / (regret[best] or math.inf)
    return (
        f"{first} The best rival is {quoted(best)}: our two-point regret is {short(ratio)} times "
        "as large."
    )


def _table(setting: str, rows: Sequence[Row]) -> Table:
    def at(dim: int) -> Column:
        return lambda group: mean(where(group, dim=dim), "regret")

    return growth_table(
        _FIELDS[setting],
        rows,
        "dim",
        "k",
        {f"k = {dim}": at(dim) for dim in sorted(by(rows, "dim"))},
        caption=f"Mean regrets. The bounds of ours grow like {_PROMISED[setting]}.",
    )
