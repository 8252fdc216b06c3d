"""The base class of models: settings, snapshots, files, copies, arguments of batches.

The events themselves are in ``belated.core.online``. Every model adds its arithmetic and results.
"""

from __future__ import annotations

import operator
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, Self, TypeVar, overload

import numpy as np

from belated.core import online
from belated.errors import BadFeatures, BadFeedback, BadKey
from belated.frames import Frame, is_frame, row_of
from belated.tables import report_html
from belated.validation import checked_seed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from belated.files import StrPath
    from belated.keys import Key
    from belated.models.clock import Duration
    from belated.models.moments import Time
    from belated.models.snapshots import Contents
    from belated.timeline import Timeline
    from belated.timeline.time_column import TimesLike

Answer = TypeVar("Answer")
Settings = TypeVar("Settings")
Row = TypeVar("Row")
Rows = TypeVar("Rows")
Prediction = TypeVar("Prediction")  # of predict
Peek = TypeVar("Peek")
Predictions = TypeVar("Predictions")  # of predict_many
Peeks = TypeVar("Peeks")
Replayed = TypeVar("Replayed")


class Model(online.Online, Generic[Answer, Settings]):
    """A ``Learner``, ``LinearModel``, ``Intervals``, ``Chooser`` or ``Knobs``.

    All have the same methods with the same arguments. One that a model cannot have raises
    ``Unsupported``, which says why and what to use instead.
    """

    __slots__ = ()

    _kind_name: ClassVar[str]
    """The name of the class in snapshots."""
    _loses = False
    """Whether the model may forget open tickets, so that an unknown key may be that of one."""

    if TYPE_CHECKING:  # what the core has
        CANNOT: dict[str, str]
        _guard: Any
        _keys: Any
        _memory: Any
        _times: Any

        def _alone(self, who: str, work: Callable[[], Any]) -> Any: ...

        def _state(self, who: str) -> tuple[dict[str, Any], dict[str, Any]]: ...

        def _state_now(self) -> tuple[dict[str, Any], dict[str, Any]]: ...

        def _unsupported(self, who: str, what: str) -> Exception: ...

        def ticket(self, name: int | Key) -> int: ...

        def is_open(self, ticket: int | Key) -> bool: ...

        def observe(
            self,
            ticket: int | Key,
            answer: Answer,
            *,
            at: Time | None = None,
            weight: float | None = None,
        ) -> bool: ...

        def revise(self, ticket: int | Key, answer: Answer, *, at: Time | None = None) -> bool: ...

        def add(self, ticket: int | Key, amount: float, *, at: Time | None = None) -> bool: ...

        def cancel(self, ticket: int | Key) -> None: ...

        def tick(self, at: Time) -> None: ...

        def observe_many(
            self,
            tickets: ArrayLike | Iterable[Any],
            answers: ArrayLike | Iterable[Answer],
            *,
            weights: ArrayLike | Iterable[float] | None = None,
            at: Any = None,
        ) -> NDArray[np.bool_]: ...

    # --- What each model adds -------------------------------------------------------------------

    @abstractmethod
    def _take(self, settings: Settings, like: Any = None) -> None:
        """Begin with these settings, and the parts of a user that a model like this has."""

    @abstractmethod
    def _contents(self) -> Contents:
        """Return what a snapshot holds; the guard is down."""

    @abstractmethod
    def _read(self, about: dict[str, Any], arrays: dict[str, Any], parts: Any) -> dict[str, Any]:
        """Begin as a snapshot says; return fields that are neither in its state nor arrays."""

    def _verify(self, state: dict[str, Any]) -> None:
        """Demand what fields must satisfy together with settings."""

    def _restore_keys(self, about: dict[str, Any]) -> None:
        """Take the keys of a snapshot."""
        self._keys.restore(about)

    def explain(self, row: Any) -> Any:
        """Return what each named feature adds to the prediction, if the model has features."""
        raise self._unsupported("explain", "explain")

    # --- Settings and counts --------------------------------------------------------------------

    @property
    def settings(self) -> Settings:
        """The arguments, checked."""
        settings: Settings = self._settings
        return settings

    @property
    def rounds(self) -> int:
        """Predictions so far; also the next ticket."""
        return int(self._keys.tickets.rounds)

    @property
    def open(self) -> int:
        """Tickets that wait for their final answer, without those given up on or cancelled."""
        return int(self._keys.tickets.open)

    def fresh(self, seed: int | None = None) -> Self:
        """Return a model with the same settings that has seen nothing; with another seed maybe.

        >>> import belated as bl
        >>> bl.Chooser(["a", "b"]).fresh(seed=7).settings.seed
        7
        """
        settings: Any = self.settings
        if seed is not None:
            if not hasattr(settings, "seed"):
                raise self._unsupported("fresh", "seed")
            settings = replace(settings, seed=checked_seed(seed, "fresh"))
        model = type(self).__new__(type(self))
        model._take(settings, self)
        return model

    # --- Snapshots ------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Return copies of all fields and arrays, by name.

        >>> import belated as bl
        >>> bl.LinearModel(bits=4).state()["tickets.rounds"]
        0
        """
        from belated.models.snapshots import fields_of

        state: dict[str, Any] = self._alone("state", lambda: fields_of(self._contents()))
        return state

    def snapshot(self, secret: bytes | None = None) -> bytes:
        """Return the whole model as one blob; equal models give equal blobs.

        With a ``secret``, a blob that was written or changed without it is refused.
        """
        from belated.models.snapshots import pack

        return pack(self, secret)

    @classmethod
    def restore(cls, blob: bytes, parts: Any = None, *, secret: bytes | None = None) -> Self:
        """Return the model that a snapshot holds; it goes on as if nothing had happened.

        ``secret`` is the one that ``snapshot`` was given, and ``parts`` what a snapshot cannot
        hold: the spec of a learner with Python objects, or the function ``decide`` of a chooser.
        Whatever the bytes are, there is a model that works, or a ``SnapshotError``.

        Tickets that were handed out after the snapshot are not known to it, and their numbers are
        handed out again: an answer to one of them would be taken for another's. Keys do not have
        that problem, as a lost one is simply unknown.

        >>> import belated as bl
        >>> learner = bl.Learner(bl.FirstOrder(bl.PFTRL(bl.Ball(1), bl.rates.Tight(1.0))))
        >>> blob = learner.snapshot()
        >>> ticket, x = learner.predict(key="order-120")
        >>> learner = bl.Learner.restore(blob)
        >>> ticket, x = learner.predict(key="order-121")
        >>> learner.observe("order-120", [0.5])
        Traceback (most recent call last):
        ...
        belated.errors.UnknownTicket: no open ticket has the key 'order-120'; nothing has changed
        """
        from belated.models.snapshots import unpack

        model = cls.__new__(cls)
        unpack(model, blob, parts, secret)
        return model

    def save(self, path: StrPath, *, secret: bytes | None = None) -> None:
        """Write a snapshot to a file as a whole, or leave the file as it was."""
        from belated.files import write_whole

        write_whole(path, self.snapshot(secret))

    @classmethod
    def load(cls, path: StrPath, parts: Any = None, *, secret: bytes | None = None) -> Self:
        """Return the model that a file holds; arguments and errors are those of ``restore``."""
        return cls.restore(Path(path).read_bytes(), parts, secret=secret)

    @property
    def _parts(self) -> Any:
        """The settings that a snapshot cannot hold; see ``restore``."""
        return None

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...], Any]:
        """Pickle and copy by snapshot, with what subclasses add."""
        from belated.models.snapshots import added_by_subclasses

        return (
            type(self).restore,
            (self.snapshot(), self._parts),
            added_by_subclasses(self),
        )

    def __repr__(self) -> str:
        """Return what the model is and where it stands."""
        return f"<{self._title()}: {self.rounds} rounds, {self.open} open>"

    def _title(self) -> str:
        """Return the kind of model and its main setting."""
        return type(self).__name__

    _repr_html_ = report_html

    # --- Arguments ------------------------------------------------------------------------------

    def _check_keys(self, keys: Sequence[Key | None], who: str) -> list[Key | None]:
        """Return keys as plain texts; refuse what is none, of an open ticket, or there twice."""
        given: dict[Key, int] = {}
        checked = list(keys)
        for row, key in enumerate(keys):
            if key is None:
                continue
            try:
                key = checked[row] = self._keys.check(key)
            except BadKey as error:
                raise BadKey(f"{who}: row {row}: {error}") from None
            if key in given:
                raise BadKey(
                    f"{who}: row {row}: the key {key!r} is that of row {given[key]} too; nothing "
                    "has changed"
                )
            given[key] = row
        return checked

    def _rows_given(
        self, who: str, rows: Any, keys: Any, at: Any, deadline: Any
    ) -> tuple[list[Any], list[Key | None], list[Any]]:
        """Return rows, keys and times of many predictions; a number stands for so many of none."""
        from belated.models.named import keys_of

        if is_frame(rows):
            frame = Frame(rows, who)
            keys, at = frame.taken(keys), frame.taken(at, may_be_time=True)
            rows = frame.dicts()
        listed = [row_of(row, who) for row in _listed(rows, who)]
        names: list[Key | None] = [None] * len(listed)
        if keys is not None:
            names = self._check_keys(keys_of(keys, len(listed), who), who)
        return listed, names, self._times_given(who, at, len(listed))

    def _answers_given(
        self, tickets: Any, answers: Any, weights: Any, at: Any
    ) -> tuple[Any, list[Any], list[Any], list[Any]]:
        """Return tickets, answers, weights and times of many answers."""
        from belated.models.named import named

        who = "observe_many"
        heard = named(tickets, self._keys, who, loses=self._loses)
        size = heard.tickets.size
        listed = self._column_given(answers, "answer")
        if len(listed) != size:
            raise BadFeedback(f"{who}: {size} tickets need as many answers, got {len(listed)}")
        factors: list[Any] = [None] * size
        if weights is not None:
            factors = self._column_given(weights, "weight")
            if len(factors) != size:
                raise BadFeedback(f"{who}: {size} tickets need as many weights, got {len(factors)}")
        return heard, listed, factors, self._times_given(who, at, size)

    def _column_given(self, given: Any, what: str) -> Any:
        """Return answers or weights of many: "answer" or "weight"."""
        who = "observe_many"
        if what in self.CANNOT:
            raise self._unsupported(who, what)
        has_order = not isinstance(given, str | bytes | Mapping | Set)
        if not (has_order and isinstance(given, Iterable)) or getattr(given, "ndim", 1) == 0:
            raise BadFeedback(f"{who}: {what}s must be a list, got {given!r}; nothing has changed")
        if isinstance(given, np.ndarray):
            return given.tolist()
        return given.to_pylist() if hasattr(given, "to_pylist") else list(given)

    def _times_given(self, who: str, at: Any, count: int) -> list[Any]:
        """Return the time of each of many events; ``at`` is one time, or a column of them."""
        if at is not None and "at" in self.CANNOT:
            raise self._unsupported(who, "at")
        if not is_column(at):
            return [at] * count
        from belated.models.moments import Moment

        times, kind = self._times.of_batch(at, count, who)
        if who == "observe_many":
            self._times.warn_of_old(at, times)
        return [Moment(time, kind) for time in times.tolist()] if kind else [None] * count


class RowModel(
    Model[Answer, Settings],
    Generic[Answer, Settings, Row, Rows, Prediction, Peek, Predictions, Peeks, Replayed],
):
    """A model that predicts from rows: features, or the context of knobs."""

    __slots__ = ()

    if TYPE_CHECKING:  # what the core has

        def predict(  # type: ignore[override]  # the row is needed
            self,
            row: Row,
            *,
            key: Key | None = None,
            at: Time | None = None,
            deadline: Duration | None = None,
        ) -> Prediction: ...

        def peek(self, row: Row) -> Peek: ...  # type: ignore[override]

        def replay(
            self,
            rows: Rows,
            answers: ArrayLike,
            timeline: Timeline | ArrayLike,
            *,
            weights: ArrayLike | None = None,
            first: int = 0,
            at: TimesLike | None = None,
            deadlines: ArrayLike | None = None,
            keys: Sequence[Key] | None = None,
            progress: Callable[[int], None] | None = None,
        ) -> Replayed: ...

    @overload
    def predict_many(
        self,
        rows: Rows,
        *,
        keys: str | Iterable[Key | None] | None = None,
        at: Time | TimesLike | None = None,
        deadline: Duration | None = None,
        as_frame: Literal[False] = False,
    ) -> Predictions: ...

    @overload
    def predict_many(
        self,
        rows: Any,
        *,
        keys: str | Iterable[Key | None] | None = None,
        at: Time | TimesLike | None = None,
        deadline: Duration | None = None,
        as_frame: Literal[True],
    ) -> Any: ...

    def predict_many(
        self,
        rows: Any,
        *,
        keys: str | Iterable[Key | None] | None = None,
        at: Time | TimesLike | None = None,
        deadline: Duration | None = None,
        as_frame: bool = False,
    ) -> Any:
        """Predict for many rows; return their tickets and predictions, as columns.

        ``rows`` is a list of what ``predict`` takes, or a frame of pandas, polars or pyarrow, whose
        columns are features; of linear models also (indptr, indices, values) or a matrix. The
        result is the same, bit for bit, as row by row. ``keys`` has the key of every row, as a
        list, an array or a column; None or NaN is that of a row without one. Where one cannot be a
        key, is there twice or belongs to a ticket that is open, nothing has changed. ``at`` is one
        time, or that of every row. Of a frame, both may be the names of columns, which are then no
        features, and with ``as_frame=True`` the result is a frame of the same kind.

        Of a ``LinearModel``, if rows and labels of ``observe_many`` have times of their own, the
        model learns old events in the order of time: see ``docs/data.md``.

        >>> import belated as bl
        >>> model = bl.LinearModel("squared")
        >>> tickets, values = model.predict_many([{"x": 1.0}, {"x": 2.0}], keys=["a", "b"])
        >>> model.observe_many(["b", "a"], [4.0, 2.0]).tolist()
        [True, True]
        """
        frame = Frame(rows, "predict_many") if as_frame else None
        found = super().predict_many(rows, keys=keys, at=at, deadline=deadline)  # type: ignore[no-untyped-call]
        return found if frame is None else frame.of(found)

    @overload
    def peek_many(self, rows: Rows, *, as_frame: Literal[False] = False) -> Peeks: ...

    @overload
    def peek_many(self, rows: Any, *, as_frame: Literal[True]) -> Any: ...

    def peek_many(self, rows: Any, *, as_frame: bool = False) -> Any:
        """Return what ``predict`` would for each of many rows, without tickets or any change."""
        frame = Frame(rows, "peek_many") if as_frame else None
        found = super().peek_many(rows)  # type: ignore[no-untyped-call]
        return found if frame is None else frame.of(found)


def is_column(at: Any) -> bool:
    """Tell whether times are many, and not one."""
    return not isinstance(at, str) and hasattr(at, "__len__")


def _listed(rows: Any, who: str) -> list[Any]:
    """Return rows as a list; a number stands for so many without content."""
    if rows is None or isinstance(rows, str | bytes) or hasattr(rows, "keys"):
        raise BadFeatures(f"{who}: rows are a list or a number, got {type(rows).__name__}")
    if isinstance(rows, Iterable):
        return list(rows)
    try:
        count = -1 if isinstance(rows, bool) else operator.index(rows)
    except TypeError:
        count = -1
    if count < 0:
        raise BadFeatures(f"{who}: rows are a list or a number, got {rows!r}")
    return [None] * count
