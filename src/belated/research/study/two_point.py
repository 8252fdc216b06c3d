"""One value, two values or a gradient, over the dimension."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from belated.report import Section
from belated.research.study.contestants import ANSWERS, CURVED_ANSWERS, Field
from belated.research.study.games import PLAIN, ball, game_of, measure
from belated.research.study.plan import Cell, Numbers, Study, crossed
from belated.research.study.sections import growth_sections
from belated.research.study.tables import Rows, by, geometric_mean, least, means, short, where

_FIELDS: dict[str, Field] = {"convex": ANSWERS, "strongly convex": CURVED_ANSWERS}
_PROMISED = {
    "convex": "k^(1/2) for one value and for two",
    "strongly convex": "k^(2/3) for one value, and k for two",
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

    def cells(self) -> Iterator[Cell]:
        """Every kind of answer in every dimension."""
        patterns, dims = ("geometric", "heavy tails"), (2, 4, 8, 16, 32, 64)
        games = {"pattern": patterns, "dim": dims, "seed": range(8), "rounds": 30_000}
        for setting, field in _FIELDS.items():
            yield from crossed(setting=setting, **games, method=field)

    def run(self, cell: Cell) -> dict[str, Any]:
        """Play one game."""
        setting, dim = cell["setting"], cell["dim"]
        game = game_of(PLAIN[setting], cell["pattern"], dim, cell["rounds"], cell["seed"])
        spec = _FIELDS[setting][cell["method"]].make(game, ball(dim))
        return measure(spec, game, cell["seed"])[1]

    def numbers(self, rows: Rows) -> Numbers:
        """What a second value is worth, and a gradient, in the mean over all games."""
        end = max(row["dim"] for row in rows)
        games = by(where(rows, dim=end), "setting", "pattern").values()
        found = [means(group, "method") for group in games]
        rivals = [least({n: x for n, x in each.items() if n not in _OURS}) for each in found]
        one = _typical([(each.get(_ONE), each.get(_TWO)) for each in found])
        two = _typical([(each.get(_TWO), each.get(_FULL)) for each in found])
        pairs = zip(found, rivals, strict=True)
        rival = _typical([(each.get(_TWO), each.get(best or "")) for each, best in pairs])
        return (
            (f"{short(one)} times", f"the regret with one value over two, in {end} dimensions"),
            (f"{short(two)} times", "the regret with two values over a gradient"),
            (f"{short(rival)} times", "the regret with two values over the best rival"),
        )

    def sections(self, rows: Rows) -> Iterator[Section]:
        """One section per setting and pattern."""
        for setting, group in by(rows, "setting").items():
            yield from growth_sections(
                group,
                ("setting", "pattern"),
                ("dim", "dimension k"),
                field=_FIELDS[setting],
                says=_promised,
            )


def _promised(rows: Rows) -> str:
    orders = _PROMISED[rows[0]["setting"]]
    return f"The bounds of ours grow like {orders}, and not at all for gradients."


def _typical(pairs: list[tuple[float | None, float | None]]) -> float | None:
    """Return the geometric mean of ratios, where both sides are positive."""
    ratios = [one / other for one, other in pairs if one and other and min(one, other) > 0.0]
    return geometric_mean(ratios) if ratios else None
