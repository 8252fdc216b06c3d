"""Two players who learn at once, each told late what the other did."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final, cast

import numpy as np

from belated import rates
from belated.arrays import Floats
from belated.bases import PFTRL
from belated.domains import Simplex
from belated.models.learner.learner import Learner
from belated.reductions import FirstOrder, LearnerSpec
from belated.report import Section
from belated.research.rivals import ODFTRL, WOFTRL
from belated.research.study.plan import Cell, Numbers, Study, axes
from belated.research.study.sections import growth_sections
from belated.research.study.tables import Rows, by, mean, short, where

_ACTIONS: Final = 4
_DELAY: Final = 4
"""The delay at which regret is shown over the rounds."""
_SET: Final = Simplex(_ACTIONS)
_SMOOTHNESS: Final = 2.0
"""L of two players with payoffs in [-1, 1]."""

Maker = Callable[[int, int], LearnerSpec]


def _any_losses(delay: int, rounds: int) -> LearnerSpec:
    """FTRL with the lambda that balances its bound, lambda ln K + (T / 2 + d_tot) / lambda."""
    strength = math.sqrt((0.5 * rounds + delay * rounds) / math.log(_ACTIONS))
    return ODFTRL(_SET, strength, lipschitz=1.0, mirror="entropy")


def _theirs(delay: int, rounds: int) -> LearnerSpec:
    """WOFTRL with the step of its theorem, 1 / (2 (d + 1) (d + 2))."""
    return WOFTRL(_SET, _SMOOTHNESS, delay, mirror="entropy")


def _large_steps(copies: int | None) -> Maker:
    """Steps of 1 / (2 (d + 1)), and so many copies of the newest gradient; None: d + 1 of them."""
    return lambda delay, rounds: WOFTRL(
        _SET, _SMOOTHNESS / (delay + 2), delay, mirror="entropy", copies=copies
    )


_THEIRS: Final = "WOFTRL, small steps"
_LARGE: Final = "WOFTRL, large steps"

METHODS: Final[Mapping[str, Maker]] = MappingProxyType(
    {
        _THEIRS: _theirs,
        _LARGE: _large_steps(None),
        "one copy, large steps": _large_steps(1),
        "no copies, large steps": _large_steps(0),
        "FTRL for any losses": _any_losses,
        "ours": lambda delay, rounds: FirstOrder(PFTRL(_SET, rates.Tight(1.0))),
    }
)
"""Delay and rounds in, a player out; only FTRL is told both, and ours neither."""


class TwoPlayers(Study):
    """Weighted optimism beside plain methods, in games in which both players learn."""

    name = "two-players"
    title = "Two players who are told late"
    question = (
        "Two players repeat a matrix game, and each is told d rounds late what its actions would "
        "have paid. Against any losses the sum of their regrets grows with the root of the rounds. "
        "But a player that learns is no adversary: it moves slowly. Does a method that counts on "
        "that keep the sum of both regrets bounded, and how does that grow with the delay?"
    )

    grid = axes(
        game=("zero-sum", "general-sum"),
        delay=(1, 2, 4, 8, 16),
        rounds=(1_000, 4_000, 16_000),
        seed=range(3),
        method=METHODS,
    )

    def run(self, cell: Cell) -> dict[str, Any]:
        """Play one game and return the sum of both regrets."""
        zero_sum = cell["game"] == "zero-sum"
        draw = np.random.default_rng([cell["seed"], int(not zero_sum)])
        first = draw.uniform(-1.0, 1.0, (_ACTIONS, _ACTIONS))
        second = -first if zero_sum else draw.uniform(-1.0, 1.0, (_ACTIONS, _ACTIONS))
        spec = METHODS[cell["method"]](cell["delay"], cell["rounds"])
        regrets = _play(spec, first, second, cell["delay"], cell["rounds"])
        return {"regret": float(sum(regrets)), "larger": float(max(regrets))}

    def numbers(self, rows: Rows) -> Numbers:
        """The sum of both regrets at the longest horizon, and how it grows with the rounds."""
        start, end = _ends(rows)
        numbers = [
            (
                f"{short(_grew(rows, name))} times",
                f"the sum of {start:,} rounds after {end:,}: {name}",
            )
            for name in (_LARGE, "no copies, large steps")
        ]
        scaled = _over_steps(where(rows, rounds=end), _THEIRS)
        numbers.append((scaled, "times (d + 1) (d + 2): the sum with small steps, at any d"))
        return tuple(numbers)

    def sections(self, rows: Rows) -> Iterator[Section]:
        """Over the delay, and over the rounds, for both kinds of games."""
        last = where(rows, rounds=_ends(rows)[1])
        some = where(rows, delay=_DELAY)
        yield from growth_sections(last, ("game",), ("delay", "delay d"), says=_in_steps)
        yield from growth_sections(
            some,
            ("game",),
            ("rounds", "rounds T"),
            says=lambda rows: (
                f"With a delay of {_DELAY}. An exponent of 0 is a bounded sum, and "
                "0.5 is what any losses would allow."
            ),
        )


def _in_steps(rows: Rows) -> str:
    small, large = (_over_steps(rows, name) for name in (_THEIRS, _LARGE))
    return (
        f"The sum of both is {small} times (d + 1) (d + 2) with the small steps of WOFTRL's "
        f"theorem, 1 / (2 (d + 1) (d + 2)), and {large} times d + 1 with large ones, 1 / (2 (d + "
        "1)). The theorem promises the order of d^2."
    )


def _play(
    spec: LearnerSpec, first: Floats, second: Floats, delay: int, rounds: int
) -> tuple[float, float]:
    """Return the regrets of two players with losses x' A y and x' B y, told d rounds late."""
    players = Learner(spec), Learner(spec)
    told: tuple[list[Floats], list[Floats]] = ([], [])
    paid = [0.0, 0.0]
    for t in range(rounds):
        x, y = (player.predict().x for player in players)
        for i, (gradient, play) in enumerate(((first @ y, x), (second.T @ x, y))):
            told[i].append(gradient)
            paid[i] += float(gradient @ play)
            if t >= delay:
                players[i].observe(t - delay, told[i][t - delay])
    one, other = (
        paid[i] - float(np.sum(gradients, axis=0).min()) for i, gradients in enumerate(told)
    )
    return one, other


def _ends(rows: Rows) -> tuple[int, int]:
    """Return the shortest and the longest horizon."""
    horizons = [int(row["rounds"]) for row in rows]
    return min(horizons), max(horizons)


def _grew(rows: Rows, name: str) -> float | None:
    """Return the sum of regrets at the longest horizon over that at the shortest one."""
    ours = where(rows, method=name, delay=_DELAY)
    early, late = (mean(where(ours, rounds=end), "regret") for end in _ends(rows))
    return late / early if early and late is not None else None


def _over_steps(rows: Rows, name: str) -> str:
    """Return the least and the largest sum of regrets times L eta, over games and delays.

    It is proportional to 1 / eta, so that a power of d fitted to it would say little: that of
    (d + 1) (d + 2) itself is 1.4 from d = 1 to 16.
    """
    found = [
        (mean(group, "regret") or 0.0)
        * _SMOOTHNESS
        / cast(WOFTRL, METHODS[name](delay, 1)).strength
        for (_, delay), group in by(where(rows, method=name), "game", "delay").items()
    ]
    return f"{short(min(found))} to {short(max(found))}"
