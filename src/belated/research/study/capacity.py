"""At most so many tickets are tracked: what that costs, by the tickets that there is room for."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

import numpy as np

from belated.arrays import Floats
from belated.models.learner.learner import Learner
from belated.problem import Problem
from belated.reductions import Capacity, Deadline, FirstOrder, Reduction, Skip, Wrapper
from belated.report import Section
from belated.report.plain import listed
from belated.research.game import Game
from belated.research.losses import Given, Linear
from belated.research.study.games import ball, measure, paper_learner
from belated.research.study.plan import Cell, Numbers, Study, axes
from belated.research.study.sections import growth_sections
from belated.research.study.tables import Rows, by, geometric_mean, means, quoted, short, where
from belated.timeline import Timeline

_DIM: Final = 2
_FEW: Final = 1 / 4
"""The share of the largest backlog that the text is about."""
_WORLDS: Final = ("any delay", "same delay", "late ones differ")
_WAYS: Final = (
    *("Capacity", "Capacity, coins", "Deadline", "dropping the oldest", "Skip", "no limit"),
)


class CapacityStudy(Study):
    """``Capacity`` beside other ways to have room for few tickets, and two that need it all."""

    name = "capacity"
    title = "Room for few tickets"
    question = (
        "A server has room to wait for C answers, and more than C are missing at a time. Which "
        "tickets should it track? Capacity draws them, and lets the answers that it gets stand for "
        "those that it lost. A deadline of C predictions and dropping the oldest need the same "
        "room; Skip and a learner without a limit need as much as there are open tickets."
    )

    grid = axes(
        feedback=("gradient", "value"),
        world=_WORLDS,
        share=(1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0, 2.0),
        seed=range(8),
        way=_WAYS,
        rounds=50_000,
    )

    def run(self, cell: Cell) -> dict[str, Any]:
        """Play one game."""
        game, rows = _game(cell["world"], cell["rounds"], cell["seed"])
        most = game.timeline.max_backlog  # type: ignore[union-attr]  # one of ours
        tickets = max(1, round(cell["share"] * most))
        inner = paper_learner(_PROBLEM, cell["feedback"])
        assert isinstance(inner, Reduction)
        if cell["way"] == "dropping the oldest":
            found = _drop_oldest(inner, rows, game, tickets, cell["seed"])
            return {"tickets": tickets, **found}
        run, row = measure(_wrapped(cell["way"], inner, tickets, most), game, cell["seed"])
        most_open = run.report.max_backlog + 1
        if cell["way"].startswith("Capacity"):
            most_open = min(most_open, tickets)  # a ticket that finds no place is never open
        lost = run.report.skipped
        return {"tickets": tickets, **row, "most_open": most_open, "lost": lost}

    def numbers(self, rows: Rows) -> Numbers:
        """The cost of a quarter of the room by each way, for gradients."""
        few = where(rows, feedback="gradient", share=_FEW)
        ratios = {way: _ratio(few, way) for way in _WAYS if way != "no limit"}
        names = ("Capacity", "dropping the oldest", "Deadline")
        return tuple(
            (f"{short(ratios[name])} times", f"the regret without a limit: {name}")
            for name in names
        )

    def sections(self, rows: Rows) -> Iterator[Section]:
        """One per kind of answer and world."""
        return growth_sections(
            rows,
            ("feedback", "world"),
            ("share", "room as a share of the largest backlog"),
            per="way",
            dashed=("Capacity", {"Capacity (bound)": "bound"}),
            says=_with_little_room,
        )


_PROBLEM: Final = Problem(ball(_DIM), lipschitz=1.0, magnitude=1.0)


@lru_cache(maxsize=8)
def _game(world: str, rounds: int, seed: int) -> tuple[Game, Floats]:
    """Return linear losses with vectors of length at most 1, and when they are answered."""
    draw = np.random.default_rng([seed, _WORLDS.index(world)])
    noise = draw.standard_normal((rounds, _DIM))
    noise /= np.linalg.norm(noise, axis=1, keepdims=True)
    main = np.array([0.8, 0.6])
    delays = draw.integers(0, 201, rounds)
    rows = 0.25 * main + 0.75 * noise
    if world == "same delay":
        delays[:] = 100
    elif world == "late ones differ":
        late = draw.random(rounds) < 0.5
        delays = np.where(late, draw.integers(100, 301, rounds), draw.integers(0, 21, rounds))
        rows[late] = -0.5 * main + 0.5 * noise[late]
    return Game(Linear(Given(rows)), Timeline.from_delays(delays), world), rows


def _wrapped(way: str, inner: Reduction, tickets: int, most: int) -> Reduction | Wrapper:
    """Return a learner that has room for so many tickets; coins are told the largest backlog."""
    if way == "no limit":
        return inner
    if way == "Skip":
        return Skip(inner, forget=0)
    if way == "Deadline":
        return Deadline(inner, tickets - 1, forget=0)
    return Capacity(inner, tickets, most if way == "Capacity, coins" else None)


def _drop_oldest(
    inner: Reduction, rows: Floats, game: Game, tickets: int, seed: int
) -> dict[str, Any]:
    """Play a game in which the oldest open ticket is cancelled when there is room for no more."""
    learner = Learner(inner, seed)
    timeline: Any = game.timeline
    answers: OrderedDict[int, Floats | float] = OrderedDict()
    paid, lost = 0.0, 0
    for event in timeline.events[: timeline.rounds + int(timeline.observed.sum())].tolist():
        if event >= 0:
            if len(answers) == tickets:
                learner.cancel(answers.popitem(last=False)[0])
                lost += 1
            ticket, x = learner.predict()
            value = float(rows[ticket] @ x)
            paid += value
            answers[ticket] = rows[ticket] if isinstance(inner, FirstOrder) else value
        elif ~event in answers:
            learner.observe(~event, answers.pop(~event))
    regret = paid + float(np.linalg.norm(rows.sum(axis=0)))
    return {"regret": regret, "bound": None, "most_open": tickets, "lost": lost}


def _ratio(rows: Rows, way: str) -> float | None:
    """Return how much more regret a way has than no limit, in the geometric mean over worlds."""
    found = [means(group, "way") for group in by(rows, "world").values()]
    ratios = [each[way] / each["no limit"] for each in found if min(each.values()) > 0.0]
    return geometric_mean(ratios) if ratios else None


def _with_little_room(rows: Rows) -> str:
    few = where(rows, share=_FEW)
    opened = [f"{short(x)} ({quoted(way)})" for way, x in means(few, "way", "most_open").items()]
    return (
        f"With room for a quarter of it, the most tickets open are {listed(opened)}; Skip and no "
        "limit take what they need. The bound of Capacity is on average."
    )
