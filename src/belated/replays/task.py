"""From a log to what is replayed: labels, features and events, in order of prediction."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from belated.arrays import Array, Bools, Floats, Ints
from belated.audits import stored_in
from belated.errors import LogError
from belated.keys import Key
from belated.logs import DateOrder, Kinds, Log, OnBad, Told, Unit, leaks, scan
from belated.logs.columns import Columns
from belated.logs.files import STANDARD_INPUT
from belated.logs.leaks import Hidden
from belated.logs.log import SECONDS, as_dates
from belated.logs.rules import NoFeature
from belated.logs.sources import source_of
from belated.models.linear import Rows
from belated.models.linear.losses import Loss
from belated.models.linear.settings import Settings
from belated.models.moments import read_times
from belated.replays.baselines import Arrivals
from belated.replays.labels import (
    Hearing,
    Labels,
    Silence,
    arrivals,
    check_range,
    heard,
    in_unit,
    settled,
)
from belated.replays.saving import keys_of

if TYPE_CHECKING:
    from belated.audits.stored_log import StoredLog


__all__ = ["Asked", "Features", "Labels", "Task", "task_of"]

Features = Sequence[str] | Literal["all"]
READ = ("target", "weight", "dates", "tz", "unit", "encoding", "missing", "on_bad")
"""What is asked that says how a log is read."""


@dataclass(frozen=True)
class Asked:
    """What is asked of a log: which columns are what, and how they are read."""

    target: str | None = None
    predicted: str | None = None
    observed: str | None = None
    features: Features = "all"
    slices: Sequence[str] = ()
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


@dataclass(frozen=True, eq=False)
class Task:
    """A log with labels, its rows in order of prediction, so that row t is ticket t."""

    log: Log
    labels: Floats
    """NaN where no label ever came."""
    hearing: Hearing
    """Which labels are learned, which count, and what is only silence."""
    how: Labels
    target: str
    """The name of the target."""
    features: tuple[str, ...]
    """What the methods see."""
    kinds: Kinds = field(default_factory=Kinds)
    """What the columns became, and why; nothing for a log that was made by hand."""
    silence: Silence = field(default_factory=Silence)
    notes: tuple[str, ...] = ()
    """What is to be known before the result is believed."""
    whole: int = 0
    """Rows of the log of which these are the first; 0: of all."""
    keys: Sequence[Key] = ()
    """The key of every row: that of a column, or the number of the row in the log as text."""
    is_arrival: bool = False
    """Whether the label is that an answer came at all: there is no other target."""

    @property
    def rounds(self) -> int:
        """How many predictions there are."""
        return len(self.labels)

    @cached_property
    def weights(self) -> Floats:
        """How often each label counts."""
        given = self.log.weight
        return np.ones(self.rounds) if given is None else np.asarray(given, dtype=np.float64)

    @cached_property
    def known(self) -> Bools:
        """Which predictions get a label that counts."""
        return self.hearing.counts & (self.weights > 0.0)

    @cached_property
    def learned(self) -> Bools:
        """Which labels are learned: those that count, and with silence also of younger rows."""
        return self.hearing.heard & (self.weights > 0.0)

    @cached_property
    def events(self) -> Ints:
        """All events in the order of time: t for prediction t, ~t for its label."""
        return self._events(self.learned)

    @cached_property
    def spoken(self) -> Ints:
        """The same events without what is only silence, as a model hears them that knows of it."""
        return self._events(self.learned & ~self.hearing.is_silence)

    @cached_property
    def spoken_at(self) -> Array:
        """When those events happen; in seconds, if the log counts since 1970.

        Numbers leave it open whether dates that come later have a time zone.
        """
        log, is_label = self.log, self.spoken < 0
        tickets = np.where(is_label, ~self.spoken, self.spoken)
        times = np.where(is_label, log.observed_at[tickets], log.predicted_at[tickets])
        return read_times(as_dates(times, log.unit), "replay")[0] if log.is_epoch else times

    @cached_property
    def arrivals(self) -> Arrivals:
        """What is heard of the rows and when, in the unit of the log, for baselines."""
        times, how = self.log.times, self.how
        spoken = self.learned & ~self.hearing.is_silence
        asked = (times.predicted_at - times.predicted_at[0]).astype(np.float64)
        waits = np.where(spoken, times.lengths.astype(np.float64), np.nan)
        deadline = math.inf if how.deadline is None else how.deadline
        if isinstance(deadline, timedelta):
            deadline = deadline.total_seconds() / SECONDS[self.log.unit or "s"]
        return Arrivals(
            asked, self.labels, asked + waits, how.silence, deadline, how.loss, self.weights
        )

    def _events(self, kept_labels: Bools) -> Ints:
        events = self.log.timeline.events
        kept = (events >= 0) | kept_labels[np.where(events >= 0, 0, ~events)]
        return np.ascontiguousarray(events[kept])

    @cached_property
    def at_once(self) -> Ints:
        """The same events if every label came right after its prediction."""
        tickets = np.arange(self.rounds, dtype=np.int64)
        events = np.stack([tickets, ~tickets], axis=1)
        return events[np.stack([np.ones_like(self.learned), self.learned], axis=1)]

    @cached_property
    def delays(self) -> Ints:
        """Predictions made while each known label was out."""
        return self.log.timeline.delay[self.known]

    @cached_property
    def begun(self) -> int:
        """The first prediction after a tenth of those that count."""
        counts = np.cumsum(self.known)
        return min(int(np.searchsorted(counts, counts[-1] / 10.0)) + 1, self.rounds - 1)

    @cached_property
    def rows(self) -> Rows:
        """The features as coordinates."""
        columns = {name: self.log.features[name] for name in self.features}
        if not columns:
            zero, none = np.zeros(self.rounds + 1, dtype=np.int64), np.empty(0, dtype=np.int64)
            return Rows(zero, none, np.empty(0))
        return self.how.model().hasher.table(columns)

    def first(self, count: int) -> Task:
        """Return the task of the first predictions only."""
        if count >= self.rounds:
            return self
        part = slice(0, count)
        return replace(
            self,
            log=self.log.take(part),
            labels=self.labels[part],
            hearing=self.hearing.take(part),
            keys=self.keys[part],
            whole=self.rounds,
        )


def task_of(
    data: Any,
    asked: Asked,
    how: Labels,
    silence: Silence,
    *,
    loss: Loss | None,
    progress: Callable[[int], None] | None = None,
) -> Task:
    """Return the task that a log and what is asked of it make; stop at what cannot be right."""
    stored = None if isinstance(data, Log) else stored_in(data)
    own: Sequence[Key] | None = None
    if stored is not None:
        check(stored, asked)
        how, loss = labels_of(stored, how, loss)
        silence = silence_of(stored, silence)
    silence.check()
    if stored is not None:
        data, own = log_of(stored, asked, silence), keys_in(stored, asked)
        asked = replace(asked, is_stored=True)
    log, name, features = _log(data, asked, silence, progress)
    log, keys = _keyed(log, asked) if own is None else (log, own)
    is_arrival = log.target is None and silence.value is not None
    truth = arrivals(log, silence) if is_arrival else log.target
    if truth is None:
        raise LogError(f"replay: {log.name} has no target")
    how = settled(how, truth, name, is_told=loss is not None)
    chosen, kinds, log = _features(log, name, features, asked)
    order = log.timeline.rows
    log = log.take(order)
    labels = how.of(truth)
    check_range(how, labels, name)
    labels = labels[order]
    given = log
    log, labels, how, hearing = heard(log, labels, truth[order], how, silence)
    known = chosen if asked.is_stored else asked.known  # a store wrote features with the question
    found = checked(given, labels, hearing.counts, name, chosen, kinds, known)
    notes = (*log.notes, *found)
    keys = [keys[row] for row in order.tolist()]
    return Task(
        *(log, labels, hearing, how, name, chosen, kinds, silence, notes),
        keys=keys,
        is_arrival=is_arrival,
    )


def _log(
    data: Any, asked: Asked, silence: Silence, progress: Callable[[int], None] | None
) -> tuple[Log, str, Features]:
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
        wanted = list(dict.fromkeys([*wanted, *asked.slices]))
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
    return found.read(progress), asked.target or found.columns.observed, asked.features


def _keyed(log: Log, asked: Asked) -> tuple[Log, Sequence[Key]]:
    """Return the log without its column of keys, and the key of every row."""
    name = asked.key
    if name is None:
        return log, [str(row) for row in range(len(log))]
    if name in asked.features or name in asked.slices:
        raise LogError(f"replay: {name!r} is the key of a row, and can be no feature and no slice")
    if name not in log.features:
        raise _no_key(name, log.features)
    others = {column: cells for column, cells in log.features.items() if column != name}
    kinds = log.kinds.only(kind.name for kind in log.kinds if kind.name != name)
    return replace(log, features=others, kinds=kinds), keys_of(log.features[name], name)


def _no_key(name: str, known: Iterable[str]) -> LogError:
    of_keys = "of keys (--key) beside the target and the times; there are"
    return _absent(f"there is no column {name!r} {of_keys}", known)


def _absent(says: str, known: Iterable[str]) -> LogError:
    """Return an error that ends with the names that there are."""
    return LogError(f"replay: {says} {', '.join(map(repr, known)) or 'none'}")


def _features(
    log: Log, target: str, features: Features, asked: Asked
) -> tuple[tuple[str, ...], Kinds, Log]:
    """Return the names of the features, what columns became, and the log without constants."""
    if not log.kinds:
        others = {name: column for name, column in log.features.items() if name != target}
        chosen = tuple(others) if features == "all" else tuple(features)
        _check_names(log.name, others, [*chosen, *asked.slices])
        return chosen, log.kinds, replace(log, features=others)
    kinds = counted(log)
    log = replace(log, features={name: log.features[name] for name in kinds.names}, kinds=kinds)
    for name in asked.slices:
        if name not in log.features:
            _check_slice(kinds, name)
    shown = kinds if features == "all" else kinds.only(features)
    return shown.names, shown, log


def _check_slice(kinds: Kinds, name: str) -> None:
    known = [kind for kind in kinds if kind.name == name]
    if known:
        more = f"; it became {', '.join(known[0].names)}" if known[0].names else ""
        raise LogError(
            f"replay: {name!r} is {known[0].says} ({known[0].why}){more}: slice by others"
        )
    raise _absent(f"there is no column {name!r} to slice by; there are", kinds.names)


def _check_names(name: str, known: dict[str, Array], wanted: Sequence[str]) -> None:
    for column in wanted:
        if column not in known:
            raise _absent(f"{name} has no column {column!r}; it has", known)


# Logs of stores, as replays take them: with the loss, silence and deadline that the model had.

TARGET = "the label"
"""What the target of such a log is called; a feature may well be called ``label``."""


def log_of(stored: StoredLog, asked: Asked, said: Silence) -> Log:
    """Return the log of a store with its labels and features."""
    span = math.inf
    if said.value is not None and said.deadline is not None:
        log = stored.log()
        span = in_unit(said.deadline, log.unit, has_dates=log.has_dates)
    wanted = None if asked.features == "all" else [*asked.features, *asked.slices]
    features = stored.features(wanted)
    for name in asked.kinds:
        if features.pop(name, None) is None:
            raise _absent(f"{stored.name} has no feature {name!r}; it has", features)
    log = stored.log(span)
    notes = (*log.notes, *_notes(stored, said))
    return replace(log, features=features, notes=notes)


def keys_in(stored: StoredLog, asked: Asked) -> list[Key] | None:
    """Return the key of every row where the keys of the store are asked for; None: others are.

    They are no column, so that a feature of the same name stays one.
    """
    from belated.audits.stored_log import KEY  # which is loaded by now, as its log is there

    return keys_of(stored.keys(), KEY) if asked.key == KEY else None


def labels_of(stored: StoredLog, how: Labels, loss: Loss | None) -> tuple[Labels, Loss | None]:
    """Return how labels are learned: as the model did, where nothing else is said."""
    told = stored.settings
    if not isinstance(told, Settings):
        return how, loss
    if loss is not None or how.is_binary or how.clip is not None:
        return how, loss
    how = replace(how, loss=told.loss, quantile=told.quantile, delta=told.delta)
    return how, told.loss


def silence_of(stored: StoredLog, said: Silence) -> Silence:
    """Return what no answer means: what it meant to the model, where nothing else is said."""
    told = stored.settings
    if said.answered_only or told is None or told.silence is None:
        return said
    value = told.silence if said.value is None else said.value
    deadline = stored.told_deadline if said.deadline is None else said.deadline
    return Silence(value, deadline)


def _notes(stored: StoredLog, said: Silence) -> list[str]:
    """Say what of the model is left out."""
    told = stored.settings
    is_asked = told is None or told.silence is None
    is_asked = is_asked or (said.deadline is None and said.value is not None)
    return [stored.left_out] if is_asked and stored.left_out else []


def check(stored: StoredLog, asked: Asked) -> None:
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
    given: list[Any] = [name for name in (*names, "missing") if getattr(asked, name)]
    given += [what for what in asked.kinds.values() if what != "ignore"]
    if given:
        raise LogError(
            f"replay: {stored.name} is the log of a store, which has its times, labels and "
            f"features; leave out {', '.join(given)}"
        )


# What is said before anything runs: features that know the answer, columns that say nothing.


def refuse_answers(columns: Columns) -> None:
    """Refuse features that are the answer itself, or its time."""
    for name, what in ((columns.observed, "when the answer came"), (columns.target, "the answer")):
        if name in columns.features:
            raise LogError(
                f"replay: {name!r} is {what}, which nobody knows when the prediction is made; a "
                "feature must be known then"
            )


def counted(log: Log) -> Kinds:
    """Return what columns became, with their numbers of values; constants are found here."""
    kinds = log.kinds
    for kind in kinds:
        if not kind.names or kind.what == "time":
            continue
        column = log.features[kind.names[-1]]
        if column.dtype.kind == "f":
            if len(column) and (column == column[0]).all():
                value = f"{column[0]:g}"
                kinds = kinds.changed(kind.name, what="constant", why=f"always {value}")
            continue
        words = set(column.tolist())
        if len(words) == 1 and len(column) > 1:
            kinds = kinds.changed(kind.name, what="constant", why=f"always {words.pop()!r}")
        else:
            kinds = kinds.changed(kind.name, values=len(words - {None}))
    return kinds


def checked(
    log: Log,
    labels: Floats,
    known: Bools,
    target: str,
    features: Sequence[str],
    kinds: Kinds,
    vouched: Sequence[str] = (),
) -> tuple[str, ...]:
    """Refuse features that know the answer; return what else is worth a word.

    ``known`` are rows whose label counts; ``vouched`` are columns of which somebody says that they
    are known when the prediction is made, whatever they look like.
    """
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
        if what := _knows(column, labels, known, hidden, target):
            found[name] = what
        elif doubt := _doubt(column, labels, known, answered):
            notes.append(f"{name} {doubt} Then leave it out (--ignore {source})")
    if found:
        raise leaks.told("replay", found, sources, "the prediction is made")
    return tuple(notes)


def _knows(column: Array, labels: Floats, known: Bools, hidden: Hidden, target: str) -> str:
    """Say what of the answer a feature is; nothing where it is nothing of it."""
    if leaks.is_target(column, labels, known):
        return f"the target {target!r} under another name, in every answered row"
    what = hidden.known_by(column)
    return f"the target {target!r} {what}" if what == leaks.CHANGED else what


def _doubt(column: Array, labels: Floats, known: Bools, answered: Bools) -> str:
    """Say why a feature may know the answer, and ask; nothing where there is no reason to."""
    if leaks.follows_answers(column, answered):
        return "is there exactly where an answer came: is it filled in with the answer?"
    if leaks.is_nearly_target(column, labels, known):
        return "is nearly always the target: is it known only with the answer?"
    if what := leaks.only_with_answers(column, answered):
        return f"is {what} only in rows with an answer: is it filled in with the answer?"
    return ""
