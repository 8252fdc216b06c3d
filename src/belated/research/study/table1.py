"""The paper's Table 1, measured: one value per round, late."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from belated.report import Section, Table
from belated.report.plain import listed
from belated.research import delays
from belated.research.game import Game
from belated.research.study.contest import Contest, contests
from belated.research.study.contestants import GOLD_R, OURS, STRONGLY_CONVEX_VALUES, VALUES, Field
from belated.research.study.games import LOSSES, PLAIN, ball, game_of, measure
from belated.research.study.plan import Cell, Numbers, Study, crossed
from belated.research.study.sections import growth_sections
from belated.research.study.tables import Rows, by, geometric_mean, growth, short, where
from belated.timeline import Timeline

_FIELDS: dict[str, Field] = {"convex": VALUES, "strongly convex": STRONGLY_CONVEX_VALUES}
_PATTERNS = ("none", "constant, root T", "footnote", "first_rounds", "heavy tails")
_DIM = 2
_LOSSES = {"linear": "convex", "absolute": "convex", "quadratic": "strongly convex"}
"""Losses that are played in several dimensions, and the setting of each."""
_DIMS = (2, 8, 16)


def _promise(setting: str, method: str, late: Timeline) -> float | None:
    """Return the order of the bound of a method on these delays, where it has one."""
    rounds, logarithm = float(late.rounds), math.log(math.e * late.rounds)
    root = math.pow(rounds, 2 / 3) * math.pow(logarithm, 1 / 3)
    curved = {
        OURS: min(late.max_backlog * logarithm, math.sqrt(late.total_delay)),
        "D-FTBL, strongly convex": late.max_delay * logarithm,
    }
    if setting == "strongly convex" and method in curved:
        return root + curved[method]
    convex = {
        OURS: math.sqrt(late.total_delay),
        **dict.fromkeys(_BISTRITZ, math.pow(rounds * late.total_delay, 1 / 3)),
        "D-FTBL": math.sqrt(late.max_delay * rounds),
        **dict.fromkeys(
            ("GOLD", GOLD_R), math.pow(rounds, 2 / 3) * math.pow(late.max_delay, 1 / 3)
        ),
    }
    return math.pow(rounds, 0.75) + convex[method] if method in convex else None


_BISTRITZ = ("Bistritz et al.", "Bistritz et al., doubling")


class Table1(Study):
    """Regret of the bandit methods over horizons, patterns and total delay."""

    name = "table1"
    title = "Table 1, measured"
    question = (
        "With one value per round the published bounds differ in how delay enters: through the "
        "total delay, the largest delay, or the backlog. Does the measured regret grow as the "
        "bounds promise, and who loses least? Growth is measured in two dimensions, with linear "
        "and with quadratic losses; who loses least, with three kinds of losses in up to 16."
    )

    def cells(self) -> Iterator[Cell]:
        """Horizons for every pattern, constant delays at one horizon, and losses by dimension."""
        seeds = range(5)
        for setting, field in _FIELDS.items():
            horizons = [round(10 ** (n / 2)) for n in range(6, 13)]
            games = [(pattern, rounds, 0) for pattern in _PATTERNS for rounds in horizons]
            waits = (10, 30, 100, 300, 1000, 3000, 10_000)
            games += [("constant", 100_000, wait) for wait in waits]
            for pattern, rounds, wait in games:
                late = {"pattern": pattern, "rounds": rounds, "wait": wait, "seed": seeds}
                plain: dict[str, Any] = {"loss": PLAIN[setting], "dim": _DIM, **late}
                yield from crossed(setting=setting, **plain, method=field)
        broad = {"dim": _DIMS, "pattern": _PATTERNS, "seed": seeds}
        for loss, setting in _LOSSES.items():
            fixed: dict[str, Any] = {"rounds": 100_000, "wait": 0, "method": _FIELDS[setting]}
            yield from crossed(setting=setting, loss=loss, **broad, **fixed)

    def run(self, cell: Cell) -> dict[str, Any]:
        """Play one game; ``promise`` is the order of the method's bound on its delays."""
        setting, method, seed = cell["setting"], cell["method"], cell["seed"]
        game = _game(*(cell[name] for name in ("loss", "dim", "pattern", "rounds", "wait", "seed")))
        run, row = measure(_FIELDS[setting][method].make(game, ball(cell["dim"])), game, seed)
        return {**row, "promise": _promise(setting, method, run.timeline)}

    def numbers(self, rows: Rows) -> Numbers:
        """How often ours loses least, and whether regret grows as promised."""
        fits, cells = list(_promises_kept(rows)), _duels(rows)
        kept, won = sum(fits), sum(cell.wins(OURS) for cell in cells)
        ratios = [ratio for cell in cells if (ratio := cell.ratio(OURS)) is not None]
        return (
            (f"{kept} of {len(fits)}", "ranges in which regret grows as promised, or less"),
            (f"{won} of {len(cells)}", "kinds of games in which ours loses least"),
            (f"{short(geometric_mean(ratios))} times", "the regret of the best rival, in the mean"),
        )

    def sections(self, rows: Rows) -> Iterator[Section]:
        """Which method loses least, then horizons and total delay for each setting."""
        yield _least(_duels(rows))
        for setting, group in by(rows, "setting").items():
            split, field = ("setting", "pattern"), _FIELDS[setting]
            plain = where(group, loss=PLAIN[setting], dim=_DIM)
            games = {("rounds", "rounds T"): where(plain, wait=0)}
            games["total_delay", "total delay"] = [row for row in plain if row["wait"]]
            for x, some in games.items():
                yield from growth_sections(some, split, x, field=field, promise="promise")


def _game(loss: str, dim: int, pattern: str, rounds: int, wait: int, seed: int) -> Game:
    if wait:
        return Game(LOSSES[loss](dim, seed), delays.constant(rounds, wait), f"{loss}, wait {wait}")
    return game_of(loss, pattern, dim, rounds, seed)


def _duels(rows: Rows) -> list[Contest]:
    """Compare ours with the best rival in every kind of game that all dimensions were played at."""
    rounds = max((row["rounds"] for row in rows if row["dim"] != _DIM), default=0)
    return contests(
        where(rows, rounds=rounds, wait=0),
        *("loss", "dim", "pattern"),
        unit=lambda regrets, group: regrets.get(OURS),
        is_rival=lambda name: name != OURS,
    )


def _least(cells: list[Contest]) -> Section:
    """Say which method loses least with which losses, in which dimensions."""
    cells = sorted(cells, key=lambda cell: (list(_LOSSES).index(cell.kind[0]), cell.kind[1]))
    wins = {loss: [c.wins(OURS) for c in cells if c.kind[0] == loss] for loss in _LOSSES}
    says = listed([f"{sum(won)} of {len(won)} with {loss} losses" for loss, won in wins.items()])
    columns = ("losses", "dimension", "delays", "ours", "best rival", "its regret", "ours / its")
    body = ((*c.kind, c.regrets[OURS], c.rival, c.best, c.ratio(OURS)) for c in cells)
    return Section(
        question="Which method loses least, with which losses and in how many dimensions?",
        figure=None,
        says=f"Ours had the least regret in {says}.",
        table=Table(columns, tuple(body), "Means over seeds at one horizon. Ours is told nothing."),
    )


def _promises_kept(rows: Rows) -> Iterator[bool]:
    """Tell of every range of rounds or delays whether ours grows no faster than its bound."""
    for setting, group in by(rows, "setting").items():
        plain = where(group, loss=PLAIN[setting], dim=_DIM, method=OURS)
        ranges = [(each, "rounds") for each in by(where(plain, wait=0), "pattern").values()]
        ranges.append(([row for row in plain if row["wait"]], "total_delay"))
        for played, x in ranges:
            ours, promised = growth(played, x, "regret"), growth(played, x, "promise")
            if ours is not None and promised is not None:
                yield ours.low <= promised.slope
