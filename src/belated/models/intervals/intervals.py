"""``Intervals``: predict a value and a range around it, learn both when the label comes."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from belated.core import intervals as core_intervals
from belated.core.component import demand
from belated.core.intervals import Bands, Coverage, Interval, Range, Ranges
from belated.errors import SpecError
from belated.limits import HUGE_LABEL
from belated.models.intervals.report import IntervalsReport, report_of
from belated.models.linear.explain import Explanation
from belated.models.linear.features import Features
from belated.models.linear.losses import LOSSES
from belated.models.linear.model import LinearModel
from belated.models.linear.row_reader import Many, Row
from belated.models.linear.settings import Settings as LinearSettings
from belated.models.online import RowModel
from belated.models.snapshots import Contents, inner_models

__all__ = ["Bands", "Interval", "Intervals", "Range", "Ranges"]


@dataclass(frozen=True)
class Settings:
    """The argument of ``Intervals`` beside the model."""

    coverage: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON."""
        return {"coverage": self.coverage}


class Intervals(
    RowModel[float, Settings, Row, Many, Interval, Range, Bands, Ranges, Ranges],
    core_intervals.Intervals,
):
    """Predictions of a linear model with intervals that cover a share ``coverage`` of the labels.

        value - q <= label <= value + q,   q = b + eta D,   D = missed - (1 - coverage) n

    A second model forecasts from the same features which b the distance of label and prediction
    stays below, and D, what is owed, corrects it: n labels have come, and ``missed`` of them were
    outside of the interval that was issued with them. So the coverage tends to what was asked for,
    with labels that come late, in any order and after any delays, even if an adversary sees the
    intervals and chooses them (see ``belated.core.intervals`` and docs/intervals.md); how fast is
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

    __slots__ = ("__dict__", "__weakref__")

    _kind_name = "Intervals"

    def __init__(self, model: LinearModel, coverage: float = 0.9) -> None:
        if not isinstance(model, LinearModel):
            raise SpecError(f"Intervals: model must be a LinearModel, got {type(model).__name__}")
        settings = Settings(_share(coverage))
        check_settings(model.settings)
        self._join(settings, model, model_of_scores(model.settings, settings.coverage))

    def _join(self, settings: Settings, model: LinearModel, scores: LinearModel) -> None:
        """Take two models that belong together."""
        check_settings(model.settings)
        if scores.settings != model_of_scores(model.settings, settings.coverage).settings:
            raise SpecError("Intervals: the model of scores belongs to other settings")
        least = LOSSES[model.settings.loss].labels.least
        coverage = Coverage(1.0 - settings.coverage, least if least > -HUGE_LABEL else -math.inf)
        self._begin(settings, model, scores, coverage)
        self._times = model._times

    def _take(self, settings: Settings, like: Any = None) -> None:
        """Take settings and fresh models."""
        self._join(settings, like.model.fresh(), like._score_model.fresh())

    if TYPE_CHECKING:  # what the core has
        _coverage: Any
        _score_model: LinearModel

        def _begin(self, settings: Settings, *given: Any) -> None: ...

    @property
    def model(self) -> LinearModel:
        """The model that the predictions come from."""
        model: LinearModel = self._model
        return model

    @property
    def coverage(self) -> float:
        """The share of labels that is to be covered."""
        return self.settings.coverage

    def explain(self, row: Features) -> Explanation:
        """Return what each named feature adds to the value now, as ``LinearModel.explain`` does."""
        return self.model.explain(row)

    def weights(self, names: Iterable[str | tuple[str, str]]) -> dict[Any, float]:
        """Return the weights of features in the value; see ``LinearModel.weights``."""
        return self.model.weights(names)

    # --- State ----------------------------------------------------------------------------------

    def report(self) -> IntervalsReport:
        """Return the coverage so far, what is guaranteed, the worst stretch and the mean width."""
        report: IntervalsReport = self._alone("report", lambda: report_of(self))
        return report

    def _contents(self) -> Contents:
        models = {"model": self._model, "scores": self._score_model}
        inner = {name: ("LinearModel", model._contents()) for name, model in models.items()}
        return Contents({"coverage": self.coverage}, self._coverage.state(), {}, inner)

    def _read(self, about: dict[str, Any], arrays: dict[str, Any], parts: Any) -> dict[str, Any]:
        models = inner_models(about, arrays, ("model", "scores"), LinearModel)
        self._join(Settings(_share(about["coverage"])), *models)
        return {}

    def _verify(self, state: dict[str, Any]) -> None:
        rounds, score_rounds = self.rounds, self._score_model.rounds
        demand(state["rounds"] <= min(rounds, score_rounds), "counts")
        demand((state["tickets"] < rounds).all(), "tickets")
        demand((state["score_tickets"] < score_rounds).all(), "tickets")

    def _restore_keys(self, about: dict[str, Any]) -> None:
        """Do nothing: the model has the keys."""

    def _column_given(self, given: Any, what: str) -> Any:
        return self.model._column_given(given, what)

    def _title(self) -> str:
        return f"Intervals, {self.coverage:g} of the labels, {self.model.settings.loss} loss"


def model_of_scores(settings: LinearSettings, coverage: float) -> LinearModel:
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


def check_settings(settings: LinearSettings) -> None:
    """Refuse models whose labels are no numbers, or need not come."""
    if LOSSES[settings.loss].labels.classes is not None:
        able = ", ".join(name for name, loss in LOSSES.items() if loss.labels.classes is None)
        raise SpecError(
            f"Intervals: an interval needs labels that are numbers, and those of the "
            f"{settings.loss} loss are classes; use {able}"
        )
    if settings.silence is not None:
        raise SpecError(
            "Intervals: a label that silence stands for never comes, so coverage cannot count it; "
            "make the model without silence="
        )


def _share(coverage: Any) -> float:
    try:
        share = float(coverage) if not isinstance(coverage, str | bool) else math.nan
    except (TypeError, ValueError, OverflowError):
        share = math.nan
    if not 0.0 < share < 1.0:
        raise SpecError(f"Intervals: coverage must be between 0 and 1, got {coverage!r}")
    return share
