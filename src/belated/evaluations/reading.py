"""From any source to a :class:`DecisionLog`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from belated.arrays import Array, Bools, Floats, Ints
from belated.errors import LogError
from belated.evaluations import dsjson
from belated.evaluations.log import DecisionLog
from belated.logs import BadRow, BadRows, DateOrder, Log, OnBad, Unit, read
from belated.logs.bad import SHOWN

MOST_ACTIONS = 200
"""More actions than this are not evaluated: hardly any would have been tried often enough."""
LINES = {".json", ".jsonl", ".ndjson"}
"""Endings of files with one JSON object per line, which may be in that form all the same."""


class Columns(NamedTuple):
    """The names of the columns of a log of decisions; times may be guessed."""

    action: str = "action"
    probability: str = "probability"
    reward: str = "reward"
    decided: str | None = None
    rewarded: str | None = None
    context: Sequence[str] | Literal["all"] = "all"


def decisions_of(
    data: Any,
    columns: Columns,
    policies: Sequence[str] = (),
    *,
    silence: float | None = None,
    dates: DateOrder | None = None,
    tz: str | None = None,
    unit: Unit | None = None,
    on_bad: OnBad = "error",
) -> DecisionLog:
    """Return the decisions of a log.

    ``policies`` are names or prefixes of columns that belong to other policies, and so to no
    context.
    """
    if isinstance(data, DecisionLog):
        return data
    if isinstance(data, str | Path) and _is_dsjson(Path(data)):
        return dsjson.read(data, on_bad=on_bad)
    if isinstance(data, Log):
        log = data
    else:
        log = _read(data, columns, dates=dates, tz=tz, unit=unit, on_bad=on_bad)
    return _decisions(log, columns, policies, silence, on_bad)


def _read(data: Any, columns: Columns, **options: Any) -> Log:
    try:
        return read(
            data,
            columns.decided,
            columns.rewarded,
            target=columns.reward,
            features="all",
            kinds={columns.action: "text", columns.probability: "number"},
            **options,
        )
    except LogError as error:
        raise LogError(_in_our_words(str(error), columns)) from None


def _in_our_words(text: str, columns: Columns) -> str:
    """Return what is said of predictions and truths as it is said of decisions and rewards."""
    absent = re.fullmatch(r"logs: '(.*)' is told to be .* the features are (.*)", text)
    if absent is not None:
        is_action = absent[1] == columns.action
        role = "action" if is_action else "probability"
        meaning = "what was done" if is_action else "how likely that was"
        return _question(role, meaning, absent[1], absent[2])
    for theirs, ours in (
        ("predicted=... (when each prediction was made)", "decided=... (when each was made)"),
        ("observed=... (when its truth was known)", "rewarded=... (when its reward was known)"),
        ("--predicted and --observed", "--decided and --rewarded"),
        ("predicted and observed", "decided and rewarded"),
    ):
        text = text.replace(theirs, ours)
    return text


def _decisions(
    log: Log, columns: Columns, policies: Sequence[str], silence: float | None, on_bad: OnBad
) -> DecisionLog:
    if log.target is None:
        raise LogError(f"evaluate: {log.name} has no rewards; name their column (--reward)")
    names = _named(_column(log, columns.action, "action", "what was done"))
    probability = _column(log, columns.probability, "probability", "how likely that was")
    if probability.dtype.kind != "f":
        raise LogError(f"evaluate: column {columns.probability!r} of {log.name} holds no numbers")
    if log.target.dtype.kind != "f":
        raise LogError(f"evaluate: column {columns.reward!r} of {log.name} holds no numbers")
    reward = log.target
    if silence is not None:  # a silence that was written down is still none that was heard
        reward = np.where(~log.answered & (reward == silence), np.nan, reward)
    faults = {
        columns.action: (np.array([name is None for name in names]), "must not be missing"),
        columns.probability: (
            ~((probability > 0.0) & (probability <= 1.0)),
            "is no probability above 0, and at most 1, of what was done",
        ),
        columns.reward: (
            log.answered & ~np.isfinite(reward),
            "is no reward, though there is a time of one",
        ),
        "rewarded": (
            ~log.answered & ~np.isnan(reward),
            "has no time for its reward; give one, or silence= if that reward means none",
        ),
    }
    good, bad = _sound(log, faults, names, probability, reward, on_bad)
    order = np.flatnonzero(good)
    order = order[np.argsort(log.predicted_at[order], kind="stable")]
    if not order.size:
        raise LogError(f"evaluate: {log.name} has no rows that can be used\n{bad}")
    actions, action = _coded([names[i] for i in order.tolist()])
    decided, wait, unit = _times(log.take(order))
    context, more = _split(log.take(order), columns, policies)
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
        bad=bad,
    )


def _column(log: Log, name: str, role: str, meaning: str) -> Array:
    if name in log.features:
        return log.features[name]
    listed = ", ".join(map(repr, log.features)) or "none"
    raise LogError(_question(role, meaning, name, listed))


def _question(role: str, meaning: str, name: str, listed: str) -> str:
    return (
        f"evaluate: which column says {meaning}? Give {role}= (--{role}); there is no {name!r} "
        f"among {listed}"
    )


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


def check_count(actions: Sequence[str]) -> None:
    """Refuse logs with more actions than can be told apart."""
    if len(actions) > MOST_ACTIONS:
        raise LogError(
            f"evaluate: there are {len(actions):,} different actions, such as {actions[0]!r}, and "
            f"at most {MOST_ACTIONS} can be told apart; is this the column of actions? Otherwise "
            "put alike ones together"
        )


def _sound(
    log: Log,
    faults: Mapping[str, tuple[Bools, str]],
    names: Sequence[str | None],
    probability: Floats,
    reward: Floats,
    on_bad: OnBad,
) -> tuple[Bools, BadRows]:
    """Return which rows can be used, and what is wrong with the others."""
    wrong = np.logical_or.reduce([which for which, _ in faults.values()])
    if not wrong.any():
        return ~wrong, log.bad
    cells: dict[str, Any] = dict(zip(faults, (names, probability, reward, reward), strict=True))
    first = []
    for i in np.flatnonzero(wrong)[:SHOWN].tolist():
        column, (_, reason) = next((c, fault) for c, fault in faults.items() if fault[0][i])
        value = cells[column][i]
        shown = "" if value is None else f"{value}"
        first.append(BadRow(f"row {i}", column, shown, reason))
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
        nothing = np.timedelta64("NaT")
        wait = np.where(log.answered, wait, nothing)
        second = np.timedelta64(1, "s")
        return decided / second, wait / second, "s"
    wait = np.where(log.answered, wait.astype(np.float64), np.nan)
    return decided.astype(np.float64), wait, log.unit


def _split(
    log: Log, columns: Columns, policies: Sequence[str]
) -> tuple[dict[str, Array], dict[str, Array]]:
    """Return the columns of the context, and those that belong to neither it nor the decision."""
    roles = {columns.action, columns.probability, columns.reward}
    others = {name: column for name, column in log.features.items() if name not in roles}
    theirs = {name for name in others if name.startswith(tuple(policies))} if policies else set()
    if columns.context == "all":
        chosen = [name for name in others if name not in theirs]
    else:
        chosen = list(dict.fromkeys(columns.context))
    for name in chosen:
        if name not in others:
            listed = ", ".join(map(repr, others)) or "none"
            raise LogError(f"evaluate: {log.name} has no column {name!r}; it has {listed}")
    context = {name: others[name] for name in chosen}
    return context, {name: column for name, column in others.items() if name not in context}


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
