"""Delayed Vovk-Azoury-Warmuth regression, whose predictions need features."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from belated import core
from belated.arrays import Floats, Ints
from belated.bounds import Bound
from belated.core.component import demand
from belated.core.online import busy
from belated.errors import BadFeatures, SpecError
from belated.keys import Key
from belated.models.events import events_of
from belated.models.linear import events as of_log
from belated.models.linear.model import Forecast
from belated.models.online import Model
from belated.models.snapshots import Contents
from belated.research.core import rival_matrices
from belated.research.rivals.base import checked
from belated.spec import positive
from belated.timeline import Timeline
from belated.validation import numbers

_KIND = "DelayedVAW"
_MOST_DIMENSIONS = 4096  # 270 MB of matrices
_LARGEST = rival_matrices.LARGEST


@dataclass(frozen=True)
class Told:
    """The arguments of a model; see ``DelayedVAW``."""

    dimension: int
    magnitude: float
    norm: float
    ridge: float = 1.0
    caution: float = 4.0
    strict: bool = False

    def __post_init__(self) -> None:
        """Check every field."""
        for field in fields(self):
            value = checked(_KIND, field, getattr(self, field.name))
            if field.type == "float" and not 1.0 / _LARGEST <= value <= _LARGEST:
                raise SpecError(f"{_KIND}: {field.name} must be from 1e-50 to 1e50, got {value!r}")
            object.__setattr__(self, field.name, value)
        if self.dimension > _MOST_DIMENSIONS:
            raise SpecError(
                f"{_KIND}: dimension must be at most {_MOST_DIMENSIONS:,}, as it keeps two "
                f"matrices, got {self.dimension:,}; use bl.LinearModel for more"
            )

    def model(self) -> rival_matrices.VAW:
        """Return a new player of the core."""
        growth = self.caution * (self.magnitude / self.norm) ** 2
        return rival_matrices.VAW(self.dimension, self.magnitude, growth, self.ridge, self.strict)


class DelayedVAW(Model[float, Told], rival_matrices.Regression):
    """Linear regression with late labels (Qiu, Esposito and Zhang 2025).

    With z_t the features of round t, y_s the labels received and A_t = lambda_t I + the sum of
    z_s z_s' over all rounds up to t, this one and those without a label included,

        the prediction is z_t' A_t^-1 (sum of y_s z_s), clipped to [-Y, Y].

    Y = ``magnitude`` bounds the labels. lambda_t grows with the possible effect of pending labels:
    with w_s = sqrt(z_s' A_t^-1 z_s) and delta_t = w_t times the sum of the w_s of all pending
    rounds, lambda_{t+1} = lambda_0 + c (Y / U)^2 (delta_1 + .. + delta_t). U = ``norm`` is a guess
    of |u|, for the weights u to be compared with; lambda_0 = ``ridge``, c = ``caution``. Without
    delay and clipping this is the forecaster of Vovk and of Azoury and Warmuth.

    After the paper, for losses (prediction - y)^2 / 2 and every u, regret <=
    lambda_T |u|^2 / 2 + Y^2 sum_t (w_t^2 / 2 + 2 delta_t); see ``regret_within`` and ``bound``.
    Differs from the paper: rule and constants are derived here, with c = 4. lambda_t is rounded up
    to lambda_0 times a power of 2, and w_s is computed when it doubles, so that an event costs
    O(k^2) for any number of open labels. The constant c is cautious: under long delays smaller ones
    usually predict better, and have a bound too.

    Keeps 2 k^2 numbers, and the features of open tickets. Labels come in any order; a cancelled
    ticket leaves its features in A. A label beyond Y is counted in ``excess`` and learned, or with
    ``strict`` refused. ``LinearModel`` needs no Y and no U, takes sparse features and names, and
    has no bound.

    >>> model = DelayedVAW(2, magnitude=1.0, norm=1.0)
    >>> ticket, value = model.predict([1.0, 0.0])
    >>> later = model.predict([1.0, 1.0], key="second")
    >>> model.observe("second", 0.5), model.observe(ticket, 1.0)
    (True, True)
    >>> model.open, round(model.predict([1.0, 0.0]).value, 4)
    (0, 0.2059)
    """

    __slots__ = ("__dict__", "__weakref__")

    _kind_name = _KIND

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

    def _take(self, settings: Told, like: Any = None) -> None:
        core.warn_if_interpreted()
        self._predict_with(settings, settings.model(), _KIND, Forecast)

    if TYPE_CHECKING:  # methods of the core, with types
        _predict_with: Any
        _model: Any

        def predict(  # type: ignore[override]  # it takes features as well
            self, row: ArrayLike, *, key: Key | None = None, at: None = None, deadline: None = None
        ) -> Forecast: ...

    @property
    def excess(self) -> int:
        """Number of labels beyond Y."""
        return int(self._model.tickets.excess)

    @property
    def weights(self) -> Floats:
        """A^-1 b, for a row of zeros."""
        return np.asarray(self._model.inverse @ self._model.sums)

    def replay(  # type: ignore[override]  # it takes features as well
        self, rows: ArrayLike, answers: ArrayLike, timeline: Timeline | ArrayLike
    ) -> Floats:
        """Feed a whole log through the compiled loop and return the predictions in ticket order.

        Row i of ``rows`` and entry i of ``answers`` belong to the i-th prediction of this call;
        labels of tickets that are not observed are ignored. ``timeline`` is a ``Timeline`` (missing
        labels stay open) or an array of events: t for the prediction of ticket t, ~t for its label.
        The result is the same, bit for bit, as event by event. If an event is refused, or the
        replay is interrupted, the model does not change.
        """
        given = numbers(rows, "replay: rows must be numbers", BadFeatures)
        if given.ndim != 2 or given.shape[1] != self.settings.dimension:
            raise BadFeatures(
                f"replay: rows have {self.settings.dimension} columns, got shape {given.shape}"
            )
        known = of_log.vector(answers, "replay: labels", len(given))
        begin = self.rounds
        found = rival_matrices.Regression.replay(
            self, events_of(timeline, "replay"), (given, known, begin), first=begin
        )
        return found.ravel()

    def _replay_arguments(
        self, log: Ints, given: tuple[Floats, Floats, int]
    ) -> tuple[Ints, Floats]:
        """Check a log, and pass its features to the model."""
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
        """Return an upper bound of the regret so far against any fixed weights u.

        ``norm`` is |u|, by default U; for losses (prediction - y)^2 / 2 and labels within Y.

        >>> model = DelayedVAW(1, magnitude=1.0, norm=1.0)
        >>> _ = model.predict([1.0]), model.observe(0, 1.0)
        >>> model.regret_within()
        0.75
        """
        model, told = self._model, self.settings
        size = told.norm if norm is None else positive(_KIND, "norm", norm)
        learned = told.magnitude**2 * (0.5 * float(model.squares) + 2.0 * float(model.drift))
        return 0.5 * float(model.ridge) * size**2 + learned

    def bound(self, timeline: Timeline, *, size: float, norm: float | None = None) -> Bound:
        """Return the guarantee on these delays, if |z_t| is at most ``size`` Z.

        With K = k ln(1 + Z^2 T / (k lambda_0)): lambda_0 |u|^2 / 2 + Y^2 K / 2, and with delays
        lambda_0 |u|^2 / 2 + Y^2 (2 + c |u|^2 / U^2) min{d_max K, sigma_max + Z U sqrt(2 d_tot / c)
        / Y} more.

        >>> from belated import Timeline
        >>> model = DelayedVAW(3, magnitude=1.0, norm=1.0)
        >>> model.bound(Timeline.from_delays([0] * 500), size=1.0).total.__round__(3)
        8.183
        """
        told, k = self.settings, self.settings.dimension
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

    def _contents(self) -> Contents:
        return Contents({"told": asdict(self.settings)}, *self._state_now())

    def _read(self, about: dict[str, Any], arrays: dict[str, Any], parts: Any) -> dict[str, Any]:
        told, size = Told(**about["told"]), sum(array.size for array in arrays.values())
        demand(size >= 2 * told.dimension**2, "the dimension")  # before memory is allocated for it
        self._take(told)
        return {}

    def _title(self) -> str:
        return f"DelayedVAW in {self.settings.dimension}"
