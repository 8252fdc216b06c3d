"""From a log to what is replayed: labels, features and events, in order of prediction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from belated.arrays import Array, Bools, Floats, Ints
from belated.errors import LogError
from belated.linear import LinearModel, Rows
from belated.linear.losses import BINARY, LOSSES, Loss, named
from belated.logs import Log, OnBad, Unit, read

Features = Sequence[str] | Literal["all"]


@dataclass(frozen=True)
class Labels:
    """How the target becomes a label, and what a prediction of it costs."""

    loss: Loss = "squared"
    quantile: float = 0.5
    delta: float = 1.0
    clip: tuple[float, float] | None = None
    threshold: float | None = None
    positive: str | None = None

    def __post_init__(self) -> None:
        """Check what the model does not."""
        if self.clip is not None and not self.clip[0] < self.clip[1]:
            raise LogError(f"replay: clip must be low and high, in this order, got {self.clip}")
        named(self.loss, "replay")
        if self.is_binary and self.loss not in BINARY:
            raise LogError(
                "replay: threshold and positive make a yes or no of the target, whose loss is "
                f"{' or '.join(BINARY)}, got {self.loss!r}"
            )
        if self.threshold is not None and self.positive is not None:
            raise LogError("replay: give threshold or positive, not both")

    @property
    def is_binary(self) -> bool:
        """Whether the target is made a yes or no."""
        return self.threshold is not None or self.positive is not None

    def model(self, wait: Literal["skip"] | int | None = "skip") -> LinearModel:
        """Return a fresh model for these labels."""
        return LinearModel(self.loss, quantile=self.quantile, delta=self.delta, wait=wait)

    def of(self, target: Array) -> Floats:
        """Return labels; NaN where the target is missing."""
        if self.positive is not None:
            return self._signed(_equal(target, self.positive))
        labels = np.asarray(target, dtype=np.float64)
        if self.clip is not None:
            labels = np.clip(labels, *self.clip)
        if self.threshold is not None:
            return self._signed(np.where(np.isnan(labels), np.nan, labels > self.threshold))
        values = set(np.unique(labels[~np.isnan(labels)][:1_000_000]).tolist())
        classes = LOSSES[self.loss].labels.classes
        if classes is not None and values <= {0.0, 1.0}:
            return self._signed(labels)
        allowed = values if classes is None else set(classes)
        if not values <= allowed:
            raise LogError(
                f"replay: the {self.loss} loss needs a yes or no, and the target is "
                f"{min(values - allowed):g}; say what is a yes with threshold (--threshold) or "
                "positive (--positive)"
            )
        return labels

    def _signed(self, labels: Floats) -> Floats:
        """Return 0 and 1 as the loss has them."""
        no, yes = LOSSES[self.loss].labels.classes or (0.0, 1.0)
        return no + (yes - no) * labels

    def words(self, target: str) -> str:
        """Say what is predicted."""
        if self.positive is not None:
            return f"{target} = {self.positive}"
        if self.threshold is not None:
            return f"{target} above {self.threshold:g}"
        if self.clip is not None:
            return f"{target}, clipped to [{self.clip[0]:g}, {self.clip[1]:g}]"
        return target


def _equal(target: Array, positive: str) -> Floats:
    """Return where the target is the positive value, as 0 and 1; NaN where it is missing."""
    if target.dtype.kind == "f":
        try:
            wanted = float(positive)
        except ValueError:
            raise LogError(f"replay: the target holds numbers, got {positive!r}") from None
        found = np.where(np.isnan(target), np.nan, target == wanted)
    else:
        found = np.array([np.nan if cell is None else cell == positive for cell in target])
    if not (found == 1.0).any():
        known = Counter(str(cell) for cell in target.tolist() if cell is not None and cell == cell)
        listed = ", ".join(repr(value) for value, _ in known.most_common(5))
        raise LogError(f"replay: no target is {positive!r}; the most frequent ones are {listed}")
    return found.astype(np.float64)


@dataclass(frozen=True, eq=False)
class Task:
    """A log with labels, its rows in order of prediction, so that row t is ticket t."""

    log: Log
    labels: Floats
    """NaN where no label ever came."""
    how: Labels
    target: str
    """The name of the target."""
    features: tuple[str, ...]
    """What the methods see."""
    columns: tuple[str, str] | None = None
    """The names of the columns of times, where they were given."""
    whole: int = 0
    """Rows of the log of which these are the first; 0: of all."""

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
        return self.log.answered & ~np.isnan(self.labels) & (self.weights > 0.0)

    @cached_property
    def events(self) -> Ints:
        """All events in the order of time: t for prediction t, ~t for its label."""
        events = self.log.timeline.events
        kept = (events >= 0) | self.known[np.where(events >= 0, 0, ~events)]
        return np.ascontiguousarray(events[kept])

    @cached_property
    def at_once(self) -> Ints:
        """The same events if every label came right after its prediction."""
        tickets = np.arange(self.rounds, dtype=np.int64)
        events = np.stack([tickets, ~tickets], axis=1)
        return events[np.stack([np.ones_like(self.known), self.known], axis=1)]

    @cached_property
    def delays(self) -> Ints:
        """Predictions made while each known label was out."""
        return self.log.timeline.delay[self.known]

    @cached_property
    def rows(self) -> Rows:
        """The features as coordinates."""
        columns = {name: self.log.features[name] for name in self.features}
        if not columns:
            zero, none = np.zeros(self.rounds + 1, dtype=np.int64), np.empty(0, dtype=np.int64)
            return Rows(zero, none, np.empty(0))
        return self.how.model().hasher.table(columns, nan="skip")

    def first(self, count: int) -> Task:
        """Return the task of the first predictions only."""
        if count >= self.rounds:
            return self
        log = self.log.take(slice(0, count))
        return replace(self, log=log, labels=self.labels[:count], whole=self.rounds)


def task_of(
    data: Any,
    target: str | None,
    predicted: str | None,
    observed: str | None,
    *,
    features: Features,
    slices: Sequence[str],
    weight: str | None,
    how: Labels,
    tz: str | None,
    unit: Unit | None,
    on_bad: OnBad,
) -> Task:
    """Return the task that a log and the names of its columns make."""
    columns = None
    if isinstance(data, Log):
        if predicted or observed or weight or tz or unit:
            raise LogError("replay: a Log has its columns, tz and unit already; give none here")
        log, truth, name = data, data.target, target or "the target"
    else:
        if target is None:
            raise LogError("replay: which column is to be predicted? Give target (--target)")
        columns = None if predicted is None or observed is None else (predicted, observed)
        wanted = features if features == "all" else list(dict.fromkeys([*features, *slices]))
        log = read(
            data,
            predicted,
            observed,
            target=target,
            weight=weight,
            features=wanted,
            tz=tz,
            unit=unit,
            on_bad=on_bad,
        )
        truth, name = log.target, target
    if truth is None:
        raise LogError(f"replay: {log.name} has no target")
    others = {column: cells for column, cells in log.features.items() if column != name}
    chosen = tuple(others) if features == "all" else tuple(features)
    _check_names(log.name, others, [*chosen, *slices])
    return _task(replace(log, features=others), truth, how, name, chosen, columns)


def _task(
    log: Log,
    truth: Array,
    how: Labels,
    name: str,
    features: tuple[str, ...],
    columns: tuple[str, str] | None,
) -> Task:
    """Return the task, its rows in order of prediction."""
    order = log.timeline.rows
    labels = how.of(truth)[order]
    task = Task(log.take(order), labels, how, name, features, columns)
    if not task.known.any():
        raise LogError(f"replay: {log.name} has no answered row with a target")
    return task


def _check_names(name: str, known: dict[str, Array], wanted: Sequence[str]) -> None:
    for column in wanted:
        if column not in known:
            listed = ", ".join(map(repr, known)) or "none"
            raise LogError(f"replay: {name} has no column {column!r}; it has {listed}")
