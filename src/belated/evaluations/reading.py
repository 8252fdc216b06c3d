"""From any source to a :class:`DecisionLog`."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from belated.arrays import Array, Bools, Floats, Ints
from belated.errors import LogError
from belated.evaluations import dsjson, stored
from belated.evaluations.log import (
    NO_PROBABILITY,
    Columns,
    DecisionLog,
    Reading,
    can_be,
    check_count,
)
from belated.logs import BadRow, BadRows, Log, OnBad, Told, Unit, scan
from belated.logs.columns import NoColumn, Roles
from belated.logs.leaks import CHANGED, Hidden, check_known, is_target, told
from belated.logs.log import SHOWN
from belated.logs.rules import NoFeature, plain_name
from belated.logs.spans import span_in
from belated.report.plain import listed

USUAL = Columns()
AS_IT_IS = Reading()
ROLES = Roles("decided", "rewarded", "each was made", "its reward was known")
MEANINGS = {
    "action": "what was done",
    "probability": "how likely that was",
    "reward": "what came of it",
}
LIKE = {
    "action": r"action|layout|variant|arm|choice|chosen|treatment|decision|offer|banner|version",
    "probability": r"prob|probs|probability|probabilities|propensity|p|pscore|chance|likelihood",
    "reward": r"reward|revenue|value|outcome|converted|conversion|clicked|click|sale|sales|amount|"
    r"profit|gain|payoff|bought|label|target|score",
}
"""What else such columns are called, or end with."""
MISSING = "must not be missing"
LEAST_COUNTED = 20
"""Rows from which on it is no accident that a column counts them."""
Place = Callable[[int], str]
"""Says where a row stands."""
LINES = {".json", ".jsonl", ".ndjson"}
"""Endings of files with one JSON object per line, which may be in that form all the same."""


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
        _refuse("a DecisionLog", data.name, columns, reading, Columns._fields)
        return data
    if isinstance(data, str | Path) and _is_dsjson(Path(data)):
        _refuse("dsjson", str(data), columns, reading, Columns._fields)
        return dsjson.read(data, on_bad=reading.on_bad)
    if (found := stored.lines_in(data)) is not None:
        name, lines = found
        _refuse("the log of a store", name, columns, reading, Columns._fields)
        span = None if deadline is None else span_in(deadline, "s", "evaluate")
        return stored.decisions_in(name, lines, silence=silence, deadline=span)
    if isinstance(data, Log):
        _refuse("a Log", data.name, columns, reading, ("decided", "rewarded"))
        return _decisions(data, columns, policies, silence, reading.on_bad, _row)
    log, place = _read(data, columns, reading)
    return _decisions(log, columns, policies, silence, reading.on_bad, place)


def _refuse(what: str, name: str, columns: Columns, reading: Reading, names: Sequence[str]) -> None:
    """Refuse what says how columns are read, where nothing is left to be read so."""
    given = [each for each in names if getattr(columns, each) != getattr(USUAL, each)]
    told = ("dates", "tz", "unit", "encoding", "missing")
    given += [each for each in told if getattr(reading, each)]
    if given:
        raise LogError(
            f"evaluate: {name} is {what}, which says this itself; leave out {', '.join(given)}"
        )


def _row(i: int) -> str:
    return f"row {i}"


def _read(data: Any, columns: Columns, reading: Reading) -> tuple[Log, Place]:
    """Return the log, and what says where a row of it stands."""
    if columns.ignore and columns.context != "all":
        raise LogError("evaluate: context names its columns, so that there is nothing to ignore")
    ignored: dict[str, Told] = dict.fromkeys(columns.ignore, "ignore")
    try:
        found = scan(
            data,
            columns.decided,
            columns.rewarded,
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
    log = found.read()
    return log, _row if log.bad else found.source.place  # with rows left out, no longer the same


def _decisions(
    log: Log,
    columns: Columns,
    policies: Sequence[str],
    silence: float | None,
    on_bad: OnBad,
    place: Place,
) -> DecisionLog:
    """Return the decisions of the rows that can be used, in order of time."""
    names, probability, reward = _taken(log, columns)
    if silence is not None:  # a silence that was written down is still none that was heard
        reward = np.where(~log.answered & (reward == silence), np.nan, reward)
    faults = {
        columns.action: (np.array([name is None for name in names]), MISSING),
        columns.probability: (~can_be(probability), NO_PROBABILITY),
        columns.reward: (
            log.answered & ~np.isfinite(reward),
            "is no reward, though there is a time of one",
        ),
        "rewarded": (
            ~log.answered & ~np.isnan(reward),
            "has no time for its reward; give one, or silence= if that reward means none",
        ),
    }
    good, bad = _sound(log, faults, (names, probability, reward, reward), on_bad, place)
    order = np.flatnonzero(good)
    order = order[np.argsort(log.predicted_at[order], kind="stable")]
    if not order.size:
        raise LogError(f"evaluate: {log.name} has no rows that can be used\n{bad}")
    actions, action = _coded([names[i] for i in order.tolist()])
    decided, wait, unit = _times(log.take(order))
    context, more, notes = _split(log.take(order), columns, policies)
    refuse(log.take(order), context, reward[order], silence, columns)
    return DecisionLog(
        name=log.name,
        actions=actions,
        action=action,
        probability=probability[order],
        reward=np.where(log.answered, reward, np.nan)[order],
        decided=decided,
        wait=wait,
        context=context,
        rows=order,
        whole=len(log),
        more=more,
        unit=unit,
        start=log.predicted_at[order[0]],
        is_epoch=log.is_epoch,
        notes=(*notes, *(f"{note}." for note in log.notes)),
        bad=bad,
    )


def _taken(log: Log, columns: Columns) -> tuple[list[str | None], Floats, Floats]:
    """Return actions, their probabilities and rewards, row by row."""
    if log.target is None:
        raise LogError(f"evaluate: {log.name} has no rewards; name their column (--reward)")
    for name in (columns.action, columns.probability):
        if name not in log.features:
            raise _question(columns, (*log.features, columns.reward))
    names = _named(log.features[columns.action])
    probability = log.features[columns.probability]
    for name, cells in ((columns.probability, probability), (columns.reward, log.target)):
        if cells.dtype.kind != "f":
            raise LogError(f"evaluate: column {name!r} of {log.name} holds no numbers")
    return names, probability, log.target


def _question(columns: Columns, known: Iterable[str]) -> LogError:
    """Ask for all columns that are not there, and name those that it could be."""
    names = list(known)
    missing = [role for role in MEANINGS if getattr(columns, role) not in names]
    taken = {getattr(columns, role) for role in MEANINGS}
    free = [name for name in names if name not in taken]
    likely = {role: next((n for n in free if _is_like(n, role)), None) for role in missing}
    options = " ".join(f"--{role} {shlex.quote(likely[role] or 'COLUMN')}" for role in missing)
    python = ", ".join(f"{role}=" for role in missing)
    meant = ", if that is what is meant" if any(likely.values()) else ""
    return LogError(
        f"evaluate: which column{'' if len(missing) == 1 else 's'} "
        f"{'says' if len(missing) == 1 else 'say'} {listed([MEANINGS[role] for role in missing])}? "
        f"Give {python} ({options}){meant}; there is no "
        f"{listed([repr(getattr(columns, role)) for role in missing])} among "
        f"{', '.join(map(repr, free)) or 'none'}"
    )


def _is_like(name: str, role: str) -> bool:
    """Whether a column is called what those of a role are called."""
    return re.search(rf"(^|_)({LIKE[role]})$", plain_name(name)) is not None


def _named(column: Array) -> list[str | None]:
    """Return names of actions; whole numbers without a point."""
    if column.dtype.kind != "f":
        return [None if cell is None else str(cell) for cell in column.tolist()]
    return [
        None if cell != cell else str(int(cell)) if cell.is_integer() else repr(cell)
        for cell in column.tolist()
    ]


def _coded(names: Sequence[Any]) -> tuple[tuple[str, ...], Ints]:
    """Return all names, sorted, and for every row the number of its name."""
    actions = tuple(sorted(set(names)))
    check_count(actions)
    places = {name: i for i, name in enumerate(actions)}
    return actions, np.array([places[name] for name in names], dtype=np.int64)


def _sound(
    log: Log,
    faults: Mapping[str, tuple[Bools, str]],
    columns: Sequence[Any],
    on_bad: OnBad,
    place: Place,
) -> tuple[Bools, BadRows]:
    """Return which rows can be used, and what is wrong with the others."""
    wrong = np.logical_or.reduce([which for which, _ in faults.values()])
    if not wrong.any():
        return ~wrong, log.bad
    cells: dict[str, Any] = dict(zip(faults, columns, strict=True))
    first = []
    for i in np.flatnonzero(wrong)[:SHOWN].tolist():
        column, (_, reason) = next((c, fault) for c, fault in faults.items() if fault[0][i])
        value = cells[column][i]
        is_empty = value is None or value != value
        told = MISSING if is_empty and reason == NO_PROBABILITY else reason
        first.append(BadRow(place(i), column, "" if is_empty else f"{value}", told))
    bad = BadRows(int(np.count_nonzero(wrong)), tuple(first))
    if on_bad == "error":
        raise LogError(
            f"evaluate: {log.name}: {bad}\nof {len(log):,}. Leave them out with on_bad='skip' "
            "(--skip-bad-rows on the command line), or mend the log"
        )
    return ~wrong, log.bad + bad


def _times(log: Log) -> tuple[Floats, Floats, Unit | None]:
    """Return when decisions were made after the first, how long rewards took, and the unit."""
    decided, wait = log.predicted_at - log.predicted_at[0], log.observed_at - log.predicted_at
    if log.is_calendar:
        nothing = np.array("NaT", wait.dtype)
        wait = np.where(log.answered, wait, nothing)
        second = np.timedelta64(1, "s")
        return decided / second, wait / second, "s"
    wait = np.where(log.answered, wait.astype(np.float64), np.nan)
    return decided.astype(np.float64), wait, log.unit


def _columns_of(policy: str, columns: Iterable[str]) -> list[str]:
    """Return the columns of a policy: the one with its name, or all that begin with it."""
    names = list(columns)
    return [policy] if policy in names else [name for name in names if name.startswith(policy)]


def _split(
    log: Log, columns: Columns, policies: Sequence[str]
) -> tuple[dict[str, Array], dict[str, Array], tuple[str, ...]]:
    """Return the context, the columns that are neither it nor the decision, and what to know."""
    roles = {columns.action, columns.probability, columns.reward}
    others = {name: column for name, column in log.features.items() if name not in roles}
    theirs = {name for policy in policies for name in _columns_of(policy, others)}
    counts: list[str] = []
    if columns.context == "all":
        chosen = [name for name in others if name not in theirs]
        counts = [name for name in chosen if _counts_rows(others[name])]
        chosen = [name for name in chosen if name not in counts]
    else:
        chosen = list(dict.fromkeys(columns.context))
    for name in chosen:
        if name not in others:
            listed = ", ".join(map(repr, others)) or "none"
            raise LogError(f"evaluate: {log.name} has no column {name!r}; it has {listed}")
    context = {name: others[name] for name in chosen}
    notes = tuple(f"Left out of it: {name}, which only counts the rows." for name in counts)
    return context, {name: c for name, c in others.items() if name not in context}, notes


def _counts_rows(column: Array) -> bool:
    """Whether every row has the next whole number, up or down."""
    if column.dtype.kind != "f" or len(column) < LEAST_COUNTED:
        return False
    steps = np.diff(column)
    return bool(abs(steps[0]) == 1.0 and (steps == steps[0]).all())


def _is_dsjson(path: Path) -> bool:
    """Whether a file is in the form of Vowpal Wabbit, by its ending or its first line."""
    if ".dsjson" in path.suffixes:
        return True
    if not (set(path.suffixes[-2:]) & LINES and path.is_file()):
        return False
    try:
        first = json.loads(next(dsjson.lines(path), "{}"))
    except ValueError:
        return False
    return isinstance(first, dict) and dsjson.LABEL in first


# Columns of the context that reveal the reward, which was unknown at the decision.


def refuse(
    log: Log,
    context: Mapping[str, Array],
    reward: Floats,
    silence: float | None,
    columns: Columns,
) -> None:
    """Refuse what is the reward, its time or how long it took, in any unit, shifted or rounded."""
    there = [*map(log.kinds.column_of, context), *context]
    check_known("evaluate", columns.known, there, "is not in the context:")
    times = log.times
    hidden = Hidden(times.predicted_at, times.observed_at, log.answered, log.unit, reward)
    known = log.answered | (silence is not None)
    labels = np.where(np.isnan(reward), np.nan if silence is None else silence, reward)
    sources = {name: log.kinds.column_of(name) for name in context}
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
