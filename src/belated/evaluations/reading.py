"""From any source to a :class:`DecisionLog`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from belated.arrays import Array, Floats
from belated.errors import LogError
from belated.evaluations import dsjson
from belated.evaluations.decision_log import NO_PROBABILITY, DecisionLog, can_be, coded
from belated.logs import BadRow, BadRows, DateOrder, Log, OnBad, Told, Unit, scan
from belated.logs.columns import NoColumn, Roles
from belated.logs.files import is_parquet
from belated.logs.kinds import word
from belated.logs.leaks import CHANGED, Hidden, check_known, is_target, told
from belated.logs.log import SHOWN
from belated.logs.rules import NoFeature
from belated.logs.spans import span_in
from belated.report.plain import listed

ROLES = Roles("decided", "rewarded", "each was made", "its reward was known")
MEANINGS = {
    "action": "what was done",
    "probability": "how likely that was",
    "reward": "what came of it",
}
MISSING = "must not be missing"
LEAST_COUNTED = 20
"""Rows from which on it is no accident that a column counts them."""


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


USUAL = Columns()
AS_IT_IS = Reading()


def decisions_of(
    data: Any,
    columns: Columns,
    policies: Sequence[str] = (),
    *,
    silence: float | None = None,
    deadline: Any = None,
    reading: Reading = AS_IT_IS,
) -> DecisionLog:
    """Return the decisions of a log.

    ``policies`` are names or prefixes of columns that belong to other policies, and so to no
    context. In the log of a store, rewards that are revised count as they were at the ``deadline``.
    """
    if isinstance(data, DecisionLog):
        _refuse("a DecisionLog", data.name, columns, reading)
        return data
    if isinstance(data, str | Path) and dsjson.is_dsjson(Path(data)):
        _refuse("dsjson", str(data), columns, reading)
        return dsjson.read(data, on_bad=reading.on_bad)
    is_path = isinstance(data, str | Path)
    if is_parquet(data) if is_path else isinstance(data, Iterator | Sequence):
        from belated.evaluations import stored  # which brings stores and their models

        if (found := stored.lines_in(data)) is not None:
            _refuse("the log of a store", found[0], columns, reading)
            span = None if deadline is None else span_in(deadline, "s", "evaluate")
            return stored.decisions_in(*found, silence=silence, deadline=span)
    if isinstance(data, Log):
        _refuse("a Log", data.name, columns, reading, ("decided", "rewarded"))
        return _decisions(data, columns, policies, silence, reading.on_bad, "row {}".format)
    log, place = _read(data, columns, reading)
    return _decisions(log, columns, policies, silence, reading.on_bad, place)


def _refuse(
    what: str,
    name: str,
    columns: Columns,
    reading: Reading,
    names: Sequence[str] = Columns._fields,
) -> None:
    """Refuse arguments about columns and times that have no effect on such a log."""
    given = [each for each in names if getattr(columns, each) != getattr(USUAL, each)]
    given += [each for each in Reading._fields if each != "on_bad" and getattr(reading, each)]
    if given:
        raise LogError(
            f"evaluate: {name} is {what}, which says this itself; leave out {', '.join(given)}"
        )


def _read(data: Any, columns: Columns, reading: Reading) -> tuple[Log, Callable[[int], str]]:
    """Return the log, and a function that says where a row of it stands."""
    if columns.ignore and columns.context != "all":
        raise LogError("evaluate: context names its columns, so that there is nothing to ignore")
    ignored: dict[str, Told] = dict.fromkeys(columns.ignore, "ignore")
    try:
        found = scan(
            *(data, columns.decided, columns.rewarded),
            target=columns.reward,
            features="all",
            kinds={**ignored, columns.action: "text", columns.probability: "number"},
            roles=ROLES,
            **reading._asdict(),
        )
    except NoFeature as error:
        if error.name in ignored:
            raise
        raise _question(columns, (*error.known, columns.reward)) from None
    except NoColumn as error:
        if error.column != columns.reward:
            raise
        raise _question(columns, error.known) from None
    log = found.read()  # with rows left out, the places in the source are no longer known
    return log, "row {}".format if log.bad else found.source.place


def _question(columns: Columns, known: Iterable[str]) -> LogError:
    """Ask for all columns that are not there."""
    missing = [role for role in MEANINGS if getattr(columns, role) not in known]
    free = [name for name in known if name not in {getattr(columns, role) for role in MEANINGS}]
    one = len(missing) == 1
    return LogError(
        f"evaluate: which column{' says' if one else 's say'} "
        f"{listed([MEANINGS[role] for role in missing])}? Give "
        f"{', '.join(f'{role}=' for role in missing)} "
        f"({' '.join(f'--{role} COLUMN' for role in missing)}); there is no "
        f"{listed([repr(getattr(columns, role)) for role in missing])} among "
        f"{', '.join(map(repr, free)) or 'none'}"
    )


def _decisions(
    log: Log,
    columns: Columns,
    policies: Sequence[str],
    silence: float | None,
    on_bad: OnBad,
    place: Callable[[int], str],
) -> DecisionLog:
    """Return the decisions of the rows that can be used, in order of time."""
    if log.target is None:
        raise LogError(f"evaluate: {log.name} has no rewards; name their column (--reward)")
    for name in (columns.action, columns.probability):
        if name not in log.features:
            raise _question(columns, (*log.features, columns.reward))
    probability, reward = log.features[columns.probability], log.target
    for name, cells in ((columns.probability, probability), (columns.reward, reward)):
        if cells.dtype.kind != "f":
            raise LogError(f"evaluate: column {name!r} of {log.name} holds no numbers")
    names = np.array([_name(cell) for cell in log.features[columns.action].tolist()], dtype=object)
    if silence is not None:  # a silence that was written down is still no reward
        reward = np.where(~log.answered & (reward == silence), np.nan, reward)
    untimed = ~log.answered & ~np.isnan(reward)
    no_time = "has no time for its reward; add the time"
    if len(np.unique(reward[untimed])) == 1:
        value = reward[untimed][0]
        no_time += f", or --silence {value:g} (silence={value:g}) if {value:g} means no answer"
    checks = (
        (columns.action, names, names == "", MISSING),
        (columns.probability, probability, np.isnan(probability), MISSING),
        (columns.probability, probability, ~can_be(probability), NO_PROBABILITY),
        (
            *(columns.reward, reward, log.answered & ~np.isfinite(reward)),
            "is no reward, though there is a time of one",
        ),
        ("rewarded", reward, untimed, no_time),
    )
    wrong = np.logical_or.reduce([rows for _, _, rows, _ in checks])
    shown = []
    for i in np.flatnonzero(wrong)[:SHOWN].tolist():
        column, cells, _, reason = next(check for check in checks if check[2][i])
        text = "" if cells[i] != cells[i] else str(cells[i])
        shown.append(BadRow(place(i), column, text, reason))
    bad = BadRows(int(np.count_nonzero(wrong)), tuple(shown))
    if bad and on_bad == "error":
        raise bad.error("evaluate", log.name, len(log))
    rows = np.flatnonzero(~wrong)
    if not rows.size:
        raise LogError(f"evaluate: {log.name} has no rows that can be used\n{bad}")
    rows = rows[np.argsort(log.predicted_at[rows], kind="stable")]
    kept, reward = log.take(rows), reward[rows]
    context, more, notes = _split(kept, columns, policies)
    _refuse_leaks(kept, context, reward, silence, columns)
    decided, wait = kept.predicted_at - kept.predicted_at[0], kept.observed_at - kept.predicted_at
    if log.is_calendar:
        decided, wait = decided / np.timedelta64(1, "s"), wait / np.timedelta64(1, "s")
    return DecisionLog(
        name=log.name,
        **coded(names[rows].tolist()),
        probability=probability[rows],
        reward=np.where(kept.answered, reward, np.nan),
        decided=decided.astype(np.float64),
        wait=np.where(kept.answered, wait.astype(np.float64), np.nan),
        context=context,
        rows=rows,
        rows_read=len(log),
        more=more,
        unit="s" if log.is_calendar else log.unit,
        start=kept.predicted_at[0],
        is_epoch=log.is_epoch,
        notes=(*notes, *(f"{note}." for note in log.notes)),
        bad=log.bad + bad,
    )


def _name(cell: Any) -> str:
    """Return the name of an action; a missing one is empty."""
    return "" if cell is None or cell != cell else word(cell)


def _split(
    log: Log, columns: Columns, policies: Sequence[str]
) -> tuple[dict[str, Array], dict[str, Array], tuple[str, ...]]:
    """Return the context, the columns that are neither it nor the decision, and notes."""
    roles = {columns.action, columns.probability, columns.reward}
    others = {name: column for name, column in log.features.items() if name not in roles}
    notes: tuple[str, ...] = ()
    if columns.context == "all":
        # A policy is the column of its name, or else all columns that begin with it.
        starts = tuple(policy for policy in policies if policy not in others)
        free = [n for n in others if n not in policies and not n.startswith(starts)]
        counts = [name for name in free if _counts_rows(others[name])]
        chosen = [name for name in free if name not in counts]
        notes = tuple(f"Left out of it: {name}, which only counts the rows." for name in counts)
    else:
        chosen = list(dict.fromkeys(columns.context))
    for name in chosen:
        if name not in others:
            known = ", ".join(map(repr, others)) or "none"
            raise LogError(f"evaluate: {log.name} has no column {name!r}; it has {known}")
    context = {name: others[name] for name in chosen}
    return context, {name: c for name, c in others.items() if name not in context}, notes


def _counts_rows(column: Array) -> bool:
    """Whether every row has the next whole number, up or down."""
    if column.dtype.kind != "f" or len(column) < LEAST_COUNTED:
        return False
    steps = np.diff(column)
    return bool(abs(steps[0]) == 1.0 and (steps == steps[0]).all())


def _refuse_leaks(
    log: Log,
    context: Mapping[str, Array],
    reward: Floats,
    silence: float | None,
    columns: Columns,
) -> None:
    """Refuse what is the reward, its time or how long it took, in any unit, shifted or rounded."""
    sources = {name: log.kinds.column_of(name) for name in context}
    check_known("evaluate", columns.known, (*sources.values(), *context), "is not in the context:")
    times = log.times
    hidden = Hidden(times.predicted_at, times.observed_at, log.answered, log.unit, reward)
    known = log.answered | (silence is not None)
    labels = np.where(np.isnan(reward), np.nan if silence is None else silence, reward)
    found = {}
    for name, column in context.items():
        if sources[name] in columns.known or name in columns.known:
            continue
        what = hidden.known_by(column).replace("the answer", "the reward")
        if is_target(column, labels, known):
            what = f"the reward {columns.reward!r} under another name, wherever one is known"
        elif what == CHANGED:
            what = f"the reward {columns.reward!r} {what}"
        if what:
            found[name] = what
    if found:
        raise told("evaluate", found, sources, "the decision is made")
