"""Comparisons: intervals that hold what they promise, ties, and other measures."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics

from belated.replays import measures
from belated.replays.labels import Labels
from belated.replays.measures import BLOCKS, Difference, auc, blocks, difference, scores


def correlated(rng: np.random.Generator, series: int, length: int, rho: float) -> np.ndarray:
    """Rows in which neighbours are alike: x_t = rho x_(t-1) + noise, of mean 0."""
    noise = rng.normal(size=(series, length))
    found = np.empty_like(noise)
    found[:, 0] = noise[:, 0] / math.sqrt(1.0 - rho * rho)
    for t in range(1, length):
        found[:, t] = rho * found[:, t - 1] + noise[:, t]
    return found


def test_quantiles_are_those_of_student() -> None:
    for count in range(BLOCKS[0], BLOCKS[1] + 1):
        expected = stats.t.ppf(0.975, count - 1)
        assert measures._QUANTILES[count - BLOCKS[0]] == pytest.approx(expected, abs=6e-5)


@pytest.mark.parametrize(("rho", "count"), [(0.0, 20), (0.8, 20), (0.9, 8)])
def test_intervals_hold_the_truth_in_95_of_100_logs(rho: float, count: int) -> None:
    rng = np.random.default_rng(7)
    rows = correlated(rng, 1_000, 1_500, rho)
    weights, zero = np.ones(1_500), np.zeros(1_500)
    held = sum(difference(row, zero, weights, count).is_tie for row in rows)
    assert 925 <= held <= 972


def test_independent_draws_would_promise_too_much() -> None:
    """Why there are blocks: with neighbours alike, the usual interval fails too often."""
    rows = correlated(np.random.default_rng(7), 500, 1_500, 0.8)
    reach = 1.96 * rows.std(axis=1, ddof=1) / math.sqrt(1_500)
    assert np.mean(np.abs(rows.mean(axis=1)) <= reach) < 0.6


def test_equal_weights_give_the_means_of_blocks() -> None:
    rng = np.random.default_rng(1)
    others, ours = rng.random(1_000), rng.random(1_000)
    found = difference(others, ours, np.full(1_000, 3.0), 20)
    means = (others - ours).reshape(20, 50).mean(axis=1)
    reach = stats.t.ppf(0.975, 19) * means.std(ddof=1) / math.sqrt(20)
    assert found.mean == pytest.approx(means.mean())
    assert (found.low, found.high) == pytest.approx(
        (means.mean() - reach, means.mean() + reach), rel=1e-4
    )


def test_without_labels_enough_nothing_is_claimed() -> None:
    assert blocks(39, np.zeros(3, dtype=np.int64)) == 0
    assert blocks(40, np.zeros(3, dtype=np.int64)) == 8
    found = difference(np.ones(5), np.zeros(5), np.ones(5), 0)
    assert found == Difference(1.0)
    assert found.is_tie
    assert not found.is_known
    endless = difference(np.array([math.inf, 1.0]), np.ones(2), np.ones(2), 8)
    assert endless.mean == math.inf
    assert endless.is_tie


def test_blocks_are_longer_than_delays() -> None:
    for delay in (0, 10, 100):
        count = blocks(4_000, np.full(100, delay))
        assert count == 20 or 4_000 // count >= 2 * delay or count == 8


def test_a_difference_that_is_always_there_is_no_tie() -> None:
    rng = np.random.default_rng(2)
    ours = rng.random(2_000)
    found = difference(ours + 0.1 + 0.01 * rng.random(2_000), ours, np.ones(2_000), 20)
    assert 0.1 < found.low < found.high < 0.11
    assert found.per(0.5).mean == pytest.approx(2.0 * found.mean)


def test_measures_of_chances_are_those_of_others() -> None:
    rng = np.random.default_rng(3)
    values, weights = rng.random(300).round(1), rng.integers(1, 4, 300).astype(np.float64)
    values = np.clip(values, 0.05, 0.95)
    labels = (rng.random(300) < values).astype(np.float64)
    found = scores(Labels("logistic"), values, labels, weights, ())
    assert found["AUC"] == pytest.approx(
        metrics.roc_auc_score(labels, values, sample_weight=weights)
    )
    assert found["accuracy"] == pytest.approx(
        metrics.accuracy_score(labels, values > 0.5, sample_weight=weights)
    )
    assert math.isnan(auc(values, np.ones(300), weights))


def test_measures_of_numbers_are_those_of_others() -> None:
    rng = np.random.default_rng(4)
    values, labels, weights = rng.normal(size=(3, 200))
    weights = weights**2
    found = scores(Labels("quantile", quantile=0.9), values, labels, weights, ())
    assert found["RMSE"] == pytest.approx(
        metrics.root_mean_squared_error(labels, values, sample_weight=weights)
    )
    assert found["MAE"] == pytest.approx(
        metrics.mean_absolute_error(labels, values, sample_weight=weights)
    )
    assert 0.0 < found["labels below"] < 1.0
