"""Linear models: the same bits however events come in, and nothing changes by bad input."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import belated as bl
from adaptive import least_wait
from belated.errors import BadFeatures, BadFeedback, SpecError, UnknownTicket
from belated.models.linear import LinearModel, Rows
from belated.models.linear.losses import LOSSES
from conftest import shortened

BITS = 6


def label_of(kind: str, rng: np.random.Generator, signal: float) -> float:
    """Return a label that depends on a signal."""
    noisy = signal + 0.3 * rng.normal()
    if kind == "logistic":
        return float(noisy > 0.0)
    if kind == "hinge":
        return 1.0 if noisy > 0.0 else -1.0
    if kind == "poisson":
        return float(rng.poisson(math.exp(min(0.5 * noisy, 3.0))))
    return noisy


class Log:
    """Sparse rows (with coordinates that occur twice), labels, weights and events, all at random.

    A tenth of the labels never comes.
    """

    def __init__(self, kind: str, rounds: int = 60, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.rows: list[tuple[NDArray[np.int64], NDArray[np.float64]]] = []
        labels = []
        for _ in range(rounds):
            count = int(rng.integers(0, 6))
            indices = rng.integers(0, 12, size=count)
            values = np.where(indices < 6, 1.0, rng.normal(size=count) * 10.0 ** (indices % 3))
            self.rows.append((indices, values))
            labels.append(label_of(kind, rng, float((values / 10.0 ** (indices % 3)).sum())))
        self.labels = np.array(labels)
        self.weights = rng.choice([0.5, 1.0, 2.0], size=rounds)
        delays = rng.geometric(0.15, size=rounds)
        arrivals = np.arange(rounds) + delays + 0.5
        arrivals[rng.random(rounds) < 0.1] = np.nan
        self.timeline = bl.Timeline.from_intervals(np.arange(rounds, dtype=float), arrivals)
        events = self.timeline.events
        answered = (events >= 0) | self.timeline.observed[np.where(events >= 0, 0, ~events)]
        self.events = events[answered]

    @property
    def sparse(self) -> Rows:
        """All rows in three arrays."""
        lengths = [0, *(indices.size for indices, _ in self.rows)]
        return Rows(
            np.cumsum(lengths, dtype=np.int64),
            np.concatenate([indices for indices, _ in self.rows]),
            np.concatenate([values for _, values in self.rows]),
        )

    def live(self, model: LinearModel, events: NDArray[np.int64] | None = None) -> list[float]:
        """Play events one by one."""
        values = []
        for event in (self.events if events is None else events).tolist():
            if event >= 0:
                ticket, value = model.predict(self.rows[event])
                assert ticket == event
                values.append(value)
            else:
                model.observe(
                    ~event, float(self.labels[~event]), weight=float(self.weights[~event])
                )
        return values


# --- The same bits -------------------------------------------------------------------------------


def test_ways_to_give_a_row_are_the_same() -> None:
    models = [LinearModel(bits=BITS) for _ in range(6)]
    rng = np.random.default_rng(3)
    for _ in range(20):
        x = rng.normal(size=5)
        ways: list[Any] = [
            x,
            x.tolist(),
            (np.arange(5), x),
            (list(range(5)), x.tolist()),
            (np.arange(5, dtype=np.uint8), np.repeat(x, 2)[::2]),
            np.ma.masked_array(x),
        ]
        values = set()
        for model, row in zip(models, ways, strict=True):
            ticket, value = model.predict(row)
            values.add(value)
            model.observe(ticket, x.sum())
        assert len(values) == 1
    assert len({model.snapshot() for model in models}) == 1


# --- Equations -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["squared", "absolute", "quantile", "huber"])
def test_predictions_stay_within_the_labels(kind: Any) -> None:
    log = Log(kind, 200)
    model = LinearModel(kind, bits=BITS)
    values = model.replay(log.sparse, log.labels, log.timeline)
    assert log.labels.min() <= values.min()
    assert values.max() <= log.labels.max()


SCALES = [pytest.param(scale, marks=pytest.mark.slow) for scale in (1.0, 1e-6)] + [1e6]


@pytest.mark.parametrize("kind", LOSSES)
@pytest.mark.parametrize("scale", SCALES)
def test_learns_without_tuning(kind: Any, scale: float) -> None:
    """Better than the best constant, whatever the scale of features and labels."""
    rng = np.random.default_rng(5)
    rounds = max(600, shortened(1500))  # fewer are not enough to learn from
    x = rng.normal(size=(rounds, 4))
    signal = x @ np.array([1.0, -2.0, 0.5, 0.0])
    labels = np.array([label_of(kind, rng, s) for s in signal])
    if kind not in ("logistic", "hinge", "poisson"):
        labels = labels * scale
    model = LinearModel(kind, bits=3, delta=scale)
    timeline = bl.Timeline.from_delays(np.full(rounds, 20))
    values = model.replay(x * np.array([scale, 1.0, 1.0 / scale, 1.0]), labels, timeline)
    half = rounds // 2
    lost = model.losses(values[half:], labels[half:]).mean()
    constants = [float(labels.mean())]
    if kind not in ("logistic", "poisson"):
        constants += np.quantile(labels, [0.1, 0.3, 0.5, 0.7, 0.9]).tolist()
    best = min(model.losses(np.full(half, c), labels[half:]).mean() for c in constants)
    assert lost < best - 0.2 * abs(best)


# --- Waiting -------------------------------------------------------------------------------------


def test_nothing_is_given_up_before_the_least_wait() -> None:
    """The ages are looked at before predictions 256, 512, ...; one label at the age 0 is enough.

    But only as soon as tickets have been watched for ten times as long.
    """
    with least_wait(30):
        model, deaf = LinearModel(bits=2), LinearModel(bits=2)
    patient = LinearModel(bits=2)
    for each in (model, patient):
        each.observe(each.predict([1.0]).ticket, 1.0)
        for _ in range(511):
            each.predict([1.0])
        assert each.report().skipped == 0
        each.predict([1.0])
    assert model.report().skipped == 511 - 32  # 32: the first edge of a bucket above 30
    assert patient.report().skipped == 0
    for _ in range(600):
        deaf.predict([1.0])
    assert deaf.open == 600  # as there was no label, nothing is known


@pytest.mark.compiled
@pytest.mark.needs_compiler
@pytest.mark.parametrize("delay", [5000, pytest.param(9000, marks=pytest.mark.slow)])
def test_labels_that_all_take_longer_than_the_least_wait_are_learned(delay: int) -> None:
    """Some come at once. The model gives up after 1,024 once it has watched ten times as long."""
    count = 3 * delay
    delays = np.where(np.arange(count) % 4, delay, 0)
    timeline = bl.Timeline.from_delays(delays)
    model = LinearModel(bits=2)
    model.replay(np.ones((count, 1)), np.ones(count), timeline)
    report = model.report()
    assert report.late == report.skipped == 0


def test_labels_that_came_too_late_lengthen_the_wait() -> None:
    """What is given up on is remembered, so that its age still counts."""
    with least_wait(30):
        model = LinearModel(bits=2)
    for t in range(2000):
        model.predict([1.0])
        if t == 0:
            model.observe(0, 1.0)
        if t > 600:
            model.observe(t - 600, 1.0)
    report = model.report()
    # One label had come by prediction 512; from 768 on the model knows better. Ticket 734 is the
    # last that was older than 32 in between.
    assert report.skipped == report.late == 734
    assert report.observed == 2000 - 734 - 600


# --- Bad input -----------------------------------------------------------------------------------


NAN, INF = math.nan, math.inf


SETTINGS: list[tuple[dict[str, Any], str]] = [
    ({"loss": "mse"}, "loss must be one of squared, absolute"),
    ({"loss": 3}, "loss must be one of"),
    ({"bits": 0}, "bits must be a whole number from 1 to 30"),
    ({"bits": 2.5}, "bits"),
    ({"quantile": 1.0}, "quantile must be between 0 and 1"),
    ({"quantile": "a"}, "quantile must be a finite number"),
    ({"delta": 0}, "delta must be positive"),
    ({"delta": NAN}, "delta must be a finite number"),
    ({"l1": -1}, "l1 must be at least 0"),
    ({"l2": INF}, "l2 must be a finite number"),
    ({"l2": None}, "l2 must be a finite number"),
    ({"intercept": 1}, "intercept must be True or False"),
    ({"wait": "skip"}, "wait must be"),
    ({"wait": 5}, r'.*a number of predictions is \{"predictions": 5\}'),
    ({"wait": np.int64(5)}, r'.*a number of predictions is \{"predictions": 5\}'),
    ({"wait": {"predictions": -1}}, ".*whole number from 0"),
    ({"wait": {"predictions": 2.0}}, ".*whole number from 0"),
    ({"wait": {"predictions": True}}, ".*whole number from 0"),
    ({"wait": {"rounds": 2}}, ".*whole number from 0"),
    ({"deadline": {"predictions": -1}}, ".*whole number from 0"),
    ({"wait": -1}, "wait"),
    ({"wait": True}, "wait"),
    ({"wait": 2.0}, "wait"),
]


@pytest.mark.parametrize("case", SETTINGS, ids=lambda case: repr(case[0]))
def test_bad_settings(case: tuple[dict[str, Any], str]) -> None:
    with pytest.raises(SpecError, match=f"LinearModel: {case[1]}"):
        LinearModel(**case[0])


# --- Replay --------------------------------------------------------------------------------------


def test_replay_reports_progress_and_can_be_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    from belated.core import linear as module

    monkeypatch.setattr(module, "CHUNK", 50)
    log = Log("squared", 120)
    model, other = LinearModel(bits=BITS), LinearModel(bits=BITS)
    seen: list[int] = []

    def stop(done: int) -> None:
        seen.append(done)
        if done >= 100:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        model.replay(log.sparse, log.labels, log.timeline, progress=stop)
    assert seen == [50, 100]
    other.replay(log.sparse, log.labels, log.events[: seen[1]])
    assert model.snapshot() == other.snapshot()


def test_replay_says_what_is_wrong_with_labels_and_used_models() -> None:
    model, rows = LinearModel(bits=2), np.ones((3, 2))
    timeline = bl.Timeline.from_delays([1, 1, 1])
    with pytest.raises(BadFeedback, match="7 labels, but the timeline has tickets 0 to 2"):
        model.replay(rows, np.ones(7), timeline)
    forecast = model.predict([1.0, 1.0])
    with pytest.raises(UnknownTicket, match="already made 1 predictions; use a fresh one"):
        model.replay(rows, np.ones(3), timeline)
    with pytest.raises(UnknownTicket, match=r"give its \.ticket"):
        model.observe(forecast, 1.0)  # type: ignore[arg-type]
    with pytest.raises(BadFeedback, match="give 1 or 0; for several classes"):
        model.observe(forecast.ticket, "yes")  # type: ignore[arg-type]
    with pytest.raises(FileNotFoundError, match="cannot write /nope/x: there is no folder /nope"):
        model.save("/nope/x")


@pytest.mark.parametrize("make", [bl.LinearModel, lambda: bl.Intervals(bl.LinearModel())])
def test_rows_are_of_one_kind(make: Callable[[], Any]) -> None:
    named, placed = {"x": 1.0}, [1.0, 2.0]
    for first, others in (
        (named, (placed, np.ones(2), ([1], [2.0]))),
        (placed, (named,)),
    ):
        model = make()
        model.predict({})
        model.predict_many([first, first])
        before = model.snapshot()
        for other in others:
            for call in (model.predict, model.peek):
                with pytest.raises(BadFeatures, match=r"so far, and now they have .*changed"):
                    call(other)
            for many in (model.predict_many, model.peek_many):
                with pytest.raises(BadFeatures, match="so far, and now they have"):
                    many([other])
                with pytest.raises(BadFeatures, match="row 1: some rows have named"):
                    many([named, placed])
        assert model.snapshot() == before
        model.predict(first)
        model.predict({})


def test_bounds_of_rows_are_copied_before_they_are_checked() -> None:
    """They are read without the interpreter lock, while other threads may write to them."""
    bounds = np.array([0, 1, 2])
    given = bl.LinearModel()._rows.rows((bounds, np.array([0, 1]), np.ones(2)), "predict_many")
    assert not np.shares_memory(given.indptr, bounds)
