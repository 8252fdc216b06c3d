"""Rewards that come in files: choosers with silence against 0 or 1 after a window.

20,000 visits in 14 days choose among 2, 3 or 10 actions whose mean rewards are 0.04 to 0.16. Yeses
take 5 hours or 2 days in the mean, and come at once, or in the next file: every 6 hours, at 03:00,
or every 7 days. Ours has ``silence=0`` and hears of yeses alone. The same chooser without silence
is told 0 or 1 in the first file after a window of 6 hours to 7 days; of six windows the best is
chosen afterwards in each cell, by the mean over draws.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import Any

import numpy as np

import belated as bl
from benchmarks.seeds import seeds
from benchmarks.timing import Result

VISITS, DAYS, DRAWS = 20_000, 14.0, 20
MEANS = {2: (0.05, 0.1), 3: (0.05, 0.1, 0.16), 10: tuple(np.linspace(0.04, 0.16, 10).tolist())}
FILES = {"live": 0.0, "every 6 hours": 0.25, "at 03:00": 1.0, "every 7 days": 7.0}
DELAYS = {"5 hours": 5.0 / 24.0, "2 days": 2.0}
WINDOWS = (0.25, 0.5, 1.0, 2.0, 4.0, 7.0)
_FIRST = 0.125  # the time of the first file


def main() -> Iterator[Result]:
    """Yield our regret over that of the best window, in every cell."""
    for loss in ("squared", "logistic"):
        for count in MEANS:
            for files, every in FILES.items():
                for late, delay in DELAYS.items():
                    name = f"{loss}, {count} actions, rewards {files}, after {late}"
                    yield _result(name, loss, count, every, delay)


def _result(name: str, loss: Any, count: int, every: float, delay: float) -> Result:
    drawn = seeds("files", DRAWS)
    ours = np.array([regret(seed, loss, count, every, delay, None) for seed in drawn])
    others = {
        window: float(np.mean([regret(seed, loss, count, every, delay, window) for seed in drawn]))
        for window in WINDOWS
    }
    best = min(others, key=lambda window: others[window])
    mean = float(ours.mean())
    note = f"window of {best:g} days; standard error {float(ours.std()) / DRAWS**0.5:.0f}; " + (
        "; ".join(f"{window:g}: {other:.0f}" for window, other in others.items())
    )
    return Result(name, mean / others[best], 1.3, mean, others[best], "regret", 0.0, note)


def regret(
    seed: int, loss: Any, count: int, every: float, delay: float, window: float | None
) -> float:
    """Return what a chooser loses; without a window it hears of yeses, when their file comes."""
    rng = np.random.default_rng([seed, count, int(100.0 * delay)])
    means, names = MEANS[count], [f"action {a}" for a in range(count)]
    visits = np.sort(rng.random(VISITS)) * DAYS
    luck, delays = rng.random(VISITS), rng.exponential(delay, VISITS)
    silence = 0.0 if window is None else None
    chooser = bl.Chooser(names, loss=loss, seed=seed, bits=12, silence=silence, wait=None)
    coming: list[tuple[float, float, int, float]] = []
    lost = 0.0
    for visit, now in enumerate(visits.tolist()):
        while coming and coming[0][0] <= now:
            *_, ticket, reward = heapq.heappop(coming)
            chooser.observe(ticket, reward)
        choice = chooser.choose({})
        chance = means[names.index(choice.action)]
        lost += max(means) - chance
        heard = now + float(delays[visit]) if luck[visit] < chance else np.inf
        if window is not None:
            told = _next_file(now + window, every)
            heapq.heappush(coming, (told, now, choice.ticket, float(heard <= told)))
        elif heard < np.inf:
            heapq.heappush(coming, (_next_file(heard, every), heard, choice.ticket, 1.0))
    return lost


def _next_file(time: float, every: float) -> float:
    if every == 0.0:
        return time
    return float(np.ceil((time - _FIRST) / every)) * every + _FIRST
