"""Two columns of times from a file: CSV with what Python brings, Parquet with pyarrow."""

from __future__ import annotations

import csv
import gzip
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from belated.errors import MissingExtra
from belated.study.plan import StudyError
from belated.timeline import Timeline

_NEVER = {"", "nan", "nat", "none", "null", "na", "inf", "+inf", "infinity"}
_PARQUET = (".parquet", ".pq")


def read_timeline(path: Path, predicted: str, observed: str) -> Timeline:
    """Return the timeline of a log from its columns of prediction and observation times.

    Files that end in .parquet are Parquet, all others CSV, in gzip if they end in .gz. In CSV a
    time is a number or a date as in ISO 8601; an answer that never came is empty, or one of the
    usual words for a missing value.
    """
    try:
        if path.suffix.lower() in _PARQUET:
            columns = _parquet(path, predicted, observed)
        else:
            columns = _csv(path, predicted, observed)
    except OSError as error:
        raise StudyError(f"study: cannot read {path}: {error.strerror or error}") from error
    timeline = Timeline.from_intervals(*columns)
    if timeline.rounds < 2:
        raise StudyError(f"study: {path} has {timeline.rounds} rounds, which is too few to play")
    return timeline


def shortened(timeline: Timeline, rounds: int) -> Timeline:
    """Return the first rounds of a timeline, as one who stops after them would see it.

    >>> shortened(Timeline.from_delays([3, 0, 0, 0]), 2).delay
    array([1, 0])
    """
    if rounds >= timeline.rounds:
        return timeline
    early = timeline.order < rounds
    order, made = timeline.order[early], timeline.boundaries[1:][early]
    observed = timeline.observed[:rounds].copy()
    observed[order[made > rounds]] = False
    came = observed[order]
    never = np.flatnonzero(~observed)
    boundaries = np.concatenate([[0], made[came], np.full(len(never), rounds)])
    return Timeline(
        np.concatenate([order[came], never]), boundaries, observed, timeline.rows[:rounds].copy()
    )


def _parquet(path: Path, predicted: str, observed: str) -> tuple[Any, Any]:
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise MissingExtra("pyarrow", extra="logs", where="a log in Parquet") from error
    with open(path, "rb") as file:
        names = parquet.read_schema(file).names
        _check_columns(path, names, predicted, observed)
        table = parquet.read_table(file, columns=[predicted, observed])
    return table[predicted].to_pylist(), table[observed].to_pylist()


def _csv(path: Path, predicted: str, observed: str) -> tuple[list[Any], list[Any]]:
    opener: Any = gzip.open if path.suffix.lower() == ".gz" else open
    with opener(path, "rt", encoding="utf-8-sig", newline="") as text:
        reader = csv.reader(text)
        names = next(reader, [])
        _check_columns(path, names, predicted, observed)
        places = names.index(predicted), names.index(observed)
        columns: tuple[list[Any], list[Any]] = ([], [])
        for row in reader:
            for column, place in zip(columns, places, strict=True):
                cell = row[place] if place < len(row) else ""
                column.append(_time(cell, path, reader.line_num, names[place]))
    return columns


def _check_columns(path: Path, names: list[str], *wanted: str) -> None:
    for name in wanted:
        if name not in names:
            raise StudyError(
                f"study: {path} has no column {name!r}; it has {', '.join(map(repr, names))}"
            )


def _time(text: str, path: Path, line: int, column: str) -> int | float | datetime | None:
    """Read one time: a whole number, a number, a date, or None for never."""
    text = text.strip()
    if text.lower() in _NEVER:
        return None
    for read in (int, float, datetime.fromisoformat):
        try:
            return read(text)
        except ValueError:
            continue
    raise StudyError(
        f"study: line {line} of {path}: column {column!r} must hold numbers or dates like "
        f"2024-05-01T12:00, got {text!r}"
    )
