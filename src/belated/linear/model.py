"""``LinearModel``: predict from features now, learn when the label comes."""

from __future__ import annotations

import math
import operator
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from contextlib import suppress
from functools import partial
from itertools import starmap
from operator import call
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from belated.arrays import Floats, Ints
from belated.errors import (
    AlreadyObserved,
    BadFeatures,
    BadFeedback,
    BadKey,
    BusyError,
    UnknownTicket,
)
from belated.files import StrPath, write_whole
from belated.kernels.linear import direct, entries
from belated.kernels.linear import layout as lm
from belated.kernels.slots import ints as N
from belated.kernels.slots import status as S
from belated.learner.events import events_of
from belated.learner.extras import extras_of
from belated.learner.keys import Key, Keys
from belated.learner.named import keys_of, named
from belated.learner.turns import alone, busy, holding
from belated.learner.whole import Call, together
from belated.linear import events as of_log
from belated.linear import snapshot
from belated.linear.answer_set import Answer, AnswerSet, Batch, FirstAnswer, Undo
from belated.linear.answers import Answers, labels_of, number
from belated.linear.clock import Duration
from belated.linear.explain import Explanation, explained, names_of
from belated.linear.features import Features, Hasher
from belated.linear.given import Entries, GivenRows, Many, Row
from belated.linear.losses import LOSSES, Loss
from belated.linear.memory import ModelMemory
from belated.linear.moments import Moment, Time, read_time
from belated.linear.report import LinearReport, report_of
from belated.linear.settings import Late, Settings, Wait, checked
from belated.linear.times import NEVER, Times
from belated.linear.values import VALUES
from belated.timeline import Timeline
from belated.timeline.columns import TimesLike
from belated.validation import checked_ticket

if TYPE_CHECKING:
    from belated.logs.kinds import Kinds

_as_tuple = tuple.__new__  # a named tuple made from a tuple takes half the time
_CHUNK = 250_000  # events between two chances to interrupt a long replay
_MANY = 1000  # answers of one call that are applied at once, and not by the next prediction
_put = object.__setattr__


class Forecast(NamedTuple):
    """What ``predict`` returns."""

    ticket: int
    """Number to give back with the label."""
    value: float
    """The prediction: a number, for logistic loss a probability, for Poisson loss a rate."""


class LinearModel:
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
    (``linear.order``), whichever calls they came in. What a model says always reflects all of them.

    >>> import belated as bl
    >>> model = bl.LinearModel("squared")
    >>> ticket, value = model.predict({"origin": "JFK", "distance": 187.0})
    >>> later = model.predict({"origin": "LGA", "distance": 2475.0})
    >>> model.observe(later.ticket, 12.0), model.observe(ticket, -3.0)
    (True, True)
    >>> model.open, round(model.predict({"origin": "JFK", "distance": 200.0}).value, 3)
    (0, 3.301)

    A model is for one thread at a time: a call while another one is at work raises ``BusyError``,
    and nothing has changed. Different models in different threads run in parallel where calls are
    long: whole logs, many rows, or long ones.
    """

    __slots__ = (
        *("_settings", "_base", "_base_arrays", "_set", "_turn", "_predict", "_cancel"),
        *("_given", "_times", "_answers", "_hasher", "_keys", "_issue_now", "_hear_now"),
        *("_first", "_observe", "_takes"),
        *("__dict__", "__weakref__"),
    )

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
        self._settings = checked(
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
        self._connect(ModelMemory(self._settings, self._settings.fresh()), Keys())

    def _connect(self, memory: ModelMemory, keys: Keys) -> None:
        """Take hold of the arrays, and of the entries for these settings."""
        settings = self._settings
        self._keys = keys
        self._turn: list[None] = [None]
        self._base = memory
        self._set: AnswerSet | None = None
        self._predict = entries.predict(settings.code)
        self._first = FirstAnswer()
        self._observe = entries.observe_first(settings.code)
        self._cancel = entries.cancel()
        self._takes = LOSSES[settings.loss].labels.takes
        self._reach(memory)
        self._given = GivenRows(settings)
        self._hasher = self._given.hasher
        self._times = Times(settings, memory)
        self._answers = Answers(settings, memory)

    def _reach(self, grown: ModelMemory) -> None:
        """Take hold of the arrays of a memory, also for what is called directly.

        Between the assignments no call is made, so that an interrupt comes before all or after all.
        """
        memory, arrays = self._base, grown.arrays
        issue: Callable[..., Forecast | None] | None = None
        if self._settings.deadline is None:
            issue = direct.predict(self._predict, arrays, self._turn, Forecast)
        weighted, saved = self._settings.silence is None, self._first.saved
        hear = direct.observe(self._observe, arrays, saved, self._turn, takes_weights=weighted)
        memory.f, memory.n, memory.c, memory.pool = arrays
        self._base_arrays, self._issue_now, self._hear_now = arrays, issue, hear

    def _share_turn(self, other: LinearModel) -> None:
        """Share one lock between two models."""
        self._turn = other._turn
        self._reach(self._base)

    def fresh(self) -> Self:
        """Return a model with the same settings that has seen nothing."""
        model = type(self).__new__(type(self))
        model._settings = self._settings
        model._connect(ModelMemory(self._settings, self._settings.fresh()), Keys())
        return model

    @property
    def settings(self) -> Settings:
        """What the model was told."""
        return self._settings

    @property
    def hasher(self) -> Hasher:
        """What turns named features into coordinates."""
        return self._hasher

    @property
    def rounds(self) -> int:
        """Predictions made so far; also the next ticket."""
        return self._base.rounds

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays; those of coordinates never seen are not taken from the system."""
        return sum(array.nbytes for array in self._base.arrays)

    @property
    def open(self) -> int:
        """Tickets that still wait for their label (those given up on and cancelled ones do not)."""
        answers = self._pending
        return self._base.open - (0 if answers is None else answers.closing)

    @property
    def spread(self) -> float:
        """Standard deviation of the labels so far, as they were learned; 0 before the first."""
        return self._looked().spread

    def ticket(self, name: int | Key) -> int:
        """Return the ticket that a key stands for; a ticket stands for itself."""
        return checked_ticket(self._keys.ticket(name))

    def is_open(self, ticket: int | Key) -> bool:
        """Tell whether a ticket, or that of a key, still waits for its label."""
        return self._keys.is_open(ticket, self._is_open)

    def _is_open(self, ticket: int) -> bool:
        return self._base.is_open(ticket) and ticket not in self._closed

    def answerable(self) -> set[int]:
        """Return the tickets whose label would not be refused: open ones, and some given up on."""
        return self._base.answerable() - self._closed

    # --- The answers since the last prediction --------------------------------------------------

    @property
    def _pending(self) -> AnswerSet | None:
        """The answers, if they are not applied."""
        answers = self._set
        if answers is None or answers.undo is not None or answers.rounds != self._base.rounds:
            return None
        return answers

    @property
    def _closed(self) -> Set[int]:
        """The tickets that answers close which are not applied."""
        answers = self._pending
        return frozenset() if answers is None else answers.closed

    @property
    def _memory(self) -> ModelMemory:
        """The memory, with all answers."""
        if self._set is not None:
            self._reflect()
        return self._base

    @property
    def _arrays(self) -> tuple[Floats, Ints, Ints, Floats]:
        """The arrays of the memory, with all answers."""
        if self._set is not None:
            self._reflect()
        return self._base_arrays

    def _looked(self) -> ModelMemory:
        """Return the memory with all answers, or as it is while another call is at work."""
        if self._set is not None:
            with suppress(BusyError):
                holding(self, "report", self._reflect)
        return self._base

    def _reflect(self) -> None:
        """Apply the answers for the time being."""
        answers = self._since()
        if answers is not None and answers.undo is None:
            told = answers.arrays()
            undo = Undo(self._base, told[0])
            applying = answers.applying(self._settings, self._base, told)
            mark = operator.setitem, self._base.n, N.APPLIED, answers.rounds + 1
            together(applying, mark, (_put, answers, "undo", undo))

    def _take_back(self) -> AnswerSet | None:
        """Return the set that the next answer belongs to, if there is one; it is not applied."""
        answers = self._since()
        if answers is not None and answers.undo is not None:
            together(*answers.undo.calls(self._base), (_put, answers, "undo", None))
        return answers

    def _since(self) -> AnswerSet | None:
        """Return the set, unless a prediction has closed it."""
        answers, item = self._set, self._base.n.item
        rounds = item(N.ROUNDS)
        if answers is not None and answers.rounds != rounds:
            answers = self._set = None
        if answers is None and item(N.APPLIED) == rounds + 1:
            answers = self._set = self._first.as_set(rounds)
        return answers

    def _applying(self) -> tuple[Call, ...]:
        """Return the call that applies the answers for good, if they are not applied."""
        answers = self._since()
        if answers is None or answers.undo is not None:
            return ()
        return (answers.applying(self._settings, self._base),)

    def _close_set(self, *more: Call) -> None:
        """Apply the answers for good, together with the event that closes the set."""
        mark = operator.setitem, self._base.n, N.APPLIED, 0
        together(*self._applying(), *more, mark, (_put, self, "_set", None))

    def _ready(self, given: int) -> None:
        """Make room for one more row, so that no ticket moves while answers may be taken back."""
        if self._base.has_room(given + self._settings.intercept):
            return
        self._take_back()
        # Where rows of closed tickets can make room, the entry that only looks has them do so.
        row = np.zeros(given, dtype=np.int64), np.zeros(given), given
        status, _ = entries.peek(self._settings.code)(*self._base_arrays, *row)
        if status == S.FULL:
            self._make_room(given)

    def _answering(
        self,
        ticket: int,
        label: float,
        weight: float,
        now: float,
        who: str,
        *,
        is_last: bool = True,
    ) -> tuple[bool, bool, tuple[Call, ...]]:
        """Return whether an answer is used, whether it is late, and the calls that take it in.

        Raises what is wrong with it, and then nothing has changed.
        """
        memory, answers = self._base, self._take_back()
        status = entry = memory.found(ticket)
        if entry >= 0:
            if answers is not None and ticket in answers.closed:
                status = S.CLOSED
            elif not (self._takes(label) and 0.0 < weight <= lm.HUGE_WEIGHT):
                status = S.BAD
            elif weight != 1.0 and (not is_last or self._replaces(ticket, entry, answers)):
                status = S.TOO_LARGE
        if status < 0:
            raise self._answers.refusal(status, ticket, label, weight, who)
        is_used, is_late = self._fate(ticket, entry, now, answers)
        if answers is None and is_last and self._is_plain(entry, now):
            told = ticket, label, weight
            hear: Call = self._observe, *self._base_arrays, *told, *self._first.saved
            if self._hear_now is not None:
                hear = self._hear_now, *told, None
            return is_used, is_late, (*self._ticking(now), hear)
        answer = ticket, label, weight, is_last or not is_used, is_used
        return is_used, is_late, self._taking_in(answer, None, now, answers)

    def _is_plain(self, entry: int, now: float) -> bool:
        """Tell whether kernels can apply the first answer of a set, and take it back."""
        is_early = self._base.f.item(lm.LABELS) == lm.FIRST_LABELS  # a slip may be found
        is_long = self._base.pairs(entry) > direct.LONGEST + 1
        closes = self._settings.deadline is not None and self._base.has_due(now)
        return not (is_early or is_long or closes)

    def _ticking(self, now: float) -> tuple[Call, ...]:
        """Return the call that lets the clock go on, if it does."""
        if self._settings.deadline is None or not now > self._base.clock:
            return ()
        return ((entries.tick(), *self._base_arrays, now),)

    def _replaces(self, ticket: int, entry: int, answers: AnswerSet | None) -> bool:
        """Tell whether a label takes the place of another one."""
        if self._settings.silence is not None:
            return True
        return self._base.is_open_at(entry) and self._has_label(ticket, entry, answers)

    def _has_label(self, ticket: int, entry: int, answers: AnswerSet | None) -> bool:
        is_revised = answers is not None and ticket in answers.revised
        return is_revised or not math.isnan(self._base.label(entry))

    def _fate(
        self, ticket: int, entry: int, now: float, answers: AnswerSet | None
    ) -> tuple[bool, bool]:
        """Tell whether an answer at a time is used, and whether it is late."""
        if not self._base.is_open_at(entry):
            return False, True
        if self._settings.deadline is None:
            return True, False
        due = self._base.due(entry)
        if not due < now:
            return True, due == -math.inf  # where labels may be late, and one is known
        return self._settings.late == "learn" and self._has_label(ticket, entry, answers), True

    def _taking_in(
        self, one: Answer | None, many: Batch | None, now: float, answers: AnswerSet | None
    ) -> tuple[Call, ...]:
        """Return the calls that take in answers; a time at which tickets close begins a set."""
        calls = self._ticking(now)
        if calls and self._base.has_due(now):
            calls, answers = (*self._applying(), *calls), None
        if answers is None:
            singles, batches = [] if one is None else [one], [] if many is None else [many]
            return *calls, (_put, self, "_set", AnswerSet(self._base.rounds, singles, batches))
        if many is not None:
            return *calls, (answers.batches.append, many)
        return *calls, (answers.answers.append, one)

    # --- One event ------------------------------------------------------------------------------

    def predict(
        self,
        features: Row,
        *,
        key: Key | None = None,
        at: Time | None = None,
        deadline: Duration | None = None,
    ) -> Forecast:
        """Return the next ticket and a prediction.

        ``features`` is a dict of numbers and strings (None: missing), a pair (indices, values), or
        a vector whose positions are the coordinates. With a ``key``, every other verb takes the key
        in the place of the ticket. ``at`` is the time; ``deadline`` is that of this ticket alone.
        """
        issue, keys = self._issue_now, self._keys
        moment = None if at is None else read_time(at, "predict")
        is_noted = key is not None or moment is not None or keys.left is not None
        if issue is not None and self._set is None and not is_noted and deadline is None:
            issued = issue(features)
            if issued is not None:
                return issued
        turn = self._turn
        try:
            turn.pop()
        except IndexError:
            raise busy("predict") from None
        except BaseException:  # an interrupt, with the turn taken
            turn.append(None)
            raise
        try:
            if is_noted:
                self._note(key, moment)
            now, span = NEVER, NEVER
            if moment is not None or deadline is not None or self._settings.deadline is not None:
                now, span = self._times.issued(moment, deadline)
            if features.__class__ is dict:
                row = self._hasher.entries(features)
            else:
                row = self._given.quick(features)
            forecast: tuple[int, float] | None = None
            if self._set is not None:
                if features.__class__ is not dict:
                    row = self._given.row(features)
                forecast = call(*self._closing_call(row, now, span, features))
            elif issue is not None and now is NEVER and span is NEVER:
                forecast = issue(*row)
            if forecast is None:
                try:
                    forecast = self._predict(*self._arrays, *row, now, span)
                except TypeError:  # arrays with gaps, read-only, or of another type or rank
                    row = self._given.row(features)
                    forecast = self._predict(*self._arrays, *row, now, span)
            if forecast[0] < 0:
                entry = self._predict
                forecast = self._retried(entry, forecast[0], (*row, now, span), features, "predict")
            if is_noted:
                keys.finish(self._base)
        except BaseException:
            keys.finish(self._base)
            raise
        finally:
            turn.append(None)
        return forecast if forecast.__class__ is Forecast else _as_tuple(Forecast, forecast)

    def _closing_call(self, row: Entries, now: float, span: float, features: Row) -> Call:
        """Return the call that issues a ticket and applies the answers, whose set that closes."""
        if self._given.is_bad(row):
            raise self._given.refusal(features, row, "predict")
        self._ready(row[2])
        issue = self._predict, *self._base_arrays, *row, now, span
        applying = self._applying()
        return (next, filter(None, starmap(call, (*applying, issue)))) if applying else issue

    def _note(self, key: Key | None, at: Moment | None) -> None:
        """Note what the next ticket leaves to ``Keys.finish``; a key that cannot be is refused."""
        keys, memory = self._keys, self._base
        if keys.left is not None:
            keys.finish(memory)
        if key is not None:
            keys.check(key, self._is_open)
        kind = 0 if at is None else memory.times_with(at.kind)
        keys.left = key, memory.n.item(N.ROUNDS), kind

    def _finish(self) -> None:
        """Do what is left of an event that was interrupted after its kernels."""
        self._keys.finish(self._base)

    @alone
    def peek(self, features: Row) -> float:
        """Return what ``predict`` would, without a ticket and without any change."""
        return self._peeked(features, "peek")

    def _peeked(self, features: Row, who: str) -> float:
        entry = entries.peek(self._settings.code)
        row = self._given.row(features)
        status, value = entry(*self._arrays, *row)
        if status < 0:
            status, value = self._retried(entry, status, row, features, who)
        return value

    @alone
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
        value = self._peeked(features, "explain")
        names = names_of(self._hasher.named(features), self._hasher.interactions)
        return explained(self._memory, self._settings.code[lm.LOSS], names, value)

    def weights(self, names: Iterable[str | tuple[str, str]]) -> dict[Any, float]:
        """Return the weights of features: of a number by its name, of a string as (name, string).

        A weight is what a standard deviation of the feature adds to the prediction, before the
        link. Features that were never seen have 0.
        """
        wanted = list(names)
        for name in wanted:
            if not isinstance(name, str) and not _is_name_and_string(name):
                raise BadFeatures(f"weights: a name or a pair (name, string), got {name!r}")
        indices = np.array([self._hasher.coordinate(name) for name in wanted], dtype=np.int64)
        return dict(zip(wanted, self._looked().weights(indices).tolist(), strict=True))

    def observe(
        self, ticket: int | Key, label: float, weight: float = 1.0, *, at: Time | None = None
    ) -> bool:
        """Learn the label of a ticket, the last word on it, which counts ``weight`` times.

        Any order, any delay. Returns False when the ticket was closed before, by its deadline or
        because the model had given up on it, so that the label is dropped. Raises
        ``UnknownTicket``, ``AlreadyObserved`` or ``BadFeedback``, and then nothing has changed.
        """
        hear, keys, turn = self._hear_now, self._keys, self._turn
        is_plain = at is None and self._set is None
        if is_plain and hear is not None and not (keys.tickets or keys.left):
            used = hear(ticket, label, weight)
            if used is not None:
                return used
        try:
            turn.pop()
        except IndexError:
            raise busy("observe") from None
        except BaseException:  # an interrupt, with the turn taken
            turn.append(None)
            raise
        try:
            if keys.left is not None:
                keys.finish(self._base)
            name = ticket
            if ticket.__class__ is not int or ticket >> 63:
                ticket = checked_ticket(keys.ticket(ticket))
            if label.__class__ is not float:
                label = number(label, "observe", "label")
            if weight.__class__ is not float:
                weight = number(weight, "observe", "weight")
            now = NEVER
            if at is not None:
                now = self._times.of_answer(read_time(at, "observe"), "observe")
            used, _, calls = self._answering(ticket, label, weight, now, "observe")
            together(*calls)
            if keys.tickets:
                keys.drop(name)
        finally:
            turn.append(None)
        return used

    @alone
    def revise(self, ticket: int | Key, label: float, *, at: Time | None = None) -> bool:
        """Learn the label so far; the ticket stays open, and the label may change again.

        Returns and raises what ``observe`` does. Only losses in which the label enters linearly can
        take a label back: squared, logistic and Poisson.
        """
        self._finish()
        self._answers.check_revisable("revise")
        ticket = checked_ticket(self._keys.ticket(ticket))
        return self._revised(ticket, number(label, "revise", "label"), at, "revise")

    @alone
    def add(self, ticket: int | Key, amount: float, *, at: Time | None = None) -> bool:
        """Add an amount to the label so far: an instalment, or a refund if it is negative.

        Where nothing was said before, the label so far is that of silence. Returns and raises what
        ``revise`` does.
        """
        self._finish()
        self._answers.check_revisable("add")
        ticket = checked_ticket(self._keys.ticket(ticket))
        amount = number(amount, "add", "amount")
        before = self._before(ticket)
        if math.isnan(before):
            raise BadFeedback(
                f"add: ticket {ticket} has no label yet to add to; nothing has changed: revise it "
                "first, or make the model with silence=0"
            )
        return self._revised(ticket, before + amount, at, "add")

    def _before(self, ticket: int) -> float:
        """Return the label so far of a ticket; of one that is closed, what it was at first."""
        answers, entry = self._take_back(), self._base.found(ticket)
        if entry >= 0 and self._base.is_open_at(entry):
            told = () if answers is None else reversed(answers.answers)
            return next((each[1] for each in told if each[0] == ticket), self._base.label(entry))
        return 0.0 if self._settings.silence is None else self._settings.silence

    def _revised(self, ticket: int, label: float, at: Time | None, who: str) -> bool:
        now = self._times.of_answer(read_time(at, who), who)
        used, _, calls = self._answering(ticket, label, 1.0, now, who, is_last=False)
        together(*calls)
        return used

    @alone
    def cancel(self, ticket: int | Key) -> None:
        """Close a ticket whose label will never come; a label so far, also silence, stays."""
        self._finish()
        together(*self._cancelling(checked_ticket(self._keys.ticket(ticket))))
        self._keys.drop(ticket)

    def _cancelling(self, which: int) -> tuple[Call, ...]:
        """Return the calls that close a ticket, and the set of answers; it is still open."""
        status = S.CLOSED if which in self._closed else self._base.found(which)
        if status < 0:
            raise self._answers.refusal(status, which, 0.0, 1.0, "cancel")
        cancel = self._cancel, *self._base_arrays, which
        return *self._applying(), cancel, (_put, self, "_set", None)

    @alone
    def tick(self, at: Time) -> None:
        """Let the clock go on without a prediction: tickets whose deadline has passed are closed.

        The clock never goes back; an earlier time changes nothing.
        """
        self._finish()
        moment = read_time(at, "tick")
        now = self._times.of_tick(moment)
        kind = self._base.times_with(0 if moment is None else moment.kind)
        note = operator.setitem, self._base.n, N.HAS_TIMES, kind
        self._close_set((entries.tick(), *self._base_arrays, now), note)

    # --- Many events ----------------------------------------------------------------------------

    @alone
    def predict_many(
        self, rows: Many, *, keys: Iterable[Key | None] | None = None, at: Time | None = None
    ) -> tuple[Ints, Floats]:
        """Predict for many rows at one time; return their tickets and predictions.

        ``rows`` is (indptr, indices, values), a matrix, or a list of what ``predict`` takes. The
        result is the same, bit for bit, as row by row. ``keys`` has the key of every row, as a
        list, an array or a column; None or NaN is that of a row without one. Where one cannot be a
        key, is there twice or belongs to a ticket that is open, nothing has changed.

        >>> import belated as bl
        >>> model = bl.LinearModel("squared")
        >>> tickets, values = model.predict_many([{"x": 1.0}, {"x": 2.0}], keys=["a", "b"])
        >>> model.observe_many(["b", "a"], [4.0, 2.0]).tolist()
        [True, True]
        """
        self._finish()
        sparse = self._given.rows(rows, "predict_many")
        names = None if keys is None else keys_of(keys, sparse.height, "predict_many")
        if names is not None:
            self._keys.check_many(names, self._is_open, "predict_many")
        moment = read_time(at, "predict_many")
        now = self._times.of(moment, "predict_many")
        begin = self.rounds
        values = np.empty(sparse.height)
        entry, none = entries.replay(self._settings.code), np.empty(0)
        events = np.arange(begin, begin + sparse.height, dtype=np.int64)
        rest = *sparse, begin, none, none, 0, np.array([now]), np.array([NEVER]), values
        kind = 0 if moment is None else self._base.times_with(moment.kind)
        self._keys.left = names, begin, kind
        try:
            done = 0
            if self._set is not None and sparse.height:
                self._ready(sparse.widest)
                first = entry, *self._base_arrays, events, *rest
                done = deque(starmap(call, (*self._applying(), first)), maxlen=1).pop()
            while done < sparse.height:
                done += entry(*self._arrays, events[done:], *rest)
                if done < sparse.height:
                    self._ready(sparse.widest)
        finally:  # also when interrupted
            self._finish()
        return events, values

    @alone
    def peek_many(self, rows: Many) -> Floats:
        """Return what ``predict`` would for each of many rows, without tickets or any change."""
        sparse = self._given.rows(rows, "peek_many")
        values = np.empty(sparse.height)
        entry = entries.peek_many(self._settings.code)
        done = entry(*self._arrays, *sparse, 0, values)
        while done < sparse.height:
            self._ready(sparse.widest)
            done = entry(*self._arrays, *sparse, done, values)
        return values

    @alone
    def observe_many(
        self,
        tickets: ArrayLike | Iterable[Any],
        labels: ArrayLike,
        weights: ArrayLike | None = None,
        *,
        at: Time | None = None,
    ) -> NDArray[np.bool_]:
        """Learn many labels at one time; return which were used.

        ``tickets`` has tickets, keys, or both: each is what ``observe`` would take it for. Labels
        of tickets that were given up on before were not used. All are checked before the first is
        used. The result is the same, bit for bit, as one by one, in any order.
        """
        self._finish()
        heard = named(tickets, self._keys, "observe_many")
        wanted = heard.tickets
        labels, weights = labels_of(labels, weights, wanted.size, "observe_many")
        who = partial(heard.at, "observe_many")
        first = np.unique(wanted, return_index=True)[1]
        if first.size < wanted.size:
            again = int(np.delete(np.arange(wanted.size), first)[0])
            raise AlreadyObserved(f"{who(again)}: ticket {wanted[again]} is there twice")
        answers = self._take_back()
        self._answers.check_known(wanted, answers, who)
        self._answers.check(wanted, labels, weights, answers, who)
        now = self._times.of_answer(read_time(at, "observe_many"), "observe_many")
        if not wanted.size:
            return np.empty(0, dtype=np.bool_)
        used = self._used(wanted, now, answers)
        batch = wanted.copy(), labels.copy(), weights.copy(), used.copy()
        together(*self._taking_in(None, batch, now, answers))
        for name in heard.names or ():
            self._keys.drop(name)
        answers = self._set
        if answers is not None and wanted.size >= max(_MANY, answers.size // 2):
            self._reflect()
        return used

    def _used(self, tickets: Ints, now: float, answers: AnswerSet | None) -> NDArray[np.bool_]:
        """Tell which answers to known tickets are used at a time."""
        found = self._answers.found(tickets)
        if self._settings.deadline is None:
            return self._base.n[N.HEADER + 2 * found + 1] >= 0
        pairs = zip(tickets.tolist(), found.tolist(), strict=True)
        return np.array([self._fate(*pair, now, answers)[0] for pair in pairs], dtype=np.bool_)

    @alone
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
    ) -> Floats:
        """Feed a whole log through the compiled loop and return the predictions in ticket order.

        ``rows`` holds the features of the predictions of this call, in order, as for
        ``predict_many``. Entry i of ``labels`` and ``weights`` belongs to ticket first + i; where a
        ticket is not observed they may be anything. ``timeline`` is a ``Timeline`` (labels that
        never came stay open) or an array of events: t for the prediction of ticket t, ~t for its
        label. ``at`` has the time of every event, and ``deadlines`` that of every row, where they
        matter. ``keys`` has the key of every row; those of tickets that can still be answered at
        the end are kept. ``progress`` is called with the number of events done, now and then.

        The result is the same, bit for bit, as event by event. Everything is checked before the
        first event. When the run is interrupted, the model stands between two events; its
        ``rounds`` and ``report`` say where.
        """
        self._finish()
        sparse = self._given.rows(rows, "replay")
        labels, weights = labels_of(labels, weights, None, "replay")
        events = events_of(timeline, "replay")
        first, begin = operator.index(first), self.rounds
        count = of_log.check_predictions(events, begin, sparse.height)
        observed = self._check_labels(events, first, labels, weights)
        times, kind = self._times.of_events(at, events.size, "replay")
        spans = self._times.spans(deadlines, sparse.height, "replay")
        if keys is not None:
            self._check_keys(keys, sparse.height, observed - begin)
        log = of_log.Log(events, labels, weights, first, times)
        values = np.empty(count)
        if not count:
            self._take_in(log, 0, events.size)
            return values
        # As live, where the times of labels alone are not kept.
        kind = self._base.times_with(kind) if kind else 0
        self._keys.left = None, begin, kind
        begun, ended = log.begun, log.ended
        entry: Any = entries.replay(self._settings.code)
        told = log.sorted_in_sets()
        runs = self._runs_with_deadlines(log, spans, begin)
        try:
            self._take_in(log, 0, begun)
            done = begun
            while done < ended:
                if runs and runs[0][0] == done:
                    self._take_in(log, *runs[0])
                    done = runs.pop(0)[1]
                self._close_set()
                part = told.part(done, runs[0][0] if runs else ended, _CHUNK)
                row = *sparse, begin, labels, weights, first, part.times, spans, values
                now = entry(*self._base_arrays, part.events, *row)
                done += now
                if now < part.events.size:
                    self._ready(sparse.widest)
                elif progress is not None:
                    progress(done)
            self._finish()  # now, as what follows may be taken back
            self._take_in(log, ended, events.size)
        finally:  # also when interrupted
            self._finish()
            if keys is not None:
                self._give_keys(keys, begin)
        return values

    def _take_in(self, log: of_log.Log, begin: int, end: int) -> None:
        """Take in labels of a log that come one after the other; some may be refused."""
        tickets = ~log.events[begin:end]
        if self._settings.deadline is None or log.times.size < log.events.size:
            tickets = tickets[self._answers.found(tickets) >= 0]
            if tickets.size:
                answers, places = self._take_back(), tickets - log.first
                used = self._used(tickets, NEVER, answers)
                batch = tickets, log.labels[places], log.weights[places], used
                together(*self._taking_in(None, batch, NEVER, answers))
        else:
            for ticket, now in zip(tickets.tolist(), log.times[begin:end].tolist(), strict=True):
                label, weight = (
                    log.labels.item(ticket - log.first),
                    log.weights.item(ticket - log.first),
                )
                with suppress(AlreadyObserved, UnknownTicket):
                    together(*self._answering(ticket, label, weight, now, "replay")[2])
        if end - begin >= _MANY:
            self._reflect()

    def _runs_with_deadlines(
        self, log: of_log.Log, spans: Floats, begin: int
    ) -> list[tuple[int, int]]:
        """Return the runs of labels with a time at which an open ticket may be due."""
        if self._settings.deadline is None or log.times.size < log.events.size:
            return []
        memory = self._memory
        is_open = memory.entries[:, 1] >= 0
        older = memory.entries[is_open, 0], memory.records[is_open, lm.DUE]
        spans = np.where(np.isnan(spans), self._settings.deadline, spans)
        return of_log.runs_with_deadlines(log, begin, spans, older, memory.clock)

    def _check_labels(self, events: Ints, first: int, labels: Floats, weights: Floats) -> Ints:
        """Return the tickets whose labels a log has, in their order; refuse what cannot be."""
        observed = of_log.check_labels(events, self.rounds, first, labels.size)
        older = observed[observed < self.rounds]
        if np.unique(older).size < older.size:
            raise AlreadyObserved("replay: the label of an older ticket is there twice")
        answers = self._take_back()
        self._answers.check_known(older, answers, "replay")
        places = observed - first
        self._answers.check(observed, labels[places], weights[places], answers, "replay")
        return observed

    def _give_keys(self, keys: Sequence[Key], begin: int) -> None:
        """Give their keys to tickets from ``begin`` on that can still be answered."""
        for ticket in sorted(self.answerable()):
            if ticket >= begin:
                self._keys.give(keys[ticket - begin], ticket)

    def _check_keys(self, keys: Sequence[Key], rows: int, observed: Ints) -> None:
        """Refuse keys that cannot be, or that two rows have whose label does not come here."""
        if len(keys) != rows:
            raise BadKey(f"replay: {rows} rows need as many keys, got {len(keys)}")
        is_answered = np.zeros(rows, dtype=np.bool_)
        is_answered[observed[observed >= 0]] = True
        given: set[Key] = set()
        for key in (keys[row] for row in np.flatnonzero(~is_answered).tolist()):
            self._keys.check(key, self._is_open)
            if key in given:
                raise BadKey(f"replay: two rows without a label have the key {key!r}")
            given.add(key)

    # --- State ----------------------------------------------------------------------------------

    def report(self) -> LinearReport:
        """Return counts, delays so far, the mean loss, and how much each expert counts."""
        return report_of(self._settings.loss, self._looked())

    def losses(self, values: ArrayLike, labels: ArrayLike) -> Floats:
        """Return the losses of predictions, as ``predict`` gave them.

        Those of the squared loss are (value - label)^2 / 2; Poisson's leave out what only depends
        on the label.
        """
        v = of_log.vector(values, "losses: values")
        y = of_log.vector(labels, "losses: labels", v.size)
        return VALUES[self._settings.loss](self._settings, v, y)

    @alone
    def snapshot(self, *, secret: bytes | None = None) -> bytes:
        """Return the whole model as one blob, as long as the coordinates that it has seen.

        Equal models give equal blobs. With a ``secret``, only those who know it can write
        or change one unseen.
        """
        self._finish()
        answers = self._take_back()
        return snapshot.pack(self._settings, self._base, answers, self._keys, secret)

    @classmethod
    def restore(cls, blob: bytes, *, secret: bytes | None = None) -> Self:
        """Return the model that a snapshot holds; it goes on as if nothing had happened.

        ``secret`` is the one that ``snapshot`` was given. Whatever the bytes are, there is a model
        that goes on predicting numbers, or a ``SnapshotError``. What ``load`` says of tickets that
        were handed out later holds here too.
        """
        model = cls.__new__(cls)
        model._settings, memory, answers, keys = snapshot.unpack(blob, secret)
        model._connect(memory, keys)
        model._set = answers
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
        return f"<LinearModel, {self._settings.loss} loss: {self.rounds} rounds, {self.open} open>"

    # --- Room and refusals ----------------------------------------------------------------------

    def _make_room(self, entries_of_row: int) -> None:
        """Let grow whatever is too small for one more ticket."""
        self._take_back()
        self._reach(self._base.with_room(entries_of_row + int(self._settings.intercept)))

    def _retried(
        self,
        entry: Callable[..., tuple[int, float]],
        status: int,
        arguments: tuple[Any, ...],
        features: Row,
        who: str,
    ) -> tuple[int, float]:
        """Make room and call again, or raise."""
        if status == S.BAD:
            raise self._given.refusal(features, arguments[:3], who)
        self._ready(arguments[2])
        return entry(*self._arrays, *arguments)


def _is_name_and_string(name: Any) -> bool:
    return isinstance(name, tuple) and len(name) == 2 and all(isinstance(p, str) for p in name)
