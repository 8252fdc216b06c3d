"""Our models as river's estimators: its checks, its pipelines and its delayed evaluation."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import belated as bl
from belated.models.linear import LinearModel
from conftest import Python

checks: Any = pytest.importorskip("river.checks")
compose: Any = pytest.importorskip("river.compose")
datasets: Any = pytest.importorskip("river.datasets")
evaluate: Any = pytest.importorskip("river.evaluate")
feature_extraction: Any = pytest.importorskip("river.feature_extraction")
metrics: Any = pytest.importorskip("river.metrics")
preprocessing: Any = pytest.importorskip("river.preprocessing")
stream: Any = pytest.importorskip("river.stream")

from belated.adapters.river import LinearClassifier, LinearRegressor, keyed, world  # noqa: E402

ESTIMATORS: list[Any] = [
    LinearRegressor(),
    LinearRegressor(
        "huber", bits=8, delta=2.0, interactions=[("gallup", "ipsos")], wait={"predictions": 5}
    ),
    LinearRegressor("quantile", bits=8, quantile=0.9, l1=0.1, l2=0.1, intercept=False, wait=None),
    LinearRegressor("poisson", bits=8),
    LinearClassifier(),
    LinearClassifier(bits=8, l1=0.01, interactions=[("ip_in_url", "empty_server_form_handler")]),
    preprocessing.StandardScaler() | LinearRegressor(bits=8),
    preprocessing.StandardScaler() | LinearClassifier(bits=8),
]


def all_checks() -> Iterator[Any]:
    """Yield river's checks for every estimator.

    For all estimators but those as they come they are slow, and so are the same check with a second
    data set and, but for one of them, what watches memory for long.
    """
    for number, model in enumerate(ESTIMATORS):
        seen: set[str] = set()
        for check in checks.yield_checks(model):
            name = check.__name__
            if name not in model._unit_test_skips():
                again = name in seen or (number > 0 and name == "check_bounded_memory_growth")
                marks = [pytest.mark.slow] * (number not in (0, 4) or again)
                seen.add(name)
                yield pytest.param(model, check, id=f"{number}-{model}-{name}", marks=marks)


def numbers(rows: int = 300, seed: int = 0) -> list[tuple[dict[str, Any], float]]:
    """Return rows with a number and a string, and what they say about the target."""
    rng = np.random.default_rng(seed)
    return [
        ({"a": float(a), "place": f"p{b}", "waits": int(d)}, float(3.0 * a + b))
        for a, b, d in zip(
            rng.normal(size=rows), rng.integers(0, 3, rows), rng.integers(1, 40, rows), strict=True
        )
    ]


@pytest.mark.parametrize(("model", "check"), [*all_checks()])
def test_checks_of_river(model: Any, check: Callable[[Any], None]) -> None:
    check(model.clone())


def test_prediction_changes_nothing_and_learning_is_predict_then_observe() -> None:
    model, plain = LinearRegressor(bits=8), LinearModel(bits=8)
    for x, y in numbers():
        before = pickle.dumps(model)
        value = model.predict_one(x)
        assert pickle.dumps(model) == before
        ticket, issued = plain.predict(x)
        assert value == issued
        model.learn_one(x, y, w=2.0)
        plain.observe(ticket, y, weight=2.0)
    assert model.linear.snapshot() == plain.snapshot()
    assert model.linear.open == 0


@pytest.mark.parametrize("delay", [1, 25, "waits", None])
def test_delayed_evaluation_is_predict_and_observe(delay: Any) -> None:
    """River's own evaluation hands late labels to the tickets they belong to."""
    rows = numbers()
    model, plain = LinearRegressor(bits=8, wait=None), LinearModel(bits=8, wait=None)
    found = evaluate.progressive_val_score(keyed(rows), model, metrics.MSE(), delay=delay)
    tickets: dict[int, tuple[int, float]] = {}
    errors = []
    for i, x, y in stream.simulate_qa(rows, None, delay):
        if y is None:
            tickets[i] = plain.predict(x)
        else:
            ticket, value = tickets[i]
            plain.observe(ticket, y)
            errors.append((value - y) ** 2)
    assert model.linear.snapshot() == plain.snapshot()
    assert found.get() == pytest.approx(np.mean(errors), rel=1e-12)
    assert model.linear.report().max_delay == {1: 0, 25: 24, "waits": 38, None: 0}[delay]


def test_keys_differ_from_learning_at_once() -> None:
    rows = numbers()
    late, at_once = LinearRegressor(bits=8), LinearRegressor(bits=8)
    evaluate.progressive_val_score(keyed(rows), late, metrics.MSE(), delay=30)
    evaluate.progressive_val_score(rows, at_once, metrics.MSE(), delay=30)
    assert late.linear.report().total_delay > 0 == at_once.linear.report().total_delay


def test_probabilities_with_keys_and_weights() -> None:
    rows = [(x, y > 1.0, {"w": 1.0 + (y > 0.0)}) for x, y in numbers()]
    model, plain = LinearClassifier(bits=8), LinearModel("logistic", bits=8)
    evaluate.progressive_val_score(keyed(copy.deepcopy(rows)), model, metrics.LogLoss(), delay=7)
    forecasts = {}
    for i, x, y, extra in stream.simulate_qa(rows, None, 7):
        if y is None:
            forecasts[i] = plain.predict(x)
        else:
            plain.observe(forecasts[i].ticket, float(y), weight=extra["w"])
    assert model.linear.snapshot() == plain.snapshot()
    first: dict[Any, Any] = rows[0][0]
    probability = plain.peek(first)
    assert model.predict_proba_one(first) == {False: 1.0 - probability, True: probability}
    assert model.predict_one(first) is (probability > 0.5)


def test_labels_by_metric_of_classes() -> None:
    """A metric that needs a class calls ``predict_one``, whose key goes the same way."""
    rows = [(x, y > 1.0) for x, y in numbers()]
    model = LinearClassifier(bits=8)
    found = evaluate.progressive_val_score(keyed(rows), model, metrics.Accuracy(), delay=7)
    assert found.get() > 0.8
    assert model.linear.report().max_delay == 6


def test_pipeline_passes_keys_on() -> None:
    """The model learns from the features as they were when it predicted."""
    rows = numbers()
    chain = compose.Select("a") | preprocessing.StandardScaler() | LinearRegressor(bits=8)
    evaluate.progressive_val_score(keyed(rows), chain, metrics.MSE(), delay=9)
    scaler, plain = preprocessing.StandardScaler(), LinearModel(bits=8)
    forecasts = {}
    for i, x, y in stream.simulate_qa(rows, None, 9):
        number = {"a": x["a"]}
        if y is None:
            forecasts[i] = plain.predict(scaler.transform_one(number))
        else:
            scaler.learn_one(number)
            plain.observe(forecasts[i].ticket, y)
    assert chain["LinearRegressor"].linear.snapshot() == plain.snapshot()


def test_moments_and_delays_by_the_clock() -> None:
    chain = compose.Discard("moment", "arrives") | LinearClassifier(bits=12)
    rows = [
        ({**x, "moment": float(i), "arrives": 3.5 + 10.0 * (i % 7)}, y)
        for i, (x, y) in enumerate(datasets.Phishing().take(400))
    ]
    found = evaluate.progressive_val_score(
        keyed(rows), chain, metrics.ROCAUC(), moment="moment", delay="arrives"
    )
    report = chain["LinearClassifier"].linear.report()
    assert found.get() > 0.9
    assert (report.rounds, report.open, report.max_delay) == (400, 0, 63)


def test_never_answered_keys() -> None:
    model = LinearRegressor(bits=4)
    model.predict_one({"a": 1.0}, key="x")
    model.predict_one({"a": 1.0}, key="y")
    model.cancel_one("x")
    assert model.linear.open == 1
    model.learn_one({}, 3.0, key="y")
    assert model.predict_one({"a": 1.0}) == 3.0
    with pytest.raises(
        bl.errors.UnknownTicket, match="cancel_one: no prediction waits under the key 'x'"
    ):
        model.cancel_one("x")


def test_a_label_that_was_given_up_on_is_dropped() -> None:
    model = LinearRegressor(bits=4, wait={"predictions": 1})
    for key in range(4):
        model.predict_one({"a": 1.0}, key=f"{key}")
    model.learn_one({}, 3.0, key="0")
    report = model.linear.report()
    assert (report.observed, report.skipped, report.late) == (0, 2, 1)


def test_strings_and_texts_from_transformers() -> None:
    model = feature_extraction.BagOfWords() | LinearClassifier(bits=12)
    for _ in range(20):
        model.learn_one("late again", True)
        model.learn_one("on time", False)
    assert model.predict_one("late") is True
    assert model.predict_one("time") is False


def test_bad_labels_and_keys_change_no_ticket() -> None:
    model = LinearRegressor(bits=4)
    with pytest.raises(bl.errors.BadFeedback, match="must be a finite number"):
        model.learn_one({"a": 1.0}, float("nan"))
    assert model.linear.open == 0
    with pytest.raises(bl.errors.BadKey, match=r"use str\(id\)"):
        model.predict_one({"a": 1.0}, key=1)  # type: ignore[arg-type]
    model.predict_one({"a": 1.0}, key="1")
    with pytest.raises(bl.errors.SpecError, match="key '1' already waits"):
        model.predict_one({"a": 1.0}, key="1")
    with pytest.raises(bl.errors.BadFeedback, match="weight"):
        model.learn_one({"a": 1.0}, 1.0, w=0.0, key="1")
    with pytest.raises(bl.errors.UnknownTicket, match="no prediction waits under the key '2'"):
        model.learn_one({"a": 1.0}, 1.0, key="2")
    model.learn_one({"a": 1.0}, 1.0, key="1")
    with pytest.raises(bl.errors.UnknownTicket):
        model.learn_one({"a": 1.0}, 1.0, key="1")


def test_losses_for_classes_are_refused() -> None:
    with pytest.raises(bl.errors.SpecError, match="'logistic' is a loss for classes"):
        LinearRegressor("logistic")  # type: ignore[arg-type]
    with pytest.raises(bl.errors.SpecError, match="loss must be one of"):
        LinearRegressor("cubic")  # type: ignore[arg-type]


def test_missing_river_says_what_to_install(python: Python) -> None:
    source = """
import sys
sys.modules["river"] = None
try:
    import belated.adapters.river
except ImportError as error:
    print(error)
"""
    assert "pip install 'belated[river]'" in python("-c", source)


def test_a_data_set_with_classes_is_a_world_of_decisions() -> None:
    made = world(datasets.Bananas().take(60), bl.worlds.Lateness(5))
    assert repr(made) == "worlds.Labelled(<60 rows>, <2 classes>, lateness=worlds.Lateness(mean=5))"
    assert set(made.drawn(0).contexts[0]) == {"1", "2"}
    run = bl.play(bl.Chooser(bits=10), made)
    assert run.reward + run.regret == 60.0
