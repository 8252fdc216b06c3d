"""How regret grows with the total delay, and with the largest backlog."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

from belated.report import Section, Table
from belated.research import delays, losses
from belated.research.game import Game
from belated.research.study.contestants import CONVEX, OURS, OURS_OMD, STRONGLY_CONVEX, TIGHT
from belated.research.study.games import CURVATURE, ball, late_start, measure
from belated.research.study.layout import growth_table, regret_figure
from belated.research.study.plan import Cell, Opening, Row, Study
from belated.research.study.tables import by, growth, least, line, mean, quoted, short, where

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
        for wait, seed, method in product(waits, range(seeds), _CONVEX):
            yield Cell.of(
                method=method,
                part="total delay",
                rounds=rounds,
                wait=wait,
                seed=seed,
            )
        total = rounds // 2
        widths = _widths(total, 5 if quick else 10)
        for width, seed, method in product(widths, range(seeds), _CURVED):
            yield Cell.of(
                method=method,
                seed=seed,
                part="backlog",
                rounds=rounds,
                total=total,
                width=width,
            )

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

    def opening(self, rows: Sequence[Row]) -> Opening:
        """The exponent, who loses least where most is late, and the switch."""
        parts = by(rows, "part")
        says, numbers = [], []
        if late := parts.get("total delay"):
            end = max(row["total_delay"] for row in late)
            slope = growth(where(late, method=OURS), "total_delay", "regret")
            if slope is not None:
                says.append(
                    f"Our regret grows like the total delay to the power {slope}, where the bound "
                    f"has {_ROOT:g}."
                )
                numbers.append(
                    (f"{slope.slope:.2f}", f"the exponent of the total delay; {_ROOT:g} in theory")
                )
            best = _winner(where(late, total_delay=end))
            says.append(f"Where most is late, {quoted(best)} loses least.")
            ratio = _over_best(where(late, total_delay=end))
            if ratio is not None:
                numbers.append(
                    (f"{short(ratio)} times", "the regret of the best rival, where most is late")
                )
        if backlog := parts.get("backlog"):
            switch = _switch(backlog)
            numbers.append(
                (
                    "never" if switch is None else f"{switch:,}",
                    "open answers: where the minimum switches",
                )
            )
        return Opening(" ".join(says) or "Nothing was played.", tuple(numbers))

    def sections(self, rows: Sequence[Row]) -> tuple[Section, ...]:
        """The slope, then the switch."""
        parts = by(rows, "part")
        found = []
        if "total delay" in parts:
            found.append(_total(parts["total delay"]))
        if "backlog" in parts:
            found.append(_backlog(parts["backlog"]))
        return tuple(found)


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
    best = _winner(where(rows, total_delay=end))
    slope = growth(ours, "total_delay", "regret")
    says = f"At the largest total delay, {end:,}, the least regret is that of {quoted(best)}."
    if slope is not None:
        faster = slope.low > _ROOT
        slower = slope.high < _ROOT
        verdict = "faster than" if faster else "more slowly than" if slower else "as fast as"
        says += f" Our regret grows like d_tot^{slope}, {verdict} the d_tot^{_ROOT:g} of the bound."
    return Section(
        question="How does regret grow with the total delay?",
        figure=regret_figure(
            "Regret over total delay, convex losses",
            rows,
            "total_delay",
            "total delay",
            line(f"{OURS} (bound)", ours, "total_delay", "bound", dashed=True),
            note="The losses repeat themselves for as long as answers take.",
        ),
        says=says,
        table=growth_table(
            CONVEX,
            rows,
            "total_delay",
            "d_tot",
            {"regret at the end": lambda group: mean(where(group, total_delay=end), "regret")},
            caption="Means over seeds.",
        ),
    )


def _winner(rows: Sequence[Row]) -> str | None:
    """Name the method with the least mean regret."""
    groups = by(rows, "method")
    return least(groups, lambda name: mean(groups[name], "regret"))


def _over_best(rows: Sequence[Row]) -> float | None:
    """Return our regret over the least one of a method that is not ours, where both are known."""
    regrets = {name: mean(group, "regret") for name, group in by(rows, "method").items()}
    rivals = [lost for name, lost in regrets.items() if lost and not CONVEX[name].is_ours]
    ours = regrets.get(OURS)
    return ours / min(rivals) if ours and rivals and min(rivals) > 0.0 else None


def _switch(rows: Sequence[Row]) -> int | None:
    """Return from what backlog on the root of the total delay is the smaller one, if ever."""
    for width, group in sorted(by(rows, "max_backlog").items()):
        if (mean(group, "by_backlog") or 0.0) > (mean(group, "by_total") or 0.0):
            return int(width)
    return None


def _backlog(rows: Sequence[Row]) -> Section:
    ours = where(rows, method=OURS)
    groups = by(rows, "max_backlog")
    switch = _switch(rows)
    where_it_switches = (
        f"From a backlog of {switch} on, the square root of the total delay is the smaller one"
        if switch is not None
        else "The backlog times the logarithm is the smaller one throughout"
    )
    slope = growth(ours, "max_backlog", "regret")
    grows = "" if slope is None else f" Our regret grows like sigma_max^{slope} over all of it."
    wins = {width: _winner(group) for width, group in groups.items()}
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
        says=f"{where_it_switches}.{grows}",
        table=Table(
            columns=("largest backlog", "regret, ours", "sigma_max ln eT", "2 sqrt d_tot", "best"),
            rows=tuple(
                (
                    int(width),
                    mean(where(group, method=OURS), "regret"),
                    mean(group, "by_backlog"),
                    mean(group, "by_total"),
                    wins[width],
                )
                for width, group in sorted(groups.items())
            ),
            caption=f"Total delay {short(mean(rows, 'total_delay'))}, up to rounding.",
        ),
    )
