"""``LinearModel``: predict from features now, learn when the label comes."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from belated import core
from belated.arrays import Floats, Ints
from belated.core import linear as core_linear
from belated.core.component import demand
from belated.core.linear import Forecast, Forecasts
from belated.errors import AlreadyObserved, BadFeatures, BadFeedback, BadKey, BusyError
from belated.frames import Frame, is_frame
from belated.keys import Key
from belated.models.clock import Duration
from belated.models.events import events_of
from belated.models.linear.backfill import Backfill, Batch, begun
from belated.models.linear.events import check_labels, check_predictions, vector
from belated.models.linear.explain import Explanation, explained, names_of
from belated.models.linear.features import Features, Hasher
from belated.models.linear.losses import LOSSES, Loss
from belated.models.linear.report import LinearReport, report_of
from belated.models.linear.row_reader import Entries, GivenRows, Many, Row
from belated.models.linear.rows import Rows
from belated.models.linear.settings import Late, Settings, Wait, checked
from belated.models.moments import Moment, read_time
from belated.models.named import Named, keys_of, named
from belated.models.old_events import warn_without_times
from belated.models.online import RowModel, is_column
from belated.models.snapshots import Contents
from belated.models.times import NEVER, Times

if TYPE_CHECKING:
    from belated.logs.kinds import Kinds
    from belated.timeline import Timeline
    from belated.timeline.time_column import TimesLike

__all__ = ["Forecast", "Forecasts", "LinearModel"]


class LinearModel(
    RowModel[float, Settings, Row, Many, Forecast, float, Forecasts, Floats, Floats],
    core_linear.LinearModel,
):
    """A linear model whose labels come late, in any order, or never.

    ``loss`` is "squared", "absolute", "quantile" (at level ``quantile``), "huber" (linear beyond
    ``delta``), "logistic" (labels 0 and 1, predicts a probability), "hinge" (labels -1 and 1) or
    "poisson" (labels from 0 on, predicts a rate). Features are hashed into 2^``bits`` coordinates;
    ``interactions`` lists tuples of names to be multiplied, or is "auto": then bins of numbers and
    pairs of features are learned beside, as far as they help; ``intercept`` adds a constant.
    ``l1`` and ``l2`` shrink weights.

    ``wait`` says when to stop waiting for a label: "adaptive" goes by the ages at which labels
    came, above 1,000 later predictions, and where there is a ``deadline`` by that alone;
    ``{"predictions": n}`` waits for n later predictions, None for ever, and a duration (a
    timedelta, "30d", "36h") is a deadline. At most ``max_open`` tickets are open: before there are
    more, the oldest is closed, so late labels are lost for good. (``Capacity``, which is for
    learners, draws which tickets it loses, and lets the other answers weigh more.)
    ``silence`` is the label of what nothing is heard of: it is learned once an answer would have
    come, and corrected when one comes after all. A ticket is due ``deadline`` after its prediction.
    A number is in the unit of ``at``, or in predictions where no times are given;
    ``{"predictions": n}`` is in predictions, and times are then refused. A ticket that is due
    closes, with the label so far as the last word; ``late="learn"`` keeps it open for later labels
    if it has one. Times are numbers or dates, and dates are seconds since 1970; beside a deadline
    with a unit, numbers are seconds too.

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
    (0, 3.332)

    Every public method is one call of the core, so that threads and signals see all of an event or
    nothing. ``replay`` and ``predict_many`` let other threads run meanwhile; then, and while Python
    code converts arguments, other calls on the same model raise ``BusyError``, and nothing has
    changed.
    """

    __slots__ = ("__dict__", "__weakref__", "_backfill", "_rows", "is_logged")

    _kind_name = "LinearModel"

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
        interactions: Iterable[Sequence[str]] | Literal["auto"] = (),
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

    def _take(self, settings: Settings, like: Any = None) -> None:
        """Take settings, having seen nothing."""
        core.warn_if_interpreted()
        self._rows = GivenRows(settings)
        self._begin(settings, self._rows.hasher)
        self._times = Times(settings, self._linear)
        self._backfill: Backfill | None = None
        self.is_logged = False
        """Whether a log has its events in the order of the calls, so that none may be merged."""

    if TYPE_CHECKING:  # what the core has
        _linear: Any
        _kind_of_rows: int

        def _check_kind(self, kind: int, who: str) -> None: ...

        def _predict_rows(self, *arguments: Any) -> Any: ...

        def _replay(self, given: Any, keys: Any, progress: Any) -> Any: ...

        def _feed(
            self, rows: Rows, events: Ints, labels: Floats, weights: Floats, at: Any
        ) -> Floats: ...

        def _begin(self, settings: Settings, hasher: Hasher) -> None: ...

        def _drop_keys(self, names: Iterable[Key]) -> None: ...

        def _give_keys(self, pairs: Iterable[tuple[Key, int]]) -> None: ...

        def _peeked(self, row: Row, who: str) -> float: ...

        def _refused(self, status: int, *given: Any) -> Exception: ...

    @property
    def hasher(self) -> Hasher:
        """The hasher that turns named features into coordinates."""
        return self._rows.hasher

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays; those of coordinates never seen are not taken from the system."""
        return int(self._linear.nbytes)

    @property
    def spread(self) -> float:
        """Standard deviation of the labels so far, as they were learned; 0 before the first."""
        return float(self._looked().spread)

    def answerable(self) -> set[int]:
        """Return the tickets whose label would not be refused: open ones, and some given up on."""
        tickets: set[int] = self._linear.answerable()
        return tickets

    def _drop_backfill(self) -> None:
        """Free the rows of old batches, if other events came after them."""
        if self._backfill is not None and not self._backfill.is_current(self):
            self._backfill = None

    def _looked(self) -> Any:
        """Return the model of the core with all answers, or as it is while a call is at work."""
        self._drop_backfill()
        with suppress(BusyError):
            self._alone("report", self._linear.apply_provisionally)
        return self._linear

    def explain(self, row: Features) -> Explanation:
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
        if not isinstance(row, Mapping):
            raise BadFeatures("explain: features are a dict, so that they have names")
        explanation: Explanation = self._alone("explain", lambda: self._explained(row))
        return explanation

    def _explained(self, row: Features) -> Explanation:
        value = self._peeked(row, "explain")
        names = names_of(self.hasher.named(row), self.hasher.interactions)
        return explained(self._linear, names, value)

    def weights(self, names: Iterable[str | tuple[str, str]] | None = None) -> dict[Any, float]:
        """Return the weights of features: of a number by its name, of a string as (name, string).

        A weight is what a standard deviation of the feature adds to the prediction, before the
        link. Features that were never seen have 0. Without ``names`` there are the weights of all
        coordinates that were seen, the largest first: by the names that came since the model was
        made or restored ("colour=red * size" for an interaction), else by their numbers.

        >>> import belated as bl
        >>> model = bl.LinearModel("squared")
        >>> tickets, _ = model.predict_many([{"size": i % 3, "shop": "north"} for i in range(30)])
        >>> used = model.observe_many(tickets, tickets % 3)
        >>> list(model.weights())
        ['size', ('shop', 'north')]
        """
        experts = self._looked().experts
        if names is None:
            indices = experts.touched()
            indices = indices[indices < 1 << self.settings.bits]  # the last one is the intercept
            found = experts.weights(indices)
            order = np.argsort(-np.abs(found), kind="stable")
            pairs = zip(indices[order].tolist(), found[order].tolist(), strict=True)
            return {self.hasher.name_of(index): weight for index, weight in pairs}
        wanted = list(names)
        for name in wanted:
            if not isinstance(name, str) and not _is_name_and_string(name):
                raise BadFeatures(f"weights: a name or a pair (name, string), got {name!r}")
        indices = np.array([self.hasher.coordinate(name) for name in wanted], dtype=np.int64)
        return dict(zip(wanted, experts.weights(indices).tolist(), strict=True))

    # --- State ----------------------------------------------------------------------------------

    def report(self) -> LinearReport:
        """Return counts, delays so far, the mean loss, and how much each expert counts."""
        return report_of(self.settings.loss, self._looked(), self.hasher)

    def losses(self, values: ArrayLike, labels: ArrayLike) -> Floats:
        """Return the losses of predictions, as ``predict`` gave them.

        Those of the squared loss are (value - label)^2 / 2; Poisson's leave out what only depends
        on the label.
        """
        v = vector(values, "losses: values")
        y = vector(labels, "losses: labels", v.size)
        losses: Floats = self._linear.loss.losses(v, y)
        return losses

    def _contents(self) -> Contents:
        self._drop_backfill()
        settings, (state, keys) = self.settings, self._state_now()
        columns = None if settings.columns is None else settings.columns.to_dict()
        return Contents({"settings": {**asdict(settings), "columns": columns}}, state, keys)

    def _read(self, about: dict[str, Any], arrays: dict[str, Any], parts: Any) -> dict[str, Any]:
        self._take(checked(**about["settings"]))
        return {}

    def _verify(self, state: dict[str, Any]) -> None:
        """Demand times where there must be some, and none where rounds are counted."""
        settings, has_times, clock = self.settings, state["kind_of_times"] > 0, state["clock"]
        demand(not (settings.counts_predictions and has_times), "the kind of times")
        # Without deadlines the clock stands still, whatever times are told.
        demand(clock > -np.inf or not has_times or settings.deadline is None, "the clock")

    def _title(self) -> str:
        return f"LinearModel, {self.settings.loss} loss"

    # --- Arguments ------------------------------------------------------------------------------

    def _row_of(self, features: Any) -> Entries:
        return self._rows.row(features)

    def _rows_of(self, rows: Any, who: str) -> Rows:
        sparse = self._rows.rows(rows, who)
        self._check_kind(self._rows.kind, who)
        return sparse

    def _bad_entry(
        self, features: Row, place: int, index: int, value: float, who: str
    ) -> BadFeatures:
        return self._rows.refusal(features, place, index, value, who)

    def _check_revisable(self, who: str) -> None:
        """Refuse to change labels where the loss cannot take one back."""
        loss = self.settings.loss
        if not LOSSES[loss].is_linear_in_label:
            raise BadFeedback(
                f"{who}: the {loss} loss cannot take back a label that it learned; nothing has "
                "changed: use observe with the last word, or another loss"
            )

    def _rows_arguments(
        self, rows: Many, keys: Any, at: Any, deadline: Duration | None
    ) -> tuple[Rows, list[Key | None] | None, Floats, float, int]:
        """Return rows, their keys, one time or all, the deadline and the kind of the times."""
        who = "predict_many"
        given: Any = rows
        if is_frame(rows):
            given = Frame(rows, who)
            keys, at = given.taken(keys), given.taken(at, may_be_time=True)
        sparse = self._rows_of(given, who)
        names = None
        if keys is not None:
            names = self._check_keys(keys_of(keys, sparse.height, who), who)
        times, kind = self._column_of_times(at, sparse.height, who)
        if times.size == 1:
            warn_without_times(sparse.height, self.rounds)
        span = NEVER
        if deadline is not None:
            latest = Moment(times.max(), kind) if kind else None  # its unit is the least plausible
            span = self._times.issued(latest, deadline, who)[1]
        self._kind_of_rows |= self._rows.kind
        return sparse, names, times, span, kind

    def _predicted(self, rows: Any, keys: Any, at: Any, deadline: Any) -> Forecasts:
        """Predict for many rows, and keep them while they may be old."""
        arguments = self._rows_arguments(rows, keys, at, deadline)
        sparse, names, times, _, kind = arguments
        batch = Batch(sparse, names, times, kind)
        may_merge = deadline is None and not self.is_logged
        backfill = begun(self, batch) if may_merge else None
        made: Forecasts = self._predict_rows(*arguments)
        self._backfill = backfill
        if backfill is not None:
            backfill.add_batch(self, batch)
        return made

    def _observed(
        self, tickets: Any, answers: ArrayLike, weights: ArrayLike | None, at: Any
    ) -> NDArray[np.bool_]:
        """Learn many labels, also those of old predictions that came before the latest of them."""
        old, used = self._backfill, None
        is_old = old is not None and is_column(at) and old.is_current(self)
        if old is not None and is_old:
            heard, *given = self._labels_arguments(tickets, answers, weights, at, old)
            tickets, answers, weights = heard.names or heard.tickets, given[0], given[1]
            used = old.observe(self, heard, *given)
        if used is None:
            try:
                used = super()._observed(tickets, answers, weights, at)  # type: ignore[no-untyped-call]
            except BaseException:
                if old is not None and is_old:
                    old.forget_last()
                raise
        if old is not None:
            if is_old:
                old.note(self)
            else:
                self._backfill = None  # frees its rows
        learned: NDArray[np.bool_] = used
        return learned

    def _column_given(self, given: Any, what: str) -> Floats:
        return vector(given, f"observe_many: {'label' if what == 'answer' else what}s")

    def _column_of_times(self, at: Any, count: int, who: str) -> tuple[Floats, int]:
        """Return one time or those of all events, and their kind."""
        if is_column(at):
            times, kind = self._times.of_batch(at, count, who)
            return times, kind
        moment = read_time(at, who)
        is_answer = who == "observe_many"  # which needs no time
        now = self._times.of_answer(moment, who) if is_answer else self._times.of(moment, who)
        return np.array([now]), 0 if moment is None else moment.kind

    def _labels_arguments(
        self,
        tickets: Any,
        labels: ArrayLike,
        weights: ArrayLike | None,
        at: Any,
        keys: Any = None,
    ) -> tuple[Named, Floats, Floats, Floats]:
        """Return tickets and what they were called, labels, weights, and one time or all."""
        heard = named(tickets, keys or self._keys, "observe_many")
        wanted = heard.tickets
        y, w = _labels_of(labels, weights, wanted.size, "observe_many")
        first = np.unique(wanted, return_index=True)[1]
        if first.size < wanted.size:
            again = int(np.delete(np.arange(wanted.size), first)[0])
            where = heard.at("observe_many", again)
            raise AlreadyObserved(f"{where}: ticket {wanted[again]} is there twice")
        times, _ = self._column_of_times(at, wanted.size, "observe_many")
        if keys is None:  # else old ones may be merged
            self._times.warn_of_old(at, times)
        return heard._replace(tickets=np.ascontiguousarray(wanted)), y, w, times

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
        sparse = self._rows_of(rows, "replay")
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
                key = self._keys.check(keys[row])
                if key in unanswered:
                    raise BadKey(f"replay: two rows without a label have the key {key!r}")
                unanswered.add(key)
        self._kind_of_rows |= self._rows.kind
        # Copies of what is not checked again: the caller's own may change while the log is read.
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
