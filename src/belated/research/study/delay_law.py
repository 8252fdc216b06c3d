"""How regret grows with the total delay, and with the largest backlog."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from belated.report import Section
from belated.research import delays, losses
from belated.research.game import Game
from belated.research.study.contestants import CONVEX, OURS, OURS_OMD, STRONGLY_CONVEX, TIGHT
from belated.research.study.games import CURVATURE, ball, late_start, measure
from belated.research.study.layout import growth_section, regret_figure
from belated.research.study.plan import Cell, Numbers, Row, Study, crossed
from belated.research.study.tables import (
    by,
    growth,
    least,
    line,
    mean,
    mean_of,
    means,
    means_table,
    short,
    where,
)

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

    def cells(self, quick: bool) -> Iterator[Cell]:
        """Constant delays for convex losses, then late starts of one total delay."""
        rounds, seeds = (20_000, 3) if quick else (100_000, 8)
        waits = (1, 10, 100, 1000) if quick else (1, 3, 10, 30, 100, 300, 1000, 3000)
        games: dict[str, Any] = {"rounds": rounds, "seed": range(seeds)}
        yield from crossed(part="total delay", wait=waits, **games, method=_CONVEX)
        total = rounds // 2
        widths = _widths(total, 5 if quick else 10)
        yield from crossed(part="backlog", total=total, width=widths, **games, method=_CURVED)

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

    def numbers(self, rows: Sequence[Row]) -> Numbers:
        """The exponent, who loses least where most is late, and the switch."""
        late, backlog = (where(rows, part=part) for part in ("total delay", "backlog"))
        end = max(row["total_delay"] for row in late)
        last = means(where(late, total_delay=end), "method")
        rival = least((name for name in last if not CONVEX[name].is_ours), last.get)
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

    def sections(self, rows: Sequence[Row]) -> tuple[Section, ...]:
        """The slope, then the switch."""
        parts = by(rows, "part")
        shown = {"total delay": _total, "backlog": _backlog}
        return tuple(shown[part](group) for part, group in parts.items())


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


def _total(rows: Sequence[Row]) -> Section:
    ours = where(rows, method=OURS)
    end = max(row["total_delay"] for row in rows)
    return growth_section(
        "How does regret grow with the total delay?",
        "Regret over total delay, convex losses",
        rows,
        ("total_delay", "total delay", "d_tot"),
        CONVEX,
        {"regret at the end": mean_of("regret", total_delay=end)},
        f"Means over seeds. The bound grows like d_tot^{_ROOT:g}.",
        line(f"{OURS} (bound)", ours, "total_delay", "bound", dashed=True),
        says=" The losses repeat themselves for as long as answers take.",
    )


def _switch(rows: Sequence[Row]) -> int | None:
    """Return from what backlog on the root of the total delay is the smaller one, if ever."""
    for width, group in sorted(by(rows, "max_backlog").items()):
        if (mean(group, "by_backlog") or 0.0) > (mean(group, "by_total") or 0.0):
            return int(width)
    return None


def _backlog(rows: Sequence[Row]) -> Section:
    ours = where(rows, method=OURS)
    switch = _switch(rows)
    slope = growth(ours, "max_backlog", "regret")
    side = "never" if switch is None else f"from a backlog of {switch} on"
    return Section(
        question="Where does the minimum of backlog and total delay switch?",
        figure=regret_figure(
            "Regret over the largest backlog, strongly convex",
            rows,
            "max_backlog",
            "largest backlog",
            line("delay (backlog times ln eT)", ours, "max_backlog", "by_backlog", dashed=True),
            line("delay (2 sqrt d_tot)", ours, "max_backlog", "by_total", dashed=True),
            note="Dashed: the two sides of the minimum, without constants.",
        ),
        says=f"The square root of the total delay is the smaller side {side}. Our regret grows "
        f"like sigma_max^{slope or 'unknown'} over all of it.",
        table=means_table(
            sorted(rows, key=lambda row: row["max_backlog"]),
            "max_backlog",
            {
                "regret, ours": mean_of("regret", method=OURS),
                "sigma_max ln eT": mean_of("by_backlog"),
                "2 sqrt d_tot": mean_of("by_total"),
                "best": lambda group: least(each := means(group, "method"), each.get),
            },
            f"Total delay {short(mean(rows, 'total_delay'))}, up to rounding.",
        ),
    )
