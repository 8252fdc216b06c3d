"""``LinearModel``: predict from features now, learn when the label comes."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from belated import core
from belated.arrays import Floats, Ints
from belated.core.linear import Forecast
from belated.core.linear import LinearModel as CoreModel
from belated.errors import AlreadyObserved, BadFeatures, BadFeedback, BadKey, BusyError
from belated.files import StrPath, write_whole
from belated.keys import Key
from belated.models.clock import Duration
from belated.models.events import events_of
from belated.models.extras import extras_of
from belated.models.linear import snapshot
from belated.models.linear.events import check_labels, check_predictions, vector
from belated.models.linear.explain import Explanation, explained, names_of
from belated.models.linear.features import Features, Hasher
from belated.models.linear.given import Entries, GivenRows, Many, Row
from belated.models.linear.losses import LOSSES, Loss
from belated.models.linear.report import LinearReport, report_of
from belated.models.linear.rows import Rows
from belated.models.linear.settings import Late, Settings, Wait, checked
from belated.models.moments import Time, read_time
from belated.models.named import Named, keys_of, named
from belated.models.times import NEVER, Times

if TYPE_CHECKING:
    from belated.logs.kinds import Kinds
    from belated.timeline import Timeline
    from belated.timeline.columns import TimesLike

__all__ = ["Forecast", "LinearModel"]

_OF_ANSWERS = frozenset({"observe", "revise", "add", "observe_many"})


class LinearModel(CoreModel):
    """A linear model whose labels come late, in any order, or never.

    ``loss`` is "squared", "absolute", "quantile" (at level ``quantile``), "huber" (linear beyond
    ``delta``), "logistic" (labels 0 and 1, predicts a probability), "hinge" (labels -1 and 1) or
    "poisson" (labels from 0 on, predicts a rate). Features are hashed into 2^``bits`` coordinates;
    ``interactions`` lists tuples of names to be multiplied; ``intercept`` adds a constant.
    ``l1`` and ``l2`` shrink weights.

    ``wait`` says when to stop waiting for a label: "adaptive" goes by the ages at which labels
    came, above 1,000 later predictions, and where there is a ``deadline`` by that alone;
    ``{"predictions": n}`` waits for n later predictions, None for ever, and a duration (a
    timedelta, "30d", "36h") is a deadline. At most ``max_open`` tickets are open: before there are
    more, the oldest is closed, so late labels are lost for good. (``Capacity``, which is for
    learners, draws which tickets it loses, and lets the other answers weigh more.)
    ``silence`` is the label of what nothing is heard of: it is learned at once, and corrected when
    something is. A ticket is due ``deadline`` after its prediction. A number is in the unit of
    ``at``, or in predictions where no times are given; ``{"predictions": n}`` is in predictions,
    and times are then refused. A ticket that is due closes, with the label so far as the last word;
    ``late="learn"`` keeps it open for later labels if it has one. Times are numbers or dates, and
    dates are seconds since 1970; beside a deadline with a unit, numbers are seconds too.

    ``columns`` says what the columns of a log become (``Log.kinds``): then dicts are rows as the
    log has them, and mean what they mean there. A model that ``belated replay --save`` wrote has
    them.

    Six experts share the work: four scales a_k of per-coordinate steps

        w_i -= eta_i x_i h r,  eta_i = a_k S / sqrt(A_i),  A_i += h g |x_i| (g |x_i| + c_k U open_i)

    with standardised features x, S the scale of the labels, g the slope of the loss at the current
    weights, open_i the |x_i| of the tickets still open, and r the slope after the step; one that
    bets on coins and has no scale; and the mean of the weights that the third scale had, for what
    never changes. Their predictions are mixed by what each has lost so far.
    Nothing needs tuning. What is shown is no surer than what open tickets may still say allows. No
    theorem covers the whole.

    Labels that arrive between two predictions are a set: no prediction was made in between, so
    their order says nothing, and they are learned in one that depends on their tickets alone
    (``core.linear.Answers``), whichever calls they came in. What a model says always reflects all
    of them.

    >>> import belated as bl
    >>> model = bl.LinearModel("squared")
    >>> ticket, value = model.predict({"origin": "JFK", "distance": 187.0})
    >>> later = model.predict({"origin": "LGA", "distance": 2475.0})
    >>> model.observe(later.ticket, 12.0), model.observe(ticket, -3.0)
    (True, True)
    >>> model.open, round(model.predict({"origin": "JFK", "distance": 200.0}).value, 3)
    (0, 3.301)

    Every public method is one call of the core, so that threads and signals see all of an event or
    nothing. ``replay`` and ``predict_many`` let other threads run meanwhile; then, and while Python
    code converts arguments, other calls on the same model raise ``BusyError``, and nothing has
    changed.
    """

    __slots__ = ("__dict__", "__weakref__", "_given", "_times")

    def __init__(
        self,
        loss: Loss = "squared",
        *,
        bits: int = 20,
        quantile: float = 0.5,
        delta: float = 1.0,
        l1: float = 0.0,
        l2: float = 0.0,
        intercept: bool = True,
        interactions: Iterable[Sequence[str]] = (),
        wait: Wait = "adaptive",
        max_open: int | None = None,
        silence: float | None = None,
        deadline: Duration | None = None,
        late: Late = "drop",
        columns: Kinds | None = None,
    ) -> None:
        settings = checked(
            loss=loss,
            bits=bits,
            quantile=quantile,
            delta=delta,
            l1=l1,
            l2=l2,
            intercept=intercept,
            interactions=interactions,
            wait=wait,
            max_open=max_open,
            silence=silence,
            deadline=deadline,
            late=late,
            columns=columns,
        )
        self._take(settings)

    def _take(self, settings: Settings) -> None:
        """Take settings, having seen nothing."""
        core.warn_if_interpreted()
        self._given = GivenRows(settings)
        super()._begin(settings, self._given.hasher)  # type: ignore[no-untyped-call]
        self._times = Times(settings, self._linear)

    if TYPE_CHECKING:  # what the core has
        _linear: Any
        _names: Any

        def _checked_key(self, key: Any) -> str: ...

        def _drop_keys(self, names: Iterable[Key]) -> None: ...

        def _give_keys(self, pairs: Iterable[tuple[Key, int]]) -> None: ...

        def _state(self, who: str) -> tuple[dict[str, Any], dict[str, Any]]: ...

        def _state_now(self) -> tuple[dict[str, Any], dict[str, Any]]: ...

        def _alone(self, who: str, work: Callable[[], Any]) -> Any: ...

        def _peeked(self, features: Row, who: str) -> float: ...

        def ticket(self, name: int | Key) -> int: ...

        def is_open(self, ticket: int | Key) -> bool: ...

        def predict(
            self,
            features: Row,
            *,
            key: Key | None = None,
            at: Time | None = None,
            deadline: Duration | None = None,
        ) -> Forecast: ...

        def peek(self, features: Row) -> float: ...

        def observe(
            self, ticket: int | Key, label: float, weight: float = 1.0, *, at: Time | None = None
        ) -> bool: ...

        def revise(self, ticket: int | Key, label: float, *, at: Time | None = None) -> bool: ...

        def add(self, ticket: int | Key, amount: float, *, at: Time | None = None) -> bool: ...

        def cancel(self, ticket: int | Key) -> None: ...

        def tick(self, at: Time) -> None: ...

        def predict_many(
            self, rows: Many, *, keys: Iterable[Key | None] | None = None, at: Time | None = None
        ) -> tuple[Ints, Floats]: ...

        def peek_many(self, rows: Many) -> Floats: ...

        def observe_many(
            self,
            tickets: ArrayLike | Iterable[Any],
            labels: ArrayLike,
            weights: ArrayLike | None = None,
            *,
            at: Time | None = None,
        ) -> NDArray[np.bool_]: ...

        def replay(
            self,
            rows: Many,
            labels: ArrayLike,
            timeline: Timeline | ArrayLike,
            *,
            weights: ArrayLike | None = None,
            first: int = 0,
            at: TimesLike | None = None,
            deadlines: ArrayLike | None = None,
            keys: Sequence[Key] | None = None,
            progress: Callable[[int], None] | None = None,
        ) -> Floats: ...

    _memory: Any = property(lambda self: self._linear)
    """What stores and services read of all models with times."""
    _keys: Any = property(lambda self: self._names)
    """Keys of tickets."""

    def fresh(self) -> Self:
        """Return a model with the same settings that has seen nothing."""
        model = type(self).__new__(type(self))
        model._take(self.settings)
        return model

    @property
    def settings(self) -> Settings:
        """What the model was told."""
        settings: Settings = self._settings
        return settings

    @property
    def hasher(self) -> Hasher:
        """What turns named features into coordinates."""
        return self._given.hasher

    @property
    def rounds(self) -> int:
        """Predictions made so far; also the next ticket."""
        return int(self._linear.rounds)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays; those of coordinates never seen are not taken from the system."""
        return int(self._linear.nbytes)

    @property
    def open(self) -> int:
        """Tickets that still wait for their label (those given up on and cancelled ones do not)."""
        return int(self._linear.open)

    @property
    def spread(self) -> float:
        """Standard deviation of the labels so far, as they were learned; 0 before the first."""
        return float(self._looked().spread)

    def answerable(self) -> set[int]:
        """Return the tickets whose label would not be refused: open ones, and some given up on."""
        tickets: set[int] = self._linear.answerable()
        return tickets

    def _looked(self) -> Any:
        """Return the model of the core with all answers, or as it is while a call is at work."""
        with suppress(BusyError):
            self._alone("report", self._linear.look)
        return self._linear

    def explain(self, features: Features) -> Explanation:
        """Return what each named feature adds to the prediction now, largest first; no change.

        >>> import belated as bl
        >>> model = bl.LinearModel("squared")
        >>> for hour in range(50):
        ...     ticket, _ = model.predict({"hour": hour % 7})
        ...     used = model.observe(ticket, 2.0 * (hour % 7) + 1.0)
        >>> print(model.explain({"hour": 6}))
        constant        +6.846
        hour           +5.8837
        total           +12.73
        """
        if not isinstance(features, Mapping):
            raise BadFeatures("explain: features are a dict, so that they have names")
        explanation: Explanation = self._alone("explain", lambda: self._explained(features))
        return explanation

    def _explained(self, features: Features) -> Explanation:
        value = self._peeked(features, "explain")
        names = names_of(self.hasher.named(features), self.hasher.interactions)
        return explained(self._linear, names, value)

    def weights(self, names: Iterable[str | tuple[str, str]]) -> dict[Any, float]:
        """Return the weights of features: of a number by its name, of a string as (name, string).

        A weight is what a standard deviation of the feature adds to the prediction, before the
        link. Features that were never seen have 0.
        """
        wanted = list(names)
        for name in wanted:
            if not isinstance(name, str) and not _is_name_and_string(name):
                raise BadFeatures(f"weights: a name or a pair (name, string), got {name!r}")
        indices = np.array([self.hasher.coordinate(name) for name in wanted], dtype=np.int64)
        return dict(zip(wanted, self._looked().experts.weights(indices).tolist(), strict=True))

    # --- State ----------------------------------------------------------------------------------

    def report(self) -> LinearReport:
        """Return counts, delays so far, the mean loss, and how much each expert counts."""
        return report_of(self.settings.loss, self._looked())

    def losses(self, values: ArrayLike, labels: ArrayLike) -> Floats:
        """Return the losses of predictions, as ``predict`` gave them.

        Those of the squared loss are (value - label)^2 / 2; Poisson's leave out what only depends
        on the label.
        """
        v = vector(values, "losses: values")
        y = vector(labels, "losses: labels", v.size)
        losses: Floats = self._linear.loss.losses(v, y)
        return losses

    def snapshot(self, *, secret: bytes | None = None) -> bytes:
        """Return the whole model as one blob, as long as the coordinates that it has seen.

        Equal models give equal blobs. With a ``secret``, only those who know it can write
        or change one unseen.
        """
        return snapshot.pack(self, secret)

    @classmethod
    def restore(cls, blob: bytes, *, secret: bytes | None = None) -> Self:
        """Return the model that a snapshot holds; it goes on as if nothing had happened.

        ``secret`` is the one that ``snapshot`` was given. Whatever the bytes are, there is a model
        that goes on predicting numbers, or a ``SnapshotError``. What ``load`` says of tickets that
        were handed out later holds here too.
        """
        model = cls.__new__(cls)
        snapshot.unpack(blob, secret, model)
        return model

    def save(self, path: StrPath, *, secret: bytes | None = None) -> None:
        """Write a snapshot to a file as a whole, or leave the file as it was."""
        write_whole(path, self.snapshot(secret=secret))

    @classmethod
    def load(cls, path: StrPath, *, secret: bytes | None = None) -> Self:
        """Return the model that a file holds; the checks are those of ``restore``.

        Tickets that were handed out after it was saved are not known to it, and their numbers are
        handed out again: a label for one of them would be taken for another's. Keys do not have
        that problem, as a lost one is simply unknown.
        """
        return cls.restore(Path(path).read_bytes(), secret=secret)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...], Any]:
        """Pickle and copy by snapshot, and what subclasses add."""
        return type(self).restore, (self.snapshot(),), extras_of(self, LinearModel)

    def __repr__(self) -> str:
        """Return what the model is and where it stands."""
        return f"<LinearModel, {self.settings.loss} loss: {self.rounds} rounds, {self.open} open>"

    # --- Arguments ------------------------------------------------------------------------------

    def _time(
        self, at: Time | None, deadline: Duration | None, who: str
    ) -> tuple[float, float, int]:
        """Return a time, the deadline of a ticket, NaN for none, and the kind of the time."""
        moment = None if at is None else read_time(at, who)
        kind = 0 if moment is None else moment.kind
        if who in _OF_ANSWERS:
            return self._times.of_answer(moment, who), NEVER, kind
        if who == "tick":
            return self._times.of_tick(moment), NEVER, kind
        return *self._times.issued(moment, deadline), kind

    def _row_of(self, features: Any) -> Entries:
        return self._given.row(features)

    def _rows_of(self, rows: Any, who: str) -> Rows:
        return self._given.rows(rows, who)

    def _bad_entry(
        self, features: Row, place: int, index: int, value: float, who: str
    ) -> BadFeatures:
        return self._given.refusal(features, place, index, value, who)

    def _check_revisable(self, who: str) -> None:
        """Refuse to change labels where the loss cannot take one back."""
        loss = self.settings.loss
        if not LOSSES[loss].is_linear_in_label:
            raise BadFeedback(
                f"{who}: the {loss} loss cannot take back a label that it learned; nothing has "
                "changed: use observe with the last word, or another loss"
            )

    def _rows_arguments(
        self, rows: Many, keys: Any, at: Time | None
    ) -> tuple[Rows, list[Key | None] | None, float, int]:
        """Return rows, their keys, the time and its kind."""
        sparse = self._given.rows(rows, "predict_many")
        names = None if keys is None else keys_of(keys, sparse.height, "predict_many")
        if names is not None:
            self._check_keys(names, "predict_many")
        moment = read_time(at, "predict_many")
        now = self._times.of(moment, "predict_many")
        return sparse, names, now, 0 if moment is None else moment.kind

    def _check_keys(self, keys: Sequence[Key | None], who: str) -> None:
        """Refuse keys that cannot be, are those of open tickets, or are there twice."""
        given: dict[Any, int] = {}
        for row, key in enumerate(keys):
            if key is None:
                continue
            try:
                self._checked_key(key)
            except BadKey as error:
                raise BadKey(f"{who}: row {row}: {error}") from None
            if key in given:
                raise BadKey(
                    f"{who}: row {row}: the key {key!r} is that of row {given[key]} too; nothing "
                    "has changed"
                )
            given[key] = row

    def _labels_arguments(
        self, tickets: Any, labels: ArrayLike, weights: ArrayLike | None, at: Time | None
    ) -> tuple[Named, Floats, Floats, float]:
        """Return tickets and what they were called, labels, weights and the time."""
        heard = named(tickets, self._names, "observe_many")
        wanted = heard.tickets
        y, w = _labels_of(labels, weights, wanted.size, "observe_many")
        first = np.unique(wanted, return_index=True)[1]
        if first.size < wanted.size:
            again = int(np.delete(np.arange(wanted.size), first)[0])
            where = heard.at("observe_many", again)
            raise AlreadyObserved(f"{where}: ticket {wanted[again]} is there twice")
        now = self._times.of_answer(read_time(at, "observe_many"), "observe_many")
        return heard._replace(tickets=np.ascontiguousarray(wanted)), y, w, now

    def _replay_arguments(
        self,
        rows: Many,
        labels: ArrayLike,
        timeline: Timeline | ArrayLike,
        weights: ArrayLike | None,
        first: int,
        at: TimesLike | None,
        deadlines: ArrayLike | None,
        keys: Sequence[Key] | None,
    ) -> tuple[Any, ...]:
        """Return events, rows, labels, weights, the first ticket, times, deadlines and a kind."""
        sparse = self._given.rows(rows, "replay")
        y, w = _labels_of(labels, weights, None, "replay")
        events = events_of(timeline, "replay")
        first, begin = operator.index(first), self.rounds
        rounds = getattr(timeline, "rounds", 0)  # 0: events alone, which may be a part of a log
        if 0 < rounds < first + y.size:
            raise BadFeedback(
                f"replay: {y.size} labels, but the timeline has tickets 0 to {rounds - 1}; give "
                "one label for each, or use first= to feed parts"
            )
        check_predictions(events, begin, sparse.height)
        observed = check_labels(events, begin, first, y.size)
        older = observed[observed < begin]
        if np.unique(older).size < older.size:
            raise AlreadyObserved("replay: the label of an older ticket is there twice")
        places = observed - first
        told = observed, y[places], w[places]
        place, status = self._linear.first_refused(*told, True)
        if status < 0:
            raise self._refused(status, *told, place, "replay")
        times, kind = self._times.of_events(at, events.size, "replay")
        spans = self._times.spans(deadlines, sparse.height, "replay")
        if keys is not None:
            if len(keys) != sparse.height:
                raise BadKey(f"replay: {sparse.height} rows need as many keys, got {len(keys)}")
            is_open = np.ones(sparse.height, dtype=np.bool_)
            is_open[observed[observed >= begin] - begin] = False
            unanswered: set[Key] = set()
            for row in np.flatnonzero(is_open).tolist():
                if self._checked_key(keys[row]) in unanswered:
                    raise BadKey(f"replay: two rows without a label have the key {keys[row]!r}")
                unanswered.add(str(keys[row]))
        # Copies of what is not checked again: the caller's own may change while the log is read.
        sparse = sparse._replace(indptr=sparse.indptr.copy())
        return events, sparse, y.copy(), w.copy(), first, times, spans, kind


def _labels_of(
    labels: ArrayLike, weights: ArrayLike | None, length: int | None, who: str
) -> tuple[Floats, Floats]:
    """Return labels and weights as arrays of one length."""
    y = vector(labels, f"{who}: labels", length)
    if weights is None:
        return y, np.ones(y.size)
    return y, vector(weights, f"{who}: weights", y.size)


def _is_name_and_string(name: Any) -> bool:
    return isinstance(name, tuple) and len(name) == 2 and all(isinstance(p, str) for p in name)
