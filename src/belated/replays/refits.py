"""What most teams have: a model that is fitted anew every so often on the labels known by then.

Ridge (logistic, Poisson) regression and gradient-boosted trees of scikit-learn, on the same
features. A refit comes whenever another share of all labels has come; between two of them the model
stays as it is, and before the first the mean of the labels so far is predicted.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from belated.arrays import Array, Floats, Ints
from belated.errors import BelatedError, MissingExtra
from belated.replays.task import Labels, Task

TITLES = {"linear": "refitted ridge", "trees": "refitted trees"}
TREES: Mapping[str, str] = MappingProxyType(
    {
        "squared": "squared_error",
        "absolute": "absolute_error",
        "quantile": "quantile",
        "poisson": "poisson",
        "logistic": "log_loss",
    }
)
"""What scikit-learn calls the losses of its trees."""
LINEAR = ("squared", "logistic", "poisson")
"""Losses for which there is a ridge of its own."""
MOST_WORDS = 200
"""Most words of a column that trees take for words; the rarer ones are one."""
STRENGTHS = (1.0, 10.0, 100.0)
"""Of the ridge, from which the best is taken at every fit."""
FEWEST = 20
"""Labels below which nothing is fitted yet."""


def check(count: int, loss: str) -> None:
    """Refuse refits that cannot be done, before the work."""
    if count < 0:
        raise BelatedError(f"replay: refit is how often models are fitted, from 0 on, got {count}")
    if not count:
        return
    try:
        import sklearn  # noqa: F401
    except ImportError:
        raise MissingExtra("scikit-learn", extra="refit", where="replay: refit") from None
    if loss not in TREES:
        raise BelatedError(
            f"replay: refitted models have no {loss} loss; they have {', '.join(TREES)}"
        )


def names(loss: str) -> tuple[str, ...]:
    """Return which models there are for a loss."""
    return ("linear", "trees") if loss in LINEAR else ("trees",)


def about(name: str, count: int) -> str:
    """Say what is fitted, and how often."""
    import sklearn

    what = {
        "linear": "ridge regression, its strength the best on the latest fifth of what is known",
        "trees": "gradient-boosted trees, its defaults",
    }[name]
    return (
        f"scikit-learn {sklearn.__version__}: {what}, fitted {count} times on the labels that had "
        "come by then"
    )


def play(name: str, task: Task, count: int, means: Floats) -> Floats:
    """Return what a refitted model predicts, by ticket; ``means`` stand in before the first fit."""
    inputs = _matrix(task) if name == "linear" else _table(task)
    out = means.copy()
    for known, asked in _fits(task, count):
        labels = task.labels[known]
        if len(known) < FEWEST or not asked.size or np.ptp(labels) == 0.0:
            continue
        model = _Linear(task.how) if name == "linear" else _trees(task.how, _is_text(task))
        with warnings.catch_warnings():
            # A fit that stops early is what its user would get as well.
            warnings.simplefilter("ignore")
            model.fit(inputs[known], labels, sample_weight=task.weights[known])
        is_chance = task.how.loss == "logistic"
        fresh = inputs[asked]
        out[asked] = model.predict_proba(fresh)[:, 1] if is_chance else model.predict(fresh)
    return out


def _fits(task: Task, count: int) -> Iterator[tuple[Ints, Ints]]:
    """Yield the labels known at each fit, and the predictions from there to the next."""
    places = np.flatnonzero(task.events < 0)
    cuts = [int(places[len(places) * k // (count + 1)]) for k in range(1, count + 1)]
    for start, end in zip(cuts, [*cuts[1:], len(task.events)], strict=True):
        before, until = task.events[: start + 1], task.events[start + 1 : end + 1]
        yield ~before[before < 0], until[until >= 0]


def _matrix(task: Task) -> Any:
    """Return the features as a sparse matrix with a column for everything that was seen."""
    from scipy import sparse

    rows = task.rows
    used, columns = np.unique(rows.indices, return_inverse=True)
    shape = (task.rounds, max(len(used), 1))
    return sparse.csr_matrix((rows.values, columns, rows.indptr), shape=shape)


def _table(task: Task) -> Array:
    """Return the features as numbers, words by how frequent they are; NaN where missing."""
    if not task.features:
        return np.zeros((task.rounds, 1))
    return np.column_stack([_numbers(task.log.features[name]) for name in task.features])


def _numbers(column: Array) -> Floats:
    if column.dtype.kind == "f":
        return column
    words, codes = np.unique([str(cell) for cell in column.tolist()], return_inverse=True)
    order = np.argsort(-np.bincount(codes), kind="stable")
    ranks = np.empty(len(words))
    ranks[order] = np.minimum(np.arange(len(words)), MOST_WORDS)
    missing = np.array([cell is None for cell in column.tolist()])
    return np.where(missing, np.nan, ranks[codes])


def _is_text(task: Task) -> list[bool]:
    return [task.log.features[name].dtype.kind != "f" for name in task.features] or [False]


def _ridge(how: Labels, strength: float) -> Any:
    from sklearn.linear_model import LogisticRegression, PoissonRegressor, Ridge

    return {
        "squared": lambda: Ridge(strength, solver="lsqr"),
        "logistic": lambda: LogisticRegression(C=1.0 / strength, max_iter=200),
        "poisson": lambda: PoissonRegressor(alpha=strength / 1000.0, max_iter=200),
    }[how.loss]()


class _Linear:
    """A ridge whose strength is the best on the latest fifth of what is known."""

    def __init__(self, how: Labels) -> None:
        from sklearn.preprocessing import MaxAbsScaler

        self._how, self._scaler = how, MaxAbsScaler()
        self._model: Any = None

    def fit(self, inputs: Any, labels: Floats, sample_weight: Floats) -> None:
        inputs = self._scaler.fit_transform(inputs)
        early = slice(0, len(labels) - len(labels) // 5)
        late = slice(early.stop, None)
        found = []
        for strength in STRENGTHS if np.ptp(labels[early]) else STRENGTHS[:1]:
            tried = _ridge(self._how, strength)
            tried.fit(inputs[early], labels[early], sample_weight=sample_weight[early])
            kept = tried.score(inputs[late], labels[late], sample_weight=sample_weight[late])
            found.append((-kept, strength))
        self._model = _ridge(self._how, min(found)[1])
        self._model.fit(inputs, labels, sample_weight=sample_weight)

    def predict(self, inputs: Any) -> Any:
        return self._model.predict(self._scaler.transform(inputs))

    def predict_proba(self, inputs: Any) -> Any:
        return self._model.predict_proba(self._scaler.transform(inputs))


def _trees(how: Labels, is_text: list[bool]) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    settings: dict[str, Any] = {"categorical_features": is_text, "random_state": 0}
    if how.loss == "logistic":
        return HistGradientBoostingClassifier(**settings)
    if how.loss == "quantile":
        settings["quantile"] = how.quantile
    return HistGradientBoostingRegressor(loss=TREES[how.loss], **settings)
