"""``Knobs`` and what people do instead, in worlds whose costs come late."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, Final

import numpy as np

from belated.report import Bars, Heat, Lines, Section, Series, Table
from belated.research.study.fits import geometric_mean
from belated.research.study.knob_games import SEEN, WORLDS, Make, regrets
from belated.research.study.knob_rivals import OURS, RIVALS, ours
from belated.research.study.plan import Cell, Opening, Row, Study
from belated.research.study.tables import by, counted, least, listed, quoted, short, where

METHODS: Final[Mapping[str, Make]] = {OURS: ours, **RIVALS}
ROUNDS: Final = 10_000
SEEDS: Final = 20
COURSES: Final = ("quadratic", "drifting", "season")
"""Worlds of which the course of the game is shown."""
PARTS: Final = 10
"""How many parts of it have a mean of their own."""
LONG: Final = 100_000
_LONG_WORLD, _LONG_SEEDS = "quadratic", 4
_LONG_METHODS = (OURS, "surrogate, 0.2", "surrogate, 0.2, careful", "surrogate, 0.5")
_QUICK_WORLDS = ("quadratic", "kinked", "drifting")
_QUICK_METHODS = (
    *(OURS, "surrogate, 0.2", "UCB on a grid, 0.3", "Thompson on a grid, 0.3"),
    *("ten lines, 0.5", "OnePoint"),
)
_UNKNOWN: Final = "There is no world yet in which ours and a rival were played."


class KnobStudy(Study):
    """Every method in every world, all seeds of a world at once."""

    name = "knobs"
    title = "How to find good settings from late, noisy costs"
    question = (
        "A price, a timeout or a bid can be set anew in every round, and what it cost is heard "
        "hundreds of rounds later. Which method loses least on the way to a good setting, and "
        "where does a simpler one do better?"
    )

    def cells(self, quick: bool) -> Iterator[Cell]:
        """All methods in all worlds; the long games of a few at the end."""
        worlds = _QUICK_WORLDS if quick else tuple(WORLDS)
        methods = _QUICK_METHODS if quick else tuple(METHODS)
        rounds, seeds = (1_000, 3) if quick else (ROUNDS, SEEDS)
        for world, method in product(worlds, methods):
            yield Cell.of(world=world, method=method, rounds=rounds, seeds=seeds)
        if not quick:
            for method in _LONG_METHODS:
                yield Cell.of(world=_LONG_WORLD, method=method, rounds=LONG, seeds=_LONG_SEEDS)

    def run(self, cell: Cell) -> dict[str, Any]:
        """Play for all seeds."""
        seeds = range(cell["seeds"])
        surface = replace(WORLDS[cell["world"]], rounds=cell["rounds"])
        lost = regrets(METHODS[cell["method"]], surface.drawn(seeds), seeds)
        found = summary(lost.mean(axis=0).tolist())
        if cell["world"] in COURSES:
            parts = np.array_split(lost.mean(axis=1), PARTS)
            found |= {f"part_{i}": part.mean() for i, part in enumerate(parts)}
        return {name: float(f"{value:.5g}") for name, value in found.items()}

    def opening(self, rows: Sequence[Row]) -> Opening:
        """How ours compares with the best rival of each world, and with each rival alone."""
        found = _regrets(_usual(rows))
        if not found:
            return Opening(_UNKNOWN, ())
        ratios = _ratios(found)
        alone = _alone(found)
        next_best = min(alone, key=lambda name: alone[name])
        worst = max(ratios, key=lambda world: ratios[world])
        says = (
            f"In the geometric mean over {counted(len(ratios), 'world')} Knobs loses "
            f"{short(geometric_mean(list(ratios.values())))} times what the best of its rivals "
            "does, chosen afterwards in each world. The best single rival, "
            f"{quoted(next_best)}, loses {short(alone[next_best])} times what Knobs does."
        )
        numbers = (
            (short(geometric_mean(list(ratios.values()))), "of the best rival in each world"),
            (short(alone[next_best]), f"times ours: {next_best}, the best rival alone"),
            (short(ratios[worst]), f"of the best rival where ours is worst: {worst}"),
        )
        return Opening(says, numbers)

    def sections(self, rows: Sequence[Row]) -> tuple[Section, ...]:
        """Open with who loses least, then where ours does not, how regret falls, and theorems."""
        usual = _usual(rows)
        found = _regrets(usual)
        if not found:
            return ()
        sections: list[Section | None] = [_everywhere(found), _against_the_best(found)]
        sections += [_over_time(usual, world) for world in _shown(found)]
        sections += [_theorem(usual), _long(rows)]
        return tuple(section for section in sections if section is not None)


def summary(regrets: Sequence[float]) -> dict[str, float]:
    """Return what a row says of the mean regrets of all seeds.

    >>> summary([1.0, 3.0])
    {'regret': 2.0, 'least': 1.0, 'largest': 3.0}
    """
    mean = sum(regrets) / len(regrets)
    return {"regret": mean, "least": min(regrets), "largest": max(regrets)}


# --- Numbers -------------------------------------------------------------------------------------

Found = dict[str, dict[str, float]]
"""Mean regret per round, by world and method."""


def _usual(rows: Sequence[Row]) -> list[Row]:
    """Return the rows but those of long games."""
    return [row for row in rows if row["rounds"] != LONG]


def _regrets(rows: Sequence[Row]) -> Found:
    """Return regrets in worlds in which ours and a rival were played."""
    found = {
        world: {row["method"]: float(row["regret"]) for row in group if row["regret"] is not None}
        for world, group in by(rows, "world").items()
    }
    return {world: each for world, each in found.items() if OURS in each and len(each) > 1}


def _best(each: Mapping[str, float]) -> str:
    """Return the rival with the least regret."""
    return min((name for name in each if name != OURS), key=lambda name: each[name])


def _ratios(found: Found) -> dict[str, float]:
    """Return ours over the best rival, by world."""
    return {world: each[OURS] / each[_best(each)] for world, each in found.items()}


def _alone(found: Found) -> dict[str, float]:
    """Return, for every rival, its regret over ours in the geometric mean over all worlds."""
    names = dict.fromkeys(name for each in found.values() for name in each if name != OURS)
    return {
        name: geometric_mean([each[name] / each[OURS] for each in found.values() if name in each])
        for name in names
    }


# --- Who loses least? ----------------------------------------------------------------------------


def _everywhere(found: Found) -> Section:
    alone = _alone(found)
    order = sorted(alone, key=lambda name: alone[name])
    return Section(
        question="Who loses least?",
        figure=Heat(
            title="Regret over that of Knobs",
            rows=tuple(found),
            columns=tuple(order),
            values=tuple(
                tuple(each[name] / each[OURS] if name in each else None for name in order)
                for each in found.values()
            ),
            value_label="times that of Knobs",
            low=0.5,
            high=20.0,
        ),
        says="Each rival alone, in the geometric mean over the worlds, loses, times what Knobs "
        f"does: {listed([f'{quoted(name)} {short(alone[name])}' for name in order])}.",
        table=Table(
            columns=("rival", "times ours", "least", "largest", "worlds in which it is better"),
            rows=tuple(_standing(name, alone[name], found) for name in order),
            caption="Ratios of mean regrets per round; the first is a geometric mean over worlds.",
        ),
    )


def _standing(name: str, alone: float, found: Found) -> tuple[str, float, float, float, int]:
    ratios = [each[name] / each[OURS] for each in found.values() if name in each]
    better = sum(ratio < 1.0 for ratio in ratios)
    return (name, round(alone, 2), round(min(ratios), 2), round(max(ratios), 2), better)


# --- Where does a rival win? ---------------------------------------------------------------------


def _against_the_best(found: Found) -> Section:
    ratios = _ratios(found)
    order = sorted(ratios, key=lambda world: ratios[world])
    return Section(
        question="Where does a rival win?",
        figure=Bars(
            title="Regret of Knobs over that of the best rival of each world",
            labels=tuple(order),
            groups=(Series(OURS, (), tuple(ratios[world] for world in order)),),
            y_label="of the best rival",
        ),
        says=_kinds(ratios) + _losses(found, ratios),
        table=Table(
            columns=("world", "unseen", OURS, "best rival", "its regret", "ratio"),
            rows=tuple(
                (
                    world,
                    "" if world in SEEN else "yes",
                    float(short(found[world][OURS])),
                    _best(found[world]),
                    float(short(found[world][_best(found[world])])),
                    round(ratios[world], 2),
                )
                for world in order
            ),
            caption="Mean regret per round, in means over seeds; the best rival is chosen "
            "afterwards in each world.",
        ),
    )


def _kinds(ratios: Mapping[str, float]) -> str:
    """Say how ours does in worlds that were seen and in the others."""
    seen = [ratio for world, ratio in ratios.items() if world in SEEN]
    unseen = [ratio for world, ratio in ratios.items() if world not in SEEN]
    says = f"In {counted(len(seen), 'world')} that constants may have been chosen by, Knobs loses "
    says += f"{short(geometric_mean(seen))} of the best rival. " if seen else "nothing. "
    if unseen:
        says += (
            f"In {counted(len(unseen), 'world')} that nothing was chosen by, it loses "
            f"{short(geometric_mean(unseen))}. "
        )
    return says


def _losses(found: Found, ratios: Mapping[str, float]) -> str:
    lost = sorted((world for world in ratios if ratios[world] > 1.0), key=lambda w: -ratios[w])
    if not lost:
        return "No rival is better in any of them."
    wins = [f"'{world}' ({quoted(_best(found[world]))}, {short(ratios[world])})" for world in lost]
    return f"A rival is better in {counted(len(lost), 'world')}: {listed(wins)}."


# --- How does regret fall? -----------------------------------------------------------------------


def _shown(found: Found) -> list[str]:
    """Return the worlds whose course is drawn."""
    return [world for world in COURSES if world in found]


def _over_time(rows: Sequence[Row], world: str) -> Section:
    group = where(rows, world=world)
    best = {_family(row["method"]): row for row in sorted(group, key=lambda r: -r["regret"])}
    series = [_course(row) for row in sorted(best.values(), key=lambda row: row["regret"])]
    first = series[0].name
    return Section(
        question=f"How does regret fall in the world '{world}'?",
        figure=Lines(
            title=f"Regret per round, {world}",
            x_label="rounds",
            y_label="regret per round",
            series=tuple(series),
            log_y=True,
            note="Means over tenths of the game and seeds; of every method the better setting.",
        ),
        says=f"{_capital(quoted(first))} loses least over the whole game; in the last tenth it is "
        f"{quoted(_last_winner(best.values()))}.",
    )


def _last_winner(rows: Iterable[Row]) -> str | None:
    last = {row["method"]: row[f"part_{PARTS - 1}"] for row in rows}
    return least(last, lambda name: last[name])


def _course(row: Row) -> Series:
    width = row["rounds"] / PARTS
    x = tuple(width * (i + 0.5) for i in range(PARTS))
    return Series(row["method"], x, tuple(row[f"part_{i}"] for i in range(PARTS)))


def _family(method: str) -> str:
    """Return the name without its setting.

    >>> _family("UCB on a grid, 0.3")
    'UCB on a grid'
    """
    return method.partition(",")[0]


# --- How cautious are the theorem's rates? -------------------------------------------------------

_SMOOTH: Final = (
    *("quadratic, 1 knob", "quadratic", "quadratic, no delay", "quadratic, mean 2,000"),
    *("quadratic, heavy tail", "quadratic, 4 knobs", "steep on one side", "flat valley"),
)


def _theorem(rows: Sequence[Row]) -> Section | None:
    """Compare ten lines without a theorem with the learner that has one."""
    found = {
        world: {row["method"]: row for row in where(rows, world=world)}
        for world in _SMOOTH
        if where(rows, world=world)
    }
    found = {w: each for w, each in found.items() if {"OnePoint", _TEN_LINES} <= set(each)}
    if not found:
        return None
    ratios = {
        w: each[_TEN_LINES]["regret"] / each["OnePoint"]["regret"] for w, each in found.items()
    }
    low, high = min(ratios, key=lambda w: ratios[w]), max(ratios, key=lambda w: ratios[w])
    return Section(
        question="How cautious are the rates of the theorem?",
        figure=Bars(
            title="Regret per round with smooth costs",
            labels=tuple(found),
            groups=tuple(
                _whiskers(name, [each[name] for each in found.values()])
                for name in (OURS, _TEN_LINES, "OnePoint")
            ),
            y_label="regret per round",
            note="Whiskers reach from the least to the largest seed.",
        ),
        says="Ten lines of gradient descent from single values, without a theorem, lose "
        f"{short(geometric_mean(list(ratios.values())))} of what OnePoint does with smooth costs, "
        f"in the geometric mean over {counted(len(ratios), 'world')}: from {short(ratios[low])} "
        f"('{low}') to {short(ratios[high])} ('{high}'). The radii and rates of Corollary 5.7 are "
        "for the worst losses, and these are not.",
    )


_TEN_LINES: Final = "ten lines, 0.5"


def _whiskers(name: str, rows: Sequence[Row]) -> Series:
    return Series(
        name,
        (),
        tuple(row["regret"] for row in rows),
        tuple(row["least"] for row in rows),
        tuple(row["largest"] for row in rows),
    )


# --- And in the long run? ------------------------------------------------------------------------


_PRICE: Final = " It pays for looking out for what is not there: kinks, drift and seasons."


def _long(rows: Sequence[Row]) -> Section | None:
    """Compare with the surrogate where it should be best: a quadratic that never moves."""
    found = {row["method"]: row for row in where(rows, rounds=LONG)}
    if OURS not in found or len(found) < 2:
        return None
    best = min((name for name in found if name != OURS), key=lambda n: found[n]["regret"])
    ratio = found[OURS]["regret"] / found[best]["regret"]
    return Section(
        question="And in the long run?",
        figure=Lines(
            title=f"Regret per round, {_LONG_WORLD}, {LONG:,} rounds",
            x_label="rounds",
            y_label="regret per round",
            series=tuple(_course(row) for row in found.values()),
            log_y=True,
            note="Means over tenths of the game and over seeds.",
        ),
        says=f"After {LONG:,} rounds of a quadratic that never moves, for which a plain surrogate "
        f"is made, Knobs has lost {short(ratio)} times what {quoted(best)} has."
        + (_PRICE if ratio > 1.0 else ""),
    )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
