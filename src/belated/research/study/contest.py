"""Who loses least: mean regrets of methods by kind of game, and the sections that compare them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from belated.report import Bars, Heat, Section, Table
from belated.research.study.tables import (
    Rows,
    bars,
    by,
    counted,
    listed,
    mean,
    means,
    percent,
    quoted,
    where,
)

SLACK = 0.1
"""How much more than the best method, as a part of what that one loses, is still good."""

Unit = Callable[[Mapping[str, float], Rows], float | None]
"""What regrets are multiples of, from the mean regrets and the rows of a kind of games."""


class Contest(NamedTuple):
    """Mean regrets in one kind of games."""

    kind: tuple[Any, ...]
    regrets: dict[str, float]
    rival: str
    """The best of those that the others are measured by."""
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
        return more / max(abs(self.best), self.rounding)

    def is_good(self, method: str) -> bool:
        """Tell whether regret <= best + 0.1 |best|."""
        return self.excess(method) <= SLACK

    def ratio(self, method: str) -> float | None:
        """Return the regret over that of the rival, where both are positive."""
        regret = self.regrets[method]
        return regret / self.best if min(regret, self.best) > self.rounding else None

    def share(self, method: str) -> float | None:
        """Return the regret over the unit, where the method played."""
        return self.regrets[method] / self.unit if method in self.regrets else None


def contests(
    rows: Rows,
    *kinds: str,
    unit: Unit,
    name: str = "method",
    is_rival: Callable[[str], bool] = lambda name: True,
    rounding: float = 0.0,
) -> list[Contest]:
    """Return the kinds of games in which there is a unit and a rival; regrets are means.

    Differences below ``rounding`` times the column "scale" are none.
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
    """Where nobody was better; what differs by rounding only is a tie."""
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
        found.append(
            Standing(
                method,
                len(played),
                sum(cell.is_good(method) for cell in played),
                sum(cell.regrets[method] <= _least(cell) + cell.rounding for cell in played),
                [ratio for cell in played if (ratio := cell.ratio(method)) is not None],
                [cell.regrets[method] / cell.unit for cell in played],
            )
        )
    return sorted(found, key=lambda each: (key(each), each.method))


def _least(cell: Contest) -> float:
    return min(cell.regrets.values())


def winners(cells: Iterable[tuple[object, Mapping[str, float]]]) -> str:
    """Name the method with the least regret under every label.

    >>> winners([("none", {"A": 1.0, "B": 2.0}), ("often", {"A": 3.0, "B": 2.0})])
    'Least regret: A under none; B under often.'
    """
    best: dict[str, list[str]] = {}
    for label, regrets in cells:
        if regrets:
            first = min(regrets, key=lambda name: regrets[name])
            best.setdefault(first, []).append(quoted(str(label)))
    most = sorted(best.items(), key=lambda item: -len(item[1]))
    return f"Least regret: {'; '.join(f'{quoted(n)} under {listed(w)}' for n, w in most)}."


def heat(
    cells: Sequence[Contest], order: Sequence[str], place: int, title: str, label: str
) -> Heat:
    """Draw the mean shares of methods under each value of one part of the kinds."""
    columns = tuple(dict.fromkeys(cell.kind[place] for cell in cells))
    known = {column: _shares(cells, place, column) for column in columns}
    values = tuple(
        tuple(_rounded(known[column].get(name), 3) for column in columns) for name in order
    )
    return Heat(title, tuple(order), columns, values, label, log=False)


def _shares(cells: Sequence[Contest], place: int, value: object) -> dict[str, float]:
    """Return the mean shares where one part of the kind has this value."""
    some = [cell for cell in cells if cell.kind[place] == value]
    return {each.method: each.mean for each in standings(some)}


def least_section(
    cells: Sequence[Contest],
    luck: str,
    columns: tuple[str, str],
    about: Callable[[str], str],
    without: str = "",
) -> Section:
    """Say who loses least; shares are of the regret of ``luck``, the second part is the delays."""
    table = [each for each in standings(cells) if each.method != without]
    order = [each.method for each in table]
    delays = dict.fromkeys(cell.kind[1] for cell in cells)
    shares = {delay: _shares(cells, 1, delay) for delay in delays}
    return Section(
        question="Who loses least?",
        figure=heat(cells, order, 1, f"Regret over that of {luck}, in the mean", "times that"),
        says=f"In the mean over all games with these delays. {winners(shares.items())}",
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


def kind_section(question: str, title: str, rows: Rows, column: str, name: str) -> Section:
    """Compare the regrets of all methods under each value of a column."""
    groups = by(rows, column)
    regrets = {label: means(group, name) for label, group in groups.items()}
    names = tuple(by(rows, name))
    return Section(
        question=question,
        figure=Bars(
            title=title,
            labels=tuple(map(str, groups)),
            groups=tuple(
                bars(each, [where(group, **{name: each}) for group in groups.values()], "regret")
                for each in names
            ),
            y_label="regret",
            note="Whiskers reach from the least to the largest seed.",
        ),
        says=winners(regrets.items()),
        table=Table(
            columns=(name, *map(str, groups)),
            rows=tuple(
                (each, *(_rounded(found.get(each), 1) for found in regrets.values()))
                for each in names
            ),
            caption="Mean regrets.",
        ),
    )


def _rounded(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)
