"""Games of knobs: worlds by name, and how a method plays one with costs that come late."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, Protocol

import numpy as np

from belated.arrays import Floats, Ints
from belated.research.worlds import Lateness
from benchmarks.surfaces import Ground, Surface

DELAYS: Final[Mapping[str, Lateness]] = MappingProxyType(
    {
        "none": Lateness(),
        "mean 200": Lateness(200),
        "mean 2,000": Lateness(2000),
        "constant 2,000": Lateness(2000, "constant"),
        "heavy tail": Lateness(40, "heavy"),
        "10 % never": Lateness(200, lost=0.1),
    }
)
_LATE = DELAYS["mean 200"]

SEEN: Final[Mapping[str, Surface]] = MappingProxyType(
    {
        "quadratic, 1 knob": Surface(knobs=1, lateness=_LATE),
        "quadratic, no delay": Surface(),
        "quadratic": Surface(lateness=_LATE),
        "quadratic, mean 2,000": Surface(lateness=DELAYS["mean 2,000"]),
        "quadratic, constant 2,000": Surface(lateness=DELAYS["constant 2,000"]),
        "quadratic, heavy tail": Surface(lateness=DELAYS["heavy tail"]),
        "quadratic, 10 % never": Surface(lateness=DELAYS["10 % never"]),
        "quadratic, 4 knobs": Surface(knobs=4, lateness=_LATE),
        "quadratic, 8 knobs": Surface(knobs=8, lateness=_LATE),
        "kinked": Surface("kinked", lateness=_LATE),
        "steep on one side": Surface("steep", lateness=_LATE),
        "flat valley": Surface("valley", lateness=_LATE),
        "flat valley, 8 knobs": Surface("valley", knobs=8, lateness=_LATE),
        "bent valley": Surface("bent", lateness=_LATE),
        "prices, 1 knob": Surface("sale", knobs=1, lateness=_LATE),
        "prices": Surface("sale", lateness=_LATE),
        "drifting": Surface(motion="drift", lateness=_LATE),
        "switching": Surface(motion="switch", lateness=_LATE),
        "two basins": Surface("basins", lateness=_LATE),
        "heavy-tailed noise": Surface(errors="heavy", lateness=_LATE),
        "large noise": Surface(noise=0.5, lateness=_LATE),
        "season": Surface(season=0.5, lateness=_LATE),
    }
)
"""Worlds that constants may be chosen by; 2 knobs and a mean delay of 200 where nothing is said."""

UNSEEN: Final[Mapping[str, Surface]] = MappingProxyType(
    {
        "quartic, 3 knobs": Surface("quartic", knobs=3, lateness=_LATE),
        "best at the edge": Surface("edge", lateness=DELAYS["heavy tail"]),
        "ripples, 1 knob": Surface("ripple", knobs=1, lateness=_LATE),
        "cliff, 1 knob": Surface("cliff", knobs=1, lateness=_LATE),
        "narrow bump": Surface("bump", lateness=_LATE),
        "1 of 6 knobs matters": Surface("idle", knobs=6, lateness=_LATE),
        "walking, 3 knobs": Surface(motion="walk", knobs=3, lateness=_LATE),
        "to and fro, season": Surface(motion="turn", season=0.5),
        "growing noise": Surface(errors="growing", lateness=DELAYS["10 % never"]),
        "lasting noise": Surface(errors="lasting", lateness=_LATE),
        "kinked, 5 knobs, constant 2,000": Surface(
            "kinked", knobs=5, lateness=DELAYS["constant 2,000"]
        ),
        "two basins, 1 knob, mean 2,000": Surface("basins", knobs=1, lateness=DELAYS["mean 2,000"]),
    }
)
"""Worlds that no constant was chosen by."""

WORLDS: Final[Mapping[str, Surface]] = MappingProxyType({**SEEN, **UNSEEN})


class Player(Protocol):
    """A method that plays for several seeds at once."""

    def ask(self) -> Floats:
        """Return settings in [-1, 1]^k, a row for every seed."""

    def tell(self, seeds: Ints, tickets: Ints, costs: Floats) -> None:
        """Hear what rounds cost, each with its seed, in the order of tickets."""


Make = Callable[[int, Sequence[int]], Player]
"""From the number of knobs and the seeds to a method that has heard nothing."""


def regrets(make: Make, ground: Ground, seeds: Sequence[int]) -> Floats:
    """Play, and return what every round cost more than the best: rounds, seeds.

    What round t costs is told before round t + 1 + delay is asked for. All methods meet the same
    errors and delays.
    """
    rounds, count, knobs = ground.best.shape
    player = make(knobs, seeds)
    tickets, who, until = _arrivals(ground.delays)
    x = np.empty((rounds, count, knobs))
    lost = np.empty((rounds, count))
    heard = np.empty((rounds, count))
    begin = 0
    for t in range(rounds):
        end = until[t]
        if end > begin:
            due, of = tickets[begin:end], who[begin:end]
            player.tell(of, due, heard[due, of])
            begin = end
        x[t] = np.clip(player.ask(), -1.0, 1.0)
        lost[t] = ground.excess(t, x[t])
        heard[t] = ground.heard(t, x[t], lost[t])
    return lost


def _arrivals(delays: Ints) -> tuple[Ints, Ints, Ints]:
    """Return tickets and seeds in the order in which they are heard, and how many by each round."""
    rounds, count = delays.shape
    ticket = np.repeat(np.arange(rounds), count)
    seed = np.tile(np.arange(count), rounds)
    late = np.minimum(delays.ravel(), rounds)
    due = ticket + 1 + late
    order = np.argsort(due, kind="stable")
    return ticket[order], seed[order], np.searchsorted(due[order], np.arange(rounds), side="right")
