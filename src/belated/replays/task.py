"""From a log to what is replayed: labels, features and events, in order of prediction."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np

from belated.arrays import Array, Bools, Floats, Ints
from belated.audits import ROWS, stored_in
from belated.audits.labels import Outcome, WaitsByLabel
from belated.audits.silence import Deadline
from belated.errors import LogError, OutOfOrder
from belated.keys import Key
from belated.logs import DateOrder, Kinds, Log, OnBad, Scan, Told, Unit, leaks, scan
from belated.logs.columns import Columns
from belated.logs.files import STANDARD_INPUT
from belated.logs.leaks import Hidden
from belated.logs.log import SECONDS, as_date, joined
from belated.logs.rules import NoFeature
from belated.logs.sources import source_of
from belated.models.linear import Rows
from belated.models.linear.losses import Loss
from belated.models.linear.settings import Settings
from belated.replays.baselines import Arrivals, Feeder, Part, windows
from belated.replays.columns import Column, Texts, parts, total
from belated.replays.labels import (
    Census,
    Hearing,
    Labels,
    Silence,
    Values,
    arrivals,
    hearing,
    in_model,
    in_unit,
    names_of,
    span_of,
)
from belated.replays.saving import keys_of
from belated.report.slicing import COLUMNS, FEW, coded
from belated.timeline.times import first_descent

if TYPE_CHECKING:
    from belated.audits.stored_log import StoredLog


__all__ = ["ROWS", "Asked", "Block", "DueLabels", "Features", "Labels", "Task", "task_of"]

Features = Sequence[str] | Literal["all"]
READ = ("target", "weight", "dates", "tz", "unit", "encoding", "missing", "on_bad")
"""Fields of ``Asked`` that are passed to ``logs.scan``."""


@dataclass(frozen=True)
class Asked:
    """The arguments of a replay: which columns are what, and how they are read."""

    target: str | None = None
    predicted: str | None = None
    observed: str | None = None
    features: Features = "all"
    slices: Sequence[str] | None = None
    """Columns by whose values losses are shown; None: the first text features with few values."""
    weight: str | None = None
    key: str | None = None
    """The column of keys, which is no feature."""
    known: Sequence[str] = ()
    """Columns that are known when the prediction is made, however much they look like answers."""
    kinds: Mapping[str, Told] = field(default_factory=dict)
    dates: DateOrder | None = None
    tz: str | None = None
    unit: Unit | None = None
    encoding: str | None = None
    missing: Sequence[str] = ()
    """Further words that mean nothing."""
    on_bad: OnBad = "error"
    is_stored: bool = False
    """Whether it is the log of a store, which has its times, labels and features."""

    @property
    def is_of_columns(self) -> bool:
        """Whether something is asked that only a file or table can answer."""
        given = (self.predicted, self.observed, self.weight, self.kinds, self.dates, self.tz)
        more = (self.unit, self.encoding, self.missing)
        return any(given) or any(more)


LOOKED_AT = 1 << 18
"""Rows in which features are looked at that may know the answer."""
STEP = 1 << 8
"""Of so many predictions, the time of one is looked at where a number need not be exact."""
DueLabels: TypeAlias = tuple[Array, Array, Floats, Bools]
"""When predictions are made and labels told, by one clock; the labels, and which are told."""


class Block(NamedTuple):
    """Consecutive rows of a task."""

    asked: Array
    """When predictions were made, by the plain clock of the log."""
    ends: Array
    """When labels are known."""
    labels: Floats
    weights: Floats
    answered: Bools
    """Whether there is a label at all."""
    learned: Bools
    counts: Bools
    is_silence: Bools
    waits: Floats
    rows: Rows

    def heard(self) -> DueLabels:
        """Return labels as they come, silence at its deadline."""
        return self.asked, self.ends, self.labels, self.learned

    def spoken(self) -> DueLabels:
        """Return the same without what is only silence."""
        return self.asked, self.ends, self.labels, self.learned & ~self.is_silence

    def at_once(self) -> DueLabels:
        """Return labels as if each came right after its prediction."""
        return self.asked, self.asked, self.labels, self.learned


@dataclass(frozen=True, eq=False)
class Task:
    """A log with labels, in order of prediction, so that row t is ticket t.

    What it has by row lies in columns that may be larger than memory.
    """

    source: Source
    columns: Mapping[str, Column]
    """The fields of :class:`Block` by name; and of rows the entries, their places and values."""
    how: Labels
    target: str
    """The name of the target."""
    features: tuple[str, ...]
    """The rows that methods see."""
    kinds: Kinds = field(default_factory=Kinds)
    """The types of the columns, and why; nothing for a log that was made by hand."""
    silence: Silence = field(default_factory=Silence)
    notes: tuple[str, ...] = ()
    """Notes on the log that limit the result."""
    whole: int = 0
    """Rows of the log of which these are the first; 0: of all."""
    is_arrival: bool = False
    """Whether the label is that an answer came at all: there is no other target."""
    outcomes: tuple[Outcome, ...] = ()
    """Waits by label, the quickest first, where there are two to ten labels."""
    slices: Mapping[str, Words | Column] = field(default_factory=dict)
    """Columns by whose values losses are shown."""
    texts: Texts | None = None
    """The keys of a column; None: rows have their numbers in the log."""

    @property
    def log(self) -> Log:
        """The name, clock and notes of the log, without its rows."""
        return self.source.head

    @property
    def rounds(self) -> int:
        """How many predictions there are."""
        return len(self.columns["labels"])

    def keys(self, start: int = 0, end: int | None = None) -> list[str]:
        """Return the keys of consecutive rows: those of a column, or their numbers as text."""
        end = self.rounds if end is None else min(end, self.rounds)
        if self.texts is not None:
            return self.texts[start:end]
        return [str(row) for row in self.source.numbers(start, end)]

    def sliced(self, name: str) -> tuple[list[str], Column]:
        """Return the values of a column to slice by, and their numbers in rows that count."""
        found = self.slices[name]
        if isinstance(found, Words):
            names, codes = found.names, found.codes
        else:
            names, coded_rows = coded(found[:][self.known])
            codes = Column(np.int64)
            codes.append(coded_rows)
            return names, codes
        order = sorted(range(len(names)), key=names.__getitem__)
        places, kept = np.argsort(order), Column(np.int64)
        for code, counts in parts(codes, self.columns["counts"]):
            kept.append(places[code[counts]])
        return sorted(names), kept

    def shown(self, times: Array) -> Array:
        """Return plain times as the log has them."""
        return times.view(self.source.dtype)

    def time(self, row: int) -> Any:
        """Return when a prediction was made: a date where the log has dates."""
        time = self.shown(self.columns["asked"][row : row + 1])[0]
        return as_date(time, self.log.unit) if self.log.is_epoch else time

    @cached_property
    def deadline(self) -> float:
        """How long an answer counts, in the unit of the log."""
        given = self.how.deadline
        if isinstance(given, timedelta):
            return given.total_seconds() / SECONDS[self.log.unit or "s"]
        return math.inf if given is None else given

    def blocks(self, size: int = ROWS) -> Iterator[Block]:
        """Yield all rows in blocks."""
        place = 0
        for start in range(0, self.rounds, size):
            span = slice(start, start + size)
            ends = np.append(0, np.cumsum(self.columns["entries"][span]))
            entries = slice(place, place + int(ends[-1]))
            rows = Rows(
                ends,
                self.columns["places"][entries].astype(np.int64),
                self.columns["values"][entries],
            )
            place = entries.stop
            part: Any = {name: self.columns[name][span] for name in Block._fields[:-1]}
            yield Block(**part, rows=rows)

    def arrivals(self, block: Block) -> Arrivals:
        """Return what is heard of rows and when, in the unit of the log, for baselines."""
        asked = (block.asked - self.columns["asked"][0:1]).astype(np.float64)
        waits = np.where(block.learned & ~block.is_silence, block.waits, np.nan)
        how = self.how
        return Arrivals(
            *(asked, block.labels, asked + waits, how.silence),
            *(self.deadline, how.loss, block.weights),
        )

    @cached_property
    def windows(self) -> list[float]:
        """Windows in which several shares of the answers come."""
        waits = Column()
        for block in self.blocks():
            waits.append(self.arrivals(block).waits)
        return windows(waits, self.deadline)

    # --- All rows at once, for methods that need them ---------------------------------------------

    @cached_property
    def everything(self) -> Block:
        """All rows, in memory."""
        return next(self.blocks(self.rounds))

    def heard(self, told: Callable[[Block], DueLabels] = Block.heard) -> Part:
        """Return all events, by default of labels as they come."""
        asked, due, labels, is_told = told(self.everything)
        weights = self.everything.weights
        return Feeder().feed(asked, due, is_told, labels, weights, is_last=True)

    @cached_property
    def cells(self) -> dict[str, Array]:
        """The features as the log has them, in memory."""
        found: dict[str, list[Array]] = {name: [] for name in self.features}
        for log in self.source:
            for name in found:
                found[name].append(log.features[name])
        return {name: np.concatenate(blocks)[: self.rounds] for name, blocks in found.items()}

    @property
    def labels(self) -> Floats:
        """All labels; NaN where none ever came."""
        return self.columns["labels"][:]

    @property
    def known(self) -> Bools:
        """Which predictions get a label that counts."""
        return self.columns["counts"][:]

    # --- Rows that count ------------------------------------------------------------------------

    @property
    def counted(self) -> int:
        """How many predictions get a label that counts."""
        return len(self.columns["known_labels"])

    def tickets(self, places: Ints) -> Ints:
        """Return which rows are the first, second, ... of those that count, counted from 0."""
        found, seen, start = np.empty(len(places), dtype=np.int64), 0, 0
        for (part,) in parts(self.columns["counts"]):
            rows = np.flatnonzero(part)
            mine = (places >= seen) & (places < seen + len(rows))
            found[mine] = start + rows[places[mine] - seen]
            seen, start = seen + len(rows), start + len(part)
        return found

    @cached_property
    def begun(self) -> int:
        """The first prediction after a tenth of those that count."""
        return min(self._tenth + 1, self.rounds - 1)

    @cached_property
    def early(self) -> int:
        """How many of those that count come before that."""
        return math.ceil(self.counted / 10) - (self._tenth >= self.begun)

    @cached_property
    def _tenth(self) -> int:
        return int(self.tickets(np.array([math.ceil(self.counted / 10) - 1]))[0])

    @cached_property
    def learned(self) -> int:
        """How many labels are learned: those that count, and with silence also of younger rows."""
        return int(total(np.array, self.columns["learned"]))

    @cached_property
    def longest(self) -> int:
        """The most predictions that were made while a label that counts was out."""
        return max(int(part.max()) for (part,) in parts(self.columns["delays"]))

    @property
    def is_late(self) -> bool:
        """Whether a prediction was made while a label that counts was out."""
        return self.longest > 0

    def within(self, length: float) -> int:
        """Return a number that predictions in a length of time do not exceed."""
        times = np.concatenate([part[::STEP] for (part,) in parts(self.columns["asked"])])
        ends = np.searchsorted(times, times + length, side="right")
        return STEP * (int((ends - np.arange(len(times))).max()) + 1)


class Words:
    """Words by row as numbers, and what each number stands for."""

    def __init__(self) -> None:
        self.codes = Column(np.int32)
        self._known: dict[str, int] = {}

    def append(self, cells: Array) -> None:
        """Add rows at the end."""
        texts = ("missing" if cell is None else str(cell) for cell in cells.tolist())
        self.codes.append([self._known.setdefault(text, len(self._known)) for text in texts])

    @property
    def names(self) -> list[str]:
        """The words, by number."""
        return list(self._known)


class Source:
    """A log in order of prediction, in blocks, as often as it is asked for."""

    def __init__(self, data: Log | Scan, keys: Sequence[Key] | None = None) -> None:
        self.order: Ints | None = None
        """The row of every ticket, where they differ."""
        self.own = keys
        """Keys of all rows that are no column."""
        if isinstance(data, Log):
            times = data.times.checked("Timeline:")
            data, order = replace(data, answered=times.answered), times.by_prediction_time()[1]
            if first_descent(data.times.predicted_at) is not None:
                data, self.order = data.take(order), order
            if keys is not None:
                self.own = [keys[row] for row in order.tolist()]
        self.data = data
        self.head = self._first()
        """The log without its rows."""
        self.dtype = self.head.predicted_at.dtype

    def _first(self) -> Log:
        for block in self._blocks():
            return block.take(slice(0, 0))
        raise LogError(f"logs: {self.data.name} has no rows that can be used\n{self.data.bad}")

    def __iter__(self) -> Iterator[Log]:
        """Yield blocks; stop where one begins before the last one ended."""
        last = None
        for block in self._blocks():
            asked = block.times.predicted_at
            if first_descent(asked) is not None or (last is not None and asked[0] < last):
                raise OutOfOrder("replay: the log is not in order of prediction")
            last = asked[-1]
            yield block
        if isinstance(self.data, Scan):
            self.head = replace(self.head, bad=self.data.bad)

    def _blocks(self) -> Iterator[Log]:
        if isinstance(self.data, Scan):
            yield from self.data
        else:
            for start in range(0, len(self.data), ROWS):
                yield self.data.take(slice(start, start + ROWS))

    def numbers(self, start: int, end: int) -> list[int]:
        """Return the rows of consecutive tickets."""
        if self.order is None:
            return list(range(start, end))
        return [int(row) for row in self.order[start:end]]


def task_of(
    data: Any,
    asked: Asked,
    how: Labels,
    silence: Silence,
    *,
    loss: Loss | None,
    progress: Callable[[int], None] | None = None,
    first: int | None = None,
) -> Task:
    """Return the task that a log and what is asked of it make; stop at what cannot be right."""
    stored = None if isinstance(data, Log) else stored_in(data)
    own: Sequence[Key] | None = None
    if stored is not None:
        data, own, how, silence, loss = _of_store(stored, asked, how, silence, loss)
        asked = replace(asked, is_stored=True, key=asked.key if own is None else None)
    silence.check()
    found, name, features = _opened(data, asked, silence)
    if isinstance(found, Scan) and hasattr(data, "read_next_batch"):
        found = found.read(progress)  # such a stream can be read only once
    try:
        survey = Survey(asked, how, silence, Source(found, own), progress)
    except OutOfOrder:
        whole = found if isinstance(found, Log) else found.read(progress)
        survey = Survey(asked, how, silence, Source(whole, own), progress)
    return survey.task(name, features, loss, first)


class Survey:
    """Two passes over a log: one finds out what its columns are, and one writes its rows down."""

    def __init__(
        self,
        asked: Asked,
        how: Labels,
        said: Silence,
        source: Source,
        progress: Callable[[int], None] | None,
    ) -> None:
        """Do the first pass."""
        self.asked, self.said, self.source = asked, said, source
        self.census = Census(how)
        self.values: dict[str, Values] = {}
        """The cells of the columns of features."""
        self.starts = Column(source.dtype if source.dtype.kind != "M" else np.int64)
        self.sample: list[Log] = []
        """The first rows, in which features are looked at that may know the answer."""
        self.is_arrival = self.source.head.target is None and self.said.value is not None
        for log in self.source:
            times = log.times
            self.starts.append(times.predicted_at)
            if self.census.rows < LOOKED_AT:
                self.sample.append(log)
            for name, column in log.features.items():
                self.values.setdefault(name, Values()).add(column)
            self.census.add(times, self._truth(log))
            if progress is not None:
                progress(self.census.rows)

    def _truth(self, log: Log) -> Array:
        truth = arrivals(log, self.said) if self.is_arrival else log.target
        if truth is None:
            raise LogError(f"replay: {log.name} has no target")
        return truth

    def task(self, name: str, features: Features, loss: Loss | None, first: int | None) -> Task:
        """Decide what the first pass leaves open, do the second one, and return the task."""
        asked, census, head = self.asked, self.census, self.source.head
        is_words = self._truth(head).dtype.kind == "O"
        how = census.settled(
            name, is_words=is_words, is_arrival=self.is_arrival, is_told=loss is not None
        )
        chosen, kinds, names = _features(head, name, features, asked, self.values)
        if self.source.order is not None:
            row, value = census.first_wrong
            census.first_wrong = int(self.source.order[row]), value
        census.check_range(how, name)
        how, deadline = self._deadline(how)
        sample = joined(self.sample, head.bad)
        self.sample = []
        sample = replace(sample, features={n: c for n, c in sample.features.items() if n in names})
        # A store wrote its features together with the question.
        vouched = chosen if asked.is_stored else asked.known
        heard = hearing(sample.times, how.of(self._truth(sample)), deadline, how.silence or 0.0)
        notes = checked(sample, heard, name, chosen, kinds, vouched)
        written = self._written(how, deadline, chosen, self._slices(chosen), first)
        return Task(
            self.source,
            how=how,
            target=name,
            features=chosen,
            kinds=kinds,
            silence=self.said,
            notes=(*head.notes, *notes),
            whole=0 if first is None or first >= census.rows else census.rows,
            is_arrival=self.is_arrival,
            **written,
        )

    def _deadline(self, how: Labels) -> tuple[Labels, Deadline]:
        """Return how labels are learned where silence may mean something, and when it does."""
        census, said, log = self.census, self.said, self.source.head
        if said.value is None:
            if not census.known.known:
                raise LogError(f"replay: {log.name} has no answered row with a target")
            if not said.answered_only:
                census.refuse_doubt(how)
            return how, Deadline()
        if log.weight is not None:
            raise LogError("replay: with silence every label counts once; leave out the weight")
        silence, found = census.silence_of(how, said), census.deadline
        found.span = span_of(log, said, found, self.starts)
        if self.starts[0:1][0] + found.span > found.latest:
            raise LogError(
                "replay: no deadline has passed when the log ends; give a shorter --deadline "
                "(belated audit tells how long 99 % of the answers took)"
            )
        how = replace(how, silence=silence, deadline=in_model(log, said, found.span))
        return how, found

    def _slices(self, chosen: Sequence[str]) -> Sequence[str]:
        """Return columns to slice by: those that are named, or text features with few values."""
        if self.asked.slices is not None:
            return self.asked.slices
        text = (name for name in chosen if self.source.head.features[name].dtype.kind != "f")
        few = [name for name in text if 2 <= self.values[name].different <= FEW]
        return few[:COLUMNS]

    def _written(
        self,
        how: Labels,
        deadline: Deadline,
        chosen: Sequence[str],
        slices: Sequence[str],
        first: int | None,
    ) -> dict[str, Any]:
        """Write every row down as methods see it, and count waits by label."""
        head, asked = self.source.head, self.asked
        columns: dict[str, Column] = {}

        def write(**cells: Array) -> None:
            for name, column in cells.items():
                columns.setdefault(name, Column(column.dtype)).append(column)

        shown: dict[str, Words | Column] = {
            name: Column() if head.features[name].dtype.kind == "f" else Words() for name in slices
        }
        keys = Texts() if asked.key is not None or self.source.own is not None else None
        table, feeder, count = how.model().hasher.table, Feeder(), 0
        raw, made, names = WaitsByLabel(), WaitsByLabel(), np.array(names_of(how), dtype=object)
        for log in self.source:
            if first is not None:
                log = log.take(slice(0, max(0, first - count)))
            if not len(log):
                break
            asked_at, nothing = log.times.predicted_at, np.empty(0)
            heard = hearing(log.times, how.of(self._truth(log)), deadline, how.silence or 0.0)
            weights = np.ones(len(log)) if log.weight is None else log.weight
            learned, counts = heard.answered & (weights > 0.0), heard.counts & (weights > 0.0)
            rows = Rows(np.zeros(len(log) + 1, np.int64), np.empty(0, np.int64), nothing)
            if chosen:
                rows = table({name: log.features[name] for name in chosen})
            write(asked=asked_at, weights=weights, learned=learned)
            write(**heard._replace(counts=counts)._asdict())
            entries, places = np.diff(rows.indptr), rows.indices
            write(entries=entries.astype(np.int32), places=places.astype(np.int32))
            write(values=rows.values)
            write(known_labels=heard.labels[counts], known_weights=weights[counts])
            write(delays=feeder.feed(asked_at, heard.ends, counts, weights, weights).delays)
            waits = np.where(learned & ~heard.is_silence, heard.waits, np.nan)
            if log.target is not None:
                raw.add(log.target, waits)
            if len(names):
                made.add(np.where(heard.labels > 0.5, *names), waits)
            for name, column in shown.items():
                column.append(log.features[name])
            if keys is not None:
                keys.append(self._keys(log, count))
            count += len(log)
        flush = (asked_at[:0], asked_at[:0], nothing.astype(np.bool_), nothing, nothing)
        write(delays=feeder.feed(*flush, is_last=True).delays)
        outcomes = (made if raw.are_many or head.target is None else raw).outcomes()
        return {"columns": columns, "slices": shown, "texts": keys, "outcomes": outcomes}

    def _keys(self, log: Log, start: int) -> list[str]:
        """Return the keys of a block of rows."""
        if self.source.own is not None:
            return [str(key) for key in self.source.own[start : start + len(log)]]
        name = self.asked.key
        assert name is not None  # or there are no keys to be read
        return [str(key) for key in keys_of(log.features[name], name, start)]


def _opened(data: Any, asked: Asked, silence: Silence) -> tuple[Log | Scan, str, Features]:
    """Return the log, the name of its target, and the columns that were asked for."""
    if isinstance(data, Log):
        if asked.is_stored:
            return data, TARGET, asked.features
        if asked.is_of_columns:
            raise LogError("replay: a Log has its columns, tz and unit already; give none here")
        if data.predicts is not None and asked.target not in (None, data.predicts):
            raise LogError(
                f"replay: {data.name} predicts {data.predicts!r}; leave target out, or give that"
            )
        return data, asked.target or data.predicts or "the target", asked.features
    has_silence = silence.value is not None
    if asked.target is None and not has_silence:
        if isinstance(data, str | Path) and str(data) != STANDARD_INPUT:
            source_of(data, asked.encoding)  # which says so where there is no such file
        raise LogError(
            "replay: which column is to be predicted? Give target (--target); where only the time "
            "of an answer is known, or none, say what none means with --silence 0"
        )
    wanted, told = asked.features, dict(asked.kinds)
    if wanted != "all":
        wanted = list(dict.fromkeys([*wanted, *(asked.slices or ())]))
    if asked.key is not None:
        wanted = "all" if wanted == "all" else [*wanted, asked.key]
        told[asked.key] = "text"  # as it is written, leading zeros included
    try:
        found = scan(
            data,
            asked.predicted,
            asked.observed,
            features=wanted,
            kinds=told,
            **{name: getattr(asked, name) for name in READ},
        )
    except NoFeature as error:
        if error.name != asked.key:
            raise
        raise _no_key(error.name, error.known) from error
    refuse_answers(found.columns)
    if asked.target == found.columns.observed and not has_silence:
        raise LogError(
            f"replay: {asked.target!r} is when the answer came; to predict whether one comes, say "
            "what no answer means with --silence 0, and else give another target"
        )
    return found, asked.target or found.columns.observed, asked.features


def _no_key(name: str, known: Iterable[str]) -> LogError:
    of_keys = "of keys (--key) beside the target and the times; there are"
    return _absent(f"there is no column {name!r} {of_keys}", known)


def _absent(says: str, known: Iterable[str]) -> LogError:
    """Return an error that ends with the names that there are."""
    return LogError(f"replay: {says} {', '.join(map(repr, known)) or 'none'}")


def _features(
    log: Log, target: str, features: Features, asked: Asked, values: Mapping[str, Values]
) -> tuple[tuple[str, ...], Kinds, Sequence[str]]:
    """Return the features, what columns became, and all names of columns but of constant ones."""
    key, slices = asked.key, asked.slices or ()
    if key is not None and (key in features or key in slices):
        raise LogError(f"replay: {key!r} is the key of a row, and can be no feature and no slice")
    if key is not None and key not in log.features:
        raise _no_key(key, log.features)
    if not log.kinds:
        others = [name for name in log.features if name not in (target, key)]
        chosen = tuple(others) if features == "all" else tuple(features)
        for column in (*chosen, *slices):
            if column not in others:
                raise _absent(f"{log.name} has no column {column!r}; it has", others)
        return chosen, log.kinds, others
    kinds = counted(log.kinds.only(kind.name for kind in log.kinds if kind.name != key), values)
    for name in slices:
        for kind in kinds:
            if kind.name == name not in kinds.names:
                more = f"; it became {', '.join(kind.names)}" if kind.names else ""
                raise LogError(
                    f"replay: {name!r} is {kind.says} ({kind.why}){more}: slice by others"
                )
        if name not in kinds.names:
            raise _absent(f"there is no column {name!r} to slice by; there are", kinds.names)
    shown = kinds if features == "all" else kinds.only(features)
    return shown.names, shown, kinds.names


# Logs of stores, as replays take them: with the loss, silence and deadline that the model had.

TARGET = "the label"
"""The name of the target of such a log; a feature may be called ``label``."""


def _of_store(
    stored: StoredLog, asked: Asked, how: Labels, said: Silence, loss: Loss | None
) -> tuple[Log, Sequence[Key] | None, Labels, Silence, Loss | None]:
    """Return a log of a store, its keys if they are asked for, and how its model learned from it.

    Keys are no column, so that a feature of the same name stays one.
    """
    from belated.audits.stored_log import KEY  # which is loaded by now, as its log is there

    _check_store(stored, asked)
    told = stored.settings
    if isinstance(told, Settings) and loss is None and not how.is_binary and how.clip is None:
        how = replace(how, loss=told.loss, quantile=told.quantile, delta=told.delta)
        loss = told.loss
    is_told = told is not None and told.silence is not None
    if told is not None and is_told and not said.answered_only:
        value = told.silence if said.value is None else said.value
        said = Silence(value, stored.told_deadline if said.deadline is None else said.deadline)
    said.check()
    log = stored.log()
    if said.deadline is not None:
        log = stored.log(in_unit(said.deadline, log.unit, has_dates=log.has_dates))
    wanted = None if asked.features == "all" else [*asked.features, *(asked.slices or ())]
    features = stored.features(wanted)
    for name in asked.kinds:
        if features.pop(name, None) is None:
            raise _absent(f"{stored.name} has no feature {name!r}; it has", features)
    is_open = not is_told or (said.deadline is None and said.value is not None)
    notes = (*log.notes, *filter(None, [stored.left_out if is_open else ""]))
    keys = keys_of(stored.keys(), KEY) if asked.key == KEY else None
    return replace(log, features=features, notes=notes), keys, how, said, loss


def _check_store(stored: StoredLog, asked: Asked) -> None:
    """Refuse what is no log of labels, and columns of what the log has without them."""
    kind = stored.kind
    if kind == "Chooser":
        raise LogError(
            f"replay: {stored.name} is the log of a Chooser: belated evaluate says what other "
            "policies would have earned in it"
        )
    if kind not in (None, "LinearModel", "Intervals"):
        raise LogError(
            f"replay: {stored.name} is the log of a model of kind {kind}, whose answers are no "
            "labels; Store.replay builds one with other settings from it"
        )
    names = ("target", "predicted", "observed", "weight", "dates", "tz", "unit", "encoding")
    given = {name: getattr(asked, name) for name in (*names, "missing")}
    stored.refuse("replay", given | {what: what != "ignore" for what in asked.kinds.values()})


# What is said before anything runs: features that know the answer, columns that say nothing.


def refuse_answers(columns: Columns) -> None:
    """Refuse features that are the answer itself, or its time."""
    for name, what in ((columns.observed, "when the answer came"), (columns.target, "the answer")):
        if name in columns.features:
            raise LogError(
                f"replay: {name!r} is {what}, which nobody knows when the prediction is made; a "
                "feature must be known then"
            )


def counted(kinds: Kinds, values: Mapping[str, Values]) -> Kinds:
    """Return what columns became, with their numbers of values; constants are found here."""
    for kind in kinds:
        if not kind.names or kind.what == "time":
            continue
        found = values[kind.names[-1]]
        if found.is_constant:
            kinds = kinds.changed(kind.name, what="constant", why=f"always {found.shown}")
        elif found.is_words:
            number = None if found.is_many else len(found.counts)
            kinds = kinds.changed(kind.name, values=number)
    return kinds


def checked(
    log: Log,
    heard: Hearing,
    target: str,
    features: Sequence[str],
    kinds: Kinds,
    vouched: Sequence[str] = (),
) -> tuple[str, ...]:
    """Refuse features that know the answer; return what else is worth a word.

    ``log`` has the first rows, and ``vouched`` are columns of which somebody says that they are
    known when the prediction is made, whatever they look like.
    """
    labels, known = heard.labels, heard.counts
    there = [*(kind.name for kind in kinds), *log.features]
    leaks.check_known("replay", vouched, there, "is no feature; the features are")
    times, answered = log.times, log.answered
    hidden = Hidden(times.predicted_at, times.observed_at, answered, log.unit, log.target)
    sources = {name: kinds.column_of(name) for name in features}
    found, notes = {}, []
    for name, source in sources.items():
        column = log.features[name]
        if source in vouched or name in vouched:
            continue
        if leaks.is_target(column, labels, known):
            found[name] = f"the target {target!r} under another name, in every answered row"
        elif what := hidden.known_by(column):
            found[name] = f"the target {target!r} {what}" if what == leaks.CHANGED else what
        elif doubt := _doubt(column, labels, known, answered):
            notes.append(f"{name} {doubt} Then leave it out (--ignore {source})")
    if found:
        raise leaks.told("replay", found, sources, "the prediction is made")
    return tuple(notes)


def _doubt(column: Array, labels: Floats, known: Bools, answered: Bools) -> str:
    """Say why a feature may know the answer, and ask; nothing where there is no reason to."""
    if leaks.follows_answers(column, answered):
        return "is there exactly where an answer came: is it filled in with the answer?"
    if leaks.is_nearly_target(column, labels, known):
        return "is nearly always the target: is it known only with the answer?"
    if what := leaks.only_with_answers(column, answered):
        return f"is {what} only in rows with an answer: is it filled in with the answer?"
    return ""
