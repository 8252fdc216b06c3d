"""From any source to a :class:`Log`: whole, or block by block."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from belated.arrays import Array
from belated.errors import LogError
from belated.logs.cells import (
    Cells,
    decoded,
    features_of,
    is_text,
    read_kind,
    read_moments,
    read_numbers,
    with_gaps,
    without_words,
)
from belated.logs.columns import USUAL, Clocks, Columns, Roles, choose, clocks_of, marks_in
from belated.logs.dates import zone_named
from belated.logs.kinds import DIGITS, NOTHING, Kind, Kinds, Told
from belated.logs.log import NONE_BAD, SHOWN, BadRow, BadRows, Log, Unit, joined
from belated.logs.rules import EMPTY, SLASHED, DateOrder, decide, kind_of_column
from belated.logs.sources import Source, arrow, source_of
from belated.timeline.times import Times, early

OnBad = Literal["error", "skip"]
"""The treatment of rows that cannot be used: refuse the log, or leave them out."""
MISSING = "must not be missing"
NOTHING_TOLD: Mapping[str, Told] = MappingProxyType({})


def read(
    data: Any,
    predicted: str | None = None,
    observed: str | None = None,
    *,
    target: str | None = None,
    weight: str | None = None,
    features: Sequence[str] | Literal["all"] = (),
    kinds: Mapping[str, Told] = NOTHING_TOLD,
    dates: DateOrder | None = None,
    tz: str | None = None,
    unit: Unit | None = None,
    encoding: str | None = None,
    missing: Sequence[str] = (),
    on_bad: OnBad = "error",
    roles: Roles = USUAL,
) -> Log:
    """Read a log into memory.

    ``data`` is a path (CSV, also compressed; Parquet; Arrow), an Arrow table or stream, a pandas or
    polars DataFrame, or a dict of columns. The names of the columns of times are guessed when they
    are not given and the types and names leave no doubt.

    Times are numbers, dates, datetimes or text, in ISO 8601 with any time zones, also mixed, or in
    one other usual form: all become nanoseconds of UTC. ``dates`` says what 5/6/2024 begins with,
    where the rows do not, and ``tz`` is the zone of times that name none, by default UTC: see
    docs/logs.md for the nights when clocks change. Never answered is an empty cell, null, NaN,
    infinity, or a usual word for them; ``missing`` are further words, numbers or dates that mean
    nothing, in every column. ``unit`` says what one unit of numbers is, and ``encoding`` how text
    files are encoded, where that is not recognised (UTF-8, UTF-16 and Windows-1252 are).

    What each feature becomes, and why, is in ``Log.kinds``; ``kinds`` overrules it: it says of
    columns that they are a "number", "text" or "time", or that it is to "ignore" them.

    Bad rows are an error, which counts them and shows the first; ``on_bad="skip"`` leaves them out
    and puts what the error would have said into ``Log.bad``. ``roles`` is what a caller calls the
    columns of times, for messages that ask for them. Needs ``belated[logs]``.

    >>> log = read(
    ...     {
    ...         "asked_at": ["2024-05-01T12:00+02:00", "2024-05-01T12:00Z"],
    ...         "answered_at": ["2024-05-01T11:00Z", None],
    ...     }
    ... )
    >>> log
    Log('columns', 2 rows, 1 answered, UTC 2024-05-01T10:00 to 2024-05-01T12:00)
    """
    options = locals()  # which are those of scan
    return scan(**options).read()


def scan(
    data: Any,
    predicted: str | None = None,
    observed: str | None = None,
    *,
    target: str | None = None,
    weight: str | None = None,
    features: Sequence[str] | Literal["all"] = (),
    kinds: Mapping[str, Told] = NOTHING_TOLD,
    dates: DateOrder | None = None,
    tz: str | None = None,
    unit: Unit | None = None,
    encoding: str | None = None,
    missing: Sequence[str] = (),
    on_bad: OnBad = "error",
    roles: Roles = USUAL,
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
    source = source_of(data, encoding)
    words = tuple(dict.fromkeys(word.strip().lower() for word in missing))
    sample = source.peek()
    nothing = dict.fromkeys(sample.schema.names, words)
    sample = without_words(sample, nothing)
    columns = choose(sample, source.name, predicted, observed, target, weight, features, roles)
    marks = marks_in(sample, columns)
    nothing[columns.observed] += tuple(w for mark in marks for w in (f"{mark:g}", f"{mark:.1f}"))
    sample = without_words(sample, nothing)
    found = decide(sample, dict.fromkeys(columns.features, features != "all"), kinds, tz, dates)
    found = Kinds(tuple(replace(kind, missing=words) for kind in found))
    clocks = clocks_of(sample, source.name, columns, unit, dates)
    _refuse_unused(clocks, found, tz, unit, dates)
    said = [(columns.observed, f"{mark:g}", count) for mark, count in marks.items()]
    truth = None
    # A target that is the time of the answer says only whether one came, as ``answered`` does.
    if target is not None and target != columns.observed:
        truth = _kind_of_target(sample, target, tz, dates)
        if truth.what == "text" and is_text(decoded(sample.column(target))):
            more, counts = _marks_of(sample.column(target))
            nothing[target] += more
            said += [(target, repr(cell), count) for cell, count in counts.items()]
    of = f"of the first {sample.num_rows:,} rows is taken as no answer"
    notes = (*_repeated(sample), *(f"{name} = {cell} in {n:,} {of}" for name, cell, n in said))
    return Scan(source, columns, clocks, found, truth, tz, on_bad, notes, nothing)


def _marks_of(column: Any) -> tuple[tuple[str, ...], Counter[str]]:
    """Return the words that mean no answer in a target of words, and how often each is there.

    ``none`` is a word where only one other is there, as a yes or no has two.
    """
    cells = Counter(cell.strip() for cell in decoded(column).drop_null().to_pylist())
    others = {cell for cell in cells if cell.lower() not in NOTHING}
    marks = tuple(mark for mark in NOTHING if mark != "none" or len(others) != 1)
    return marks, Counter({cell: n for cell, n in cells.items() if cell and cell.lower() in marks})


def _refuse_unused(
    clocks: Clocks, kinds: Kinds, tz: str | None, unit: Unit | None, order: DateOrder | None
) -> None:
    """Refuse arguments about times that have no effect on this log."""
    is_calendar = clocks.kind == "calendar"
    if unit is not None and is_calendar:
        raise LogError("logs: unit (--unit) is for times that are numbers; here they are dates")
    if tz is not None and not (is_calendar or any(kind.what == "time" for kind in kinds)):
        raise LogError("logs: tz (--tz) is for dates; here times are numbers")
    forms = {clocks.predicted, clocks.observed, *(kind.form for kind in kinds)}
    if order is not None and not forms & set(SLASHED):
        raise LogError("logs: dates (--dates) is for dates like 5/6/2024; here there are none")


def _repeated(sample: Any) -> tuple[str, ...]:
    """Say how many of the first rows come twice, to the last of at least three cells."""
    pa = arrow()
    table = pa.Table.from_batches([sample])
    if table.num_columns < 3 or any(map(pa.types.is_nested, table.schema.types)):
        return ()
    again = table.num_rows - table.group_by(table.column_names).aggregate([]).num_rows
    come = f"{'comes' if again == 1 else 'come'} twice, with every cell the same"
    return (f"{again:,} of the first {table.num_rows:,} rows {come}",) if again else ()


def _kind_of_target(sample: Any, name: str, tz: str | None, order: DateOrder | None) -> Kind:
    """Return how the target is read: as numbers, or as words."""
    column = decoded(sample.column(name))
    kind = kind_of_column(column, name, None, tz, order, is_named=True)
    if kind.what == "time":
        raise LogError(f"logs: the target {name!r} holds times; predict a number, or a yes or no")
    if kind.what == "yes or no":
        # In the first rows; others may bring a third word.
        return replace(kind, what="text") if is_text(column) and kind.words != DIGITS else kind
    is_number = kind.what in ("number", "number and text") or kind.why == EMPTY
    return replace(kind, what="number" if is_number else "text")


@dataclass(eq=False)
class Scan:
    """A log that is read block by block, each a :class:`Log`; every loop reads it anew."""

    source: Source
    columns: Columns
    clocks: Clocks
    kinds: Kinds
    """The kinds of the features."""
    truth: Kind | None = None
    """How the target is read."""
    tz: str | None = None
    on_bad: OnBad = "error"
    noted: tuple[str, ...] = ()
    """The findings in the first rows."""
    nothing: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Further words that mean nothing, by column."""
    bad: BadRows = field(default=NONE_BAD, init=False)
    """Bad rows that the last loop has met."""

    @property
    def name(self) -> str:
        """The name of the source."""
        return self.source.name

    @property
    def is_calendar(self) -> bool:
        """Whether times are dates and not numbers."""
        return self.clocks.kind == "calendar"

    @property
    def unit(self) -> Unit | None:
        """The unit of times that are numbers."""
        return self.clocks.unit

    @property
    def is_epoch(self) -> bool:
        """Whether times are numbers that count since 1970."""
        return self.clocks.is_epoch

    @property
    def notes(self) -> tuple[str, ...]:
        """How it is read, where that is not obvious."""
        return (*self.source.notes, *self.clocks.notes(self.columns), *self.noted)

    def read(self, progress: Callable[[int], None] | None = None) -> Log:
        """Return all rows in memory; ``progress`` is told how many have been read."""
        blocks, rows = [], 0
        for block in self:
            blocks.append(block)
            rows += len(block)
            if progress is not None:
                progress(rows)
        if not blocks:
            raise LogError(f"logs: {self.name} has no rows that can be used\n{self.bad}")
        return joined(blocks, self.bad)

    def times(self) -> Iterator[Times]:
        """Yield the times of each block, as :meth:`Timeline.chunks` takes them."""
        return (block.times for block in self)

    def __iter__(self) -> Iterator[Log]:
        """Yield the rows; with bad rows among them, the error comes when all were counted."""
        self.bad = NONE_BAD
        start = 0
        roles = self.columns
        wanted = [roles.predicted, roles.observed, roles.target, roles.weight]
        wanted += [kind.name for kind in self.kinds if kind.names]
        names = list(dict.fromkeys(name for name in wanted if name is not None))
        for batch in self.source.batches(names):
            if not batch.num_rows:
                continue
            block, bad = self._block(without_words(batch, self.nothing), start)
            self.bad += bad
            start += batch.num_rows
            if len(block) and (self.on_bad == "skip" or not self.bad):
                yield block
        lost = [BadRow(place, "", "", reason) for place, reason in self.source.lost]
        self.bad += BadRows(len(lost), tuple(lost[:SHOWN]))
        if self.bad and self.on_bad == "error":
            raise self._error(start)

    def _block(self, batch: Any, start: int) -> tuple[Log, BadRows]:
        """Read a batch, and leave out its bad rows."""
        names, target, weight = self.columns, None, None
        predicted, observed = self._moments(batch)
        cells = [(names.predicted, predicted), (names.observed, observed)]
        if names.target is not None and self.truth is not None:
            truth = read_kind(batch.column(names.target), self.truth)
            cells.append((names.target, truth))
            target = truth.values if self.truth.what == "text" else with_gaps(truth)
        if names.weight is not None:
            found = read_numbers(batch.column(names.weight))
            found = found.refuse(found.missing, MISSING)
            cells.append((names.weight, found.refuse(found.values < 0.0, "must not be negative")))
            weight = found.values
        features: dict[str, Array] = {}
        for kind in self.kinds:
            if kind.names:
                found = read_kind(batch.column(kind.name), kind)
                cells.append((kind.name, found))
                features |= features_of(kind, found)
        log = Log(
            *(self._as_given(predicted), self._as_given(observed), ~observed.missing),
            target=target,
            weight=weight,
            features=features,
            name=self.name,
            unit=None if self.is_calendar else self.unit,
            is_epoch=self.is_epoch,
            kinds=self.kinds,
            notes=self.notes,
            zone=self.tz,
        )
        wrong = np.logical_or.reduce([column.bad for _, column in cells])
        if not wrong.any():
            return log, NONE_BAD
        shown = []
        for row in np.flatnonzero(wrong)[:SHOWN].tolist():
            name, column = next(each for each in cells if each[1].bad[row])
            place = self.source.place(start + row)
            shown.append(BadRow(place, name, column.text(row), column.reason(row)))
        return log.take(~wrong), BadRows(int(np.count_nonzero(wrong)), tuple(shown))

    def _moments(self, batch: Any) -> tuple[Cells, Cells]:
        """Read the times, and refuse answers before their question."""
        clocks, asked, answer = self.clocks, self.columns.predicted, self.columns.observed
        predicted = read_moments(batch.column(asked), clocks.kind, self.tz, clocks.predicted)
        predicted = predicted.refuse(predicted.missing, MISSING)
        read = partial(read_moments, batch.column(answer), clocks.kind, self.tz, clocks.observed)
        observed = read()
        known = ~(predicted.bad | observed.missing | observed.bad)
        before = early(predicted.values, observed.values, known)
        if before.any() and self.is_calendar and self.tz is not None:
            # At a wall time that occurs twice, the answer was at the second one.
            values = np.where(before, read(late=True).values, observed.values)
            observed = replace(observed, values=values)
            before = early(predicted.values, values, known)
        return predicted, observed.refuse(
            before, lambda row: f"is before {asked} = {predicted.text(row)!r}"
        )

    def _as_given(self, cells: Cells) -> Array:
        """Return times as their owner would write them."""
        if self.is_calendar:
            times = cells.values.view("datetime64[ns]")
            if not cells.missing.any():
                return times
            return np.where(cells.missing, np.datetime64("NaT", "ns"), times)
        return with_gaps(cells) if self.clocks.kind == "number" else cells.values

    def _error(self, rows: int) -> LogError:
        """Return the refusal of bad rows, and the likely causes."""
        text = str(self.bad.error("logs", self.name, rows + len(self.source.lost)))
        first = self.bad.first
        for name in sorted({row.column for row in first} & {*self.kinds.names})[:1]:
            text += f"; or say what {name} is: kinds={{{name!r}: 'text'}} (--text {name})"
        if all("is before" in row.reason for row in first):
            text += "; are predicted and observed swapped, or in different time zones?"
        return LogError(text)
