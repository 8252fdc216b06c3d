"""All methods that are told gradients, on the same games."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

from belated.report import Heat, Section, Table
from belated.report.plain import counted, listed
from belated.research.study.contest import (
    SLACK,
    Contest,
    Standing,
    contests,
    heat,
    shares_by,
    standings,
)
from belated.research.study.contestants import CONVEX, DEFAULT, EXPERTS, STRONGLY_CONVEX, Field
from belated.research.study.games import ball, experts, game_of, measure
from belated.research.study.plan import Cell, Numbers, Study
from belated.research.study.sections import winners
from belated.research.study.tables import Rows, by, geometric_mean, mean, percent, quoted, short

_FIELDS: dict[str, Field] = {
    "convex": CONVEX,
    "strongly convex": STRONGLY_CONVEX,
    "experts": EXPERTS,
}
_LOSSES = {
    "convex": (
        *("linear", "linear, noisy", "linear, drifting", "linear, switching", "linear, blocks"),
        *("alternating", "adversary", "absolute", "squared", "logistic", "hinge"),
    ),
    "strongly convex": ("quadratic", "quadratic, noisy"),
    "experts": ("linear", "linear, noisy"),
}
_PATTERNS = (
    *("none", "constant", "constant, long", "geometric", "pareto", "heavy tails", "bursts"),
    *("outages", "queue", "footnote", "first_rounds", "often lost"),
)
_KEEP_ORDER = ("none", "constant", "constant, long")
_CANNOT = {
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

    def cells(self) -> Iterator[Cell]:
        """Every method on every game that it can play."""
        for setting, losses in _LOSSES.items():
            for loss, pattern, seed in product(losses, _PATTERNS, range(3)):
                for method in _who_can(setting, loss, pattern):
                    game: dict[str, Any] = {"loss": loss, "pattern": pattern, "seed": seed}
                    yield Cell.of(setting=setting, method=method, **game, rounds=20_000, dim=5)

    def run(self, cell: Cell) -> dict[str, Any]:
        """Play one game."""
        game = game_of(cell["loss"], cell["pattern"], cell["dim"], cell["rounds"], cell["seed"])
        domain = (experts if cell["setting"] == "experts" else ball)(cell["dim"])
        spec = _FIELDS[cell["setting"]][cell["method"]].make(game, domain)
        row = measure(spec, game, cell["seed"])[1]
        lipschitz = game.problem(domain, convex=True).lipschitz
        scale = lipschitz * domain.diameter * math.sqrt(cell["rounds"] + row["total_delay"])
        return {**row, "scale": scale}

    def numbers(self, rows: Rows) -> Numbers:
        """How often the default is good, and how far it is from the best adaptive rival."""
        cells = _of_default(judged(rows))
        if not cells:
            return ()
        ours = next(each for each in standings(cells) if each.method == DEFAULT)
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

    def sections(self, rows: Rows) -> Iterator[Section]:
        """First the default, then how often all methods are good, then every kind of losses."""
        cells = judged(rows)
        if ours := _of_default(cells):
            yield _everywhere(ours)
        for setting, group in by(rows, "setting").items():
            yield _good_ones(setting, [cell for cell in cells if cell.kind[0] == setting])
            for loss, some in by(group, "loss").items():
                yield _ranking(setting, loss, some)


def _who_can(setting: str, loss: str, pattern: str) -> Iterator[str]:
    """Name the methods that play such a game."""
    for name, method in _FIELDS[setting].items():
        if loss not in _CANNOT.get(name, ()) and (pattern in _KEEP_ORDER or not method.in_order):
            yield name


def judged(rows: Rows) -> list[Contest]:
    """Return the cells (setting, loss, pattern), each with its best adaptive rival.

    That is the yardstick: of the published methods that are told neither the horizon nor anything
    about the delays, the one with the least mean regret in that cell. No method is that good
    everywhere.
    """
    found: list[Contest] = []
    for setting, group in by(rows, "setting").items():
        told_nothing = {each.name for each in _FIELDS[setting].values() if each.is_adaptive_rival}
        kinds = ("setting", "loss", "pattern")
        found += contests(group, *kinds, is_rival=told_nothing.__contains__, rounding=_ROUNDING)
    return found


def _of_default(cells: list[Contest]) -> list[Contest]:
    return [cell for cell in cells if DEFAULT in cell.regrets]


def _everywhere(cells: list[Contest]) -> Section:
    """Say where the default is good, and list the cells where most is lost."""
    worst = sorted(cells, key=lambda cell: -cell.excess(DEFAULT))[:_LISTED]
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
                (*c.kind[1:], c.regrets[DEFAULT], c.rival, c.best, c.ratio(DEFAULT)) for c in worst
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
    end = min(max([2.0, *(max(ratio, 1.0 / ratio) for ratio in known)]), 10.0)
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
    """Say how often every method is good, and how often it has the least regret."""
    order = standings(cells, key=lambda each: -each.good_share)
    first = [quoted(each.method) for each in order if each.good_share == order[0].good_share]
    return Section(
        question=f"How often is every method within 10 % of the best adaptive rival ({setting})?",
        figure=None,
        says=f"Most often: {listed(first)}, in {percent(order[0].good_share)} of the cells played.",
        table=Table(
            columns=(
                *("method", "told in advance", "cells", "within 10 %", "share in %", "wins"),
                *("cells with a ratio", "mean ratio", "worst ratio"),
            ),
            rows=tuple((*_facts(setting, each), *_ratios(each)) for each in order),
            caption="The rivals are never ours. A tie is a win for all, and not all methods play "
            "all games. Mean ratios are geometric, over the cells where both regrets are positive.",
        ),
    )


def _facts(setting: str, each: Standing) -> tuple[Any, ...]:
    told, share = _FIELDS[setting][each.method].told, round(100.0 * each.good_share, 1)
    return each.method, told, each.cells, each.good, share, each.wins


def _ratios(each: Standing) -> tuple[Any, ...]:
    if not each.ratios:
        return 0, None, None
    return len(each.ratios), *(round(f(each.ratios), 3) for f in (geometric_mean, max))


def _ranking(setting: str, loss: str, rows: Rows) -> Section:
    """Compare mean regrets with one loss: as multiples of the least one, where that is positive.

    Where losses change, a learner can do better than every fixed action. Then there is no ratio to
    the best, and regrets are shown on the scale of the bounds.
    """
    cells = contests(rows, "pattern", rounding=_ROUNDING)
    is_scaled = any(cell.best <= 0.0 for cell in cells)
    scales = {(pattern,): mean(group, "scale") for pattern, group in by(rows, "pattern").items()}
    cells = [
        cell._replace(unit=(scales[cell.kind] or 1.0) if is_scaled else cell.best) for cell in cells
    ]
    unit = "G D sqrt(T + d_tot)" if is_scaled else "the least regret"
    order = standings(cells, key=lambda each: _mean(each.shares))
    title = f"Regret over {unit}, {loss}"
    figure = heat(shares_by(cells, 0), [each.method for each in order], title, f"times {unit}")
    says = winners({cell.kind[0]: cell.regrets for cell in cells})
    if is_scaled:
        says += " Negative regret is possible here: the losses change, and a learner can follow."
    return Section(
        question=f"Which method loses least with losses of the kind '{loss}' ({setting})?",
        figure=replace(figure, log=not is_scaled),
        says=says,
        table=Table(
            columns=("method", "games", "wins", "mean", "best", "worst"),
            rows=tuple(
                (*each[:2], each.wins, *(round(f(each.shares), 3) for f in (_mean, min, max)))
                for each in order
            ),
            caption=f"Regrets over {unit}; means are geometric where all are positive.",
        ),
    )


def _mean(shares: list[float]) -> float:
    return geometric_mean(shares) or sum(shares) / len(shares)
