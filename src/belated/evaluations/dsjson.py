"""Decisions in the form of Vowpal Wabbit: one JSON object per line (dsjson).

    {"_label_cost": -1, "_label_probability": 0.8, "_label_Action": 2, "_labelIndex": 1,
     "o": [{"v": 1, "EnqueuedTimeUtc": "2024-05-01T12:03:00Z"}],
     "Timestamp": "2024-05-01T12:00:00Z", "EventId": "7", "a": [2, 1], "p": [0.8, 0.2],
     "c": {"user": {"country": "PT"}, "_multi": [{"a": {"blue": 1}}, {"a": {"green": 1}}]}}

A cost is a reward with the opposite sign. ``o`` lists the observations of a decision: where some
lines have one, those without were not answered. An action is called by its ``_tag``, by its one
feature, or else by all of its features.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from belated.errors import LogError
from belated.evaluations.decision_log import DecisionLog, can_be, coded, columns_of
from belated.files import StrPath
from belated.logs import BadRow, BadRows, OnBad
from belated.logs.log import SHOWN
from belated.logs.sources import arrow, reading

LABEL = "_label_cost"
ENDINGS = {".json", ".jsonl", ".ndjson"}
"""Other files with one JSON object per line, which may be in this form all the same."""
TIMES = ("EnqueuedTimeUtc", "Timestamp", "timestamp")
LATEST = 9.2e9
"""Seconds since 1970 that nanoseconds in 64 bits can count."""
WRONG = (
    *(ValueError, KeyError, IndexError, TypeError, AttributeError),
    *(OverflowError, RecursionError, StopIteration),
)
"""The errors that a line that is no decision can cause."""


class Event(NamedTuple):
    """One line; times are seconds since 1970."""

    action: str
    menu: tuple[str, ...]
    probability: float
    reward: float
    decided: float
    rewarded: float | None
    """None: the time of the reward is not known."""
    is_observed: bool
    context: Mapping[str, float | str]


def is_dsjson(path: Path) -> bool:
    """Tell whether a file is in this form, by its ending or its first line."""
    if ".dsjson" in path.suffixes:
        return True
    if not (set(path.suffixes[-2:]) & ENDINGS and path.is_file()):
        return False
    try:
        first = json.loads(next(_lines(path), "{}"))
    except ValueError:
        return False
    return isinstance(first, dict) and LABEL in first


def _lines(path: Path) -> Iterator[str]:
    """Yield the lines of a text file that are not empty, also of a compressed one."""
    pa = arrow()
    with reading(str(path)), pa.input_stream(str(path), compression="detect") as stream:
        rest = b""
        while block := stream.read(1 << 20):
            *whole, rest = (rest + block).split(b"\n")
            yield from (line.decode("utf-8") for line in whole if line.strip())
        if rest.strip():
            yield rest.decode("utf-8")


def read(path: StrPath, *, on_bad: OnBad = "error") -> DecisionLog:
    """Return the decisions in a file."""
    events, first, number = [], [], 0
    for number, line in enumerate(_lines(Path(path)), start=1):
        try:
            events.append(_event(json.loads(line)))
        except WRONG as error:
            reason = f"is no decision in dsjson: {type(error).__name__}: {error}"
            first.append(BadRow(f"line {number}", "", "", reason))
    bad = BadRows(len(first), tuple(first[:SHOWN]))
    if bad and on_bad == "error":
        raise bad.error("evaluate", str(path), number)
    if not events:
        raise LogError(f"evaluate: {path} has no decisions\n{bad}")
    decided = np.array([event.decided for event in events])
    order = np.argsort(decided, kind="stable")
    events = [events[i] for i in order]
    any_observed = any(event.is_observed for event in events)
    heard = np.array([event.is_observed or not any_observed for event in events])
    waits = [0.0 if e.rewarded is None else max(0.0, e.rewarded - e.decided) for e in events]
    start = decided[order[0]]
    return DecisionLog(
        name=str(path),
        **coded([event.action for event in events], [event.menu for event in events]),
        probability=np.array([event.probability for event in events]),
        reward=np.where(heard, [event.reward for event in events], np.nan),
        decided=decided[order] - start,
        wait=np.where(heard, waits, np.nan),
        context=columns_of([event.context for event in events]),
        rows=order,
        rows_read=len(order),
        unit="s",
        start=np.datetime64(round(start * 1e9), "ns"),
        bad=bad,
    )


def _event(line: dict[str, Any]) -> Event:
    given = line["c"]
    menu = tuple(map(_name, given["_multi"]))
    if len(set(menu)) < len(menu):
        raise ValueError("two actions are alike")
    probability = float(line.get("_label_probability", line["p"][0]))
    if not can_be(probability):
        raise ValueError(f"the probability is {probability}")
    place = int(line.get("_label_Action", line["a"][0]))
    if not 1 <= place <= len(menu):
        raise ValueError(f"action {place} is not one of {len(menu)}")
    reward = 0.0 - float(line[LABEL])  # no minus zero
    if not np.isfinite(reward):
        raise ValueError(f"the cost is {line[LABEL]}")
    news = line.get("o") or []
    seen = [each[name] for each in news if isinstance(each, dict) for name in TIMES if name in each]
    decided = _seconds(next(line[name] for name in TIMES if name in line))
    rewarded = max(map(_seconds, seen), default=None)
    context = dict(_leaves(given))
    return Event(menu[place - 1], menu, probability, reward, decided, rewarded, bool(news), context)


def _seconds(text: str) -> float:
    found = datetime.fromisoformat(text)
    seconds = (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    if abs(seconds) > LATEST:
        raise ValueError(f"{text} is too far from 1970")
    return seconds


def _name(action: Mapping[str, Any]) -> str:
    """Return the name of an action."""
    if isinstance(action.get("_tag"), str):
        return str(action["_tag"])
    leaves = list(_leaves(action))
    if len(leaves) == 1:
        name, value = leaves[0]
        return value if isinstance(value, str) else name.rpartition(".")[2]
    return json.dumps(action, sort_keys=True)


def _leaves(given: Any, name: str = "") -> Iterator[tuple[str, float | str]]:
    """Yield the features in nested objects, by names with points between."""
    if isinstance(given, dict | list):
        for key, value in given.items() if isinstance(given, dict) else enumerate(given):
            if not str(key).startswith("_"):
                yield from _leaves(value, f"{name}.{key}" if name else str(key))
    elif isinstance(given, str):
        yield name, given
    elif given is not None:
        yield name, float(given)
