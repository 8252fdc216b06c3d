"""Linear models as estimators of scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from belated import LinearModel, Timeline
from belated.adapters.sklearn import LateClassifier, LateRegressor

ONLINE = "one row of weight 2 is one step of a model, and two rows are two"
EXCEPTIONS = {
    "check_sample_weight_equivalence_on_dense_data": ONLINE,
    "check_sample_weight_equivalence_on_sparse_data": ONLINE,
}


@parametrize_with_checks(
    [LateRegressor(bits=10), LateClassifier(bits=10)],
    expected_failed_checks=lambda _: EXCEPTIONS,
)  # type: ignore[untyped-decorator]
@pytest.mark.filterwarnings("ignore")
def test_checks_of_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)


def rows(count: int = 300) -> tuple[pd.DataFrame, Any, Any, Any]:
    """Return features, labels, and when predictions were made and labels came."""
    rng = np.random.default_rng(0)
    shops = rng.choice(["north", "south"], count)
    X = pd.DataFrame({"size": rng.normal(size=count), "shop": shops})
    bought = rng.random(count) < 1.0 / (1.0 + np.exp(1.0 - 2.0 * (X["shop"] == "north")))
    asked = np.sort(rng.uniform(0.0, 30.0, count))
    heard = np.where(bought, asked + rng.exponential(2.0, count), np.nan)
    return X, bought.to_numpy().astype(int), asked, heard


@pytest.mark.parametrize("order", ["sorted", "shuffled"])
@pytest.mark.parametrize("settings", [{}, {"silence": 0}, {"silence": 0, "deadline": 5.0}])
def test_late_labels_are_learned_when_they_came(settings: dict[str, Any], order: str) -> None:
    X, y, asked, heard = rows()
    model = LinearModel("logistic", bits=10, **settings)
    events = Timeline.from_intervals(asked, heard).events
    events = events[(events >= 0) | ~np.isnan(heard[~events])]
    places = np.where(events < 0, ~events, events)
    model.replay(X, y, events, at=np.where(events < 0, heard[places], asked[places]))
    given = np.random.default_rng(1).permutation(300) if order == "shuffled" else np.arange(300)
    late = LateClassifier(bits=10, **settings).fit(
        X.iloc[given], y[given], times=(asked[given], heard[given])
    )
    assert late.predict_proba(X)[:, 1].tolist() == model.peek_many(X).tolist()


def test_dates_are_times() -> None:
    X, y, asked, heard = rows()
    days = LateClassifier(bits=10, silence=0, deadline="5d").fit(
        X, y, times=(pd.to_datetime(asked, unit="D"), pd.to_datetime(heard, unit="D"))
    )
    numbers = LateClassifier(bits=10, silence=0, deadline=5.0).fit(X, y, times=(asked, heard))
    np.testing.assert_allclose(days.predict_proba(X), numbers.predict_proba(X))


def test_partial_fit_goes_on() -> None:
    X, y, asked, heard = rows()
    parts = LateClassifier(bits=10)
    for part in (slice(0, 100), slice(100, 300)):
        parts.partial_fit(X.iloc[part], y[part], classes=[0, 1])
    assert parts.predict_proba(X).tolist() == (
        LateClassifier(bits=10).fit(X, y).predict_proba(X).tolist()
    )
    with pytest.raises(ValueError, match="2 is not one of"):
        parts.partial_fit(X, y + 1)
    parts.partial_fit(X, y, times=(asked, heard))
    assert parts.model_.rounds == 600


def test_coefficients_have_names() -> None:
    X, y, *_ = rows()
    coefficients = LateClassifier(bits=10).fit(X, y).coef_
    assert set(coefficients) == {"size", ("shop", "north"), ("shop", "south")}
    assert coefficients[("shop", "north")] > 0.0 > coefficients[("shop", "south")]
    assert set(LateRegressor(bits=10).fit(X[["size"]].to_numpy(), y).coef_) == {0}


def test_frames_arrays_and_sparse_rows_are_the_same() -> None:
    X, y, *_ = rows()
    size = X[["size"]]
    expected = LateRegressor(bits=10).fit(size, y).predict(size)
    for kind in (pl.from_pandas(size), size):
        model = LateRegressor(bits=10).fit(kind, y)
        assert model.predict(kind).tolist() == expected.tolist()
    with pytest.warns(UserWarning, match="valid feature names"):
        assert model.predict(size.to_numpy()).tolist() == expected.tolist()
    gaps = np.column_stack([size.to_numpy(), np.where(y, np.nan, 1.0)])
    sparse = csr_array(np.nan_to_num(gaps))
    placed = [LateRegressor(bits=10).fit(given, y).predict(given) for given in (gaps, sparse)]
    assert placed[0].tolist() == placed[1].tolist()


def test_searches_clone_them() -> None:
    X, y, *_ = rows()
    model = LateClassifier(bits=10, l2=0.1, interactions=[("size", "shop")])
    assert clone(model).get_params() == model.get_params()
    assert cross_val_score(model, X, y).mean() > 0.6


@pytest.mark.parametrize(
    "kind", [np.column_stack, lambda pair: pd.DataFrame(dict(enumerate(pair)))]
)
def test_late_labels_are_cross_validated(kind: Any) -> None:
    X, y, *times = rows()
    found = cross_val_score(LateClassifier(bits=10), X, y, params={"times": kind(times)})
    assert found.size == 5
    assert np.isfinite(found).all()
    given = LateClassifier(bits=10).fit(X, y, times=kind(times)).predict_proba(X)
    assert (given == LateClassifier(bits=10).fit(X, y, times=times).predict_proba(X)).all()


def test_silence_is_a_class() -> None:
    X, y, *_ = rows()
    for wrong in (3, "0", "maybe"):
        with pytest.raises(ValueError, match="silence must be a class, one of"):
            LateClassifier(bits=10, silence=wrong).fit(X, y)


def test_classes_are_two() -> None:
    X, y, *_ = rows()
    model = LateClassifier(bits=10, silence="no").fit(X, np.where(y, "yes", "no"))
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.model_.settings.silence == 0.0
    with pytest.raises(ValueError, match="Only binary classification"):
        LateClassifier(bits=10).fit(X, np.arange(300) % 3)
