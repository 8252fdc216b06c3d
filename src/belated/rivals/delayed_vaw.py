"""Delayed Vovk-Azoury-Warmuth regression: features at the prediction, the label later."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from belated import core, sealed
from belated.arrays import Floats, Ints
from belated.bounds import Bound
from belated.core import rival_matrices
from belated.core.component import demand
from belated.core.learner import busy
from belated.errors import BadFeatures, SnapshotError, SpecError
from belated.files import StrPath, write_whole
from belated.keys import Key
from belated.learner.events import events_of
from belated.learner.extras import extras_of
from belated.linear import events as of_log
from belated.linear.model import Forecast
from belated.spec import positive, whole
from belated.timeline import Timeline
from belated.validation import numbers

_KIND = "DelayedVAW"
_MOST_DIMENSIONS = 4096  # 270 MB of matrices
_LARGEST = rival_matrices.LARGEST


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
            if not 1.0 / _LARGEST <= value <= _LARGEST:
                raise SpecError(f"{_KIND}: {name} must be from 1e-50 to 1e50, got {value!r}")
            object.__setattr__(self, name, value)
        if not isinstance(self.strict, bool):
            raise SpecError(f"{_KIND}: strict must be True or False, got {self.strict!r}")

    def model(self) -> rival_matrices.VAW:
        """Return what predicts, having seen nothing."""
        growth = self.caution * (self.magnitude / self.norm) ** 2
        return rival_matrices.VAW(self.dimension, self.magnitude, growth, self.ridge, self.strict)


class DelayedVAW(rival_matrices.Regression):
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

    __slots__ = ("__dict__", "__weakref__", "_told")

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
        self._take(Told(dimension, magnitude, norm, ridge, caution, strict))

    def _take(self, told: Told) -> None:
        core.warn_if_interpreted()
        self._told = told
        self._predict_with(told.model(), _KIND, Forecast)

    if TYPE_CHECKING:  # what the core has
        _model: rival_matrices.VAW

        def _predict_with(self, model: Any, kind: str, forecast: type[Forecast]) -> None: ...

        def _state(self, who: str) -> tuple[dict[str, Any], dict[str, Any]]: ...

        def run(
            self, timeline: Any, feedback: Any, *, first: int = 0, keep: bool = True
        ) -> Any: ...

        def predict(  # type: ignore[override]  # it takes features as well
            self, features: ArrayLike, *, key: Key | None = None
        ) -> Forecast: ...

        def observe(self, ticket: int | Key, label: float) -> bool: ...

        def cancel(self, ticket: int | Key) -> None: ...

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
        return int(self._model.tickets.rounds)

    @property
    def open(self) -> int:
        """Tickets that still wait for their label."""
        return int(self._model.tickets.open)

    @property
    def excess(self) -> int:
        """Labels beyond Y."""
        return int(self._model.tickets.excess)

    @property
    def weights(self) -> Floats:
        """A^-1 b, for a row of zeros."""
        return np.asarray(self._model.inverse @ self._model.sums)

    def replay(self, rows: ArrayLike, labels: ArrayLike, timeline: Timeline | ArrayLike) -> Floats:
        """Feed a whole log through the compiled loop and return the predictions in ticket order.

        Row i of ``rows`` and entry i of ``labels`` belong to the i-th prediction of this call;
        labels of tickets that are not observed may be anything. ``timeline`` is a ``Timeline``
        (labels that never came stay open) or an array of events: t for the prediction of ticket t,
        ~t for its label. The result is the same, bit for bit, as event by event. When an event is
        refused, or the replay is interrupted, the model is as it was before.
        """
        given = numbers(rows, "replay: rows must be numbers", BadFeatures)
        if given.ndim != 2 or given.shape[1] != self._told.dimension:
            raise BadFeatures(
                f"replay: rows have {self._told.dimension} columns, got shape {given.shape}"
            )
        known = of_log.vector(labels, "replay: labels", len(given))
        begin = self.rounds
        found = self.run(events_of(timeline, "replay"), (given, known, begin), first=begin)
        return found.ravel()

    def _run_arguments(self, log: Ints, given: tuple[Floats, Floats, int]) -> tuple[Ints, Floats]:
        """Check a log, and let the model have its features."""
        rows, labels, begin = given
        if begin != self.rounds:
            raise busy("replay")
        count = of_log.check_predictions(log, begin, len(rows))
        of_log.check_labels(log, begin, begin, labels.size)
        with np.errstate(over="ignore"):
            sizes = np.sqrt((rows[:count] * rows[:count]).sum(axis=1))
        wrong = np.flatnonzero(~(sizes <= 0.9 * _LARGEST))
        if wrong.size:
            raise rival_matrices.unusable(f"replay: row {wrong[0]}: ", rows[wrong[0]])
        self._model.take_rows(np.ascontiguousarray(rows), begin)
        return log, labels[:, None]

    # --- Guarantees -----------------------------------------------------------------------------

    def regret_within(self, norm: float | None = None) -> float:
        """Return what the losses so far exceed those of any fixed weights u at most by.

        ``norm`` is |u|, U unless given; for losses (prediction - y)^2 / 2 and labels within Y.

        >>> model = DelayedVAW(1, magnitude=1.0, norm=1.0)
        >>> _ = model.predict([1.0]), model.observe(0, 1.0)
        >>> model.regret_within()
        0.75
        """
        model, told = self._model, self._told
        size = told.norm if norm is None else positive(_KIND, "norm", norm)
        learned = told.magnitude**2 * (0.5 * float(model.squares) + 2.0 * float(model.drift))
        return 0.5 * float(model.ridge) * size**2 + learned

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

    def snapshot(self, *, secret: bytes | None = None) -> bytes:
        """Return the whole model as one blob; equal models give equal blobs.

        With a ``secret``, only those who know it can write or change one unseen.
        """
        state, keys = self._state("snapshot")
        arrays = {name: value for name, value in state.items() if isinstance(value, np.ndarray)}
        fields = {name: value for name, value in state.items() if name not in arrays}
        about = {"told": asdict(self._told), "state": fields, **keys}
        return sealed.seal(_KIND, about, arrays, secret)

    @classmethod
    def restore(cls, blob: bytes, *, secret: bytes | None = None) -> Self:
        """Return the model that a snapshot holds; it goes on as if nothing had happened.

        ``secret`` is the one that ``snapshot`` was given. Whatever the bytes are, there is a model
        that goes on predicting numbers, or a ``SnapshotError``.
        """
        about, arrays = sealed.unseal(_KIND, blob, None, secret)
        model = cls.__new__(cls)
        try:
            told, state = Told(**about["told"]), {**dict(about["state"]), **arrays}
        except (KeyError, SpecError, TypeError, ValueError) as error:
            raise SnapshotError(f"restore: what it was told cannot be read ({error})") from error
        size = sum(array.size for array in arrays.values())
        demand(size >= 2 * told.dimension**2, "the dimension")  # before room is made for it
        model._take(told)
        model._model.check(state)
        model._model.restore(state)
        model._names.restore(about)
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
