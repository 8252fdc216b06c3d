"""Whether the learner that ``Problem.learner`` returns is a good choice everywhere.

The yardstick in every cell (setting, loss, pattern) is the best adaptive rival: of the published
methods that are told neither the horizon nor anything about the delays, the one with the least mean
regret in that cell. No single method is that good everywhere, so this asks for more than a win.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from belated.report import Bars, Heat, Section, Series, Table
from belated.research.study.contestants import CONVEX, DEFAULT, STRONGLY_CONVEX, Field
from belated.research.study.fits import geometric_mean
from belated.research.study.plan import Opening, Row
from belated.research.study.tables import by, counted, least, listed, mean, percent, quoted, short

SLACK = 0.1
"""How much more than the best rival, as a part of what that one loses, is still good."""
WANTED = 0.9
"""The share of cells in which a default should be that good."""
ROUNDING = 1e-9
"""Differences below this part of the scale of a game are rounding."""

_FIELDS: dict[str, Field] = {"convex": CONVEX, "strongly convex": STRONGLY_CONVEX}
_NAMED, _LISTED = 3, 12
"""Cells where most is lost: those in the sentence, and those in the table."""
_DEEPEST = 10.0
"""Ratios beyond this, or below its inverse, all have the colour at the end."""


class Contest(NamedTuple):
    """Mean regrets in one cell, of all methods that were told nothing."""

    setting: str
    loss: str
    pattern: str
    regrets: dict[str, float]
    rival: str
    """The best one that is not ours."""
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


def contests(rows: Sequence[Row]) -> list[Contest]:
    """Return the cells in which the default met an adaptive rival.

    Regrets are means over the seeds.
    """
    found = []
    for (setting, loss, pattern), group in by(rows, "setting", "loss", "pattern").items():
        field = _FIELDS.get(setting, {})
        regrets = {
            name: regret
            for name, each in by(group, "method").items()
            if name in field and field[name].is_adaptive
            if (regret := mean(each, "regret")) is not None
        }
        rival = least((name for name in regrets if not field[name].is_ours), regrets.get)
        if rival is not None and DEFAULT in regrets:
            rounding = ROUNDING * (mean(group, "scale") or 1.0)
            found.append(Contest(setting, loss, pattern, regrets, rival, rounding))
    return found


class Standing(NamedTuple):
    """How one method did in all the cells that it played."""

    method: str
    cells: int
    good: int
    ratios: list[float]
    """Regret over that of the best rival, in the cells where both are positive."""

    @property
    def share(self) -> float:
        """In which part of its cells it was good."""
        return self.good / self.cells


def standings(cells: Sequence[Contest]) -> list[Standing]:
    """Return every method that was told nothing, best share first."""
    found = []
    for method in dict.fromkeys(name for cell in cells for name in cell.regrets):
        played = [cell for cell in cells if method in cell.regrets]
        ratios = [ratio for cell in played if (ratio := cell.ratio(method)) is not None]
        good = sum(cell.is_good(method) for cell in played)
        found.append(Standing(method, len(played), good, ratios))
    return sorted(found, key=lambda each: (-each.share, each.method))


def default_opening(rows: Sequence[Row]) -> Opening:
    """Say how often the default is good, and who is good as often."""
    cells = contests(rows)
    if not cells:
        return Opening("The default has met no adaptive rival yet.", ())
    good = sum(cell.is_good(DEFAULT) for cell in cells)
    games = counted(len(cells), "kind of games", "kinds of games")
    widest = max(each.cells for each in standings(cells))
    others = [each for each in standings(cells) if each.method != DEFAULT and not _is_ours(each)]
    general = [each for each in others if 2 * each.cells >= widest]
    says = (
        f"The default, which is told nothing about the delays, loses at most {percent(SLACK)} more "
        f"than the best adaptive rival of each in {good} of {games}."
    )
    if general:
        best = general[0]
        says += (
            f" Of rivals that play at least half of them, {quoted(best.method)} comes next with "
            f"{percent(best.share)} of its own."
        )
    numbers = [(percent(good / len(cells)), f"of {games}: the default is within {percent(SLACK)}")]
    ratios = [ratio for cell in cells if (ratio := cell.ratio(DEFAULT)) is not None]
    if ratios:
        typical, worst = short(geometric_mean(ratios)), short(max(ratios))
        numbers += [
            (f"{typical} times", "the regret of the best adaptive rival, in the mean"),
            (f"{worst} times", "the regret of that rival, at worst"),
        ]
    return Opening(says, tuple(numbers))


def _is_ours(standing: Standing) -> bool:
    known = [field[standing.method] for field in _FIELDS.values() if standing.method in field]
    return any(method.is_ours for method in known)


def default_sections(rows: Sequence[Row]) -> Iterator[Section]:
    """Say where the default is good, then how often every other adaptive method is."""
    cells = contests(rows)
    if cells:
        yield _everywhere(cells)
        yield _others(cells)


# ---- the default alone -------------------------------------------------------------------------


def _everywhere(cells: list[Contest]) -> Section:
    worst = sorted(cells, key=lambda cell: -cell.excess(DEFAULT))
    return Section(
        question="Is the default good everywhere?",
        figure=_heat(cells),
        says=_verdict(cells, worst),
        table=Table(
            columns=("loss", "pattern", "default", "best adaptive rival", "its regret", "ratio"),
            rows=tuple(
                (
                    cell.loss,
                    cell.pattern,
                    cell.regrets[DEFAULT],
                    cell.rival,
                    cell.best,
                    cell.ratio(DEFAULT),
                )
                for cell in worst[:_LISTED]
            ),
            caption=f"The cells where most is lost, the worst first. Adaptive: told neither the "
            f"horizon nor the delays. No ratio where a regret is not positive; regret is then good "
            f"up to best + {SLACK:g} |best|.",
        ),
    )


def _heat(cells: list[Contest]) -> Heat:
    """Draw regret over that of the best rival, with 1 in the middle of the colours."""
    ratios = {(cell.loss, cell.pattern): cell.ratio(DEFAULT) for cell in cells}
    known = [ratio for ratio in ratios.values() if ratio is not None]
    widest = max([2.0, *(max(ratio, 1.0 / ratio) for ratio in known)])
    end = min(widest, _DEEPEST)
    losses = tuple(dict.fromkeys(cell.loss for cell in cells))
    patterns = tuple(dict.fromkeys(cell.pattern for cell in cells))
    return Heat(
        title="Regret of the default over that of the best adaptive rival",
        rows=losses,
        columns=patterns,
        values=tuple(tuple(ratios.get((loss, pattern)) for pattern in patterns) for loss in losses),
        value_label="times the best adaptive rival",
        low=1.0 / end,
        high=end,
    )


def _verdict(cells: list[Contest], worst: list[Contest]) -> str:
    """Count the good cells, and name those where most is lost."""
    good = sum(cell.is_good(DEFAULT) for cell in cells)
    reaches = "reaches" if good >= WANTED * len(cells) else "does not reach"
    says = (
        f"The default is within {percent(SLACK)} of the best adaptive rival in {good} of "
        f"{len(cells)} cells ({percent(good / len(cells))}), which {reaches} "
        f"{percent(WANTED)}."
    )
    lost = [cell for cell in worst if not cell.is_good(DEFAULT)]
    if not lost:
        return f"{says} Nothing is lost anywhere."
    kinds = [
        f"{quoted(loss)} {len(group)}"
        for loss, group in sorted(_by_loss(lost).items(), key=lambda item: -len(item[1]))
    ]
    says += (
        f" Most is lost with {'; '.join(map(_lost, lost[:_NAMED]))}. "
        f"Of the {counted(len(lost), 'cell')} lost, by kind of loss: {listed(kinds)}. There a "
        "rival with the one step that suits has the edge; the default must first learn which of "
        "its steps does, from answers that are late themselves."
    )
    hidden = sum(cell.ratio(DEFAULT) is None for cell in cells)
    if hidden:
        says += f" Grey: {counted(hidden, 'cell')} with a regret that is not positive, so no ratio."
    return says


def _by_loss(cells: Sequence[Contest]) -> dict[str, list[Contest]]:
    groups: dict[str, list[Contest]] = {}
    for cell in cells:
        groups.setdefault(cell.loss, []).append(cell)
    return groups


def _lost(cell: Contest) -> str:
    """Name a cell, and to whom it is lost."""
    ratio = cell.ratio(DEFAULT)
    how = (
        f"{short(ratio)} times the regret of {quoted(cell.rival)}"
        if ratio is not None
        else f"{short(cell.regrets[DEFAULT])} against {short(cell.best)} of {quoted(cell.rival)}"
    )
    return f"'{cell.loss}' losses under '{cell.pattern}' ({how})"


# ---- everyone ----------------------------------------------------------------------------------


def _others(cells: list[Contest]) -> Section:
    settings = {
        setting: standings([cell for cell in cells if cell.setting == setting])
        for setting in dict.fromkeys(cell.setting for cell in cells)
    }
    order = standings(cells)
    return Section(
        question="How often is every adaptive method within 10 % of the best rival?",
        figure=Bars(
            title="Cells within 10 % of the best adaptive rival",
            labels=tuple(each.method for each in order),
            groups=tuple(_shares(setting, table, order) for setting, table in settings.items()),
            y_label="% of the cells played",
        ),
        says=_ranks(cells, settings),
        table=_table(order),
    )


def _shares(setting: str, table: list[Standing], order: list[Standing]) -> Series:
    """Return the shares in one setting, where a method plays there."""
    known = {each.method: 100.0 * each.share for each in table}
    return Series(setting, (), tuple(known.get(each.method) for each in order))


def _ranks(cells: list[Contest], settings: dict[str, list[Standing]]) -> str:
    """Name who is good most often, and say how the default does in the mean."""
    most = [
        f"{listed([quoted(name) for name in _first(table)])} in {percent(table[0].share)} of "
        f"the {setting} cells played"
        for setting, table in settings.items()
    ]
    rivals = {cell.rival for cell in cells}
    says = (
        f"Most often within {percent(SLACK)}: {'; '.join(most)}. No method is the yardstick "
        f"everywhere: {counted(len(rivals), 'rival is', 'different rivals are')} the best one "
        "somewhere."
    )
    ratios = [ratio for cell in cells if (ratio := cell.ratio(DEFAULT)) is not None]
    if ratios:
        says += (
            f" Over the {counted(len(ratios), 'cell')} with a ratio, the default loses "
            f"{short(geometric_mean(ratios))} times as much as the best rival in the geometric "
            f"mean, and {short(max(ratios))} times at worst."
        )
    return says


def _first(table: list[Standing]) -> list[str]:
    return [each.method for each in table if each.share == table[0].share]


def _table(order: list[Standing]) -> Table:
    return Table(
        columns=(
            *("method", "cells", "within 10 %", "share in %"),
            *("cells with a ratio", "mean ratio", "worst ratio"),
        ),
        rows=tuple(
            (
                each.method,
                each.cells,
                each.good,
                round(100.0 * each.share, 1),
                len(each.ratios),
                round(geometric_mean(each.ratios), 3) if each.ratios else None,
                round(max(each.ratios), 3) if each.ratios else None,
            )
            for each in order
        ),
        caption="Everyone against the best adaptive rival of each cell, which is never one of "
        "ours; not all methods play in both settings. Mean ratios are geometric, over the cells "
        "where both regrets are positive.",
    )
