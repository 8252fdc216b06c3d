"""A log of decisions in memory, in order of time, and which of its decisions count."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any

import numpy as np

from belated.arrays import Array, Bools, Floats, Ints
from belated.errors import BadFeatures, LogError, SpecError
from belated.logs import DateOrder, Kind
from belated.logs.dates import ISO, SECOND
from belated.logs.log import NONE_BAD, SECONDS, BadRows, Unit, as_date
from belated.logs.rules import date_form
from belated.logs.sources import arrow
from belated.models.moments import time_of

MOST_ACTIONS = 200
"""More actions than this are not evaluated: hardly any would have been tried often enough."""
LEAST = 1e-12
"""Least probability that a log may hold: an action that is rarer is not taken, so that such a
number is a mistake, and the row would have all the weight."""
NO_PROBABILITY = f"is no probability from {LEAST:g} to 1 of what was done"


def can_be(probability: Any) -> Any:
    """Tell whether a number, or which of several, can be the probability of what was done."""
    return (probability >= LEAST) & (probability <= 1.0)


@dataclass(frozen=True, eq=False, repr=False)
class DecisionLog:
    """Decisions in the order in which they were made, and the rewards that arrived for them.

    Times are numbers in ``unit``, after the first decision; those of dates are in seconds.
    """

    name: str
    actions: tuple[str, ...]
    """Names of all actions, sorted."""
    action: Ints
    """The place of the action that was taken."""
    probability: Floats
    """The probability with which it was taken."""
    reward: Floats
    """NaN where no reward arrived."""
    decided: Floats
    wait: Floats
    """Time from the decision to its reward; NaN where no reward arrived."""
    context: Mapping[str, Array]
    """The values that were known when the decision was made, by column."""
    rows: Ints
    """The row of each decision in the source."""
    rows_read: int
    more: Mapping[str, Array] = field(default_factory=dict)
    """Other columns, such as probabilities of another policy."""
    offered: Bools | None = None
    """Decisions x actions: which ones could be taken; None: all, always."""
    unit: Unit | None = None
    start: Any = 0.0
    """When the first decision was made."""
    is_epoch: bool = False
    """Whether times are numbers that count ``unit`` since 1970."""
    latest: float = 0.0
    """A time after the first decision up to which rewards would have been recorded."""
    notes: tuple[str, ...] = ()
    bad: BadRows = NONE_BAD

    def __len__(self) -> int:
        """Return the number of decisions."""
        return len(self.action)

    @property
    def first(self) -> Any:
        """When the first decision was made: a date, where times are dates in any form."""
        return as_date(self.start, self.unit) if self.is_epoch else self.start

    @property
    def has_dates(self) -> bool:
        """Whether times are dates in any form."""
        return isinstance(self.first, np.datetime64)

    @property
    def heard(self) -> Bools:
        """Which decisions have a reward."""
        return ~np.isnan(self.wait)

    @property
    def end(self) -> float:
        """The latest time in the log."""
        arrived = (self.decided + self.wait)[self.heard]
        return float(np.max(arrived, initial=max(float(self.decided[-1]), self.latest)))

    def contexts(self) -> Iterator[dict[str, float | str]]:
        """Yield the context of every decision, as a chooser takes it."""
        names = list(self.context)
        columns = [column.tolist() for column in self.context.values()]
        for cells in zip(*columns, strict=True) if columns else ((),) * len(self):
            pairs = zip(names, cells, strict=True)
            yield {name: cell for name, cell in pairs if cell is not None and cell == cell}

    def menu(self, i: int) -> tuple[str, ...]:
        """Return the actions that could be taken in a decision."""
        if self.offered is None:
            return self.actions
        return tuple(self.actions[place] for place in np.flatnonzero(self.offered[i]))

    def take(self, rows: Any) -> DecisionLog:
        """Return some of the decisions: a slice, a mask or their numbers."""
        names = ("action", "probability", "reward", "decided", "wait", "rows")
        arrays: Any = {name: getattr(self, name)[rows] for name in names}
        return replace(
            self,
            **arrays,
            context={name: column[rows] for name, column in self.context.items()},
            more={name: column[rows] for name, column in self.more.items()},
            offered=None if self.offered is None else self.offered[rows],
        )

    def __repr__(self) -> str:
        """Return what it is on one line."""
        return (
            f"DecisionLog({self.name!r}, {len(self):,} decisions among {len(self.actions):,} "
            f"actions, {np.count_nonzero(self.heard):,} rewards)"
        )


def coded(names: Sequence[str], menus: Sequence[Sequence[str]] | None = None) -> dict[str, Any]:
    """Return ``actions``, ``action`` and ``offered`` of a log; without menus all are offered."""
    actions = sorted(set(names).union(*(menus or ())))
    if len(actions) > MOST_ACTIONS:
        raise LogError(
            f"evaluate: there are {len(actions):,} different actions, such as {actions[0]!r}, and "
            f"at most {MOST_ACTIONS} can be told apart; is this the column of actions? Otherwise "
            "put alike ones together"
        )
    places = {name: i for i, name in enumerate(actions)}
    offered = np.zeros((len(names), len(actions)), dtype=np.bool_)
    for i, menu in enumerate(menus or ()):
        offered[i, [places[name] for name in menu]] = True
    return {
        "actions": tuple(actions),
        "action": np.array([places[name] for name in names], dtype=np.int64),
        "offered": None if menus is None or offered.all() else offered,
    }


def columns_of(rows: Sequence[Mapping[str, float | str]]) -> dict[str, Array]:
    """Return features of rows as columns; a column with any text is text."""
    columns: dict[str, Array] = {}
    for name in dict.fromkeys(name for row in rows for name in row):
        cells = [row.get(name) for row in rows]
        if any(isinstance(cell, str) for cell in cells):
            words = [cell if isinstance(cell, str | None) else f"{cell:g}" for cell in cells]
            columns[name] = np.array(words, dtype=object)
        else:
            columns[name] = np.array([np.nan if cell is None else cell for cell in cells])
    return columns


# ---- which decisions count: those that are old enough for their reward to be known ---------------


@dataclass(frozen=True)
class MatureDecisions:
    """The decisions that count, each with its reward, and how many do not."""

    log: DecisionLog
    decisions: int
    """All decisions of the log."""
    too_young: int
    """Decisions whose deadline has not passed, which do not count."""
    silent: int
    """Decisions that count with the reward of silence."""
    late: int
    """Those of them whose reward came after the deadline."""
    still_open: int
    """Decisions that count as silent though, without a deadline, a reward may still come."""
    deadline: float | None
    """In the unit of the log."""
    silence: float | None


def mature(
    log: DecisionLog, *, silence: float | None, deadline: float | None, until: float | None
) -> MatureDecisions:
    """Return what counts: with a deadline, the decisions made at least that long before the end.

    A decision counts with the reward that arrived by its deadline, and with ``silence`` if none
    did. Which ones count depends on the time of the decision alone, so that no action is favoured.
    """
    end = log.end if until is None else until
    is_old = log.decided <= (end if deadline is None else end - deadline)
    if not is_old.any():
        raise LogError(
            f"evaluate: {log.name}: all {len(log):,} decisions are too young: none was made as "
            "long as the deadline before the end of the log; wait, or take a shorter deadline"
        )
    kept = log.take(is_old)
    # Summed up as the end of a log is, so that rounding does not put the last reward after it.
    known = kept.heard & (kept.decided + kept.wait <= end)
    known &= kept.wait <= (np.inf if deadline is None else deadline)
    silent = int(np.count_nonzero(~known))
    if silent and silence is None:
        by = " by their deadline" if deadline is not None else ""
        more = (
            ", and how long one has to wait to be sure with deadline= (--deadline)"
            if deadline is None
            else ""
        )
        raise LogError(
            f"evaluate: {log.name}: of {silent:,} of {len(kept):,} decisions no reward is known"
            f"{by}; say what reward that means with silence= (--silence){more}"
        )
    filled = np.where(known, kept.reward, np.nan if silence is None else silence)
    return MatureDecisions(
        log=replace(kept, reward=filled, wait=np.where(known, kept.wait, np.nan)),
        decisions=len(log),
        too_young=len(log) - len(kept),
        silent=silent,
        late=int(np.count_nonzero(kept.heard & ~known)),
        still_open=silent if deadline is None else 0,
        deadline=deadline,
        silence=silence,
    )


def end_of(
    until: Any, log: DecisionLog, *, tz: str | None = None, dates: DateOrder | None = None
) -> float:
    """Return when a log ends, as the time after its start, in its unit.

    Dates are read as those of the log are: ``tz`` is the zone of one that names none, and ``dates``
    says what 5/6/2024 begins with. Where times count since 1970, a number is such a count.
    """
    number = None
    if not isinstance(until, str | date | np.datetime64):
        number = time_of(until, "evaluate: until")
    elif isinstance(until, str) and not isinstance(log.start, np.datetime64):
        with suppress(ValueError):
            number = time_of(float(until), "evaluate: until")
    if not log.has_dates:
        if number is None:
            raise SpecError(f"evaluate: until must be a number here, got {until!r}")
        return number - float(log.start)
    if number is not None and log.is_epoch:
        return number - float(log.start)
    scale = SECONDS[log.unit or "s"]
    first = int(log.first.astype("datetime64[ns]").astype(np.int64))
    if number is not None:
        return (number - first / SECOND) / scale
    form = ISO
    if isinstance(until, str):
        form = date_form(arrow().array([until]), "until", dates) or ISO
    try:
        moment = Kind("until", "time", form=form, zone=tz).moment(until)
    except BadFeatures:
        raise SpecError(
            f"evaluate: until must be a time like 2024-05-01T12:00, got {until!r}"
        ) from None
    return (moment - first) / SECOND / scale
