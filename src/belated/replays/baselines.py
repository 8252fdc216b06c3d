"""Common ways to learn from late labels without a model that handles delays.

* A **window**: every label is held back until its row is so old. It is the answer if one has come
  by then, and else what silence means; where silence means nothing, the row is never learned. So
  recent rows are not all alike, as they would be if answers were learned on arrival and silence
  much later.
* A **refit** every night or week, on rows that are old enough, with the labels known at that time:
  logistic regression, ridge or boosted trees of scikit-learn.
* The **running mean** of the labels, which also predicts until a model has learned or is fitted.

Predictions depend only on what is known when they are made. Only the choice of the best window is
made afterwards.

>>> asked = np.arange(6.0)
>>> heard_at = np.array([1.5, np.nan, np.nan, 5.5, np.nan, np.nan])
>>> given = Arrivals(asked, np.ones(6), heard_at, silence=0.0)
>>> given.windowed(2.0)
Feed(events=array([ 0,  1, -1,  2, -2,  3, -3,  4, -4,  5]), labels=array([1., 0., 0., 0., 0., 0.]))
>>> given.running_mean().round(2)
array([0.5 , 0.25, 0.5 , 0.38, 0.3 , 0.25])
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from belated.arrays import Array, Bools, Floats, Ints
from belated.errors import BelatedError, MissingExtra
from belated.models.linear import Rows
from belated.models.linear.losses import LOSSES, Loss
from belated.replays.columns import Numbers, quantiles

FEWEST = 20
"""Labels below which nothing is fitted yet."""
SHARES = (0.25, 0.5, 0.75, 0.9, 0.99)
"""Shares of the answers that come within the windows of which the best is taken."""


class Feed(NamedTuple):
    """Events in the order of time, t for prediction t and ~t for its label, and labels by row."""

    events: Ints
    labels: Floats


class Part(NamedTuple):
    """Events of one block of predictions, with what belongs to each of them beside it."""

    events: Ints
    at: Array
    """When they happen."""
    labels: Floats
    """Of labels; a prediction has 0."""
    weights: Floats
    """Of labels; a prediction has 1."""
    delays: Ints
    """Predictions made while each label was out, in the order of the labels."""


class Feeder:
    """Puts labels between the predictions of successive blocks, where they become known.

    A label comes before predictions at the same time, but after its own prediction. Labels at one
    time come in the order of their tickets. Only labels that are still to come are kept.

    >>> feeder = Feeder()
    >>> asked, due = np.array([0.0, 1.0, 2.0]), np.array([1.0, 9.0, 2.0])
    >>> feeder.feed(asked, due, np.ones(3, np.bool_), asked, np.ones(3)).events.tolist()
    [0, -1, 1, 2, -3]
    """

    def __init__(self) -> None:
        self.made = 0
        """Predictions of all blocks so far."""
        self._waiting: list[Array] = []

    def feed(
        self,
        asked: Array,
        due: Array,
        is_told: Bools,
        labels: Floats,
        weights: Floats,
        *,
        is_last: bool = False,
    ) -> Part:
        """Return the events of the next block; the last one also has all labels after it."""
        count, first = len(asked), self.made
        fresh = [first + np.flatnonzero(is_told), due[is_told], labels[is_told], weights[is_told]]
        pairs = zip(self._waiting or [each[:0] for each in fresh], fresh, strict=True)
        waiting = [np.concatenate(pair) for pair in pairs]
        is_known = np.ones(len(waiting[0]), np.bool_) if is_last else waiting[1] <= asked[-1]
        self._waiting = [column[~is_known] for column in waiting]
        known = [column[is_known] for column in waiting]
        order = np.argsort(known[1], kind="stable")
        tickets, times, told, weight = (column[order] for column in known)
        before = np.searchsorted(asked, times, side="left") + first
        before = np.maximum(before, tickets + 1)
        self.made += count
        is_label = np.zeros(count + len(tickets), dtype=np.bool_)
        is_label[before - first + np.arange(len(tickets))] = True

        def merged(of_labels: Array, others: Array) -> Array:
            found = np.empty(len(is_label), dtype=of_labels.dtype)
            found[is_label], found[~is_label] = of_labels, others
            return found

        return Part(
            merged(~tickets, np.arange(first, first + count)),
            merged(times, asked),
            merged(told, np.zeros(count)),
            merged(weight, np.ones(count)),
            before - tickets - 1,
        )


class RunningMean:
    """The mean of the labels so far, block by block; silence counts until an answer comes.

    Means of a yes or no, and of rates, start from one half.
    """

    def __init__(self) -> None:
        self._waiting = [np.empty(0) for _ in range(3)]
        self._sum = self._count = 0.0
        self._rows = 0

    def predict(self, block: Arrivals) -> Floats:
        """Return the predictions of the next block."""
        prior, silence = LOSSES[block.loss].prior, block.silence
        base, asked, heard_at = silence or 0.0, block.predicted_at, block.heard_at
        is_heard = np.isfinite(heard_at)
        moved = (block.answers - base)[is_heard] * block.row_weights[is_heard]
        fresh = heard_at[is_heard], moved, block.row_weights[is_heard]
        waiting = [np.concatenate(pair) for pair in zip(self._waiting, fresh, strict=True)]
        is_known = waiting[0] <= asked[-1]
        self._waiting = [column[~is_known] for column in waiting]
        times, values, counts = (column[is_known] for column in waiting)
        order = np.argsort(times, kind="stable")
        heard = np.searchsorted(times[order], asked, side="right")
        sums = np.cumsum(np.append(self._sum, values[order]))
        weights = np.cumsum(np.append(self._count, counts[order]))
        self._sum, self._count = float(sums[-1]), float(weights[-1])
        entered = weights[heard]
        if silence is not None:
            entered = np.arange(self._rows, self._rows + len(asked), dtype=np.float64)
        self._rows += len(asked)
        found = sums[heard] + base * entered + prior
        size = entered + 2.0 * prior
        return np.asarray(found / np.where(size > 0.0, size, 1.0))


@dataclass(frozen=True, eq=False)
class Arrivals:
    """Rows in order of prediction, what is heard of them, and when."""

    predicted_at: Floats
    answers: Floats
    """Labels by row; of no meaning where no answer comes."""
    answered_at: Floats
    """When answers come; NaN: never."""
    silence: float | None = None
    """The label of a row without an answer; None: such rows have no label."""
    deadline: float = math.inf
    """How old a row can be when an answer still counts."""
    loss: Loss = "logistic"
    weights: Floats | None = None

    @property
    def heard_at(self) -> Floats:
        """When answers within the deadline come, after their predictions; else infinity."""
        is_heard = self.answered_at - self.predicted_at <= self.deadline
        return np.where(is_heard, np.maximum(self.answered_at, self._after), np.inf)

    @property
    def _after(self) -> Floats:
        """The earliest times at which labels are known: just after their predictions."""
        return np.nextafter(self.predicted_at, np.inf)

    @property
    def row_weights(self) -> Floats:
        """How often each row counts."""
        return np.ones(len(self.predicted_at)) if self.weights is None else self.weights

    @property
    def waits(self) -> Floats:
        """How long the answers take that are heard."""
        heard_at = self.heard_at
        is_heard = np.isfinite(heard_at)
        return np.asarray((heard_at - self.predicted_at)[is_heard])

    def windows(self, shares: Sequence[float] = SHARES) -> list[float]:
        """Return windows in which these shares of the answers come, and a finite deadline."""
        return windows(self.waits, self.deadline, shares)

    def _labels(self, is_heard: Array) -> Floats:
        silent = math.nan if self.silence is None else self.silence
        return np.where(is_heard, self.answers, silent)

    def due(self, window: float) -> tuple[Floats, Floats, Bools]:
        """Return when labels are told that are held back for a window, labels, and which are."""
        due = np.maximum(self.predicted_at + window, self._after)
        labels = self._labels(self.heard_at <= due)
        return due, np.nan_to_num(labels), ~np.isnan(labels) & (self.row_weights > 0.0)

    def windowed(self, window: float) -> Feed:
        """Return what an online learner is fed: every label when its row is as old as the window.

        Labels after the last prediction are left out, and rows of weight 0.
        """
        due, labels, is_told = self.due(window)
        part = Feeder().feed(self.predicted_at, due, is_told, labels, self.row_weights)
        return Feed(part.events, labels)

    def at(self, now: float, window: float = 0.0) -> tuple[Ints, Floats]:
        """Return the rows that are at least as old as the window, and their labels known now."""
        due = self.predicted_at + window
        labels = self._labels(self.heard_at <= now)
        rows = np.flatnonzero((due <= now) & ~np.isnan(labels) & (self.row_weights > 0.0))
        return rows, labels[rows]

    def running_mean(self) -> Floats:
        """Return by row the mean of the labels so far."""
        return RunningMean().predict(self)

    def started(self, predictions: Floats, feed: Feed) -> Floats:
        """Return an online learner's predictions, the running mean before its first label."""
        first = np.flatnonzero(feed.events < 0)
        count = int(first[0]) if first.size else len(predictions)
        return np.where(np.arange(len(predictions)) < count, self.running_mean(), predictions)

    def refitted(
        self,
        inputs: Any,
        fit: Fit,
        every: float,
        window: float = 0.0,
        advance: Callable[[], None] = lambda: None,
    ) -> Floats:
        """Return predictions of a model that is fitted anew after every so much time.

        ``inputs`` are a matrix with a row of features for each row. A fit sees rows that are at
        least as old as ``window``, with the labels known then; ``advance`` is called for each.
        """
        out = self.running_mean()
        start = self.predicted_at[0]
        number = np.floor((self.predicted_at - start) / every)
        for fits in range(1, int(number[-1]) + 1):
            advance()
            fresh = np.flatnonzero(number == fits)
            rows, labels = self.at(start + fits * every, window)
            if fresh.size and len(rows) >= FEWEST and np.ptp(labels) > 0.0:
                out[fresh] = fit(inputs[rows], labels, self.row_weights[rows])(inputs[fresh])
        return out


def windows(
    waits: Numbers, deadline: float = math.inf, shares: Sequence[float] = SHARES
) -> list[float]:
    """Return windows in which these shares of the answers come, and a finite deadline."""
    found = quantiles(waits, shares).tolist() if len(waits) else []
    limit = [deadline] if math.isfinite(deadline) else []
    return sorted({float(window) for window in [*found, *limit] if window > 0.0})


class Chosen(NamedTuple):
    """The window that turns out best, its predictions and mean loss."""

    window: float
    predictions: Floats
    loss: float


def best(
    windows: Iterable[float], play: Callable[[float], Floats], cost: Callable[[Floats], float]
) -> Chosen:
    """Return the window with the least mean loss, which is known only afterwards."""
    found = [(window, play(window)) for window in windows]
    return min((Chosen(*one, cost(one[1])) for one in found), key=lambda chosen: chosen.loss)


# ---- models that are refitted, of scikit-learn ---------------------------------------------------

Predict = Callable[[Any], Floats]
Fit = Callable[[Any, Floats, Floats], Predict]
"""From inputs, labels and weights to a function from inputs to predictions."""
TREES: Mapping[str, str] = MappingProxyType(
    {
        "squared": "squared_error",
        "absolute": "absolute_error",
        "quantile": "quantile",
        "poisson": "poisson",
        "logistic": "log_loss",
    }
)
"""Names of the losses of the trees of scikit-learn."""
MOST_WORDS = 200
"""Most words of a column that trees take for words."""
LINEAR = ("squared", "logistic", "poisson")
"""Losses for which there is a linear model."""
STRENGTHS = (1.0, 10.0, 100.0)
"""Of the ridge, from which the best is taken at every fit."""


def check_refits(loss: str) -> None:
    """Refuse refits that cannot be done, before the work."""
    try:
        import sklearn  # noqa: F401
    except ImportError:
        raise MissingExtra("scikit-learn", extra="refit", where="replay: refit") from None
    if loss not in TREES:
        raise BelatedError(
            f"replay: refitted models have no {loss} loss; they have {', '.join(TREES)}"
        )


def matrix(rows: Rows) -> Any:
    """Return sparse rows as a matrix of SciPy, with a column for each coordinate that is used."""
    from scipy import sparse

    used, columns = np.unique(rows.indices, return_inverse=True)
    shape = (len(rows.indptr) - 1, max(len(used), 1))
    return sparse.csr_matrix((rows.values, columns, rows.indptr), shape=shape)


def table(features: Sequence[Array]) -> tuple[Array, list[bool]]:
    """Return columns as numbers, words by their first use, and which of them are words.

    NaN is missing. Words after the first :data:`MOST_WORDS` of a column are one.
    """
    is_text = [column.dtype.kind != "f" for column in features]
    return np.column_stack([*map(_numbers, features)]), is_text


def _numbers(column: Array) -> Floats:
    if column.dtype.kind == "f":
        return column
    codes: dict[Any, float] = {None: math.nan}
    return np.minimum([codes.setdefault(cell, len(codes)) for cell in column.tolist()], MOST_WORDS)


def linear(loss: Loss, strengths: Iterable[float] = STRENGTHS) -> Fit:
    """Return a ridge (logistic, Poisson) regression on numbers scaled to at most 1.

    Of several strengths it takes the best on the latest fifth of what is known.
    """
    candidates = tuple(strengths)

    def fit(inputs: Any, labels: Floats, weights: Floats) -> Predict:
        from sklearn.preprocessing import MaxAbsScaler

        scaler = MaxAbsScaler()
        scaled = scaler.fit_transform(inputs)
        split = len(labels) - len(labels) // 5
        early, late = slice(0, split), slice(split, None)

        def error(strength: float) -> float:
            model = _fitted(_ridge(loss, strength), scaled[early], labels[early], weights[early])
            return -float(model.score(scaled[late], labels[late], sample_weight=weights[late]))

        is_clear = len(candidates) == 1 or np.ptp(labels[early]) == 0.0
        strength = candidates[0] if is_clear else min(candidates, key=error)
        says = _predict(_fitted(_ridge(loss, strength), scaled, labels, weights), loss)
        return lambda fresh: says(scaler.transform(fresh))

    return fit


def trees(loss: Loss, is_text: list[bool], quantile: float = 0.5) -> Fit:
    """Return gradient-boosted trees, their defaults; ``is_text`` marks columns of words."""

    def fit(inputs: Any, labels: Floats, weights: Floats) -> Predict:
        from sklearn import ensemble

        settings: dict[str, Any] = {"categorical_features": is_text, "random_state": 0}
        if loss == "logistic":
            model = ensemble.HistGradientBoostingClassifier(**settings)
        else:
            more = {"quantile": quantile} if loss == "quantile" else {}
            model = ensemble.HistGradientBoostingRegressor(loss=TREES[loss], **settings, **more)
        return _predict(_fitted(model, inputs, labels, weights), loss)

    return fit


def _ridge(loss: Loss, strength: float) -> Any:
    from sklearn.linear_model import LogisticRegression, PoissonRegressor, Ridge

    if loss == "squared":
        return Ridge(strength, solver="lsqr")
    if loss == "logistic":
        return LogisticRegression(C=1.0 / strength, max_iter=200)
    return PoissonRegressor(alpha=strength / 1000.0, max_iter=200)


def _fitted(model: Any, inputs: Any, labels: Floats, weights: Floats) -> Any:
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    # Where other programs run as well, threads that wait for each other take several times as long.
    with warnings.catch_warnings(), threadpool_limits(1):
        # A fit that stops early is what its user would get as well.
        warnings.simplefilter("ignore")
        return model.fit(inputs, labels, sample_weight=weights)


def _predict(model: Any, loss: Loss) -> Predict:
    if loss == "logistic":
        return lambda inputs: np.asarray(model.predict_proba(inputs)[:, 1])
    return lambda inputs: np.asarray(model.predict(inputs))
