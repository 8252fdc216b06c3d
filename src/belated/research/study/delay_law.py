"""How regret grows with the total delay, and with the largest backlog."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from belated.report import Section
from belated.research import delays, losses
from belated.research.game import Game
from belated.research.study.contestants import CONVEX, OURS, OURS_OMD, STRONGLY_CONVEX, TIGHT
from belated.research.study.games import CURVATURE, ball, late_start, measure
from belated.research.study.plan import Cell, Numbers, Study, crossed
from belated.research.study.sections import growth_sections
from belated.research.study.tables import Rows, by, growth, least, mean, means, short, where

_DIM = 5
_CONVEX = (OURS, TIGHT, "Zinkevich", "BOLD", "Quanrud-Khashabi", "Delayed dual averaging")
_CURVED = (OURS, OURS_OMD, "DOGD-SC", "Qiu-Esposito-Zhang")
_ROOT = 0.5
"""The exponent of the total delay in all bounds for convex losses."""


class DelayLaw(Study):
    """Slopes in the total delay, and the switch of the minimum in Corollary 5.4."""

    name = "delay-law"
    title = "The law of delay"
    question = (
        "The bounds say that regret grows like the square root of the total delay, and with "
        "strongly convex losses like the smaller of that and the largest backlog times log T. Does "
        "it, and where does the minimum switch?"
    )

    def cells(self) -> Iterator[Cell]:
        """Constant delays for convex losses, then late starts of one total delay."""
        games: dict[str, Any] = {"rounds": 100_000, "seed": range(8)}
        waits = (1, 3, 10, 30, 100, 300, 1000, 3000)
        yield from crossed(part="total delay", wait=waits, **games, method=_CONVEX)
        late = {"total": 50_000, "width": _widths(50_000, 10)}
        yield from crossed(part="backlog", **late, **games, method=_CURVED)

    def run(self, cell: Cell) -> dict[str, Any]:
        """Play against blocks that are as long as the answers take."""
        if cell["part"] == "total delay":
            game = _constant(cell["rounds"], cell["wait"], cell["seed"])
            spec = CONVEX[cell["method"]].make(game, ball(_DIM))
            return measure(spec, game, cell["seed"])[1]
        game = _start(cell["rounds"], cell["width"], cell["total"], cell["seed"])
        spec = STRONGLY_CONVEX[cell["method"]].make(game, ball(_DIM))
        row = measure(spec, game, cell["seed"])[1]
        logarithm = 1.0 + math.log(cell["rounds"])
        return {
            **row,
            "by_backlog": row["max_backlog"] * logarithm,
            "by_total": 2.0 * math.sqrt(row["total_delay"]),
        }

    def numbers(self, rows: Rows) -> Numbers:
        """The exponent, the method that loses least where most is late, and the switch."""
        late, backlog = (where(rows, part=part) for part in ("total delay", "backlog"))
        end = max(row["total_delay"] for row in late)
        last = means(where(late, total_delay=end), "method")
        rival = least({name: x for name, x in last.items() if not CONVEX[name].is_ours})
        ratio = last[OURS] / last[rival] if rival and OURS in last else None
        slope = growth(where(late, method=OURS), "total_delay", "regret")
        switch = _switch(backlog)
        return (
            (
                "unknown" if slope is None else f"{slope.slope:.2f}",
                f"the exponent of the total delay; {_ROOT:g} in theory",
            ),
            (f"{short(ratio)} times", "the regret of the best rival, where most is late"),
            (
                "never" if switch is None else f"{switch:,}",
                "open answers: where the minimum switches",
            ),
        )

    def sections(self, rows: Rows) -> Iterator[Section]:
        """The slope, then the switch."""
        late, backlog = (where(rows, part=part) for part in ("total delay", "backlog"))
        switch = _switch(backlog)
        side = "never" if switch is None else f"from a backlog of {switch} on"
        yield from growth_sections(
            late,
            (),
            ("total_delay", "total delay"),
            field=CONVEX,
            dashed=(OURS, {f"{OURS} (bound)": "bound"}),
            says=lambda rows: (
                "The losses repeat themselves for as long as answers take. The bound "
                f"grows like d_tot^{_ROOT:g}."
            ),
        )
        yield from growth_sections(
            backlog,
            (),
            ("max_backlog", "largest backlog"),
            field=STRONGLY_CONVEX,
            dashed=(OURS, {"backlog times ln eT": "by_backlog", "2 sqrt d_tot": "by_total"}),
            says=lambda rows: (
                "Dashed: both sides of the minimum, without constants. The square "
                f"root of the total delay is the smaller side {side}."
            ),
        )


def _widths(total: int, count: int) -> list[int]:
    """Return backlogs from 1 to sqrt(d_tot), about as far as a total delay allows.

    >>> _widths(5000, 3)
    [1, 8, 70]
    """
    top = math.isqrt(total)
    return sorted({round(top ** (n / (count - 1))) for n in range(count)})


def _constant(rounds: int, wait: int, seed: int) -> Game:
    """Linear losses that repeat themselves until the first answer comes: the lower bound's game."""
    source = losses.Blocks(_DIM, length=wait + 1, seed=seed)
    return Game(losses.Linear(source), delays.constant(rounds, wait), f"blocks of {wait + 1}")


def _start(rounds: int, width: int, total: int, seed: int) -> Game:
    """Quadratic losses that repeat themselves in the same way, and late answers at the start."""
    source = losses.Blocks(_DIM, length=width + 1, seed=seed)
    made = losses.Quadratic(source, curvature=CURVATURE)
    return Game(made, late_start(rounds, width, total), f"{width} open")


def _switch(rows: Rows) -> int | None:
    """Return from what backlog on the root of the total delay is the smaller one, if ever."""
    for width, group in sorted(by(rows, "max_backlog").items()):
        if (mean(group, "by_backlog") or 0.0) > (mean(group, "by_total") or 0.0):
            return int(width)
    return None
