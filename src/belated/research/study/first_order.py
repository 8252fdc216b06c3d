"""All methods that are told gradients, on the same games."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from belated.report import Bars, Heat, Section, Series, Table
from belated.research.study.contest import (
    SLACK,
    Contest,
    Standing,
    contests,
    heat,
    standings,
    winners,
)
from belated.research.study.contestants import (
    CONVEX,
    DEFAULT,
    EXPERTS,
    STRONGLY_CONVEX,
    Field,
)
from belated.research.study.fits import geometric_mean
from belated.research.study.games import ball, experts, game_of, measure
from belated.research.study.plan import Cell, Numbers, Row, Study
from belated.research.study.tables import by, counted, listed, mean, percent, quoted, short

_FIELDS: dict[str, Field] = {
    "convex": CONVEX,
    "strongly convex": STRONGLY_CONVEX,
    "experts": EXPERTS,
}
_FULL = {
    "convex": (
        *("linear", "linear, noisy", "linear, drifting", "linear, switching", "linear, blocks"),
        *("alternating", "adversary", "absolute", "squared", "logistic", "hinge"),
    ),
    "strongly convex": ("quadratic", "quadratic, noisy"),
    "experts": ("linear", "linear, noisy"),
}
_QUICK = {
    "convex": ("linear", "linear, noisy", "linear, drifting", "adversary"),
    "strongly convex": ("quadratic", "quadratic, noisy"),
}
_PATTERNS = (
    *("none", "constant", "constant, long", "geometric", "pareto", "heavy tails", "bursts"),
    *("outages", "queue", "footnote", "first_rounds", "often lost"),
)
_QUICK_PATTERNS = ("none", "constant", "pareto", "first_rounds")
_KEEP_ORDER = ("none", "constant", "constant, long")
_CANNOT = {
    "FTDRL": ("adversary", "absolute", "squared", "logistic", "hinge"),  # is told coefficients
    "DMD": ("adversary",),  # is shown whole losses
    "Delayed ONS": (  # is for exp-concave ones
        *("linear", "linear, noisy", "linear, drifting", "linear, switching", "linear, blocks"),
        *("alternating", "adversary", "absolute", "hinge"),
    ),
}
"""Losses that a method cannot take."""


_WANTED = 0.9
"""The share of cells in which a default should be good."""
_ROUNDING = 1e-9
"""Differences below this part of the scale of a game are rounding."""
_LISTED = 12
"""Cells in the table of those where most is lost."""
_DEEPEST = 10.0
"""Ratios beyond this, or below its inverse, all have the colour at the end."""


class FirstOrderRivals(Study):
    """Every first-order method of ``contestants`` on every loss and every pattern."""

    name = "first-order"
    title = "First-order methods under delay"
    question = (
        "Which method loses least when gradients come late, and what did it have to be told? The "
        "rivals play the same games, each with the true facts that it asks for. Ours are told "
        "nothing about the delays: 'Ours' is the paper's algorithm, and 'Ours, default' what "
        "Problem.learner() returns."
    )

    def cells(self, quick: bool) -> Iterator[Cell]:
        """Every method on every game that it can play."""
        rounds, seeds = (4_000, 2) if quick else (20_000, 3)
        patterns = _QUICK_PATTERNS if quick else _PATTERNS
        for setting, losses in (_QUICK if quick else _FULL).items():
            for loss, pattern, seed in product(losses, patterns, range(seeds)):
                for method in _who_can(setting, loss, pattern):
                    game: dict[str, Any] = {"loss": loss, "pattern": pattern, "seed": seed}
                    yield Cell.of(setting=setting, method=method, **game, rounds=rounds, dim=5)

    def run(self, cell: Cell) -> dict[str, Any]:
        """Play one game."""
        game = game_of(cell["loss"], cell["pattern"], cell["dim"], cell["rounds"], cell["seed"])
        domain = (experts if cell["setting"] == "experts" else ball)(cell["dim"])
        spec = _FIELDS[cell["setting"]][cell["method"]].make(game, domain)
        row = measure(spec, game, cell["seed"])[1]
        lipschitz = game.problem(domain, convex=True).lipschitz
        scale = lipschitz * domain.diameter * math.sqrt(cell["rounds"] + row["total_delay"])
        return {**row, "scale": scale}

    def numbers(self, rows: Sequence[Row]) -> Numbers:
        """How often the default is good, and who is good as often."""
        cells = adaptive(rows)
        if not cells:
            return ()
        table = _by_good_share(cells)
        ours = next(each for each in table if each.method == DEFAULT)
        games = counted(len(cells), "kind of games", "kinds of games")
        within = f"of {games}: the default is within {percent(SLACK)}"
        numbers = [(percent(ours.good_share), within)]
        if ours.ratios:
            typical, worst = short(geometric_mean(ours.ratios)), short(max(ours.ratios))
            numbers += [
                (f"{typical} times", "the regret of the best adaptive rival, in the mean"),
                (f"{worst} times", "the regret of that rival, at worst"),
            ]
        return tuple(numbers)

    def sections(self, rows: Sequence[Row]) -> tuple[Section, ...]:
        """First the default, then how often others are good, then every kind of losses."""
        cells = adaptive(rows)
        found = [_everywhere(cells)] if cells else []
        for setting in dict.fromkeys(cell.kind[0] for cell in cells):
            found.append(_good_ones(setting, [cell for cell in cells if cell.kind[0] == setting]))
        for setting, group in by(rows, "setting").items():
            found.append(_wins(setting, group))
            found += [_ranking(setting, loss, some) for loss, some in by(group, "loss").items()]
        return tuple(found)


def _who_can(setting: str, loss: str, pattern: str) -> Iterator[str]:
    """Name the methods that play such a game."""
    for name, method in _FIELDS[setting].items():
        if loss not in _CANNOT.get(name, ()) and (pattern in _KEEP_ORDER or not method.in_order):
            yield name


def _is_ours(name: str) -> bool:
    return any(name in field and field[name].is_ours for field in _FIELDS.values())


# ---- is the default good everywhere? -----------------------------------------------------------


def adaptive(rows: Sequence[Row]) -> list[Contest]:
    """Return the cells in which the default met an adaptive rival.

    The yardstick in every cell (setting, loss, pattern) is the best adaptive rival: of the
    published methods that are told neither the horizon nor anything about the delays, the one with
    the least mean regret in that cell. No method is that good everywhere.
    """
    some = [row for row in rows if row["setting"] != "experts"]
    return contests(
        [row for row in some if _FIELDS[row["setting"]][row["method"]].is_adaptive],
        *("setting", "loss", "pattern"),
        unit=lambda regrets, group: 1.0 if DEFAULT in regrets else None,
        is_rival=lambda name: not _is_ours(name),
        rounding=_ROUNDING,
    )


def _by_good_share(cells: Sequence[Contest]) -> list[Standing]:
    return standings(cells, key=lambda each: -each.good_share)


def _everywhere(cells: list[Contest]) -> Section:
    """Say where the default is good, and list the cells where most is lost."""
    worst = sorted(cells, key=lambda cell: -cell.excess(DEFAULT))
    good = sum(cell.is_good(DEFAULT) for cell in cells)
    reaches = "reaches" if good >= _WANTED * len(cells) else "does not reach"
    hidden = sum(cell.ratio(DEFAULT) is None for cell in cells)
    rivals = {cell.rival for cell in cells}
    return Section(
        question="Is the default good everywhere?",
        figure=_default_heat(cells),
        says=f"The default is within {percent(SLACK)} of the best adaptive rival in {good} of "
        f"{counted(len(cells), 'cell')} ({percent(good / len(cells))}), which {reaches} "
        f"{percent(_WANTED)}. {counted(len(rivals), 'rival is', 'different rivals are')} the best "
        f"one somewhere. Grey: {counted(hidden, 'cell')} with a regret that is not positive, so no "
        "ratio.",
        table=Table(
            columns=("loss", "pattern", "default", "best adaptive rival", "its regret", "ratio"),
            rows=tuple(
                (
                    *(*cell.kind[1:], cell.regrets[DEFAULT], cell.rival, cell.best),
                    cell.ratio(DEFAULT),
                )
                for cell in worst[:_LISTED]
            ),
            caption="The cells where most is lost, the worst first. Adaptive: told neither the "
            "horizon nor the delays. No ratio where a regret is not positive; regret is then good "
            f"up to best + {SLACK:g} |best|.",
        ),
    )


def _default_heat(cells: list[Contest]) -> Heat:
    """Draw regret over that of the best rival, with 1 in the middle of the colours."""
    ratios = {cell.kind[1:]: cell.ratio(DEFAULT) for cell in cells}
    known = [ratio for ratio in ratios.values() if ratio is not None]
    end = min(max([2.0, *(max(ratio, 1.0 / ratio) for ratio in known)]), _DEEPEST)
    losses, patterns = (tuple(dict.fromkeys(key[i] for key in ratios)) for i in (0, 1))
    return Heat(
        title="Regret of the default over that of the best adaptive rival",
        rows=losses,
        columns=patterns,
        values=tuple(tuple(ratios.get((loss, pattern)) for pattern in patterns) for loss in losses),
        value_label="times the best adaptive rival",
        low=1.0 / end,
        high=end,
    )


def _good_ones(setting: str, cells: list[Contest]) -> Section:
    """Say how often every method that was told nothing is good."""
    order = _by_good_share(cells)
    first = [quoted(each.method) for each in order if each.good_share == order[0].good_share]
    return Section(
        question=f"How often is every adaptive method within 10 % of the best rival ({setting})?",
        figure=None,
        says=f"Most often: {listed(first)}, in {percent(order[0].good_share)} of the cells played.",
        table=Table(
            columns=(
                *("method", "cells", "within 10 %", "share in %"),
                *("cells with a ratio", "mean ratio", "worst ratio"),
            ),
            rows=tuple(
                (
                    *(each.method, each.cells, each.good, round(100.0 * each.good_share, 1)),
                    len(each.ratios),
                    round(geometric_mean(each.ratios), 3) if each.ratios else None,
                    round(max(each.ratios), 3) if each.ratios else None,
                )
                for each in order
            ),
            caption="Every method against the best adaptive rival of each cell, which is never one "
            "of ours. Mean ratios are geometric, over the cells where both regrets are positive.",
        ),
    )


# ---- all methods -------------------------------------------------------------------------------


def _wins(setting: str, rows: Sequence[Row]) -> Section:
    """Count games over all losses."""
    cells = contests(rows, "loss", "pattern", unit=lambda *_: 1.0, rounding=_ROUNDING)
    order = standings(cells, key=lambda each: -each.wins)
    first = [quoted(each.method) for each in order if each.wins == order[0].wins]
    return Section(
        question=f"Who wins most often ({setting})?",
        figure=Bars(
            title=f"Games won, {setting}",
            labels=tuple(each.method for each in order),
            groups=(Series("wins", (), tuple(float(each.wins) for each in order)),),
            y_label="games",
            by_label=True,
        ),
        says=f"Most wins: {listed(first)} with {order[0].wins}. A tie is a win for all, and not "
        "all methods play all games.",
        table=Table(
            columns=("method", "told in advance", "games", "wins"),
            rows=tuple(
                (each.method, _FIELDS[setting][each.method].told, each.cells, each.wins)
                for each in order
            ),
        ),
    )


def _ranking(setting: str, loss: str, rows: Sequence[Row]) -> Section:
    """Compare mean regrets with one loss: as multiples of the least one, where that is positive.

    Where losses change, a learner can do better than every fixed action. Then there is no ratio to
    the best, and regrets are shown on the scale of the bounds.
    """
    cells = contests(rows, "pattern", unit=lambda *_: 1.0, rounding=_ROUNDING)
    is_scaled = any(cell.best <= 0.0 for cell in cells)
    scales = {(pattern,): mean(group, "scale") for pattern, group in by(rows, "pattern").items()}
    cells = [
        cell._replace(unit=(scales[cell.kind] or 1.0) if is_scaled else cell.best) for cell in cells
    ]
    unit = "G D sqrt(T + d_tot)" if is_scaled else "the least regret"
    order = standings(cells, key=lambda each: _mean(each.shares))
    figure = heat(
        cells, [each.method for each in order], 0, f"Regret over {unit}, {loss}", f"times {unit}"
    )
    says = winners((cell.kind[0], cell.regrets) for cell in cells)
    if is_scaled:
        says += " Negative regret is possible here: the losses change, and a learner can follow."
    return Section(
        question=f"Who loses least with losses of the kind '{loss}' ({setting})?",
        figure=replace(figure, log=not is_scaled),
        says=says,
        table=Table(
            columns=("method", "told in advance", "games", "wins", "mean", "best", "worst"),
            rows=tuple(
                (
                    *(each.method, _FIELDS[setting][each.method].told, each.cells, each.wins),
                    *(round(x, 3) for x in (_mean(each.shares), min(each.shares))),
                    round(max(each.shares), 3),
                )
                for each in order
            ),
            caption=f"Regrets over {unit}; means are geometric where all are positive.",
        ),
    )


def _mean(shares: list[float]) -> float:
    return geometric_mean(shares) or sum(shares) / len(shares)
