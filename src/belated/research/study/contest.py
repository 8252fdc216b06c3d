"""Contests: mean regrets of methods by kind of game, and how often each is good."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from belated.report import Heat, Section, Table
from belated.report.plain import counted
from belated.research.study.sections import rounded, winners
from belated.research.study.tables import Rows, by, mean, means, percent

SLACK = 0.1
"""How much more than the best method, as a part of what that one loses, is still good."""


class Contest(NamedTuple):
    """Mean regrets in one kind of games, measured by ``rival``, the best of some methods."""

    kind: tuple[Any, ...]
    regrets: dict[str, float]
    rival: str
    unit: float
    rounding: float

    @property
    def best(self) -> float:
        """The regret of that rival."""
        return self.regrets[self.rival]

    def excess(self, method: str) -> float:
        """Return how much more a method lost, as a part of what the rival lost."""
        more = self.regrets[method] - self.best
        if abs(more) <= self.rounding:
            return 0.0
        size = max(abs(self.best), self.rounding)
        return more / size if size else math.copysign(math.inf, more)

    def is_good(self, method: str) -> bool:
        """Tell whether regret <= best + 0.1 |best|."""
        return self.excess(method) <= SLACK

    def wins(self, method: str) -> bool:
        """Tell whether no method had less regret; what differs by rounding only is a tie."""
        return self.regrets[method] <= min(self.regrets.values()) + self.rounding

    def ratio(self, method: str) -> float | None:
        """Return the regret over that of the rival, where both are positive."""
        regret = self.regrets[method]
        return regret / self.best if min(regret, self.best) > self.rounding else None


def contests(
    rows: Rows,
    *kinds: str,
    unit: Callable[[Mapping[str, float], Rows], float | None] = lambda regrets, group: 1.0,
    name: str = "method",
    is_rival: Callable[[str], bool] = lambda name: True,
    rounding: float = 0.0,
) -> list[Contest]:
    """Return the kinds of games in which there is a unit and a rival; regrets are means.

    ``unit`` is what regrets are multiples of, from the mean regrets and the rows of a kind of
    games. Differences below ``rounding`` times the column "scale" are none.
    """
    found = []
    for kind, group in by(rows, *kinds).items():
        regrets = means(group, name)
        rivals = [(regret, each) for each, regret in regrets.items() if is_rival(each)]
        size = unit(regrets, group)
        if rivals and size:
            label = kind if len(kinds) > 1 else (kind,)
            scale = rounding * (mean(group, "scale") or 1.0)
            found.append(Contest(label, regrets, min(rivals)[1], size, scale))
    return found


class Standing(NamedTuple):
    """How one method did in all the kinds of games that it played."""

    method: str
    cells: int
    good: int
    wins: int
    ratios: list[float]
    """Regret over that of the best rival, where both are positive."""
    shares: list[float]
    """Regret over the unit."""

    @property
    def good_share(self) -> float:
        """In which part of its cells it was good."""
        return self.good / self.cells

    @property
    def mean(self) -> float:
        """The mean of its shares."""
        return sum(self.shares) / self.cells


def standings(
    cells: Iterable[Contest], key: Callable[[Standing], float] = lambda each: each.mean
) -> list[Standing]:
    """Return all methods, the least ``key`` first."""
    cells = list(cells)
    found = []
    for method in dict.fromkeys(name for cell in cells for name in cell.regrets):
        played = [cell for cell in cells if method in cell.regrets]
        good, wins = (
            sum(f(cell, method) for cell in played) for f in (Contest.is_good, Contest.wins)
        )
        ratios = [ratio for cell in played if (ratio := cell.ratio(method)) is not None]
        shares = [cell.regrets[method] / cell.unit for cell in played]
        found.append(Standing(method, len(played), good, wins, ratios, shares))
    return sorted(found, key=lambda each: (key(each), each.method))


def shares_by(cells: Sequence[Contest], place: int) -> dict[str, dict[str, float]]:
    """Return the mean shares of methods under each value of one part of the kinds."""
    groups = by([{"part": cell.kind[place], "cell": cell} for cell in cells], "part")
    return {
        part: {each.method: each.mean for each in standings(row["cell"] for row in group)}
        for part, group in groups.items()
    }


def heat(
    shares: Mapping[str, Mapping[str, float]], order: Sequence[str], title: str, label: str
) -> Heat:
    """Draw what ``shares_by`` returns."""
    values = tuple(tuple(rounded(each.get(name), 3) for each in shares.values()) for name in order)
    return Heat(title, tuple(order), tuple(shares), values, label, log=False)


def least_section(
    cells: Sequence[Contest],
    luck: str,
    columns: tuple[str, str],
    about: Callable[[str], str],
    without: str = "",
) -> Section:
    """Name the best method; shares are of the regret of ``luck``, the second part is the delays."""
    table = [each for each in standings(cells) if each.method != without]
    shares = shares_by(cells, 1)
    title = f"Regret over that of {luck}, in the mean"
    return Section(
        question="Which loses least?",
        figure=heat(shares, [each.method for each in table], title, "times that"),
        says=f"In the mean over all games with these delays. {winners(shares)}",
        table=Table(
            columns=(
                *(*columns, f"share of the regret of {luck}", "games: best"),
                *(f"within {percent(SLACK)} of the best", "worst ratio to the best"),
            ),
            rows=tuple(
                (
                    *(each.method, about(each.method), round(each.mean, 3), each.wins, each.good),
                    round(max(each.ratios, default=1.0), 2),
                )
                for each in table
            ),
            caption=f"Over {counted(len(cells), 'kind')} of games. Regrets are means over seeds.",
        ),
    )
