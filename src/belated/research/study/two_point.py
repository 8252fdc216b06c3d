"""One value, two values or a gradient, over the dimension."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from belated.report import Section, Table
from belated.research.study.contestants import ANSWERS, CURVED_ANSWERS, Field
from belated.research.study.fits import geometric_mean
from belated.research.study.games import PLAIN, ball, game_of, measure, setting_cell
from belated.research.study.layout import Column, growth_table, regret_figure
from belated.research.study.plan import Cell, Opening, Row, Study
from belated.research.study.tables import by, least, mean, quoted, short, where

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

    def opening(self, rows: Sequence[Row]) -> Opening:
        """What a second value is worth, and a gradient, in the mean over all games."""
        end = max(row["dim"] for row in rows)
        games = by(where(rows, dim=end), "setting", "pattern").values()
        found = [_regrets(group) for group in games]
        one = _typical([(each.get(_ONE), each.get(_TWO)) for each in found])
        two = _typical([(each.get(_TWO), each.get(_FULL)) for each in found])
        rival = _typical([(each.get(_TWO), each.get(_best_rival(each) or "")) for each in found])
        if one is None or two is None:
            return Opening(f"In {end} dimensions one of our three has no regret to compare.", ())
        says = (
            f"In {end} dimensions a second value divides regret by {short(one)} in the mean, and a "
            f"gradient divides it by {short(two)} once more."
        )
        numbers = [
            (f"{short(one)} times", f"the regret with one value over two, in {end} dimensions"),
            (f"{short(two)} times", "the regret with two values over a gradient"),
        ]
        if rival is not None:
            says += (
                f" Against the best rivals for two values ours has {short(rival)} times the regret."
            )
            numbers.append(
                (f"{short(rival)} times", "the regret with two values over the best rival")
            )
        return Opening(says, tuple(numbers))

    def sections(self, rows: Sequence[Row]) -> tuple[Section, ...]:
        """One section per setting and pattern."""
        return tuple(
            _section(setting, pattern, group)
            for (setting, pattern), group in by(rows, "setting", "pattern").items()
        )


def _regrets(rows: Sequence[Row]) -> dict[str, float | None]:
    return {name: mean(group, "regret") for name, group in by(rows, "method").items()}


def _best_rival(regrets: Mapping[str, float | None]) -> str | None:
    return least((name for name in regrets if name not in (_ONE, _TWO, _FULL)), regrets.get)


def _typical(pairs: Sequence[tuple[float | None, float | None]]) -> float | None:
    """Return the geometric mean of ratios, where both sides are positive."""
    ratios = [one / other for one, other in pairs if one and other and min(one, other) > 0.0]
    return geometric_mean(ratios) if ratios else None


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
    regret = _regrets(where(rows, dim=end))
    one, two, full = regret.get(_ONE), regret.get(_TWO), regret.get(_FULL)
    if not one or not two or not full or min(two, full) <= 0.0:
        return f"In {end} dimensions one of our three has no regret to compare."
    first = (
        f"In {end} dimensions one value costs {short(one / two)} times the regret of two, and two "
        f"cost {short(two / full)} times that of a gradient."
    )
    best = _best_rival(regret)
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
