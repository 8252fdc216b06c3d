"""``Intervals``: predict a value and a range around it, learn both when the label comes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple, Self

from belated.errors import SpecError
from belated.files import StrPath, write_whole
from belated.intervals import snapshot
from belated.intervals.report import IntervalsReport, report_of
from belated.intervals.state import State
from belated.kernels.linear.layout import HUGE_LABEL
from belated.learner.extras import extras_of
from belated.learner.keys import Key
from belated.learner.turns import alone, holding
from belated.learner.whole import Call
from belated.linear import whole_events
from belated.linear.answers import number
from belated.linear.explain import Explanation
from belated.linear.features import Features
from belated.linear.given import Row
from belated.linear.losses import LOSSES
from belated.linear.model import LinearModel
from belated.linear.moments import Time, read_time
from belated.linear.settings import Settings
from belated.linear.times import NEVER

_as_tuple = tuple.__new__  # a named tuple made from a tuple takes half the time


class Interval(NamedTuple):
    """What ``predict`` returns."""

    ticket: int
    """Number to give back with the label."""
    value: float
    """The prediction of the model."""
    low: float
    high: float
    """The label is to be from ``low`` to ``high`` in the share of cases that was asked for.

    Before the first label nothing is known of that, and they are infinite.
    """


class Range(NamedTuple):
    """What ``peek`` returns: an interval without a ticket."""

    value: float
    low: float
    high: float


class Intervals:
    """Predictions of a linear model with intervals that cover a share ``coverage`` of the labels.

        value - q <= label <= value + q,   q = b + eta D,   D = missed - (1 - coverage) n

    A second model forecasts from the same features which b the distance of label and prediction
    stays below, and D, what is owed, corrects it: n labels have come, and ``missed`` of them were
    outside of the interval that was issued with them. So the coverage tends to what was asked for,
    with labels that come late, in any order and after any delays, even if somebody who sees the
    intervals chooses them (see ``belated.intervals.threshold`` and docs/intervals.md); how fast is
    in ``report``. Nothing needs tuning, and nothing depends on the unit of the labels.

    ``model`` is a ``LinearModel`` for numbers (squared, absolute, Huber, quantile or Poisson loss)
    and is from then on used through the intervals alone. Until the first label has come nothing is
    known of distances, and an interval is unbounded: from -inf, or from 0 for Poisson loss, to inf.
    Such intervals count neither as covered nor as missed.

    >>> import belated as bl
    >>> intervals = bl.Intervals(bl.LinearModel("squared", bits=8), coverage=0.9)
    >>> intervals.peek([1.0])
    Range(value=0.0, low=-inf, high=inf)
    >>> for t in range(500):
    ...     ticket, value, low, high = intervals.predict([1.0])
    ...     used = intervals.observe(ticket, float(t * 7 % 10))
    >>> round(value, 1), round(low, 1), round(high, 1)
    (4.5, 0.1, 9.0)
    >>> round(intervals.report().coverage, 2)
    0.9

    For one thread at a time, as a ``LinearModel`` is.
    """

    __slots__ = ("__dict__", "__weakref__", "_state", "_turn")

    def __init__(self, model: LinearModel, coverage: float = 0.9) -> None:
        if not isinstance(model, LinearModel):
            raise SpecError(f"Intervals: model must be a LinearModel, got {type(model).__name__}")
        share = _share(coverage)
        check_settings(model.settings)
        self._connect(State(model, model_of_scores(model.settings, share), share))

    def _connect(self, state: State) -> None:
        self._state = state
        self._turn: list[None] = [None]

    @property
    def model(self) -> LinearModel:
        """The model that the predictions come from."""
        return self._state.model

    @property
    def coverage(self) -> float:
        """The share of labels that is to be covered."""
        return self._state.coverage

    @property
    def rounds(self) -> int:
        """Predictions made so far; also the next ticket."""
        return self._state.model.rounds

    @property
    def open(self) -> int:
        """Tickets that still wait for their label (those given up on and cancelled ones do not)."""
        return self._state.model.open

    def ticket(self, name: int | Key) -> int:
        """Return the ticket that a key stands for; a ticket stands for itself."""
        return self._state.model.ticket(name)

    def is_open(self, ticket: int | Key) -> bool:
        """Tell whether a ticket, or that of a key, still waits for its label."""
        return self._state.model.is_open(ticket)

    @alone
    def predict(self, features: Row, *, key: Key | None = None, at: Time | None = None) -> Interval:
        """Return the next ticket, a prediction, and the interval around it.

        Arguments and errors are those of ``LinearModel.predict``.
        """
        return holding(self._state.model, "predict", self._predict, features, key, at)

    def _predict(self, features: Row, key: Key | None, at: Time | None) -> Interval:
        state, model, whole = self._state, self._state.model, self._state.whole
        if whole.left is not None:
            whole.finish()
        kind, times = 0, (NEVER, NEVER)
        if key is not None:
            model._keys.check(key, model._memory.is_open)
        moment = None if at is None else read_time(at, "predict")
        if moment is not None or model._settings.deadline is not None:
            times = model._times.issued(moment, None)
        if moment is not None:
            kind = model._memory.times_with(moment.kind)
        hasher, given = model._hasher, model._given
        row = hasher.entries(features) if features.__class__ is dict else given.row(features)
        answers: list[Any] = []
        forecast = whole_events.forecast_call(state.scores, row)
        whole.left = state.issue, answers, (forecast,), (key, kind, state.rounds)
        try:
            whole_events.issue(model, answers, row, times, features, forecast)
        finally:
            issued = whole.finish()
        ticket, value, threshold = issued
        return _as_tuple(Interval, (ticket, value, *state.ends(value, threshold)))

    @alone
    def peek(self, features: Row) -> Range:
        """Return what ``predict`` would, without a ticket and without any change."""
        state = self._state
        state.whole.finish()
        value = state.model.peek(features)
        threshold = state.threshold.peek(state.scores.peek(features))
        return Range(value, *state.ends(value, threshold))

    @alone
    def explain(self, features: Features) -> Explanation:
        """Return what each named feature adds to the value now, as ``LinearModel.explain`` does."""
        return self._state.model.explain(features)

    def weights(self, names: Iterable[str | tuple[str, str]]) -> dict[Any, float]:
        """Return the weights of features in the value; see ``LinearModel.weights``."""
        return self._state.model.weights(names)

    @alone
    def tick(self, at: Time) -> None:
        """Let the clock go on without a prediction: tickets whose deadline has passed are closed.

        The clock never goes back; an earlier time changes nothing. A label that comes after its
        deadline still counts for the coverage.
        """
        self._state.whole.finish()
        self._state.model.tick(at)

    @alone
    def observe(self, ticket: int | Key, label: float, *, at: Time | None = None) -> bool:
        """Learn the label of a ticket; return and raise what ``LinearModel.observe`` does.

        A label that the model drops, so that this returns False, still counts for the coverage. It
        is covered if it is from ``low`` to ``high``, as they were issued.
        """
        return holding(self._state.model, "observe", self._observe, ticket, label, at)

    def _observe(self, name: int | Key, given: float, at: Time | None) -> bool:
        state, model, whole = self._state, self._state.model, self._state.whole
        if whole.left is not None:
            whole.finish()
        ticket = name if type(name) is int and not name >> 63 else model.ticket(name)
        label = given if given.__class__ is float else number(given, "observe", "label")
        now = NEVER if at is None else model._times.of_answer(read_time(at, "observe"), "observe")
        kept, judged = state.kept.get(ticket), None
        more: tuple[Call, ...] = ()
        if kept is not None:  # else it is of a prediction that the model made before
            score = abs(label - kept.value)
            # The model of scores may have given up on it.
            told = score if score < HUGE_LABEL else HUGE_LABEL
            more = (whole_events.label_call(state.scores, kept.twin, told),)
            if score < math.inf:  # else the model refuses the label
                judged = state.judged(kept, label, score)
        answers: list[Any] = []
        whole.left = state.hear, answers, more, (name, ticket, judged)
        try:
            whole_events.hear(model, answers, ticket, label, now, "observe", *more)
        finally:
            used = whole.finish()
        return bool(used)

    @alone
    def cancel(self, ticket: int | Key) -> None:
        """Close a ticket whose label will never come; it does not count for the coverage."""
        holding(self._state.model, "cancel", self._cancel, ticket)

    def _cancel(self, name: int | Key) -> None:
        state, model, whole = self._state, self._state.model, self._state.whole
        whole.finish()
        ticket = model.ticket(name)
        kept = state.kept.get(ticket)
        more = () if kept is None else (state.withdrawal_of(kept),)
        answers: list[Any] = []
        whole.left = state.cancel, answers, more, (name, ticket)
        try:
            whole_events.ask(model, answers, model._cancel, (ticket,), "cancel", *more)
        finally:
            whole.finish()

    # --- State ----------------------------------------------------------------------------------

    @alone
    def report(self) -> IntervalsReport:
        """Return the coverage so far, what is guaranteed, the worst stretch and the mean width."""
        self._state.whole.finish()
        return report_of(self._state)

    @alone
    def snapshot(self, *, secret: bytes | None = None) -> bytes:
        """Return all of it, both models included, as one blob.

        With a ``secret``, only those who know it can write or change one unseen.
        """
        self._state.whole.finish()
        return snapshot.pack(self._state, secret)

    @classmethod
    def restore(cls, blob: bytes, *, secret: bytes | None = None) -> Self:
        """Return what a snapshot holds; it goes on as if nothing had happened.

        ``secret`` is the one that ``snapshot`` was given. Raises ``SnapshotError``. What
        ``LinearModel.load`` says of later tickets holds here.
        """
        intervals = cls.__new__(cls)
        intervals._connect(snapshot.unpack(blob, secret, _restored))
        return intervals

    def save(self, path: StrPath, *, secret: bytes | None = None) -> None:
        """Write a snapshot to a file as a whole, or leave the file as it was."""
        write_whole(path, self.snapshot(secret=secret))

    @classmethod
    def load(cls, path: StrPath, *, secret: bytes | None = None) -> Self:
        """Return what a file holds; what ``LinearModel.load`` says of later tickets holds here."""
        return cls.restore(Path(path).read_bytes(), secret=secret)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...], Any]:
        """Pickle and copy by snapshot, and what subclasses add."""
        return type(self).restore, (self.snapshot(),), extras_of(self, Intervals)

    def __repr__(self) -> str:
        """Return what this is and where it stands."""
        state = self._state
        return (
            f"<Intervals, {state.coverage:g} of the labels, {state.model.settings.loss} loss: "
            f"{state.rounds} rounds, {state.threshold.heard} observed>"
        )


def model_of_scores(settings: Settings, coverage: float) -> LinearModel:
    """Return the model of scores, which is as patient as the one of labels.

    It has no deadlines: tickets that the other has forgotten are taken from it too.
    """
    return LinearModel(
        "quantile",
        quantile=coverage,
        bits=settings.bits,
        intercept=settings.intercept,
        interactions=settings.interactions,
        wait=settings.wait,
        max_open=settings.max_open,
        columns=settings.columns,
    )


def check_settings(settings: Settings) -> None:
    """Refuse models whose labels are no numbers, or need not come."""
    if LOSSES[settings.loss].labels.classes is not None:
        able = ", ".join(name for name, loss in LOSSES.items() if loss.labels.classes is None)
        raise SpecError(
            f"Intervals: an interval needs labels that are numbers, and those of the "
            f"{settings.loss} loss are classes; use {able}"
        )
    if settings.silence is not None:
        raise SpecError(
            "Intervals: a label that silence stands for never comes, so that nobody could tell "
            "whether it was covered; make the model without silence="
        )


def _restored(model: LinearModel, scores: LinearModel, coverage: float) -> State:
    """Return a state of two models that belong together."""
    share = _share(coverage)
    check_settings(model.settings)
    if scores.settings != model_of_scores(model.settings, share).settings:
        raise SpecError("Intervals: the model of scores belongs to other settings")
    return State(model, scores, share)


def _share(coverage: Any) -> float:
    try:
        share = float(coverage) if not isinstance(coverage, str | bool) else math.nan
    except (TypeError, ValueError, OverflowError):
        share = math.nan
    if not 0.0 < share < 1.0:
        raise SpecError(f"Intervals: coverage must be between 0 and 1, got {coverage!r}")
    return share
