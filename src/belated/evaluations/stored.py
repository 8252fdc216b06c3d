"""From the log of a stored Chooser to a :class:`DecisionLog`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from belated.arrays import Bools
from belated.errors import LogError
from belated.evaluations.dsjson import table_of
from belated.evaluations.log import DecisionLog, check_count
from belated.logs.rules import epoch_of
from belated.store.lines import Logged
from belated.store.parquet import exported

NAME = "log of a store"


@dataclass
class _Choice:
    """One choice, and the last that was heard of it in time."""

    line: Logged
    decided: float | None
    """None: not shown yet."""
    rewarded: float | None = None
    reward: float = math.nan

    def hear(self, line: Logged, at: float, silence: float, deadline: float) -> None:
        """Take a reward; one after the deadline counts only where there is none before."""
        if self.decided is None or line.value is None:
            return
        if self.rewarded is not None and at - self.decided > deadline:
            return
        before = silence if math.isnan(self.reward) else self.reward
        self.reward = before + line.value if line.verb == "add" else line.value
        self.rewarded = at


@dataclass
class _Clock:
    """The times that a model was told; where one is missing, those of the store."""

    told: bool

    def of(self, line: Logged) -> float:
        """Return when something was done."""
        return line.at if self.told and line.at is not None else line.written

    def latest(self, lines: Iterable[Logged]) -> float:
        """Return the latest time by this clock."""
        return max(self.of(line) for line in lines if not self.told or line.at is not None)


def lines_in(data: Any) -> tuple[str, Iterable[Logged]] | None:
    """Return the name and the lines of a log of a store or of its export; None: it is neither."""
    if isinstance(data, str | Path):
        found = exported(data) if Path(data).suffix == ".parquet" else None
        return None if found is None else (str(data), found)
    if isinstance(data, Iterator):
        first = next(data, None)
        if first is None or isinstance(first, Logged):
            return NAME, () if first is None else chain([first], data)
        raise LogError(f"evaluate: an iterator of {type(first).__name__} is no log of decisions")
    if isinstance(data, Sequence) and len(data) and isinstance(data[0], Logged):
        return NAME, data
    return None


def decisions_in(
    name: str, lines: Iterable[Logged], *, silence: float | None, deadline: float | None
) -> DecisionLog:
    """Return the choices that were shown, and what was heard of them by the deadline.

    A choice was decided when it was shown. Of a reward that was revised or added to, the last word
    in time counts; amounts are added to ``silence``.
    """
    given = list(lines)
    clock = _Clock(all(line.at is not None for line in given if line.verb in _TIMED))
    choices = _choices(given, clock, silence or 0.0, math.inf if deadline is None else deadline)
    shown = [choice for choice in choices if choice.decided is not None]
    if not shown:
        raise LogError(f"evaluate: {name} has no choices: is it that of a Chooser?")
    moments = np.array([choice.decided for choice in shown], dtype=np.float64)
    order = np.argsort(moments, kind="stable")
    shown, moments = [shown[i] for i in order], moments[order]
    actions, offered = _menus([choice.line for choice in shown])
    ends = np.array([math.nan if c.rewarded is None else c.rewarded for c in shown])
    return DecisionLog(
        name=name,
        actions=actions,
        action=np.array([actions.index(str(c.line.action)) for c in shown], dtype=np.int64),
        probability=np.array([c.line.probability for c in shown], dtype=np.float64),
        reward=np.array([c.reward for c in shown]),
        decided=moments - moments[0],
        wait=np.maximum(ends - moments, 0.0),  # a clock may have been put back
        context=table_of([_context(c.line) for c in shown]),
        rows=order,
        whole=len(order),
        offered=offered,
        latest=clock.latest(given) - float(moments[0]),
        unit="s",
        start=float(moments[0]),
        is_epoch=epoch_of(moments) == "s",
    )


_TIMED = ("choose", "shown", "observe", "revise", "add")


def _choices(
    lines: Iterable[Logged], clock: _Clock, silence: float, deadline: float
) -> list[_Choice]:
    found: dict[int | None, _Choice] = {}
    for line in lines:
        if line.verb == "choose":
            found[line.ticket] = _Choice(line, None if line.hidden else clock.of(line))
        elif line.ticket in found:
            choice = found[line.ticket]
            if line.verb == "shown":
                choice.decided = clock.of(line)
            elif line.verb in _TIMED:
                choice.hear(line, clock.of(line), silence, deadline)
    return list(found.values())


def _menus(lines: Sequence[Logged]) -> tuple[tuple[str, ...], Bools | None]:
    """Return all actions, and which ones could be taken; None: all, always.

    Where a choice came without a menu, those are meant that such choices have taken.
    """
    usual = {str(line.action) for line in lines if line.offered is None}
    menus = [usual if line.offered is None else set(line.offered) for line in lines]
    actions = tuple(sorted(set().union(*menus)))
    check_count(actions)
    offered = np.array([[name in menu for name in actions] for menu in menus], dtype=np.bool_)
    return actions, None if offered.all() else offered


def _context(line: Logged) -> Mapping[str, float | str]:
    features = line.features or {}
    return {
        name: cell if isinstance(cell, str) else float(cell)
        for name, cell in features.items()
        if cell is not None
    }
