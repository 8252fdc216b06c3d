"""``Knobs`` and what people do instead, in worlds whose costs come late."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from belated.report import Bars, Heat, Lines, Section, Series, Table
from belated.research.study.contest import Contest, Standing, contests, standings
from belated.research.study.fits import geometric_mean
from belated.research.study.knob_games import SEEN, WORLDS, Make, regrets
from belated.research.study.knob_rivals import OURS, RIVALS, ours
from belated.research.study.plan import Cell, Numbers, Row, Study, crossed
from belated.research.study.tables import by, counted, quoted, short, where

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
        yield from crossed(world=worlds, method=methods, rounds=rounds, seeds=seeds)
        if not quick:
            long: dict[str, Any] = {"rounds": LONG, "seeds": _LONG_SEEDS}
            yield from crossed(world=_LONG_WORLD, method=_LONG_METHODS, **long)

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

    def numbers(self, rows: Sequence[Row]) -> Numbers:
        """How ours compares with the best rival of each world, and with each rival alone."""
        cells = _contests(rows)
        if not cells:
            return ()
        ratios = {cell.kind[0]: cell.ratio(OURS) or 0.0 for cell in cells}
        typical = short(geometric_mean(list(ratios.values())))
        rival = _alone(cells)[0]
        alone = short(geometric_mean(rival.shares))
        worst = max(ratios, key=lambda world: ratios[world])
        return (
            (typical, "of the best rival in each world"),
            (alone, f"times ours: {rival.method}, the best rival alone"),
            (short(ratios[worst]), f"of the best rival where ours is worst: {worst}"),
        )

    def sections(self, rows: Sequence[Row]) -> tuple[Section, ...]:
        """Open with who loses least, then where ours does not, how regret falls, and theorems."""
        usual, cells = _usual(rows), _contests(rows)
        if not cells:
            return ()
        found = [_everywhere(cells), _against_the_best(cells)]
        for world, group in by(usual, "world").items():
            if world in COURSES:
                found.append(_course(f"in the world '{world}'", world, group))
        found += _theorem(usual)
        long = where(rows, rounds=LONG)
        if long:
            found.append(_course("in the long run", f"{_LONG_WORLD}, {LONG:,} rounds", long))
        return tuple(found)


def summary(regrets: Sequence[float]) -> dict[str, float]:
    """Return what a row says of the mean regrets of all seeds.

    >>> summary([1.0, 3.0])
    {'regret': 2.0, 'least': 1.0, 'largest': 3.0}
    """
    mean = sum(regrets) / len(regrets)
    return {"regret": mean, "least": min(regrets), "largest": max(regrets)}


# --- Numbers -------------------------------------------------------------------------------------


def _usual(rows: Sequence[Row]) -> list[Row]:
    """Return the rows but those of long games."""
    return [row for row in rows if row["rounds"] != LONG]


def _contests(rows: Sequence[Row]) -> list[Contest]:
    """Compare the rivals with ours in every world."""
    return contests(
        _usual(rows),
        "world",
        unit=lambda regrets, group: regrets.get(OURS),
        is_rival=lambda name: name != OURS,
    )


def _alone(cells: Sequence[Contest]) -> list[Standing]:
    """Return the rivals, those first that lose least in the geometric mean over the worlds."""
    order = standings(cells, key=lambda each: geometric_mean(each.shares))
    return [each for each in order if each.method != OURS]


# --- Sections ------------------------------------------------------------------------------------


def _everywhere(cells: Sequence[Contest]) -> Section:
    order = _alone(cells)
    return Section(
        question="Who loses least?",
        figure=Heat(
            title="Regret over that of Knobs",
            rows=tuple(cell.kind[0] for cell in cells),
            columns=tuple(each.method for each in order),
            values=tuple(tuple(cell.share(each.method) for each in order) for cell in cells),
            value_label="times that of Knobs",
            low=0.5,
            high=20.0,
        ),
        says="Every rival alone loses more than Knobs."
        if all(geometric_mean(each.shares) > 1.0 for each in order)
        else f"{quoted(order[0].method)} alone loses less than Knobs.",
        table=Table(
            columns=("rival", "times ours", "least", "largest", "worlds in which it is better"),
            rows=tuple(
                (
                    *(each.method, round(geometric_mean(each.shares), 2)),
                    *(round(min(each.shares), 2), round(max(each.shares), 2)),
                    sum(share < 1.0 for share in each.shares),
                )
                for each in order
            ),
            caption="Ratios of mean regrets per round; the first is a geometric mean over worlds.",
        ),
    )


def _against_the_best(cells: Sequence[Contest]) -> Section:
    ratios = {cell.kind[0]: cell.ratio(OURS) or 0.0 for cell in cells}
    cells = sorted(cells, key=lambda cell: ratios[cell.kind[0]])
    seen, unseen = (
        [ratio for world, ratio in ratios.items() if (world in SEEN) is known]
        for known in (True, False)
    )
    says = [
        f"In {counted(len(some), 'world')} that {what}, Knobs loses {short(geometric_mean(some))} "
        "of the best rival."
        for some, what in (
            (seen, "constants may have been chosen by"),
            (unseen, "nothing was chosen by"),
        )
        if some
    ]
    lost = sum(ratio > 1.0 for ratio in ratios.values())
    return Section(
        question="Where does a rival win?",
        figure=Bars(
            title="Regret of Knobs over that of the best rival of each world",
            labels=tuple(cell.kind[0] for cell in cells),
            groups=(Series(OURS, (), tuple(ratios[cell.kind[0]] for cell in cells)),),
            y_label="of the best rival",
        ),
        says=f"{' '.join(says)} A rival is better in {counted(lost, 'world')}.",
        table=Table(
            columns=("world", "unseen", OURS, "best rival", "its regret", "ratio"),
            rows=tuple(
                (
                    *(cell.kind[0], "" if cell.kind[0] in SEEN else "yes"),
                    *(float(short(cell.unit)), cell.rival, float(short(cell.best))),
                    round(ratios[cell.kind[0]], 2),
                )
                for cell in cells
            ),
            caption="Mean regret per round, in means over seeds; the best rival is chosen "
            "afterwards in each world.",
        ),
    )


def _course(place: str, title: str, rows: Sequence[Row]) -> Section:
    """Draw how regret falls; of every method with several settings the better one."""
    best = {_family(row["method"]): row for row in sorted(rows, key=lambda r: -r["regret"])}
    order = sorted(best.values(), key=lambda row: row["regret"])
    ours = next((row["regret"] for row in order if row["method"] == OURS), None)
    rival = next((row["regret"] for row in order if row["method"] != OURS), None)
    x = tuple(order[0]["rounds"] / PARTS * (i + 0.5) for i in range(PARTS))
    return Section(
        question=f"How does regret fall {place}?",
        figure=Lines(
            title=f"Regret per round, {title}",
            x_label="rounds",
            y_label="regret per round",
            series=tuple(
                Series(row["method"], x, tuple(row[f"part_{i}"] for i in range(PARTS)))
                for row in order
            ),
            log_y=True,
            note="Means over tenths of the game and seeds; of every method the better setting.",
        ),
        says=f"The method {quoted(order[0]['method'])} loses least over the whole game. Knobs "
        f"loses {short(ours / rival if ours and rival else None)} times what the best rival does.",
    )


def _family(method: str) -> str:
    """Return the name without its setting.

    >>> _family("UCB on a grid, 0.3")
    'UCB on a grid'
    """
    return method.partition(",")[0]


_SMOOTH: Final = (
    *("quadratic, 1 knob", "quadratic", "quadratic, no delay", "quadratic, mean 2,000"),
    *("quadratic, heavy tail", "quadratic, 4 knobs", "steep on one side", "flat valley"),
)
_TEN_LINES: Final = "ten lines, 0.5"


def _theorem(rows: Sequence[Row]) -> list[Section]:
    """Compare ten lines without a theorem with the learner that has one, with smooth costs."""
    found = {}
    for world in _SMOOTH:
        each = {row["method"]: row for row in where(rows, world=world)}
        if {"OnePoint", _TEN_LINES} <= each.keys():
            found[world] = each
    ratios = [each[_TEN_LINES]["regret"] / each["OnePoint"]["regret"] for each in found.values()]
    if not ratios:
        return []
    figure = Bars(
        title="Regret per round with smooth costs",
        labels=tuple(found),
        groups=tuple(_whiskers(name, found.values()) for name in (OURS, _TEN_LINES, "OnePoint")),
        y_label="regret per round",
        note="Whiskers reach from the least to the largest seed.",
    )
    says = (
        "Ten lines of gradient descent from single values, without a theorem, lose "
        f"{short(geometric_mean(ratios))} of what OnePoint does with smooth costs, in the "
        f"geometric mean over {counted(len(ratios), 'world')}: from {short(min(ratios))} to "
        f"{short(max(ratios))}. The radii and rates of Corollary 5.7 are for the worst losses, and "
        "these are not."
    )
    return [Section("How cautious are the rates of the theorem?", figure, says)]


def _whiskers(name: str, worlds: Iterable[Mapping[str, Row]]) -> Series:
    """Draw the mean, the least and the largest regret of a method in every world."""
    rows = [each[name] for each in worlds]
    mean, least, largest = (
        tuple(row[column] for row in rows) for column in ("regret", "least", "largest")
    )
    return Series(name, (), mean, least, largest)
