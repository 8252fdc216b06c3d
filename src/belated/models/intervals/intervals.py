"""``Intervals``: predict a value and a range around it, learn both when the label comes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from belated.core import intervals as core_intervals
from belated.core.intervals import Coverage, Interval, Range
from belated.errors import SpecError
from belated.files import StrPath, write_whole
from belated.keys import Key
from belated.limits import HUGE_LABEL
from belated.models.extras import extras_of
from belated.models.intervals import snapshot
from belated.models.intervals.report import IntervalsReport, report_of
from belated.models.linear.explain import Explanation
from belated.models.linear.features import Features
from belated.models.linear.given import Row
from belated.models.linear.losses import LOSSES
from belated.models.linear.model import LinearModel
from belated.models.linear.settings import Settings
from belated.models.moments import Time

__all__ = ["Interval", "Intervals", "Range"]


class Intervals(core_intervals.Intervals):
    """Predictions of a linear model with intervals that cover a share ``coverage`` of the labels.

        value - q <= label <= value + q,   q = b + eta D,   D = missed - (1 - coverage) n

    A second model forecasts from the same features which b the distance of label and prediction
    stays below, and D, what is owed, corrects it: n labels have come, and ``missed`` of them were
    outside of the interval that was issued with them. So the coverage tends to what was asked for,
    with labels that come late, in any order and after any delays, even if somebody who sees the
    intervals chooses them (see ``belated.core.intervals`` and docs/intervals.md); how fast is
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

    For one thread at a time: a call while another one is at work raises ``BusyError``.
    """

    __slots__ = ("__dict__", "__weakref__", "_share")

    def __init__(self, model: LinearModel, coverage: float = 0.9) -> None:
        if not isinstance(model, LinearModel):
            raise SpecError(f"Intervals: model must be a LinearModel, got {type(model).__name__}")
        share = _share(coverage)
        check_settings(model.settings)
        self._join(model, model_of_scores(model.settings, share), share)

    def _join(self, model: LinearModel, scores: LinearModel, coverage: Any) -> None:
        """Take two models that belong together."""
        self._share = _share(coverage)
        check_settings(model.settings)
        if scores.settings != model_of_scores(model.settings, self._share).settings:
            raise SpecError("Intervals: the model of scores belongs to other settings")
        least = LOSSES[model.settings.loss].labels.least
        self._begin(
            model,
            scores,
            Coverage(1.0 - self._share, least if least > -HUGE_LABEL else -math.inf),
        )

    if TYPE_CHECKING:  # what the core has

        def _begin(self, model: LinearModel, score_model: LinearModel, coverage: Any) -> None: ...

        def ticket(self, name: int | Key) -> int: ...

        def is_open(self, ticket: int | Key) -> bool: ...

        def predict(
            self, features: Row, *, key: Key | None = None, at: Time | None = None
        ) -> Interval: ...

        def peek(self, features: Row) -> Range: ...

        def observe(self, ticket: int | Key, label: float, *, at: Time | None = None) -> bool: ...

        def cancel(self, ticket: int | Key) -> None: ...

        def tick(self, at: Time) -> None: ...

    @property
    def model(self) -> LinearModel:
        """The model that the predictions come from."""
        model: LinearModel = self._model
        return model

    @property
    def coverage(self) -> float:
        """The share of labels that is to be covered."""
        return self._share

    @property
    def rounds(self) -> int:
        """Predictions made so far; also the next ticket."""
        return self.model.rounds

    @property
    def open(self) -> int:
        """Tickets that still wait for their label (those given up on and cancelled ones do not)."""
        return self.model.open

    def explain(self, features: Features) -> Explanation:
        """Return what each named feature adds to the value now, as ``LinearModel.explain`` does."""
        return self.model.explain(features)

    def weights(self, names: Iterable[str | tuple[str, str]]) -> dict[Any, float]:
        """Return the weights of features in the value; see ``LinearModel.weights``."""
        return self.model.weights(names)

    # --- State ----------------------------------------------------------------------------------

    def report(self) -> IntervalsReport:
        """Return the coverage so far, what is guaranteed, the worst stretch and the mean width."""
        report: IntervalsReport = self.model._alone("report", lambda: report_of(self))
        return report

    def snapshot(self, *, secret: bytes | None = None) -> bytes:
        """Return all of it, both models included, as one blob.

        With a ``secret``, only those who know it can write or change one unseen.
        """
        return snapshot.pack(self, secret)

    @classmethod
    def restore(cls, blob: bytes, *, secret: bytes | None = None) -> Self:
        """Return what a snapshot holds; it goes on as if nothing had happened.

        ``secret`` is the one that ``snapshot`` was given. Raises ``SnapshotError``. What
        ``LinearModel.load`` says of later tickets holds here.
        """
        intervals = cls.__new__(cls)
        snapshot.unpack(blob, secret, intervals)
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
        return (
            f"<Intervals, {self.coverage:g} of the labels, {self.model.settings.loss} loss: "
            f"{self._coverage.rounds} rounds, {self._coverage.threshold.heard} observed>"
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


def _share(coverage: Any) -> float:
    try:
        share = float(coverage) if not isinstance(coverage, str | bool) else math.nan
    except (TypeError, ValueError, OverflowError):
        share = math.nan
    if not 0.0 < share < 1.0:
        raise SpecError(f"Intervals: coverage must be between 0 and 1, got {coverage!r}")
    return share
