"""From the log of a stored Chooser to a :class:`DecisionLog`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from belated.arrays import Bools
from belated.audits.stored_log import StoredLog
from belated.errors import LogError
from belated.evaluations.dsjson import table_of
from belated.evaluations.log import DecisionLog, check_count
from belated.logs.rules import epoch_of
from belated.store.lines import Logged
from belated.store.parquet import exported

NAME = "log of a store"


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
    stored = StoredLog(name, lines, None, None, silence=silence)
    shown = [asked for asked in stored.asked if asked.line.verb == "choose"]
    if not shown:
        raise LogError(f"evaluate: {name} has no choices: is it that of a Chooser?")
    moments = np.array([asked.given for asked in shown])
    order = np.argsort(moments, kind="stable")
    shown, moments = [shown[i] for i in order], moments[order]
    words = [asked.last(math.inf if deadline is None else deadline) for asked in shown]
    actions, offered = _menus([choice.line for choice in shown])
    return DecisionLog(
        name=name,
        actions=actions,
        action=np.array([actions.index(str(c.line.action)) for c in shown], dtype=np.int64),
        probability=np.array([c.line.probability for c in shown], dtype=np.float64),
        reward=np.array([word.label for word in words]),
        decided=moments - moments[0],
        wait=np.array([word.wait for word in words]),
        context=table_of([_context(c.line) for c in shown]),
        rows=order,
        whole=len(order),
        offered=offered,
        latest=stored.latest - float(moments[0]),
        unit="s",
        start=float(moments[0]),
        is_epoch=epoch_of(moments) == "s",
    )


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
