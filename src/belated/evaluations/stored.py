"""From the log of a stored Chooser, or its export, to a :class:`DecisionLog`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from belated.audits.stored_log import StoredLog
from belated.errors import LogError
from belated.evaluations.decision_log import DecisionLog, coded, columns_of
from belated.logs.rules import epoch_of
from belated.store.lines import Logged
from belated.store.parquet import exported

NAME = "log of a store"


def lines_in(data: Any) -> tuple[str, Iterable[Logged]] | None:
    """Return the name and the lines of a log of a store or of its export; None: it is neither."""
    if isinstance(data, str | Path):
        found = exported(data)
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
    """Return the choices that were shown, and the rewards that arrived by the deadline.

    A choice was decided when it was shown. Of a reward that was revised or added to, the last value
    in time counts; amounts are added to ``silence``.
    """
    stored = StoredLog(name, lines, None, None, silence=silence)
    shown = [asked for asked in stored.asked if asked.line.verb == "choose"]
    if not shown:
        raise LogError(f"evaluate: {name} has no choices: is it that of a Chooser?")
    moments = np.array([asked.given for asked in shown])
    order = np.argsort(moments, kind="stable")
    moments, shown = moments[order], [shown[i] for i in order]
    choices = [asked.line for asked in shown]
    answers = [asked.last(math.inf if deadline is None else deadline) for asked in shown]
    # A choice without a menu was among the actions that such choices have taken.
    usual = tuple({str(choice.action) for choice in choices if choice.offered is None})
    menus = [usual if choice.offered is None else choice.offered for choice in choices]
    return DecisionLog(
        name=name,
        **coded([str(choice.action) for choice in choices], menus),
        probability=np.array([choice.probability for choice in choices], dtype=np.float64),
        reward=np.array([answer.label for answer in answers]),
        decided=moments - moments[0],
        wait=np.array([answer.wait for answer in answers]),
        context=columns_of([_context(choice.features or {}) for choice in choices]),
        rows=order,
        rows_read=len(order),
        latest=stored.latest - float(moments[0]),
        unit="s",
        start=float(moments[0]),
        is_epoch=epoch_of(moments) == "s",
    )


def _context(features: Mapping[str, Any]) -> dict[str, float | str]:
    cells = ((name, cell) for name, cell in features.items() if cell is not None)
    return {name: cell if isinstance(cell, str) else float(cell) for name, cell in cells}
