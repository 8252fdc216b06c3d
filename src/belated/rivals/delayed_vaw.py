"""Delayed Vovk-Azoury-Warmuth regression: features at the prediction, the label later."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from belated import sealed
from belated.arrays import Floats
from belated.bounds import Bound
from belated.errors import BadFeatures, BadFeedback, SnapshotError, SpecError
from belated.files import StrPath, write_whole
from belated.kernels.slots import floats as F
from belated.kernels.slots import ints as N
from belated.kernels.slots import status as S
from belated.learner import refusals
from belated.learner.extras import extras_of
from belated.learner.given import checked_ticket, events_of, numbers
from belated.learner.keys import Key, Keys
from belated.learner.sound import COUNTS, check_normal, check_parameters, check_shapes, check_table
from belated.learner.sound import demand as demanded
from belated.learner.state import PARTS, Memory
from belated.learner.turns import alone
from belated.linear import events as of_log
from belated.linear.model import Forecast
from belated.rivals import vaw_events as events
from belated.rivals.shared import is_count, is_doubled
from belated.spec import positive, whole
from belated.timeline import Timeline

_KIND = "DelayedVAW"
_MOST_DIMENSIONS = 4096  # 270 MB of matrices
_CHUNK = 50_000  # events between two chances to interrupt a long replay
_MOVING = (*COUNTS, N.STRICT)


@dataclass(frozen=True)
class Told:
    """What a model was told; see ``DelayedVAW``."""

    dimension: int
    magnitude: float
    norm: float
    ridge: float = 1.0
    caution: float = 4.0
    strict: bool = False

    def __post_init__(self) -> None:
        """Check every number."""
        dimension = whole(_KIND, "dimension", self.dimension)
        if dimension > _MOST_DIMENSIONS:
            raise SpecError(
                f"{_KIND}: dimension must be at most {_MOST_DIMENSIONS:,}, as it keeps two "
                f"matrices, got {dimension:,}; use bl.LinearModel for more"
            )
        object.__setattr__(self, "dimension", dimension)
        for name in ("magnitude", "norm", "ridge", "caution"):
            value = positive(_KIND, name, getattr(self, name))
            if not 1.0 / events.HUGE <= value <= events.HUGE:
                raise SpecError(f"{_KIND}: {name} must be from 1e-50 to 1e50, got {value!r}")
            object.__setattr__(self, name, value)
        if not isinstance(self.strict, bool):
            raise SpecError(f"{_KIND}: strict must be True or False, got {self.strict!r}")

    @property
    def growth(self) -> float:
        """How much lambda grows per unit of delta."""
        return self.caution * (self.magnitude / self.norm) ** 2

    def fresh(self) -> Memory:
        """Return the memory of a model that has seen nothing."""
        k = self.dimension
        own = np.zeros(events.HEADER + k + 2 * k * k)
        own[events.RIDGE] = self.ridge
        own[events.HEADER + k + k * k :: k + 1] = 1.0 / self.ridge
        f = np.concatenate([np.zeros(F.HEADER + 3 * F.padded(k)), own])
        f[F.MAGNITUDE], f[F.GAIN], f[events.LEAST] = self.magnitude, self.growth, self.ridge
        places = {N.OWN: own.size, N.OWN_AT: f.size - own.size, N.KEEP: k + 1}
        return Memory.fresh(f, {N.DIM: k, N.STRICT: int(self.strict), **places})


class DelayedVAW:
    """Linear regression that knows the features of all rounds, and labels as they come.

    With z_t the features of round t, y_s the labels received and A_t = lambda_t I + the sum of
    z_s z_s' over all rounds up to t, this one and those without a label included,

        the prediction is z_t' A_t^-1 (sum of y_s z_s), cut off at Y and -Y.

    Y = ``magnitude`` bounds the labels. lambda_t follows how much pending labels may change the
    prediction: with w_s = sqrt(z_s' A_t^-1 z_s) and delta_t = w_t times the sum of the w_s of all
    pending rounds, lambda_{t+1} = lambda_0 + c (Y / U)^2 (delta_1 + .. + delta_t). U = ``norm`` is
    a guess of |u|, for the weights u to be compared with; lambda_0 = ``ridge``, c = ``caution``.
    Without delay and cutting off this is the forecaster of Vovk and of Azoury and Warmuth.

    Guarantee, after the paper, for losses (prediction - y)^2 / 2 and every u: regret <=
    lambda_T |u|^2 / 2 + Y^2 sum_t (w_t^2 / 2 + 2 delta_t), which is what ``regret_within`` says;
    ``bound`` says it in advance, from delays and the largest |z|.
    Reference: Qiu, Esposito and Zhang, "Exploiting curvature in online convex optimization with
    delayed feedback", ICML 2025.
    Differs from the paper: rule and constants are derived here, with c = 4. lambda_t is
    rounded up to lambda_0 times a power of 2, and w_s is that of the last time that it doubled, so
    that an event costs O(k^2), however many labels are open. The constant c is cautious:
    under long delays smaller ones usually predict better, and have a bound too.

    Keeps 2 k^2 numbers, and the features of open tickets. Answers in any order; a lost one, that is
    cancelled, leaves its features in A. A label beyond Y is counted in ``excess`` and learned, or
    with ``strict`` refused. Beside it, ``LinearModel`` needs no Y and no U, takes sparse features
    and names, and has no bound.

    >>> model = DelayedVAW(2, magnitude=1.0, norm=1.0)
    >>> ticket, value = model.predict([1.0, 0.0])
    >>> later = model.predict([1.0, 1.0], key="second")
    >>> model.observe("second", 0.5), model.observe(ticket, 1.0)
    (True, True)
    >>> model.open, round(model.predict([1.0, 0.0]).value, 4)
    (0, 0.2059)
    """

    __slots__ = ("__dict__", "__weakref__", "_keys", "_memory", "_told", "_turn")

    def __init__(
        self,
        dimension: int,
        magnitude: float,
        norm: float,
        *,
        ridge: float = 1.0,
        caution: float = 4.0,
        strict: bool = False,
    ) -> None:
        self._told = Told(dimension, magnitude, norm, ridge, caution, strict)
        self._connect(self._told.fresh(), Keys())

    def _connect(self, memory: Memory, keys: Keys) -> None:
        self._memory = memory
        self._keys = keys
        self._turn: list[None] = [None]
        events.predict(), events.observe(), events.cancel()  # compiled now, not in live use

    def fresh(self) -> Self:
        """Return a model that was told the same and has seen nothing."""
        return type(self)(**asdict(self._told))

    @property
    def told(self) -> Told:
        """What the model was told."""
        return self._told

    @property
    def rounds(self) -> int:
        """Predictions made so far; also the next ticket."""
        return self._memory.rounds

    @property
    def open(self) -> int:
        """Tickets that still wait for their label."""
        return self._memory.open

    @property
    def excess(self) -> int:
        """Labels beyond Y."""
        return self._memory.excess

    @property
    def weights(self) -> Floats:
        """A^-1 b, for a row of zeros."""
        k, own = self._told.dimension, self._memory.own
        inverse = own[events.HEADER + k + k * k :].reshape(k, k)
        return np.asarray(inverse @ own[events.HEADER : events.HEADER + k])

    # --- Events ---------------------------------------------------------------------------------

    @alone
    def predict(self, features: ArrayLike, *, key: Key | None = None) -> Forecast:
        """Return the next ticket and a prediction; ``features`` are ``dimension`` numbers.

        With a ``key``, every other verb takes the key in the place of the ticket.
        """
        keys, memory = self._keys, self._memory
        keys.finish(memory)
        if key is not None:
            keys.check(key, memory.is_open)
        row = numbers(features, "predict: features must be numbers", BadFeatures)
        if row.shape != (self._told.dimension,):
            raise BadFeatures(
                f"predict: features are a vector of {self._told.dimension} numbers, got shape "
                f"{row.shape}"
            )
        if key is not None:
            keys.left = key, memory.rounds, 0
        try:
            ticket, value = events.predict()(memory.f, memory.n, row)
            if ticket == S.FULL:
                memory.grow()
                ticket, value = events.predict()(memory.f, memory.n, row)
        finally:
            keys.finish(memory)
        if ticket < 0:
            raise BadFeatures(_unusable("predict: ", row))
        return Forecast(ticket, value)

    @alone
    def observe(self, ticket: int | Key, label: float) -> bool:
        """Learn the label of a ticket: any order, any delay.

        Raises ``UnknownTicket``, ``AlreadyObserved`` or ``BadFeedback``, and then nothing has
        changed.
        """
        self._keys.finish(self._memory)
        number = checked_ticket(self._keys.ticket(ticket))
        value = numbers(label, "observe: a label must be a number", BadFeedback)
        if value.ndim:
            raise BadFeedback(f"observe: a label is one number, got shape {value.shape}")
        status = events.observe()(self._memory.f, self._memory.n, number, float(value))
        if status < 0:
            raise self._refusal(status, number, "observe: ")
        self._keys.drop(ticket)
        return status == S.USED

    @alone
    def cancel(self, ticket: int | Key) -> None:
        """Close a ticket whose label will never come."""
        self._keys.finish(self._memory)
        number = checked_ticket(self._keys.ticket(ticket))
        status = events.cancel()(self._memory.f, self._memory.n, number)
        if status < 0:
            raise self._refusal(status, number, "cancel: ")
        self._keys.drop(ticket)

    @alone
    def replay(self, rows: ArrayLike, labels: ArrayLike, timeline: Timeline | ArrayLike) -> Floats:
        """Feed a whole log through the compiled loop and return the predictions in ticket order.

        Row i of ``rows`` and entry i of ``labels`` belong to the i-th prediction of this call;
        labels of tickets that are not observed may be anything. ``timeline`` is a ``Timeline``
        (labels that never came stay open) or an array of events: t for the prediction of ticket t,
        ~t for its label. The result is the same, bit for bit, as event by event. Everything is
        checked before the first event.
        """
        self._keys.finish(self._memory)
        given = numbers(rows, "replay: rows must be numbers", BadFeatures)
        if given.ndim != 2 or given.shape[1] != self._told.dimension:
            raise BadFeatures(
                f"replay: rows have {self._told.dimension} columns, got shape {given.shape}"
            )
        known = of_log.vector(labels, "replay: labels", len(given))
        log, begin = events_of(timeline, "replay"), self.rounds
        count = of_log.check_predictions(log, begin, len(given))
        observed = of_log.check_labels(log, begin, begin, known.size)
        self._check(given[:count], known[observed - begin], observed)
        values = np.empty(count)
        entry, memory, done = events.replay(), self._memory, 0
        while done < log.size:
            part = log[done : done + _CHUNK]
            now = entry(memory.f, memory.n, part, given, known, begin, values)
            done += now
            if now < part.size:
                memory.grow()
        return values

    def _check(self, rows: Floats, labels: Floats, tickets: Any) -> None:
        """Refuse features and labels that cannot be used."""
        with np.errstate(over="ignore"):
            sizes = np.sqrt((rows * rows).sum(axis=1))
        wrong = np.flatnonzero(~(sizes <= 0.9 * events.HUGE))
        if wrong.size:
            raise BadFeatures(_unusable(f"replay: row {wrong[0]}: ", rows[wrong[0]]))
        most = self._told.magnitude * F.SLACK if self._told.strict else events.HUGE
        wrong = np.flatnonzero(~(np.abs(labels) <= most))
        if wrong.size:
            status = S.TOO_LARGE if np.abs(labels[wrong[0]]) <= events.HUGE else S.BAD
            raise self._refusal(status, int(tickets[wrong[0]]), "replay: ")

    def _refusal(self, status: int, ticket: int, where: str) -> refusals.Refusal:
        """Return the error for a refusal of the kernels."""
        of_ticket = refusals.of_ticket(status, ticket, self.rounds, where)
        if of_ticket is not None:
            return of_ticket
        if status == S.TOO_LARGE:
            return BadFeedback(
                f"{where}the label of ticket {ticket} is beyond the magnitude "
                f"{self._told.magnitude!r}; nothing has changed: raise it, or use strict=False to "
                "count such labels instead"
            )
        return BadFeedback(
            f"{where}the label of ticket {ticket} must be a number of at most {events.HUGE:g}; "
            "nothing has changed: send a right one, or cancel the ticket"
        )

    # --- Guarantees -----------------------------------------------------------------------------

    def regret_within(self, norm: float | None = None) -> float:
        """Return what the losses so far exceed those of any fixed weights u at most by.

        ``norm`` is |u|, U unless given; for losses (prediction - y)^2 / 2 and labels within Y.

        >>> model = DelayedVAW(1, magnitude=1.0, norm=1.0)
        >>> _ = model.predict([1.0]), model.observe(0, 1.0)
        >>> model.regret_within()
        0.75
        """
        own, told = self._memory.own, self._told
        size = told.norm if norm is None else positive(_KIND, "norm", norm)
        squares, drift = float(own[events.SQUARES]), float(own[events.DRIFT])
        learned = told.magnitude**2 * (0.5 * squares + 2.0 * drift)
        return 0.5 * float(own[events.RIDGE]) * size**2 + learned

    def bound(self, timeline: Timeline, *, size: float, norm: float | None = None) -> Bound:
        """Return what is promised on these delays, |z_t| being at most ``size`` Z.

        With K = k ln(1 + Z^2 T / (k lambda_0)): lambda_0 |u|^2 / 2 + Y^2 K / 2, and with delays
        lambda_0 |u|^2 / 2 + Y^2 (2 + c |u|^2 / U^2) min{d_max K, sigma_max + Z U sqrt(2 d_tot / c)
        / Y} more.

        >>> from belated import Timeline
        >>> model = DelayedVAW(3, magnitude=1.0, norm=1.0)
        >>> model.bound(Timeline.from_delays([0] * 500), size=1.0).total.__round__(3)
        8.183
        """
        told, k = self._told, self._told.dimension
        steep = positive(_KIND, "size", size)
        weight = told.norm if norm is None else positive(_KIND, "norm", norm)
        learned = k * math.log1p(steep**2 * timeline.rounds / (k * told.ridge))
        first = 0.5 * told.ridge * weight**2
        late, total = 0.0, timeline.total_delay
        if total:
            root = steep * told.norm / told.magnitude * math.sqrt(2.0 * total / told.caution)
            drift = min(timeline.max_delay * learned, timeline.max_backlog + root)
            late = first + told.magnitude**2 * drift * (
                2.0 + told.caution * (weight / told.norm) ** 2
            )
        trivial = 2.0 * told.magnitude**2 * timeline.rounds if timeline.rounds else math.inf
        name = f"{_KIND} (Qiu, Esposito and Zhang 2025)"
        return Bound(name, first + 0.5 * told.magnitude**2 * learned, late, trivial=trivial)

    # --- Snapshots ------------------------------------------------------------------------------

    @alone
    def snapshot(self, *, secret: bytes | None = None) -> bytes:
        """Return the whole model as one blob; equal models give equal blobs.

        With a ``secret``, only those who know it can write or change one unseen.
        """
        self._keys.finish(self._memory)
        about = {"told": asdict(self._told), **self._keys.about(self._memory.answerable)}
        return sealed.seal(_KIND, about, self._memory.parts(), secret)

    @classmethod
    def restore(cls, blob: bytes, *, secret: bytes | None = None) -> Self:
        """Return the model that a snapshot holds; it goes on as if nothing had happened.

        ``secret`` is the one that ``snapshot`` was given. Whatever the bytes are, there is a model
        that goes on predicting numbers, or a ``SnapshotError``.
        """
        about, arrays = sealed.unseal(_KIND, blob, PARTS, secret)
        model = cls.__new__(cls)
        try:
            model._told = Told(**about["told"])
        except (KeyError, SpecError, TypeError) as error:
            raise SnapshotError(f"restore: what it was told cannot be read ({error})") from error
        memory = _restored(model._told, arrays)
        model._connect(memory, Keys.restored(about, memory.answerable))
        return model

    def save(self, path: StrPath, *, secret: bytes | None = None) -> None:
        """Write a snapshot to a file as a whole, or leave the file as it was."""
        write_whole(path, self.snapshot(secret=secret))

    @classmethod
    def load(cls, path: StrPath, *, secret: bytes | None = None) -> Self:
        """Return the model that a file holds; the checks are those of ``restore``."""
        return cls.restore(Path(path).read_bytes(), secret=secret)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...], Any]:
        """Pickle and copy by snapshot, and what subclasses add."""
        return type(self).restore, (self.snapshot(),), extras_of(self, DelayedVAW)

    def __repr__(self) -> str:
        """Return what the model is and where it stands."""
        return f"<DelayedVAW in {self._told.dimension}: {self.rounds} rounds, {self.open} open>"


def _unusable(where: str, row: Floats) -> str:
    return (
        f"{where}features must be finite, and their norm at most {events.HUGE:g}, got "
        f"{np.array2string(row, threshold=8)}; nothing has changed"
    )


def _restored(told: Told, parts: Mapping[str, NDArray[Any]]) -> Memory:
    """Return the memory that parts are of, or refuse them."""
    k = told.dimension
    demanded(parts["f"].size >= 2 * k * k, "of another dimension")  # before that is made room for
    fresh, n = told.fresh(), parts["n"]
    check_shapes(parts)
    places = [N.DIM, N.OWN, N.OWN_AT, N.KEPT_AT, N.KEEP, N.COPY_F, N.MADE]
    demanded((n[places] == fresh.n[places]).all(), "of another dimension")
    check_parameters(n, fresh.n, _MOVING)
    demanded(n[N.STRICT] == fresh.n[N.STRICT], "strict")
    check_normal(n, parts["tickets"])
    for name in ("f", "records"):
        demanded((np.abs(parts[name]) <= 1e250).all(), f"{name} is not finite, or too large")
    memory = Memory.joined(parts)
    check_table(memory)
    demanded(memory.n[N.HOLDING] == memory.n[N.SKIPPED] == memory.n[N.LAG] == 0, "tickets")
    own, first = memory.own, memory.f[: memory.n[N.OWN_AT]]
    demanded((first == fresh.f[: first.size]).all(), "numbers that the settings give")
    matrix, inverse = own[events.HEADER + k :].reshape(2, k, k)
    ridge, widths = float(own[events.RIDGE]), memory.records[:, k]
    demanded(is_doubled(ridge / told.ridge), "lambda")
    demanded((own[events.DRIFT : events.HEADER] >= 0.0).all(), "negative sums")
    demanded(is_count(float(own[events.UPDATES]), memory.rounds), "updates")
    demanded(((widths >= 0.0) & (widths <= 1.0 + 1e-6)).all(), "widths")
    demanded(abs(widths.sum() - own[events.WIDTHS]) <= 1e-6 * (1.0 + len(widths)), "widths")
    demanded((np.abs(memory.records[:, :k]) <= events.HUGE).all(), "features")
    demanded((matrix == matrix.T).all() and (np.diag(matrix) >= 0.0).all(), "the matrix")
    demanded((np.abs(inverse) <= (1.0 + 1e-6) / ridge).all(), "the inverse")
    memory.make_roomy()
    return memory
