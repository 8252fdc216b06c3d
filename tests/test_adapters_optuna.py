"""Knobs as a sampler of Optuna: its own tests of samplers, and trials that end late or never."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

optuna: Any = pytest.importorskip("optuna")
theirs: Any = pytest.importorskip("optuna.testing.pytest_samplers")

from belated.adapters.optuna import KnobsSampler  # noqa: E402

optuna.logging.set_verbosity(optuna.logging.ERROR)
FAIL = optuna.trial.TrialState.FAIL
SPACE = {
    "price": optuna.distributions.FloatDistribution(10.0, 200.0),
    "timeout": optuna.distributions.FloatDistribution(0.1, 5.0, log=True),
    "retries": optuna.distributions.IntDistribution(0, 6),
}


class _Sampler:
    """What Optuna's tests ask for."""

    @pytest.fixture
    def sampler(self) -> Callable[[], Any]:
        return KnobsSampler


class TestBasics(_Sampler, theirs.BasicSamplerTestCase):  # type: ignore[misc]
    """Distributions of every kind, conditional ones, ranges that change."""


class TestTogether(_Sampler, theirs.RelativeSamplerTestCase):  # type: ignore[misc]
    """Several parameters at once, also from two threads."""


class TestSingle(_Sampler, theirs.SingleOnlySamplerTestCase):  # type: ignore[misc]
    """No more than one objective."""


def test_values_that_come_late_are_learned() -> None:
    space = {"price": SPACE["price"]}
    sampler = KnobsSampler(space, start={"price": 150.0})
    study = optuna.create_study(sampler=sampler)
    waiting: list[Any] = []
    prices: list[float] = []
    for _ in range(60):
        trial = study.ask(space)
        prices.append(trial.params["price"])
        waiting.append(trial)
        if len(waiting) > 10:
            late = waiting.pop(0)
            study.tell(late, (late.params["price"] - 60.0) ** 2 / 1e4)
    assert sampler.knobs.report().observed == 49  # the last is told, and not looked at yet
    assert sampler.knobs.open == 11
    assert np.mean(np.abs(np.array(prices[-20:]) - 60.0)) < 20.0


def test_what_failed_is_cancelled_and_what_never_ends_stays_open() -> None:
    sampler = KnobsSampler(SPACE)
    study = optuna.create_study(sampler=sampler)
    trials = [study.ask(SPACE) for _ in range(4)]
    study.tell(trials[0], state=FAIL)
    with pytest.warns(UserWarning, match="nan is not acceptable"):
        study.tell(trials[1], float("nan"))  # Optuna makes a failure of it
    study.tell(trials[2], float("inf"))
    study.ask(SPACE)
    report = sampler.knobs.report()
    assert (report.observed, report.cancelled, sampler.knobs.open) == (0, 3, 2)


def test_trials_of_others_are_learned_as_they_were() -> None:
    sampler = KnobsSampler(SPACE)
    study = optuna.create_study(sampler=sampler, direction="maximize")
    for price in (20.0, 80.0, 140.0):
        params = {"price": price, "timeout": 1.0, "retries": 2}
        study.add_trial(optuna.create_trial(params=params, distributions=SPACE, value=price))
    study.add_trial(optuna.create_trial(params={}, distributions={}, value=1.0))
    study.enqueue_trial({"price": 77.0})
    trial = study.ask(SPACE)
    assert trial.params["price"] == 77.0
    study.tell(trial, 3.0)
    study.ask(SPACE)
    assert sampler.knobs.report().observed == 4
    assert sampler.knobs.settings.goal == "max"


def test_a_sampler_survives_pickling() -> None:
    sampler = KnobsSampler(SPACE)
    study = optuna.create_study(sampler=sampler)
    trial = study.ask(SPACE)
    again = pickle.loads(pickle.dumps(sampler))
    study.sampler = again
    study.tell(trial, 1.0)
    study.ask(SPACE)
    assert again.knobs.report().observed == 1
