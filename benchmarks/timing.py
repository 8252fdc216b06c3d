"""How things are timed here: interleaved repetitions, medians and quartiles."""

from __future__ import annotations

import gc
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from statistics import median, quantiles
from time import perf_counter
from typing import Any


@dataclass(frozen=True)
class Result:
    """One figure: ours over the floor, with the target that it should meet."""

    name: str
    ratio: float
    target: float
    ours: float
    floor: float
    unit: str
    spread: float
    """Half the distance between the quartiles of the ratio, over the ratio."""
    note: str = ""

    @property
    def is_met(self) -> bool:
        """Whether the figure meets its target."""
        return self.ratio <= self.target

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; a figure that is only there to be known has no target."""
        if math.isinf(self.target):
            return {**asdict(self), "target": None, "met": None}
        return {**asdict(self), "met": self.is_met}

    def __str__(self) -> str:
        """Return one row of the table."""
        verdict = f"target {self.target:<7.4g}{'met' if self.is_met else 'MISSED'}"
        return (
            f"{self.name:<44}{self.ours:>12,.4g}{self.floor:>12,.4g} {self.unit:<10}"
            f"{self.ratio:>7.3f} ±{self.spread:>4.0%}  {'' if math.isinf(self.target) else verdict}"
        )


def interleaved(
    works: Mapping[str, Callable[[], object]],
    repeats: int,
    clock: Callable[[], float] = perf_counter,
) -> dict[str, list[float]]:
    """Time all works in turn, so that a slow spell of the machine hits all of them."""
    times: dict[str, list[float]] = {name: [] for name in works}
    for work in works.values():
        work()
    gc.collect()
    gc.disable()
    try:
        for turn in range(repeats):
            names = list(works)[:: 1 if turn % 2 == 0 else -1]
            for name in names:
                start = clock()
                works[name]()
                times[name].append(clock() - start)
    finally:
        gc.enable()
    return times


def compared(
    name: str,
    ours: Callable[[], object],
    floor: Callable[[], object],
    *,
    target: float,
    per: float,
    unit: str,
    repeats: int = 31,
    note: str = "",
    clock: Callable[[], float] = perf_counter,
) -> Result:
    """Return medians of both, divided by ``per``, and the median of the ratios of pairs."""
    times = interleaved({"ours": ours, "floor": floor}, repeats, clock)
    mine, theirs = ([seconds / per for seconds in times[who]] for who in ("ours", "floor"))
    return summarised(name, mine, theirs, target=target, unit=unit, note=note)


def summarised(
    name: str, ours: list[float], floor: list[float], *, target: float, unit: str, note: str = ""
) -> Result:
    """Return medians of times that were taken in turn, both in the unit, and of their ratios."""
    low, middle, high = quantiles([a / b for a, b in zip(ours, floor, strict=True)], n=4)
    return Result(
        name=name,
        ratio=middle,
        target=target,
        ours=median(ours),
        floor=median(floor),
        unit=unit,
        spread=(high - low) / 2.0 / middle,
        note=note,
    )
