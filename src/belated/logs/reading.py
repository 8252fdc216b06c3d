"""From any source to a :class:`Log`: whole, or block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from belated.arrays import Array, Bools
from belated.errors import LogError
from belated.logs.cells import (
    Cells,
    decoded,
    is_text,
    marks_of,
    small,
    with_gaps,
    without,
    without_words,
)
from belated.logs.columns import (
    USUAL,
    Clocks,
    Columns,
    Roles,
    choose,
    clocks_of,
    count_marks,
    mark_before,
    marks_in,
    without_marks,
)
from belated.logs.dates import zone_named
from belated.logs.kinds import DIGITS, Kind, Kinds, Told
from belated.logs.log import NONE_BAD, SHOWN, BadRow, BadRows, Log, Unit, joined
from belated.logs.moments import features_of, read_kind, read_moments
from belated.logs.numbers import read_numbers
from belated.logs.rules import EMPTY, SLASHED, DateOrder, decide, kind_of_column
from belated.logs.sources import Source, arrow, source_of
from belated.timeline.times import Times, early

OnBad = Literal["error", "skip"]
"""What to do with rows that cannot be used: refuse the log, or leave them out."""
Key = str | tuple[str]
"""What cells are kept under: the column, or for a feature a tuple with it."""
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
    where the rows do not. ``tz`` is the zone of times that name none, by default UTC. There,
    a wall time that occurs twice is the first one, except that an answer which would then precede
    its question is the second; a wall time that does not exist is that of a clock not yet put
    forward. Never answered is an empty cell, null, NaN, NaT, infinity, or a usual word for them.
    ``unit`` says what one unit of numbers is. ``encoding`` says how text files are encoded, where
    that is not recognised (UTF-8, UTF-16 and Windows-1252 are). ``missing`` are further words,
    numbers or dates that mean nothing, in every column.

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
    words = small(missing)
    sample = without_words(source.peek(), words)
    marks = marks_in(sample)
    columns = choose(
        without_marks(sample, marks),
        *(source.name, predicted, observed, target, weight, features, dates, roles),
    )
    marks, noted = _marked(sample, columns, marks)
    sample = without_marks(sample, marks)
    is_named = features != "all"
    found = decide(sample, dict.fromkeys(columns.features, is_named), kinds, tz, dates)
    found = Kinds(tuple(replace(kind, missing=words) for kind in found))
    clocks = clocks_of(sample, source.name, columns, unit, dates)
    _refuse_unused(clocks, found, tz, unit, dates)
    # A target that is the time of the answer says only whether one came, as ``answered`` does.
    is_label = target is not None and target != columns.observed
    truth = _kind_of_target(sample, str(target), tz, dates) if is_label else None
    nothing, said = _marks_of_target(sample, truth)
    notes = (*_repeated(sample), *noted, *said)
    return Scan(
        *(source, columns, clocks, found, truth, tz, on_bad, notes, marks),
        missing=words,
        no_answers=nothing,
    )


def _marked(
    sample: Any, columns: Columns, marks: dict[str, float]
) -> tuple[dict[str, float], tuple[str, ...]]:
    """Return the number that stands for no answer, if there is one, and what to say of it."""
    name = columns.observed
    mark = marks.get(name)
    if mark is None:
        mark = mark_before(sample, columns.predicted, name)
    if mark is None:
        return {}, ()
    times = f"{count_marks(sample, name, mark):,} of the first {sample.num_rows:,} rows"
    return {name: mark}, (f"{name} = {mark:g} in {times} is taken as no answer",)


def _marks_of_target(sample: Any, truth: Kind | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the marks that mean no answer in a target of words, and what to say of them."""
    if truth is None or truth.what != "text":
        return (), ()
    marks, counts = marks_of(sample.column(truth.name))
    of = f"of the first {sample.num_rows:,} rows is taken as no answer"
    return marks, tuple(f"{truth.name} = {cell!r} in {n:,} {of}" for cell, n in counts.items())


def _refuse_unused(
    clocks: Clocks, kinds: Kinds, tz: str | None, unit: Unit | None, order: DateOrder | None
) -> None:
    """Refuse what says how times are read where nothing is read so."""
    is_calendar = clocks.kind == "calendar"
    has_times = any(kind.what == "time" for kind in kinds)
    if unit is not None and is_calendar:
        raise LogError("logs: unit (--unit) is for times that are numbers; here they are dates")
    if tz is not None and not (is_calendar or has_times):
        raise LogError("logs: tz (--tz) is for dates; here times are numbers")
    forms = {clocks.predicted, clocks.observed, *(kind.form for kind in kinds)}
    if order is not None and not forms & set(SLASHED):
        raise LogError("logs: dates (--dates) is for dates like 5/6/2024; here there are none")


def _repeated(sample: Any) -> tuple[str, ...]:
    """Say how many of the first rows come twice, to the last of at least three cells."""
    table = arrow("reading a log").Table.from_batches([sample])
    if table.num_columns < 3 or any(_is_nested(column.type) for column in table.columns):
        return ()
    different = table.group_by(table.column_names).aggregate([]).num_rows
    if different == table.num_rows:
        return ()
    again = table.num_rows - different
    come = "comes" if again == 1 else "come"
    first = f"{again:,} of the first {table.num_rows:,} rows"
    return (f"{first} {come} twice, with every cell the same",)


def _is_nested(kind: Any) -> bool:
    return bool(arrow("reading a log").types.is_nested(kind))


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
    """What the features become."""
    truth: Kind | None = None
    """How the target is read."""
    tz: str | None = None
    on_bad: OnBad = "error"
    noted: tuple[str, ...] = ()
    """What the first rows show."""
    marks: Mapping[str, float] = field(default_factory=dict)
    """The number that stands for no answer, by its column."""
    missing: tuple[str, ...] = ()
    """Further words that mean nothing in any column."""
    no_answers: tuple[str, ...] = ()
    """Words that mean no answer in a target of words."""
    bad: BadRows = field(default=NONE_BAD, init=False)
    """Bad rows that the last loop has met."""

    @property
    def name(self) -> str:
        """What messages call it."""
        return self.source.name

    @property
    def is_calendar(self) -> bool:
        """Whether times are dates and not numbers."""
        return self.clocks.kind == "calendar"

    @property
    def unit(self) -> Unit | None:
        """What one unit of the times is, where they are numbers."""
        return self.clocks.unit

    @property
    def is_epoch(self) -> bool:
        """Whether times are numbers that count since 1970."""
        return self.clocks.is_epoch

    @property
    def notes(self) -> tuple[str, ...]:
        """What is to be known of how it is read."""
        return (*self.source.notes, *self.clocks.notes(self.columns), *self.noted)

    @property
    def _wanted(self) -> list[str]:
        """Every column that is read, once."""
        roles = self.columns
        names = [roles.predicted, roles.observed, roles.target, roles.weight]
        names += [kind.name for kind in self.kinds if kind.names]
        return list(dict.fromkeys(name for name in names if name is not None))

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
        for batch in self.source.batches(self._wanted):
            if not batch.num_rows:
                continue
            batch = without_words(batch, self.missing)
            block, bad = self._block(without_marks(batch, self.marks), start)
            self.bad += bad
            start += batch.num_rows
            if len(block) and (self.on_bad == "skip" or not self.bad):
                yield block
        self.bad += self._lost()
        if self.bad and self.on_bad == "error":
            raise LogError(self._complaint(start))

    def _block(self, batch: Any, start: int) -> tuple[Log, BadRows]:
        """Read a batch, and leave out its bad rows."""
        cells = self._cells(batch)
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

    def _cells(self, batch: Any) -> dict[Key, Cells]:
        """Read every column as what it is; a column with two roles is read for the first."""
        roles, clocks = self.columns, self.clocks
        cells: dict[Key, Cells] = {}
        for name, form in ((roles.predicted, clocks.predicted), (roles.observed, clocks.observed)):
            cells[name] = read_moments(batch.column(name), clocks.kind, self.tz, form)
        if roles.target is not None and self.truth is not None:
            cells[roles.target] = read_kind(self._answers(batch, roles.target), self.truth)
        if roles.weight is not None:
            cells[roles.weight] = read_numbers(batch.column(roles.weight))
        for kind in self.kinds:
            if kind.names:
                cells[_feature(kind.name)] = read_kind(batch.column(kind.name), kind)
        return cells

    def _answers(self, batch: Any, target: str) -> Any:
        """Return the column of the target without marks that mean no answer."""
        column = decoded(batch.column(target))
        return without(column, self.no_answers) if self.no_answers else column

    def _later_reading(self, batch: Any, predicted: Cells, observed: Cells) -> Cells:
        """Take an answer at a wall time that occurs twice as the second, if it must be."""
        if not self.is_calendar or self.tz is None:
            return observed
        before = _before(predicted, observed)
        if not before.any():
            return observed
        column, clocks = batch.column(self.columns.observed), self.clocks
        later = read_moments(column, clocks.kind, self.tz, clocks.observed, late=True)
        return replace(observed, values=np.where(before, later.values, observed.values))

    def _log(self, cells: dict[Key, Cells]) -> Log:
        predicted, observed = cells[self.columns.predicted], cells[self.columns.observed]
        features: dict[str, Array] = {}
        for kind in self.kinds:
            if kind.names:
                features |= features_of(kind, cells[_feature(kind.name)])
        weight = self.columns.weight
        return Log(
            predicted_at=self._as_given(predicted),
            observed_at=self._as_given(observed),
            answered=~observed.missing,
            target=self._target(cells),
            weight=None if weight is None else with_gaps(cells[weight]),
            features=features,
            name=self.name,
            unit=None if self.is_calendar else self.unit,
            is_epoch=self.is_epoch,
            kinds=self.kinds,
            notes=self.notes,
            zone=self.tz,
        )

    def _target(self, cells: dict[Key, Cells]) -> Array | None:
        """Return the truth: numbers, or words."""
        if self.columns.target is None or self.truth is None:
            return None
        found = cells[self.columns.target]
        return found.values if self.truth.what == "text" else with_gaps(found)

    def _as_given(self, cells: Cells) -> Array:
        """Return times as their owner would write them."""
        if self.is_calendar:
            times = cells.values.view("datetime64[ns]")
            if not cells.missing.any():
                return times
            return np.where(cells.missing, np.datetime64("NaT", "ns"), times)
        return with_gaps(cells) if self.clocks.kind == "number" else cells.values

    def _bad_row(
        self,
        cells: dict[Key, Cells],
        faults: dict[Key, Bools],
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
        return BadRow(self.source.place(start + row), _column(name), text, reason)

    def _lost(self) -> BadRows:
        """Return the rows that never came because their number of cells is wrong."""
        lost = self.source.lost_rows()
        return BadRows(
            len(lost), tuple(BadRow(place, "", "", reason) for place, reason in lost[:SHOWN])
        )

    def _complaint(self, rows: int) -> str:
        """Say what is wrong and what can be done."""
        total = rows + len(self.source.lost_rows())
        text = f"logs: {self.name}: {self.bad}\nof {total:,}. Leave them out with on_bad='skip'"
        text += " (--skip-bad-rows on the command line), or mend the log"
        suspects = {row.column for row in self.bad.first} & {*self.kinds.names}
        if suspects:
            name = sorted(suspects)[0]
            text += f"; or say what {name} is: kinds={{{name!r}: 'text'}} (--text {name})"
        if sum("is before" in row.reason for row in self.bad.first) == len(self.bad.first):
            text += "; are predicted and observed swapped, or in different time zones?"
        return text


def _before(predicted: Cells, observed: Cells) -> Bools:
    """Return which answers precede their question."""
    known = ~(predicted.missing | predicted.bad | observed.missing | observed.bad)
    return early(predicted.values, observed.values, known)


def _feature(name: str) -> tuple[str]:
    """Return under what a column is kept as a feature, beside its other roles."""
    return (name,)


def _column(key: str | tuple[str]) -> str:
    return key if isinstance(key, str) else key[0]
