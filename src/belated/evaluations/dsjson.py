"""Decisions in the form of Vowpal Wabbit: one JSON object per line (dsjson).

    {"_label_cost": -1, "_label_probability": 0.8, "_label_Action": 2, "_labelIndex": 1,
     "o": [{"v": 1, "EnqueuedTimeUtc": "2024-05-01T12:03:00Z"}],
     "Timestamp": "2024-05-01T12:00:00Z", "EventId": "7", "a": [2, 1], "p": [0.8, 0.2],
     "c": {"user": {"country": "PT"}, "_multi": [{"a": {"blue": 1}}, {"a": {"green": 1}}]}}

A cost is a reward with the opposite sign. ``o`` lists what was heard of the decision: where some
lines have one, those without were not answered. An action is called by its ``_tag``, by its one
feature, or else by all of its features.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from belated.arrays import Array
from belated.errors import LogError
from belated.evaluations.log import DecisionLog, can_be, check_count
from belated.files import StrPath
from belated.logs import BadRow, BadRows, OnBad
from belated.logs.log import SHOWN
from belated.logs.sources import arrow, reading

LABEL = "_label_cost"
ACTIONS = "_multi"
_TIMES = ("EnqueuedTimeUtc", "Timestamp", "timestamp")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def lines(path: Path) -> Iterator[str]:
    """Yield the lines of a text file that are not empty, also of a compressed one."""
    pa = arrow("reading a log")
    with reading(str(path)), pa.input_stream(str(path), compression="detect") as stream:
        rest = b""
        while block := stream.read(1 << 20):
            *whole, rest = (rest + block).split(b"\n")
            yield from (line.decode("utf-8") for line in whole if line.strip())
        if rest.strip():
            yield rest.decode("utf-8")


@dataclass
class _Event:
    """One line."""

    action: str
    menu: tuple[str, ...]
    probability: float
    reward: float
    decided: float
    """Seconds since 1970."""
    rewarded: float | None
    """The same for the reward; None: its time is not known."""
    has_news: bool
    """Whether it says that something was heard."""
    context: dict[str, float | str] = field(default_factory=dict)


def read(path: StrPath, *, on_bad: OnBad = "error") -> DecisionLog:
    """Return the decisions in a file."""
    name = str(path)
    events, bad = _events(name, on_bad)
    if not events:
        raise LogError(f"evaluate: {name} has no decisions\n{bad}")
    order = np.argsort([event.decided for event in events], kind="stable")
    events = [events[i] for i in order]
    any_news = any(event.has_news for event in events)
    heard = [event.has_news or not any_news for event in events]
    actions = tuple(sorted({name for event in events for name in event.menu}))
    check_count(actions)
    places = {name: i for i, name in enumerate(actions)}
    offered = np.zeros((len(events), len(actions)), dtype=np.bool_)
    for i, event in enumerate(events):
        offered[i, [places[name] for name in event.menu]] = True
    first = events[0].decided
    return DecisionLog(
        name=name,
        actions=actions,
        action=np.array([places[event.action] for event in events], dtype=np.int64),
        probability=np.array([event.probability for event in events]),
        reward=np.array(
            [e.reward if is_ else np.nan for e, is_ in zip(events, heard, strict=True)]
        ),
        decided=np.array([event.decided - first for event in events]),
        wait=np.array([_wait(e) if is_ else np.nan for e, is_ in zip(events, heard, strict=True)]),
        context=table_of([event.context for event in events]),
        rows=order,
        whole=len(order),
        offered=None if offered.all() else offered,
        unit="s",
        start=np.datetime64(round(first * 1e9), "ns"),
        bad=bad,
    )


def _wait(event: _Event) -> float:
    return 0.0 if event.rewarded is None else max(0.0, event.rewarded - event.decided)


_WRONG = (
    *(ValueError, KeyError, IndexError, TypeError, AttributeError),
    *(OverflowError, RecursionError, StopIteration),
)
"""What a line that is no decision can end in."""
_LATEST = 9.2e9
"""Seconds since 1970 that nanoseconds in 64 bits can count."""


def _events(name: str, on_bad: OnBad) -> tuple[list[_Event], BadRows]:
    events: list[_Event] = []
    first: list[BadRow] = []
    wrong = 0
    for number, line in enumerate(lines(Path(name)), start=1):
        try:
            events.append(_event(json.loads(line)))
        except _WRONG as error:
            wrong += 1
            if len(first) < SHOWN:
                reason = f"is no decision in dsjson: {type(error).__name__}: {error}"
                first.append(BadRow(f"line {number}", "", "", reason))
    bad = BadRows(wrong, tuple(first))
    if bad and on_bad == "error":
        raise LogError(
            f"evaluate: {name}: {bad}\nof {number:,}. Leave them out with on_bad='skip' "
            "(--skip-bad-rows on the command line), or mend the log"
        )
    return events, bad


def _event(line: dict[str, Any]) -> _Event:
    given = line["c"]
    menu = tuple(map(_name, given[ACTIONS]))
    if len(set(menu)) < len(menu):
        raise ValueError("two actions are alike")
    probability = float(line.get("_label_probability", line["p"][0]))
    if not can_be(probability):
        raise ValueError(f"the probability is {probability}")
    place = int(line.get("_label_Action", line["a"][0]))
    if not 1 <= place <= len(menu):
        raise ValueError(f"action {place} is not one of {len(menu)}")
    reward = -float(line[LABEL])
    if not np.isfinite(reward):
        raise ValueError(f"the cost is {line[LABEL]}")
    news = line.get("o") or []
    return _Event(
        action=menu[place - 1],
        menu=menu,
        probability=probability,
        reward=reward + 0.0,  # no minus zero
        decided=_seconds(next(line[name] for name in _TIMES if name in line)),
        rewarded=max(_known(news), default=None),
        has_news=bool(news),
        context=dict(_leaves(given)),
    )


def _known(news: Sequence[Any]) -> list[float]:
    """Return the times at which something was heard."""
    return [
        _seconds(each[name])
        for each in news
        if isinstance(each, dict)
        for name in _TIMES
        if name in each
    ]


def _seconds(text: str) -> float:
    found = datetime.fromisoformat(text)
    found = found if found.tzinfo else found.replace(tzinfo=UTC)
    seconds = (found - _EPOCH).total_seconds()
    if abs(seconds) > _LATEST:
        raise ValueError(f"{text} is too far from 1970")
    return seconds


def _name(action: Mapping[str, Any]) -> str:
    """Return what an action is called."""
    if isinstance(action.get("_tag"), str):
        return str(action["_tag"])
    leaves = list(_leaves(action))
    if len(leaves) == 1:
        name, value = leaves[0]
        return value if isinstance(value, str) else name.rpartition(".")[2]
    return json.dumps(action, sort_keys=True)


def _leaves(given: Any, name: str = "") -> Iterator[tuple[str, float | str]]:
    """Yield the features in nested objects, by names with points between."""
    if isinstance(given, dict):
        for key, value in given.items():
            if not key.startswith("_"):
                yield from _leaves(value, f"{name}.{key}" if name else key)
    elif isinstance(given, list):
        for i, value in enumerate(given):
            yield from _leaves(value, f"{name}.{i}")
    elif isinstance(given, str):
        yield name, given
    elif given is not None:
        yield name, float(given)


def table_of(rows: Sequence[Mapping[str, float | str]]) -> dict[str, Array]:
    """Return features as columns; one with any text is text."""
    names = dict.fromkeys(name for row in rows for name in row)
    columns: dict[str, Array] = {}
    for name in names:
        cells = [row.get(name) for row in rows]
        if any(isinstance(cell, str) for cell in cells):
            words = [cell if isinstance(cell, str | None) else f"{cell:g}" for cell in cells]
            columns[name] = np.array(words, dtype=object)
        else:
            columns[name] = np.array([np.nan if cell is None else cell for cell in cells])
    return columns
