"""From any source to a :class:`Log`: whole, or block by block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from belated.arrays import Array, Bools, Floats
from belated.errors import LogError
from belated.logs.bad import NONE_BAD, SHOWN, BadRow, BadRows
from belated.logs.columns import WORDS, Columns, choose
from belated.logs.log import Log, Unit, joined
from belated.logs.sources import Source, source_of
from belated.logs.values import Cells, Kind, kind_of, read_moments, read_numbers, read_text
from belated.logs.zones import zone_named
from belated.timeline.times import Times, early

OnBad = Literal["error", "skip"]
"""What to do with rows that cannot be used: refuse the log, or leave them out."""


def read(
    data: Any,
    predicted: str | None = None,
    observed: str | None = None,
    *,
    target: str | None = None,
    weight: str | None = None,
    features: Sequence[str] | Literal["all"] = (),
    tz: str | None = None,
    unit: Unit | None = None,
    on_bad: OnBad = "error",
) -> Log:
    """Read a log into memory.

    ``data`` is a path (CSV, also compressed; Parquet; Arrow), an Arrow table or stream, a pandas or
    polars DataFrame, or a dict of columns. The names of the columns of times are guessed when they
    are not given and the types and names leave no doubt.

    Times are numbers, dates, datetimes or ISO 8601 text, with any time zones, also mixed: all
    become nanoseconds of UTC. ``tz`` is the zone of those that name none, by default UTC. There,
    a wall time that occurs twice is the first one, except that an answer which would then precede
    its question is the second; a wall time that does not exist is that of a clock not yet put
    forward. Never answered is an empty cell, null, NaN, NaT, infinity, or a usual word for them.
    ``unit`` says what one unit of numbers is.

    Bad rows are an error, which counts them and shows the first; ``on_bad="skip"`` leaves them out
    and puts what the error would have said into ``Log.bad``. Needs ``belated[logs]``.

    >>> log = read(
    ...     {
    ...         "asked_at": ["2024-05-01T12:00+02:00", "2024-05-01T12:00Z"],
    ...         "answered_at": ["2024-05-01T11:00Z", None],
    ...     }
    ... )
    >>> log
    Log('columns', 2 rows, 1 answered, UTC 2024-05-01T10:00 to 2024-05-01T12:00)
    """
    found = scan(
        data,
        predicted,
        observed,
        target=target,
        weight=weight,
        features=features,
        tz=tz,
        unit=unit,
        on_bad=on_bad,
    )
    blocks = list(found)
    if not blocks:
        raise LogError(f"logs: {found.name} has no rows that can be used\n{found.bad}")
    return joined(blocks, found.bad)


def scan(
    data: Any,
    predicted: str | None = None,
    observed: str | None = None,
    *,
    target: str | None = None,
    weight: str | None = None,
    features: Sequence[str] | Literal["all"] = (),
    tz: str | None = None,
    unit: Unit | None = None,
    on_bad: OnBad = "error",
) -> Scan:
    """Open a log that may be larger than memory; the arguments are those of :func:`read`.

    What kind of times and features the columns hold is decided by the first rows.

    >>> blocks = scan({"asked_at": [1, 2, 3], "answered_at": [9, 4, None]})
    >>> [block.answered.tolist() for block in blocks]
    [[True, True, False]]
    """
    if on_bad not in ("error", "skip"):
        raise LogError(f"logs: on_bad is 'error' or 'skip', got {on_bad!r}")
    if tz is not None:
        zone_named(tz)
    source = source_of(data)
    sample = source.peek()
    columns = choose(sample, source.name, predicted, observed, target, weight, features)
    kinds = {name: kind_of(sample.column(name)) for name in columns.features}
    numeric = frozenset(name for name, kind in kinds.items() if kind in ("whole", "number"))
    kind = _kind_of_times(sample, source.name, columns)
    return Scan(source, columns, kind, numeric, tz, unit, on_bad)


def _kind_of_times(sample: Any, name: str, columns: Columns) -> Kind:
    """Return the kind of times that holds both columns."""
    first, second = (kind_of(sample.column(at)) for at in (columns.predicted, columns.observed))
    if first is None:
        shown = [cell for cell in sample.column(columns.predicted).to_pylist() if cell is not None]
        raise LogError(
            f"logs: column {columns.predicted!r} of {name} holds no times that can be read; it "
            f"begins with {', '.join(map(repr, shown[:3])) or 'empty cells'}"
        )
    known = {first, second or first}
    if "calendar" in known and len(known) == 2:
        raise LogError(
            f"logs: {columns.predicted!r} holds {WORDS[first]} and {columns.observed!r} holds "
            f"{WORDS[second or first]}; both must be the same"
        )
    return "whole" if "whole" in known else first


@dataclass(eq=False)
class Scan:
    """A log that is read block by block, each a :class:`Log`; every loop reads it anew."""

    source: Source
    columns: Columns
    kind: Kind
    """What the times are."""
    numeric: frozenset[str]
    tz: str | None = None
    unit: Unit | None = None
    on_bad: OnBad = "error"
    bad: BadRows = field(default=NONE_BAD, init=False)
    """Bad rows that the last loop has met."""

    @property
    def name(self) -> str:
        """What messages call it."""
        return self.source.name

    @property
    def is_calendar(self) -> bool:
        """Whether times are dates and not numbers."""
        return self.kind == "calendar"

    def times(self) -> Iterator[Times]:
        """Yield the times of each block, as :meth:`Timeline.chunks` takes them."""
        return (block.times for block in self)

    def __iter__(self) -> Iterator[Log]:
        """Yield the rows; with bad rows among them, the error comes when all were counted."""
        self.bad = NONE_BAD
        start = 0
        for batch in self.source.batches(self.columns.all):
            if not batch.num_rows:
                continue
            block, bad = self._block(batch, start)
            self.bad += bad
            start += batch.num_rows
            if len(block) and (self.on_bad == "skip" or not self.bad):
                yield block
        self.bad += self._lost()
        if self.bad and self.on_bad == "error":
            raise LogError(self._complaint(start))

    def _block(self, batch: Any, start: int) -> tuple[Log, BadRows]:
        """Read a batch, and leave out its bad rows."""
        cells = {name: self._cells(batch, name) for name in self.columns.all}
        predicted, observed = cells[self.columns.predicted], cells[self.columns.observed]
        observed = self._later_reading(batch, predicted, observed)
        cells[self.columns.observed] = observed
        before = _before(predicted, observed)
        faults = {name: column.bad for name, column in cells.items()}
        faults[self.columns.predicted] = predicted.bad | predicted.missing
        faults[self.columns.observed] = observed.bad | before
        if self.columns.weight is not None:
            weight = cells[self.columns.weight]
            faults[self.columns.weight] = weight.bad | weight.missing | (weight.values < 0.0)
        wrong = np.logical_or.reduce(list(faults.values()))
        log = self._log(cells)
        if not wrong.any():
            return log, NONE_BAD
        first = np.flatnonzero(wrong)[:SHOWN]
        shown = tuple(self._bad_row(cells, faults, int(row), start, before) for row in first)
        return log.take(~wrong), BadRows(int(np.count_nonzero(wrong)), shown)

    def _cells(self, batch: Any, name: str) -> Cells:
        column = batch.column(name)
        if name in (self.columns.predicted, self.columns.observed):
            return read_moments(column, self.kind, self.tz)
        if name in (self.columns.target, self.columns.weight) or name in self.numeric:
            return read_numbers(column)
        return read_text(column)

    def _later_reading(self, batch: Any, predicted: Cells, observed: Cells) -> Cells:
        """Take an answer at a wall time that occurs twice as the second, if it must be."""
        if not self.is_calendar or self.tz is None:
            return observed
        before = _before(predicted, observed)
        if not before.any():
            return observed
        later = read_moments(batch.column(self.columns.observed), self.kind, self.tz, late=True)
        return replace(observed, values=np.where(before, later.values, observed.values))

    def _log(self, cells: dict[str, Cells]) -> Log:
        predicted, observed = cells[self.columns.predicted], cells[self.columns.observed]
        features = {}
        for name in self.columns.features:
            column = cells[name]
            features[name] = _gapped(column) if name in self.numeric else column.values
        target, weight = self.columns.target, self.columns.weight
        return Log(
            predicted_at=self._as_given(predicted),
            observed_at=self._as_given(observed),
            answered=~observed.missing,
            target=None if target is None else _gapped(cells[target]),
            weight=None if weight is None else _gapped(cells[weight]),
            features=features,
            name=self.name,
            unit=None if self.is_calendar else self.unit,
        )

    def _as_given(self, cells: Cells) -> Array:
        """Return times as their owner would write them."""
        if self.is_calendar:
            times = cells.values.view("datetime64[ns]")
            if not cells.missing.any():
                return times
            return np.where(cells.missing, np.datetime64("NaT", "ns"), times)
        return _gapped(cells) if self.kind == "number" else cells.values

    def _bad_row(
        self,
        cells: dict[str, Cells],
        faults: dict[str, Bools],
        row: int,
        start: int,
        before: Bools,
    ) -> BadRow:
        """Say what is wrong with a row, by the first column that is."""
        name = next(name for name, wrong in faults.items() if wrong[row])
        column = cells[name]
        text = column.text(row)
        if name == self.columns.observed and before[row] and not column.bad[row]:
            asked = cells[self.columns.predicted].text(row)
            reason = f"is before {self.columns.predicted} = {asked!r}"
        elif column.missing[row]:
            reason = "must not be missing"
        elif name == self.columns.weight and not column.bad[row]:
            reason = "must not be negative"
        else:
            reason = column.reason(text)
        return BadRow(self._place(start + row), name, text, reason)

    def _place(self, row: int) -> str:
        """Say where a row that was read stands among all, those that were lost included."""
        before = 0
        for number, _ in self.source.lost:
            if number - before <= row:
                before += 1
        return self._at(row + before)

    def _at(self, row: int) -> str:
        line = self.source.first_line
        return f"row {row}" if line is None else f"line {row + line}"

    def _lost(self) -> BadRows:
        """Return the rows that never came because their number of cells is wrong."""
        lost = self.source.lost
        rows = tuple(BadRow(self._at(row), "", "", reason) for row, reason in lost[:SHOWN])
        return BadRows(len(lost), rows)

    def _complaint(self, rows: int) -> str:
        """Say what is wrong and what can be done."""
        total = rows + len(self.source.lost)
        text = f"logs: {self.name}: {self.bad}\nof {total:,}. Leave them out with on_bad='skip'"
        text += " (--skip-bad-rows on the command line), or mend the log"
        if sum("is before" in row.reason for row in self.bad.first) == len(self.bad.first):
            text += "; are predicted and observed swapped, or in different time zones?"
        return text


def _before(predicted: Cells, observed: Cells) -> Bools:
    """Return which answers precede their question."""
    known = ~(predicted.missing | predicted.bad | observed.missing | observed.bad)
    return early(predicted.values, observed.values, known)


def _gapped(cells: Cells) -> Floats:
    """Return numbers with NaN where there is none."""
    return np.where(cells.missing, np.nan, cells.values.astype(np.float64, copy=False))
