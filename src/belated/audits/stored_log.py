"""The log of a model as a table of predictions and their labels, for audits and replays."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import GeneratorType
from typing import Any, NamedTuple

import numpy as np

from belated.arrays import Array, Floats
from belated.errors import BelatedError, LogError, SnapshotError
from belated.keys import Key
from belated.logs import Kinds, Log
from belated.models.clock import AFTER_DATES, SINCE_1970
from belated.models.linear.settings import Settings
from belated.store import events as of
from belated.store.events import cells_in
from belated.store.lines import Logged, LogLines, Told
from belated.store.parquet import exported

NAME = "log of a store"
KEY = "key"
"""The name of the column of keys."""
MOST = 2_000
"""Names of features that a table has at most."""
_ASKING = ("predict", "choose")
_HEARD = ("observe", "revise", "add")
_TIMED = (*_ASKING, *_HEARD, "shown")
_NONE_AFTER = 1 << 63  # more than any ticket


class Word(NamedTuple):
    """The events of one prediction."""

    at: float
    """When, moved apart from other events of that time."""
    label: float
    weight: float
    wait: float
    """How long after the prediction, by the times as they were given."""


_NO_WORD = Word(math.nan, math.nan, 1.0, math.nan)


@dataclass
class Asked:
    """One prediction, and every word on it."""

    line: Logged
    at: float
    """When, moved apart from other events of that time."""
    given: float
    """When, as it was given."""
    words: list[Word] = field(default_factory=list)
    is_cancelled: bool = False
    is_hidden: bool = False

    def hear(self, line: Logged, at: float, given: float, silence: float) -> None:
        """Take a word; an amount is added to the label so far."""
        value = math.nan if line.value is None else line.value
        if line.verb == "add":
            value += self.words[-1].label if self.words else silence
        weight = 1.0 if line.weight is None else line.weight
        self.words.append(Word(max(at, self.at), value, weight, max(given - self.given, 0.0)))

    def last(self, span: float) -> Word:
        """Return the last word within a span; one that came later only where there is no other."""
        within = [word for word in self.words if word.wait <= span]
        return (within or self.words or [_NO_WORD])[-1]


class StoredLog:
    """Predictions and labels of a stored log, with the times that events were given.

    Where events were given none, they are as old as their commits.
    """

    def __init__(
        self,
        name: str,
        lines: Iterable[Logged],
        kind: str | None,
        settings: Told | None,
        earlier: Sequence[Told] = (),
        silence: float | None = None,
    ) -> None:
        self.name, self.kind, self.settings = name, kind, settings
        self._silence = silence if settings is None else settings.silence
        self._notes: list[str] = []
        self._is_by_commits = False
        given = list(lines)
        self._has_times = _has_times(given, earlier)
        times = self._times(given)
        self.is_epoch = bool(times.size) and times.min() >= SINCE_1970 and times.max() < AFTER_DATES
        """Whether times are seconds since 1970; else they are numbers of the user's own."""
        self.asked = self._gathered(given, _apart(given, times).tolist(), times.tolist())
        if not self.asked:
            raise LogError(f"logs: {name} is the log of a model that was never asked for anything")

    # --- Reading --------------------------------------------------------------------------------

    def _times(self, lines: Sequence[Logged]) -> Floats:
        """Return when everything was done, by the clock that most is known by."""
        told = [line.at for line in lines if line.verb in _TIMED]
        known = [at for at in told if at is not None]
        are_dates = all(SINCE_1970 <= at < AFTER_DATES for at in known)
        self.latest = max((line.at for line in lines if line.at is not None), default=-math.inf)
        """The latest time by this clock."""
        if len(known) == len(told) or (known and are_dates):
            times = [line.written if line.at is None else line.at for line in lines]
            return np.array(times, dtype=np.float64)
        have = f"only {len(known):,} of {len(told):,} were" if known else "none was"
        self._notes.append(f"events are as old as their commits, as {have} given a time")
        self._is_by_commits = True
        written = np.array([line.written for line in lines], dtype=np.float64)
        self.latest = float(written.max())
        return np.maximum.accumulate(written)  # a clock may have been put back

    def _gathered(
        self, lines: Iterable[Logged], apart: Iterable[float], times: Iterable[float]
    ) -> list[Asked]:
        found: dict[int | None, Asked] = {}
        counts: Counter[str] = Counter()
        for line, at, given in zip(lines, apart, times, strict=True):
            if line.verb in _ASKING:
                found[line.ticket] = Asked(line, at, given, is_hidden=line.hidden)
                continue
            asked = found.get(line.ticket)
            if asked is None:
                counts["unknown"] += line.verb in _HEARD
            elif line.verb in _HEARD:
                counts["early"] += at < asked.at
                asked.hear(line, at, given, self._silence or 0.0)
            elif line.verb == "cancel":
                asked.is_cancelled = True
            elif line.verb == "shown":
                asked.at, asked.given, asked.is_hidden = at, given, False
        shown = [asked for asked in found.values() if not asked.is_hidden]
        counts["hidden"] = len(found) - len(shown)
        counts["changed"] = sum(len(asked.words) > 1 for asked in shown)
        counts["cancelled"] = sum(asked.is_cancelled and not asked.words for asked in shown)
        self._notes += [words.format(counts[what]) for what, words in _NOTES if counts[what]]
        return shown

    # --- Tables ---------------------------------------------------------------------------------

    @property
    def has_silence(self) -> bool:
        """Whether no answer means something to the model."""
        return self.settings is not None and self.settings.silence is not None

    @property
    def deadline(self) -> float | None:
        """How long the model waits, where no answer means something and time is what it counts."""
        told = self.settings
        if told is None or told.silence is None or told.deadline is None:
            return None
        is_time = told.needs_times or (self._has_times and not self._is_by_commits)
        return told.deadline if is_time and math.isfinite(told.deadline) else None

    @property
    def left_out(self) -> str:
        """Return a note on a deadline of the model that does not count, or an empty text."""
        told = self.settings
        if told is None or told.deadline is None or not math.isfinite(told.deadline):
            return ""
        if told.silence is None:
            return "the deadline of the model is left out, as no answer means nothing to it"
        if self.deadline is not None:
            return ""
        what = "of the clock that it was given" if self._has_times else "predictions"
        return (
            f"the deadline of the model, {told.deadline:g} {what}, is left out: give one in time "
            "(--deadline)"
        )

    @property
    def told_deadline(self) -> str | float | None:
        """The same as audits and replays take it: with its unit where times are dates."""
        span = self.deadline
        return f"{span!r}s" if span is not None and self.is_epoch else span

    def refuse(self, who: str, given: Mapping[str, Any]) -> None:
        """Refuse columns, and how to read them, where there are none."""
        if names := [name for name, value in given.items() if value]:
            raise LogError(
                f"{who}: {self.name} is the log of a store, which has its times, labels and "
                f"features; leave out {', '.join(names)}"
            )

    def log(self, span: float = math.inf) -> Log:
        """Return times and labels: the last word on each, or the last within a span."""
        with _reading(self.name):
            last = [asked.last(span) for asked in self.asked]
            heard, labels, weights, waits = np.array(last, dtype=np.float64).reshape(-1, 4).T
        has_labels = bool(np.isfinite(labels).any())
        return Log(
            np.array([asked.at for asked in self.asked], dtype=np.float64),
            np.ascontiguousarray(heard),
            target=np.ascontiguousarray(labels) if has_labels else None,
            weight=np.ascontiguousarray(weights) if (weights != 1.0).any() else None,
            name=self.name,
            unit="s" if self.is_epoch else None,
            is_epoch=self.is_epoch,
            notes=tuple(self._notes),
            waits=np.ascontiguousarray(waits),
        )

    def keys(self) -> Array:
        """Return the key of every row as text; None where it has none."""
        keys: list[Key | None] = [asked.line.key for asked in self.asked]
        return np.array([None if key is None else str(key) for key in keys], dtype=object)

    def features(self, wanted: Iterable[str] | None = None) -> dict[str, Array]:
        """Return the features as columns, all or some of them."""
        kinds = self.settings.columns if isinstance(self.settings, Settings) else None
        with _reading(self.name):
            rows = [_named(asked.line.features, kinds, self.name) for asked in self.asked]
        names = dict.fromkeys(name for row in rows for name in row)
        if wanted is not None:
            asked = set(wanted)
            asked |= {name.removesuffix(_TEXT) for name in asked}
            names = {name: None for name in names if name in asked}
        if len(names) > MOST:
            raise LogError(
                f"logs: {self.name} has features of {len(names):,} names, and a table takes "
                f"{MOST:,}; say which ones are to count (--features)"
            )
        columns: dict[str, Array] = {}
        for name in names:
            columns |= _column(name, [row.get(name) for row in rows])
        return columns


_TEXT = " (text)"
_NOTES = (
    ("unknown", "{:,} answers are to predictions that were compacted away, and are left out"),
    ("early", "{:,} answers have a time before that of their prediction, and count as at once"),
    ("hidden", "{:,} choices were never shown, and are left out"),
    ("changed", "of {:,} labels that were revised or added to, the last word counts"),
    ("cancelled", "{:,} tickets were cancelled, and count as never answered"),
)


def stored_log(data: Any) -> StoredLog | None:
    """Return the log of a store, or of its export; None: this is something else."""
    if isinstance(data, str | Path):
        found = exported(data)
        return None if found is None else _told(str(data), found)
    if isinstance(data, LogLines):  # as ``Store.log`` gives them
        return _told(NAME, data)
    if isinstance(data, GeneratorType):
        data = list(data)
        if not all(isinstance(line, Logged) for line in data):
            raise LogError("logs: a generator is read where it gives the log of a store")
    elif not (isinstance(data, list) and data and isinstance(data[0], Logged)):
        return None
    return StoredLog(NAME, data, None, None)


def _told(name: str, lines: LogLines) -> StoredLog:
    """Return a log whose model is known."""
    settings: Told | None = None
    earlier: list[Told] = []
    why = ""
    try:
        settings, earlier = lines.settings(), lines.earlier()
    except SnapshotError as error:
        why = f"the settings of the model cannot be read, and are left out ({error})"
    with _reading(name):
        log = StoredLog(name, lines, lines.kind, settings, earlier)
    log._notes += [why] if why else []
    return log


@contextmanager
def _reading(name: str) -> Iterator[None]:
    """Say in words what a hostile file makes of what reads it."""
    try:
        yield
    except (ArithmeticError, LookupError, RecursionError, TypeError, ValueError) as error:
        if isinstance(error, BelatedError):
            raise
        raise LogError(f"logs: {name} is no log that a store has exported ({error})") from error


def _has_times(lines: Iterable[Logged], earlier: Sequence[Told]) -> bool:
    """Tell whether a deadline that is a number alone is in the unit of the times of a log.

    If the first prediction has no time, no later event has one, and the model counts predictions.
    One that ``Store.rebuild`` has made asks the log: times that a length of time called for are
    those of the store, and say nothing to it.
    """
    given = (line.at for line in lines if line.verb in (*_ASKING, "shown", "tick"))
    if earlier:
        return next(given, None) is not None and not any(told.needs_times for told in earlier)
    return any(at is not None for at in given)


def _apart(lines: Sequence[Logged], times: Floats) -> Floats:
    """Return times by which events at one time keep the order in which they were written.

    Of events at one time, answers count as the first, in the order of their tickets. So one that
    was written after a prediction, or after the answer of a later ticket, is as little later as a
    number can be.
    """
    found, now, newest = times.copy(), -math.inf, -1
    for place in np.argsort(times, kind="stable").tolist():
        at, line = float(times[place]), lines[place]
        if at > now:
            now, newest = at, -1
        if line.verb in _ASKING:
            newest = _NONE_AFTER
        elif line.verb in _HEARD and line.ticket is not None:
            if line.ticket <= newest:
                now = math.nextafter(now, math.inf)
            newest = line.ticket
        found[place] = now
    return found


def _named(row: Any, kinds: Kinds | None, who: str) -> Mapping[str, float | str]:
    """Return a row as named features: those that a model made of it, or x0, x1, ... of a vector."""
    if row is None:
        return {}
    if isinstance(row, Mapping):
        if kinds is not None:
            return kinds.row(cells_in(row))
        if any(isinstance(cell, dict) for cell in row.values()):
            raise LogError(
                f"logs: {who} has cells as a file had them, and what they become is known to the "
                "model; export it (Store.export) and give the file"
            )
        return {
            name: cell if isinstance(cell, str) else float(cell)
            for name, cell in row.items()
            if cell is not None
        }
    if isinstance(row, list):
        indices, values = of.decode_ints(row[0]).tolist(), of.decode_floats(row[1]).tolist()
    else:
        values = of.decode_floats(row).tolist()
        indices = range(len(values))
    found: dict[str, float | str] = {}
    for index, value in zip(indices, values, strict=True):
        found[f"x{index}"] = float(found.get(f"x{index}", 0.0)) + value
    return found


def _column(name: str, cells: list[float | str | None]) -> dict[str, Array]:
    """Return the column of a feature; two where it is a number here and a text there."""
    found: dict[str, Array] = {}
    words = [cell if isinstance(cell, str) else None for cell in cells]
    if any(cell is not None and word is None for cell, word in zip(cells, words, strict=True)):
        numbers = [math.nan if cell is None or isinstance(cell, str) else cell for cell in cells]
        found[name] = np.array(numbers, dtype=np.float64)
    if any(word is not None for word in words):
        found[name + _TEXT if found else name] = np.array(words, dtype=object)
    return found
