"""A log in memory: when predictions were made, when the truth was known, and what else is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, Literal, get_args

import numpy as np

from belated.arrays import Array, Bools, Floats
from belated.errors import LogError, SpecError
from belated.logs.kinds import NO_KINDS, Kinds
from belated.timeline import Timeline
from belated.timeline.clock import Clock, gaps
from belated.timeline.times import Times, read_times

SHOWN = 5
"""How many bad rows a message shows."""
LONGEST = 60
"""Characters of a value that a message shows."""


@dataclass(frozen=True)
class BadRow:
    """One row that cannot be used."""

    place: str
    """Where it stands: ``line 7`` of a text file, or ``row 5``, counted from 0."""
    column: str
    value: str
    reason: str

    def __str__(self) -> str:
        """Return the row on one line.

        >>> print(BadRow("line 7", "asked_at", "yesterday", "is no time"))
        line 7: asked_at = 'yesterday' is no time
        """
        if not self.column:
            return f"{self.place}: {self.reason}"
        value = self.value if len(self.value) <= LONGEST else f"{self.value[:LONGEST]}..."
        shown = repr(value) if self.value else "(empty)"
        return f"{self.place}: {self.column} = {shown} {self.reason}"


@dataclass(frozen=True)
class BadRows:
    """The rows that were left out of a log: their number, and the first few of them.

    >>> bool(BadRows()), len(BadRows(2))
    (False, 2)
    """

    count: int = 0
    first: tuple[BadRow, ...] = ()

    def __len__(self) -> int:
        """Return the number of bad rows."""
        return self.count

    def __add__(self, other: BadRows) -> BadRows:
        """Return these and later ones."""
        return BadRows(self.count + other.count, (self.first + other.first)[:SHOWN])

    def __str__(self) -> str:
        """Return the count and the first rows, each on a line of its own."""
        lines = [f"{self.count:,} bad {'row' if self.count == 1 else 'rows'}"]
        lines += [f"  {row}" for row in self.first]
        if self.count > len(self.first):
            lines.append(f"  and {self.count - len(self.first):,} more")
        return "\n".join(lines)

    def error(self, who: str, name: str, total: int) -> LogError:
        """Return the refusal of a log with such rows."""
        return LogError(
            f"{who}: {name}: {self}\nof {total:,}. Leave them out with on_bad='skip' "
            "(--skip-bad-rows on the command line), or mend the log"
        )


NONE_BAD = BadRows()


Unit = Literal["ns", "us", "ms", "s", "min", "h", "d"]
"""The length of one unit of numeric times."""

SECONDS: Mapping[str, float] = MappingProxyType(
    {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
)


@dataclass(frozen=True, eq=False, repr=False)
class Log:
    """A table of predictions: one row each, with the two times, and optionally more.

    Times are ``datetime64[ns]`` in UTC, or numbers: float64, or int64 where whole numbers are too
    large for that. Arrays must not be changed.

    >>> log = Log(np.array([1.0, 2.0, 3.0]), np.array([9.0, 4.0, np.nan]))
    >>> log
    Log('log', 3 rows, 2 answered, numbers 1.0 to 3.0)
    >>> log.timeline.delay
    array([2, 1, 0])
    """

    predicted_at: Array
    """l_t: when each prediction was made."""
    observed_at: Array
    """r_t: when its truth was known; NaT or NaN (for int64 any number) where it never was."""
    answered: Bools = None  # type: ignore[assignment]  # filled in below
    """False where the truth never came."""
    target: Array | None = None
    """The truth: float64, or words as objects; NaN or None where it is not known."""
    weight: Floats | None = None
    features: Mapping[str, Array] = field(default_factory=dict)
    """The values at prediction time, by column: float64, or text as objects (None: missing)."""
    name: str = "log"
    about: str = ""
    """Where it comes from and what it may be used for."""
    unit: Unit | None = None
    """The unit of the times: "ns" for datetimes; None: numbers without a given unit."""
    bad: BadRows = NONE_BAD
    """Rows that were left out."""
    is_epoch: bool = False
    """Whether times are numbers that count ``unit`` since 1970."""
    kinds: Kinds = NO_KINDS
    """The kinds of the columns of the file, and why; nothing for a log that was made by hand."""
    notes: tuple[str, ...] = ()
    """The notices of the reader."""
    zone: str | None = None
    """The time zone of the users, where it was given; times are in UTC all the same."""
    waits: Floats | None = None
    """How long answers took, where times were moved apart to keep an order; None: as times say."""
    predicts: str | None = None
    """The meaning of the target, in words; None: not known."""

    def __post_init__(self) -> None:
        """Find out what was answered, and check that all columns have the same length."""
        if self.answered is None:
            object.__setattr__(self, "answered", ~gaps(self.observed_at))
        if self.unit is None and self.is_calendar:
            object.__setattr__(self, "unit", "ns")
        if self.unit is not None and self.unit not in get_args(Unit):
            known = ", ".join(get_args(Unit))
            raise SpecError(f"Log: unit must be one of {known}, got {self.unit!r}")
        named = {f"feature {name!r}": column for name, column in self.features.items()}
        for what, column in (self.arrays | named).items():
            if len(column) != len(self):
                raise SpecError(f"Log: {what} must have {len(self)} rows, got {len(column)}")

    @property
    def arrays(self) -> dict[str, Array]:
        """Every column there is but the features, by its name."""
        names = ("predicted_at", "observed_at", "answered", "target", "weight", "waits")
        columns = ((name, getattr(self, name)) for name in names)
        return {name: column for name, column in columns if column is not None}

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.predicted_at)

    @property
    def is_calendar(self) -> bool:
        """Whether times are dates and not numbers."""
        return self.predicted_at.dtype.kind == "M"

    @property
    def has_dates(self) -> bool:
        """Whether times are dates, also as counts since 1970."""
        return self.is_calendar or self.is_epoch

    @property
    def times(self) -> Times:
        """Both columns of times by one clock, as :meth:`Timeline.of` takes them."""
        clock = Clock(self.predicted_at.dtype)
        if self.observed_at.dtype != clock.dtype:
            masked = np.ma.MaskedArray(self.observed_at, mask=~self.answered)
            return read_times(self.predicted_at, masked, "Timeline:")
        starts, ends = clock.plain(self.predicted_at), clock.plain(self.observed_at)
        return Times(starts, ends, self.answered, clock, self.waits)

    @cached_property
    def timeline(self) -> Timeline:
        """The latency intervals of all rows; ``timeline.rows`` leads back to the rows."""
        return Timeline.of(self.times.checked("Timeline:"))

    def row(self, i: int) -> dict[str, float | str]:
        """Return the features of one row that are known, as a learner takes them.

        >>> times = np.arange(2.0)
        >>> Log(times, times, features={"size": np.array([1.5, np.nan])}).row(0)
        {'size': 1.5}
        """
        cells = ((name, column[i]) for name, column in self.features.items())
        return {
            name: cell if isinstance(cell, str) else float(cell)
            for name, cell in cells
            if cell is not None and cell == cell
        }

    def take(self, rows: Any) -> Log:
        """Return some rows: a slice, a mask or their numbers.

        >>> Log(np.arange(5.0), np.arange(5.0)).take(slice(0, 2))
        Log('log', 2 rows, 2 answered, numbers 0.0 to 1.0)
        """
        features = {name: column[rows] for name, column in self.features.items()}
        arrays: Any = {name: column[rows] for name, column in self.arrays.items()}
        return replace(self, features=features, **arrays)

    def __repr__(self) -> str:
        """Return what it is on one line."""
        rows = "1 row" if len(self) == 1 else f"{len(self):,} rows"
        parts = [rows, f"{np.count_nonzero(self.answered):,} answered"]
        if len(self):
            clock = "numbers" if self.unit is None else f"in {self.unit},"
            ends = np.array([self.predicted_at.min(), self.predicted_at.max()])
            if self.has_dates:
                clock = f"in {self.unit} since 1970, UTC" if self.is_epoch else "UTC"
                ends = as_dates(ends, self.unit) if self.is_epoch else ends
                ends = ends.astype("datetime64[m]")
            parts.append(f"{clock} {ends[0]} to {ends[1]}")
        if self.features:
            parts.append(f"features {', '.join(self.features)}")
        if self.bad:
            parts.append(f"{len(self.bad):,} bad rows left out")
        return f"Log({self.name!r}, {', '.join(parts)})"


def as_date(time: Any, unit: Unit | None) -> np.datetime64:
    """Return a count since 1970 as a date.

    >>> as_date(1.7e12, "ms")
    np.datetime64('2023-11-14T22:13:20.000000000')
    """
    date: np.datetime64 = as_dates(np.array([time]), unit)[0]
    return date


def as_dates(times: Array, unit: Unit | None) -> Array:
    """Return counts since 1970 as dates, whole ones exactly.

    >>> as_dates(np.array([1_700_000_000_123]), "ms")
    array(['2023-11-14T22:13:20.123000000'], dtype='datetime64[ns]')
    """
    scale = round(SECONDS[unit or "s"] * 1e9)
    whole = times.astype(np.int64)  # a float would not be exact
    rest = np.round((times - whole) * scale).astype(np.int64)
    return (whole * scale + rest).view("datetime64[ns]")


def joined(blocks: Sequence[Log], bad: BadRows) -> Log:
    """Return consecutive blocks of one log as one."""
    first = blocks[0]
    if len(blocks) == 1:
        return replace(first, bad=bad)

    def columns(name: str) -> dict[str, Any]:
        parts = [getattr(block, name) for block in blocks]
        return {each: np.concatenate([part[each] for part in parts]) for each in parts[0]}

    return replace(first, features=columns("features"), bad=bad, **columns("arrays"))
