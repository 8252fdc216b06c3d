"""One value, two values or a gradient, over the dimension."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from belated.report import Section
from belated.research.study.contestants import ANSWERS, CURVED_ANSWERS, Field
from belated.research.study.fits import geometric_mean
from belated.research.study.games import PLAIN, ball, game_of, measure
from belated.research.study.layout import growth_section
from belated.research.study.plan import Cell, Numbers, Row, Study, crossed
from belated.research.study.tables import by, least, mean_of, means, short, where

_FIELDS: dict[str, Field] = {"convex": ANSWERS, "strongly convex": CURVED_ANSWERS}
_PROMISED = {
    "convex": "k^(1/2) for one value and for two, and not at all for gradients",
    "strongly convex": "k^(2/3) for one value, k for two, and not at all for gradients",
}
_OURS = _ONE, _TWO, _FULL = "one-point", "two-point", "gradient"


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
        games = {"pattern": patterns, "dim": dims, "seed": range(seeds), "rounds": rounds}
        for setting, field in _FIELDS.items():
            yield from crossed(setting=setting, **games, method=field)

    def run(self, cell: Cell) -> dict[str, Any]:
        """Play one game."""
        setting, dim = cell["setting"], cell["dim"]
        game = game_of(PLAIN[setting], cell["pattern"], dim, cell["rounds"], cell["seed"])
        spec = _FIELDS[setting][cell["method"]].make(game, ball(dim))
        return measure(spec, game, cell["seed"])[1]

    def numbers(self, rows: Sequence[Row]) -> Numbers:
        """What a second value is worth, and a gradient, in the mean over all games."""
        end = max(row["dim"] for row in rows)
        games = by(where(rows, dim=end), "setting", "pattern").values()
        found = [means(group, "method") for group in games]
        rivals = [least((name for name in each if name not in _OURS), each.get) for each in found]
        one, two, rival = (
            _typical([(each.get(name), each.get(other or "")) for each, name, other in pairs])
            for pairs in (
                [(each, _ONE, _TWO) for each in found],
                [(each, _TWO, _FULL) for each in found],
                [(each, _TWO, best) for each, best in zip(found, rivals, strict=True)],
            )
        )
        return (
            (f"{short(one)} times", f"the regret with one value over two, in {end} dimensions"),
            (f"{short(two)} times", "the regret with two values over a gradient"),
            (f"{short(rival)} times", "the regret with two values over the best rival"),
        )

    def sections(self, rows: Sequence[Row]) -> tuple[Section, ...]:
        """One section per setting and pattern."""
        return tuple(
            growth_section(
                f"What is a second value worth ({setting}, {pattern})?",
                f"Regret over the dimension, {setting}, {pattern}",
                group,
                ("dim", "dimension", "k"),
                _FIELDS[setting],
                {f"k = {dim}": mean_of("regret", dim=dim) for dim in sorted(by(group, "dim"))},
                f"Mean regrets. The bounds of ours grow like {_PROMISED[setting]}.",
            )
            for (setting, pattern), group in by(rows, "setting", "pattern").items()
        )


def _typical(pairs: Sequence[tuple[float | None, float | None]]) -> float | None:
    """Return the geometric mean of ratios, where both sides are positive."""
    ratios = [one / other for one, other in pairs if one and other and min(one, other) > 0.0]
    return geometric_mean(ratios) if ratios else None
