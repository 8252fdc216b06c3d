"""``LinearModel`` as estimators of scikit-learn, for its pipelines, searches and scores.

``fit`` and ``partial_fit`` go once through the rows, and learn each label right after its
prediction. With ``times=(predicted_at, observed_at)`` they replay rows and labels in the order of
time: a label is learned when it came, and not at all where it never came. ``predict`` changes
nothing; ``model_`` is the model itself, which can go on live.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from belated.arrays import Floats
from belated.errors import MissingExtra
from belated.frames import Frame, columns_of, is_frame
from belated.models.clock import Duration
from belated.models.linear import LinearModel
from belated.timeline import Timeline

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
    from sklearn.utils import assert_all_finite, check_consistent_length, column_or_1d
    from sklearn.utils.multiclass import check_classification_targets, type_of_target
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError:
    raise MissingExtra("scikit-learn", extra="sklearn", where="belated.adapters.sklearn") from None

__all__ = ["LateClassifier", "LateRegressor"]

Times = Any
"""When predictions were made, and when their labels came: a pair of columns as for ``Timeline``,
or a frame or an array with two columns, of which cross validation takes the rows of a fold."""


class _Late(BaseEstimator):  # type: ignore[misc]
    """The base of both estimators: rows, and the events of a log."""

    model_: LinearModel

    @property
    def coef_(self) -> dict[Any, float]:
        """The weights by name, (name, string) of a string, or by column; the largest first.

        A weight is what a standard deviation of the feature adds to the prediction.
        """
        check_is_fitted(self)
        return self.model_.weights()

    def __sklearn_tags__(self) -> Any:
        """Say what X may be."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.allow_nan = True
        return tags

    def _rows(self, X: Any, *, reset: bool) -> Any:
        """Return rows as the model takes them; of a frame, columns are features with names."""
        if is_frame(X) and all(isinstance(name, str) for name, _ in columns_of(X, "fit")):
            validate_data(self, X, reset=reset, skip_check_array=True)
            return X
        X = validate_data(
            self,
            X,
            reset=reset,
            accept_sparse="csr",
            dtype="numeric",
            ensure_all_finite="allow-nan",
        )
        if hasattr(X, "indptr"):
            return X.indptr, X.indices, X.data
        if hasattr(self, "feature_names_in_"):
            names = self.feature_names_in_.tolist()
            return [dict(zip(names, row, strict=True)) for row in X.tolist()]
        present = ~np.isnan(X)
        if present.all():
            return np.asarray(X, dtype=np.float64)
        bounds = np.concatenate([[0], np.cumsum(present.sum(axis=1))])
        return bounds, np.nonzero(present)[1], X[present]

    def _learn(self, rows: Any, y: Floats, weights: Any, times: Times) -> None:
        """Predict all rows and learn their labels, at once or when they came."""
        model, count = self.model_, y.size
        begin, tickets, at = model.rounds, np.arange(count), None
        if times is None:
            events = np.column_stack([tickets, ~tickets]).reshape(-1)
        else:
            timeline = Timeline.from_intervals(*times)
            events = timeline.events
            events = events[(events >= 0) | timeline.observed[np.maximum(~events, 0)]]
            order = timeline.rows
            if (order != tickets).any():
                rows, y = _taken(rows, order), y[order]
                weights = None if weights is None else weights[order]
            if model.settings.deadline is not None:
                asked, heard = (np.asarray(column, dtype=object)[order] for column in times)
                places = np.where(events < 0, ~events, events)
                at = np.where(events < 0, heard[places], asked[places])
        events = np.where(events >= 0, events + begin, events - begin)
        model.replay(rows, y, events, weights=weights, first=begin, at=at)


@dataclass(eq=False, repr=False)
class LateRegressor(RegressorMixin, _Late):  # type: ignore[misc]
    """``belated.LinearModel`` as a regressor of scikit-learn.

    ``loss`` is "squared", "absolute", "quantile", "huber" or "poisson"; everything else is as for
    ``LinearModel``. X is a matrix, dense or sparse, or a frame with columns of numbers, strings,
    dates and categories; NaN is missing. Features need neither scaling nor encoding.

    >>> import numpy as np
    >>> size = np.arange(200.0)[:, None] % 7
    >>> model = LateRegressor().fit(size, 3.0 * size[:, 0] + 1.0)
    >>> model.predict([[2.0], [5.0]]).round(1)
    array([ 7., 16.])
    """

    loss: Literal["squared", "absolute", "quantile", "huber", "poisson"] = "squared"
    _: KW_ONLY
    bits: int = 20
    quantile: float = 0.5
    delta: float = 1.0
    l1: float = 0.0
    l2: float = 0.0
    interactions: Any = None
    silence: float | None = None
    deadline: Duration | None = None

    def fit(self, X: Any, y: ArrayLike, sample_weight: Any = None, *, times: Times = None) -> Self:
        """Forget everything, and learn from these rows; where a label never came, y is anything."""
        return self._fitted(X, y, sample_weight, times, reset=True)

    def partial_fit(
        self, X: Any, y: ArrayLike, sample_weight: Any = None, *, times: Times = None
    ) -> Self:
        """Learn from these rows too."""
        return self._fitted(X, y, sample_weight, times, reset=not hasattr(self, "model_"))

    def _fitted(self, X: Any, y: Any, weights: Any, times: Times, *, reset: bool) -> Self:
        rows, times = self._rows(X, reset=reset), _pair_of(times)
        labels = np.asarray(_labels(y, X, times), dtype=np.float64)
        rows, labels, weights, times = _weighted(rows, labels, weights, times)
        if reset:
            names = ("bits", "quantile", "delta", "l1", "l2", "silence", "deadline")
            settings = {name: getattr(self, name) for name in names}
            self.model_ = LinearModel(self.loss, interactions=self.interactions or (), **settings)
        self._learn(rows, labels, weights, times)
        return self

    def predict(self, X: Any) -> Floats:
        """Return predictions; the model does not change."""
        check_is_fitted(self)
        found: Floats = self.model_.peek_many(self._rows(X, reset=False))
        return found


@dataclass(eq=False, repr=False)
class LateClassifier(ClassifierMixin, _Late):  # type: ignore[misc]
    """``belated.LinearModel`` with logistic loss as a classifier of scikit-learn, for two classes.

    Everything else is as for ``LateRegressor``. For more classes use scikit-learn's
    ``OneVsRestClassifier``. ``silence`` is the class of rows of which nothing was heard.

    >>> import numpy as np
    >>> size = np.arange(200.0)[:, None] % 7
    >>> model = LateClassifier().fit(size, np.where(size[:, 0] > 3.0, "large", "small"))
    >>> model.predict([[1.0], [6.0]])
    array(['small', 'large'], dtype='<U5')
    """

    _: KW_ONLY
    bits: int = 20
    l1: float = 0.0
    l2: float = 0.0
    interactions: Any = None
    silence: Any = None
    deadline: Duration | None = None

    def fit(self, X: Any, y: ArrayLike, sample_weight: Any = None, *, times: Times = None) -> Self:
        """Forget everything, and learn from these rows; y of a label that never came is its class
        in the end or, if that is unknown, ``silence``."""
        return self._fitted(X, y, None, sample_weight, times, reset=True)

    def partial_fit(
        self,
        X: Any,
        y: ArrayLike,
        classes: Any = None,
        sample_weight: Any = None,
        *,
        times: Times = None,
    ) -> Self:
        """Learn from these rows too; the first call needs all ``classes``, unless y has both."""
        reset = not hasattr(self, "model_")
        return self._fitted(X, y, classes, sample_weight, times, reset=reset)

    def _fitted(
        self, X: Any, y: Any, classes: Any, weights: Any, times: Times, *, reset: bool
    ) -> Self:
        rows, times = self._rows(X, reset=reset), _pair_of(times)
        y = _labels(y, X, times)
        check_classification_targets(y)
        rows, y, weights, times = _weighted(rows, y, weights, times)
        if reset:
            found = np.unique(y if classes is None else classes)
            if found.size > 2:
                raise ValueError(
                    "Only binary classification is supported. The type of the target is "
                    f"{type_of_target(y if classes is None else classes)}."
                )
            if found.size < 2:
                raise ValueError("LateClassifier: two classes are needed, got 1 class")
            if self.silence is not None and not (found == self.silence).any():
                raise ValueError(
                    f"LateClassifier: silence must be a class, one of {found}, got {self.silence!r}"
                )
            self.classes_ = found
            silence = None if self.silence is None else float(self.silence == found[1])
            settings = {name: getattr(self, name) for name in ("bits", "l1", "l2", "deadline")}
            self.model_ = LinearModel(
                "logistic", interactions=self.interactions or (), silence=silence, **settings
            )
        unknown = np.setdiff1d(y, self.classes_)
        if unknown.size:
            raise ValueError(
                f"LateClassifier: {unknown.tolist()[0]!r} is not one of {self.classes_}"
            )
        self._learn(rows, (y == self.classes_[1]).astype(np.float64), weights, times)
        return self

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class; the model does not change."""
        check_is_fitted(self)
        second = self.model_.peek_many(self._rows(X, reset=False))
        return np.column_stack([1.0 - second, second])

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the likelier class of every row."""
        places = (self.predict_proba(X)[:, 1] > 0.5).astype(int)
        found: NDArray[Any] = self.classes_[places]
        return found

    def __sklearn_tags__(self) -> Any:
        """Say that there are two classes."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


def _pair_of(times: Times) -> tuple[Any, Any] | None:
    """Return two columns of times; None where there are none."""
    if times is None:
        return None
    if is_frame(times):
        columns = [column for _, column in columns_of(times, "times")]
    elif isinstance(times, np.ndarray) and times.ndim == 2:
        columns = list(times.T)
    else:
        columns = list(times)
    if len(columns) != 2:
        raise ValueError(f"times must have two columns, got {len(columns)}")
    return columns[0], columns[1]


def _labels(y: Any, X: Any, times: Times) -> NDArray[Any]:
    """Return labels as a vector; with times, some may be missing."""
    if y is None:
        raise ValueError("This estimator requires y to be passed, but the target y is None.")
    labels = column_or_1d(y, warn=True)
    if times is None:
        assert_all_finite(labels, input_name="y")
    check_consistent_length(X, labels)
    found: NDArray[Any] = labels
    return found


def _weighted(rows: Any, y: NDArray[Any], given: Any, times: Times) -> tuple[Any, ...]:
    """Return rows, labels, weights and times without the rows that count nothing."""
    if given is None:
        return rows, y, None, times
    weights = np.asarray(given, dtype=np.float64)
    if weights.ndim != 1:
        raise ValueError(f"sample_weight must have one dimension, got shape {weights.shape}")
    check_consistent_length(y, weights)
    counted = np.flatnonzero(weights != 0.0)
    if counted.size == y.size:
        return rows, y, weights, times
    if not counted.size:
        raise ValueError("sample_weight: every weight is zero")
    if times is not None:
        asked, heard = (np.asarray(column)[counted] for column in times)
        times = asked, heard
    return _taken(rows, counted), y[counted], weights[counted], times


def _taken(rows: Any, order: NDArray[Any]) -> Any:
    """Return rows in another order."""
    if is_frame(rows):
        rows = list(Frame(rows, "fit").dicts())
    if isinstance(rows, list):
        return [rows[place] for place in order.tolist()]
    if isinstance(rows, np.ndarray):
        return rows[order]
    bounds, indices, values = rows
    parts = [np.arange(bounds[row], bounds[row + 1]) for row in order.tolist()]
    places = np.concatenate([np.empty(0, dtype=np.int64), *parts]).astype(np.int64)
    sizes = np.diff(bounds)[order]
    return np.concatenate([[0], np.cumsum(sizes)]), indices[places], values[places]
