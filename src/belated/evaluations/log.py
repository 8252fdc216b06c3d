"""A log of decisions in memory, in order of time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any, Literal, NamedTuple

import numpy as np

from belated.arrays import Array, Bools, Floats, Ints
from belated.errors import BadFeatures, LogError, SpecError
from belated.logs import DateOrder, Kind, OnBad
from belated.logs.dates import ISO, SECOND
from belated.logs.log import NONE_BAD, SECONDS, BadRows, Unit, as_date
from belated.logs.rules import date_form
from belated.logs.sources import arrow
from belated.models.moments import time_of

MOST_ACTIONS = 200
"""More actions than this are not evaluated: hardly any would have been tried often enough."""


LEAST = 1e-12
"""Least probability that a log may hold: of what is rarer no log has ever seen anything."""
NO_PROBABILITY = f"is no probability from {LEAST:g} to 1 of what was done"


def can_be(probability: Any) -> Any:
    """Tell whether a number, or which of several, can be the probability of what was done.

    Rarer things are not done, so that such a number is a mistake, and one row with it would have
    all the weight there is.
    """
    return (probability >= LEAST) & (probability <= 1.0)


@dataclass(frozen=True, eq=False, repr=False)
class DecisionLog:
    """Decisions in the order in which they were made, and the rewards that were heard of them.

    Times are numbers in ``unit``, after the first decision; those of dates are in seconds.
    """

    name: str
    actions: tuple[str, ...]
    """Names of all actions, sorted."""
    action: Ints
    """Which one was taken."""
    probability: Floats
    """With which it was taken."""
    reward: Floats
    """NaN where nothing was heard."""
    decided: Floats
    wait: Floats
    """Time from the decision to its reward; NaN where nothing was heard."""
    context: Mapping[str, Array]
    """What was known when the decision was made, by column."""
    rows: Ints
    """The row of each decision in what was read."""
    whole: int
    """How many rows were read."""
    more: Mapping[str, Array] = field(default_factory=dict)
    """Columns that are neither, such as probabilities of another policy."""
    offered: Bools | None = None
    """Decisions x actions: which ones could be taken; None: all, always."""
    unit: Unit | None = None
    start: Any = 0.0
    """When the first decision was made."""
    is_epoch: bool = False
    """Whether times are numbers that count ``unit`` since 1970."""
    latest: float = 0.0
    """A time after the first decision up to which something would have been heard."""
    notes: tuple[str, ...] = ()
    """What is to be known of its columns."""
    bad: BadRows = NONE_BAD
    """Rows that were left out."""

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
        """Of which decisions a reward was heard."""
        return ~np.isnan(self.wait)

    @property
    def end(self) -> float:
        """The latest time of which the log knows anything."""
        latest = max(float(self.decided[-1]), self.latest)
        known = self.heard
        return (
            max(latest, float((self.decided + self.wait)[known].max())) if known.any() else latest
        )

    def contexts(self) -> Iterator[dict[str, float | str]]:
        """Yield what is known of every decision, as a chooser takes it."""
        names = list(self.context)
        columns = [column.tolist() for column in self.context.values()]
        for cells in zip(*columns, strict=True) if columns else ((),) * len(self):
            yield {
                name: cell
                for name, cell in zip(names, cells, strict=True)
                if cell is not None and cell == cell
            }

    def menu(self, i: int) -> tuple[str, ...]:
        """Return the actions that could be taken in a decision."""
        if self.offered is None:
            return self.actions
        return tuple(
            name for name, is_there in zip(self.actions, self.offered[i], strict=True) if is_there
        )

    def take(self, rows: Any) -> DecisionLog:
        """Return some of the decisions: a slice, a mask or their numbers."""
        return replace(
            self,
            action=self.action[rows],
            probability=self.probability[rows],
            reward=self.reward[rows],
            decided=self.decided[rows],
            wait=self.wait[rows],
            rows=self.rows[rows],
            context={name: column[rows] for name, column in self.context.items()},
            more={name: column[rows] for name, column in self.more.items()},
            offered=None if self.offered is None else self.offered[rows],
        )

    def __repr__(self) -> str:
        """Return what it is on one line."""
        heard = int(np.count_nonzero(self.heard))
        return (
            f"DecisionLog({self.name!r}, {len(self):,} decisions among {len(self.actions):,} "
            f"actions, {heard:,} rewards)"
        )


def check_count(actions: Sequence[str]) -> None:
    """Refuse logs with more actions than can be told apart."""
    if len(actions) > MOST_ACTIONS:
        raise LogError(
            f"evaluate: there are {len(actions):,} different actions, such as {actions[0]!r}, and "
            f"at most {MOST_ACTIONS} can be told apart; is this the column of actions? Otherwise "
            "put alike ones together"
        )


# ---- which decisions count: those that are old enough for everything to be known of them ---------


@dataclass(frozen=True)
class Ripe:
    """The decisions that count, every one with its reward, and those that do not."""

    log: DecisionLog
    decisions: int
    """All that the log holds."""
    too_young: int
    """Decisions whose deadline has not passed, which do not count."""
    silent: int
    """Decisions that count with the reward of silence."""
    late: int
    """Those of them whose reward came after the deadline."""
    still_open: int
    """Decisions that count as silent though, without a deadline, something may still come."""
    deadline: float | None
    """In the unit of the log."""
    silence: float | None


def ripe(
    log: DecisionLog, *, silence: float | None, deadline: float | None, until: float | None
) -> Ripe:
    """Return what counts: with a deadline, the decisions made at least that long before the end.

    A decision counts with what was heard of it by its deadline, and with ``silence`` if that was
    nothing. Which ones count depends on the time of the decision alone, so none is favoured.
    """
    end = log.end if until is None else until
    is_old = log.decided <= (end if deadline is None else end - deadline)
    too_young = int(np.count_nonzero(~is_old))
    if not is_old.any():
        raise LogError(
            f"evaluate: {log.name}: all {len(log):,} decisions are too young: none was made as "
            "long as the deadline before the end of the log; wait, or take a shorter deadline"
        )
    kept = log.take(is_old)
    # Summed up as the end of a log is, so that rounding does not put the last reward after it.
    known = kept.heard & (kept.decided + kept.wait <= end)
    if deadline is not None:
        known &= kept.wait <= deadline
    silent = int(np.count_nonzero(~known))
    if silent and silence is None:
        raise LogError(_question(log.name, silent, len(kept), deadline))
    filled = np.where(known, kept.reward, np.nan if silence is None else silence)
    counted = replace(kept, reward=filled, wait=np.where(known, kept.wait, np.nan))
    return Ripe(
        log=counted,
        decisions=len(log),
        too_young=too_young,
        silent=silent,
        late=int(np.count_nonzero(kept.heard & ~known)),
        still_open=silent if deadline is None else 0,
        deadline=deadline,
        silence=silence,
    )


def _question(name: str, silent: int, of: int, deadline: float | None) -> str:
    """Say that decisions have no reward, and ask what that means."""
    start = f"evaluate: {name}: of {silent:,} of {of:,} decisions no reward is known"
    if deadline is not None:
        return f"{start} by their deadline; say what reward that means, with silence= (--silence)"
    return (
        f"{start}; say what reward that means with silence= (--silence), and how long one has to "
        "wait to be sure with deadline= (--deadline)"
    )


# ---- when a log of decisions ends, as people say it ----------------------------------------------


def end_of(
    until: Any, log: DecisionLog, *, tz: str | None = None, dates: DateOrder | None = None
) -> float:
    """Return when a log ends, as the time after its start, in its unit.

    Where times count since 1970, a number is such a count, and a date is a date.
    """
    if log.is_epoch and _is_date(until):
        return moment_in(until, log.first, tz=tz, dates=dates) / SECONDS[log.unit or "s"]
    return moment_in(until, log.start, tz=tz, dates=dates)


def _is_date(given: Any) -> bool:
    if isinstance(given, str):
        try:
            float(given)
        except ValueError:
            return True
        return False
    return isinstance(given, date | np.datetime64)


def moment_in(
    given: Any, start: Any, *, tz: str | None = None, dates: DateOrder | None = None
) -> float:
    """Return a moment as the time after the start of a log, in its unit.

    Dates are read as those of the log are: ``tz`` is the zone of one that names none, and ``dates``
    says what 5/6/2024 begins with.

    >>> moment_in("2024-05-01T12:00", np.datetime64("2024-05-01T09:59"), tz="Europe/Berlin")
    60.0
    """
    if not isinstance(start, np.datetime64):
        return _number(given) - float(start)
    first = int(start.astype("datetime64[ns]").astype(np.int64))
    if not isinstance(given, str | date | np.datetime64):
        return time_of(given, "evaluate: until") - first / SECOND
    form = ISO
    if isinstance(given, str):
        form = date_form(arrow("reading a log").array([given]), "until", dates) or ISO
    try:
        moment = Kind("until", "time", form=form, zone=tz).moment(given)
    except BadFeatures:
        raise SpecError(
            f"evaluate: until must be a time like 2024-05-01T12:00, got {given!r}"
        ) from None
    return (moment - first) / SECOND


def _number(given: Any) -> float:
    try:
        return time_of(float(given) if isinstance(given, str) else given, "evaluate: until")
    except ValueError:
        raise SpecError(f"evaluate: until must be a number here, got {given!r}") from None


# ---- what is asked of a log of decisions, and what to type to ask it again -----------------------


class Columns(NamedTuple):
    """The names of the columns of a log of decisions; times may be guessed."""

    action: str = "action"
    probability: str = "probability"
    reward: str = "reward"
    decided: str | None = None
    rewarded: str | None = None
    context: Sequence[str] | Literal["all"] = "all"
    ignore: Sequence[str] = ()
    """Columns that are no context, where all others are."""
    known: Sequence[str] = ()
    """Columns that were known when the decision was made, however much they look like rewards."""


class Reading(NamedTuple):
    """How times are read, and what is done with rows that cannot be."""

    dates: DateOrder | None = None
    tz: str | None = None
    unit: Unit | None = None
    on_bad: OnBad = "error"
    encoding: str | None = None
    missing: Sequence[str] = ()
