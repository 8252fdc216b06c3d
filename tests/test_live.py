"""What a learner does in particular situations; what holds for all compositions is in the laws."""

from __future__ import annotations

import copy
import pickle
import signal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import belated as bl
from belated.errors import (
    BadFeedback,
    BusyError,
    SpecError,
    UnknownTicket,
)
from compositions import COMPOSITIONS
from interrupts import without_collector

PLAIN = COMPOSITIONS["first-pftrl-ball-delay-1"]


def line(rate: Any = None, radius: float = 1.0) -> bl.FirstOrder:
    """Return first-order learning on [-radius, radius], cheap to compute by hand."""
    return bl.FirstOrder(bl.PFTRL(bl.Ball(1, radius), rate or bl.rates.DelayAdaptive(1.0)))


# --- Reports -------------------------------------------------------------------------------------


def test_a_certificate_by_hand() -> None:
    rounds, eta = 400, 0.01
    learner = bl.Learner(
        bl.FirstOrder(bl.PFTRL(bl.L1Ball(3, 2.0), bl.rates.Constant(eta, lipschitz=2.0)))
    )
    for t in range(rounds):
        learner.predict()
        if t % 2:  # answered in pairs, newest first: one open, then none
            learner.observe(t, [0.3, 0.0, 0.4])
            learner.observe(t - 1, [0.0, 0.5, 0.0])
    learner.predict()
    learner.predict()
    learner.cancel(rounds)
    report = learner.report()
    certificate = report.certificate
    assert certificate is not None
    assert certificate.learning == pytest.approx(4.0**2 / (2.0 * eta) + rounds * eta * 0.25 / 2.0)
    assert certificate.delay == pytest.approx(2.0 * (rounds / 2) * eta * 0.5)
    assert certificate.unanswered == pytest.approx(2.0 * 4.0 * 2)
    total = certificate.learning + certificate.delay + certificate.unanswered
    assert certificate.total == pytest.approx(total)
    assert report.certificate_note == ""


@given(st.lists(st.integers(0, 9), max_size=40))
def test_a_report_agrees_with_the_timeline(delays: list[int]) -> None:
    """Delays are in rounds; those past the end stay open and run to the end."""
    timeline = bl.Timeline.from_intervals(
        np.arange(len(delays), dtype=float),
        [t + d + 0.5 if t + d < len(delays) else None for t, d in enumerate(delays)],
    )
    learner = PLAIN.learner()
    learner.replay(timeline, np.ones((len(delays), 1)))
    counters = bl.Counters()
    for event in timeline.events.tolist():
        if event >= 0:
            assert counters.predict() == event
        elif timeline.observed[~event]:
            arrival = counters.observe(~event)
            assert arrival.delay == timeline.delay[~event]
            assert arrival.dual_delay == timeline.dual_delay[~event]
            assert arrival.dual_backlog == timeline.dual_backlog[~event]
    report = learner.report()
    assert report.open == counters.open == int((~timeline.observed).sum())
    for mine in (report, counters):
        assert mine.rounds == timeline.rounds
        assert mine.total_delay == timeline.total_delay
        assert mine.max_backlog == timeline.max_backlog
    assert report.max_delay == timeline.max_delay


# --- Whole runs ----------------------------------------------------------------------------------


@pytest.mark.compiled
@pytest.mark.needs_compiler
@without_collector()
def test_a_run_that_a_signal_interrupts_leaves_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    """The signal comes at some moment of the run; a run that ends before it is made longer."""
    monkeypatch.setattr("belated.core.learner.CHUNK", 1000)
    learner = bl.Learner(bl.FirstOrder(bl.PFTRL(bl.Ball(3), bl.rates.Tight(1.0))))
    before, rounds = learner.snapshot(), 100_000
    was_interrupted = False
    while not was_interrupted:
        tickets = np.arange(rounds)
        life = np.stack([tickets, ~tickets], axis=1).ravel()
        answers = np.full((rounds, 3), 0.25)
        old = signal.signal(signal.SIGALRM, signal.default_int_handler)
        signal.setitimer(signal.ITIMER_REAL, 0.002)
        try:
            learner.replay(life, answers, keep=False)
            learner = bl.Learner.restore(before)
        except KeyboardInterrupt:
            was_interrupted = True
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            signal.signal(signal.SIGALRM, old)
        rounds *= 2
    assert learner.snapshot() == before


# --- Learners and models used in ways that would lose something -----------------------------------

FULL = bl.FullInformation(bl.PFTRL(bl.Ball(2), bl.rates.Tight(1.0)))
OF_TWO_VALUES = bl.OnePoint(bl.PFTRL(bl.Ball(2), bl.rates.DelayAdaptive(1.0)), magnitude=1.0)


# --- Threads and calls inside calls --------------------------------------------------------------


def test_a_gradient_that_calls_its_learner() -> None:
    learner = bl.Learner(FULL)
    learner.predict()
    before = learner.snapshot()

    def gradient(x: Any) -> Any:
        for call in (
            learner.predict,
            learner.snapshot,
            lambda: learner.cancel(0),
            lambda: learner.observe(0, gradient),
            lambda: learner.replay([1], []),
        ):
            with pytest.raises(BusyError, match="another call is at work here"):
                call()
        assert learner.rounds == 1
        learner.predict()

    with pytest.raises(BusyError, match=r"predict: .* nothing has changed: use one thread"):
        learner.observe(0, gradient)
    assert learner.snapshot() == before
    assert learner.observe(0, lambda x: x)


# --- Pickles -------------------------------------------------------------------------------------


class NamedGiven(bl.losses.Given):
    """A source with an attribute of its own."""


class NamedBall(bl.Ball):
    """A set with an attribute of its own."""


def _same(thing: Any) -> list[Any]:
    return [pickle.loads(pickle.dumps(thing)), copy.deepcopy(thing), copy.copy(thing)]


def test_pickles_of_specs_keep_what_subclasses_add() -> None:
    specs: list[Any] = [NamedGiven([[1.0, 2.0]], [3.0]), NamedBall(2)]
    for spec in specs:
        object.__setattr__(spec, "name", "mine")
        for other in _same(spec):
            assert type(other) is type(spec)
            assert other == spec
            assert other.name == "mine"


# --- Seeds ---------------------------------------------------------------------------------------


def test_a_fresh_seed_is_drawn_shown_and_kept() -> None:
    learners = [bl.Learner(OF_TWO_VALUES, seed=None) for _ in range(4)]
    seeds = {learner.seed for learner in learners}
    assert len(seeds) == 4
    assert all(0 <= seed < 1 << 64 for seed in seeds)
    for learner in learners:
        twin, again = (
            bl.Learner(OF_TWO_VALUES, learner.seed),
            bl.Learner.restore(learner.snapshot()),
        )
        assert again.seed == learner.seed
        plays = [each.predict().x.tolist() for each in (learner, twin, again)]
        assert plays[0] == plays[1] == plays[2]
    assert bl.Learner(OF_TWO_VALUES).seed == 0
    for wrong in ("now", 1.0, True, False):
        with pytest.raises(SpecError, match="Learner: seed must be a whole number or None"):
            bl.Learner(OF_TWO_VALUES, seed=wrong)  # type: ignore[arg-type]


WIDE = COMPOSITIONS["first-pftrl-l1-gradient-3"]


def many(learner: bl.Learner, gradient: list[float], rounds: int = 3000) -> bl.reports.Report:
    for t in range(rounds):
        learner.predict()
        learner.observe(t, gradient)
    return learner.report()


def test_certificates_after_surprises() -> None:
    report = many(bl.Learner(line()), [1.5])
    assert report.excess == 3000
    assert report.certificate is not None
    assert "3000 gradients exceeded lipschitz" in report.certificate_note
    guessed = bl.Learner(bl.FirstOrder(bl.PFTRL(bl.L1Ball(3), bl.rates.GradientAdaptive())))
    report = many(guessed, [1.0, 0.0, 0.0])
    assert report.certificate is not None
    assert "largest gradient seen" in report.certificate_note


@pytest.mark.parametrize(
    ("timeline", "feedback", "error", "message"),
    [
        ([0.5], np.zeros((1, 3)), UnknownTicket, "whole numbers"),
        ([[0]], np.zeros((1, 3)), UnknownTicket, "one dimension"),
        ([0], np.zeros((1, 2)), BadFeedback, r"\(number of answers, 3\); got \(1, 2\)"),
        ([0], np.zeros(3), BadFeedback, r"got \(3,\)"),
        ([0], "north", BadFeedback, "must be numbers"),
        ([0], [[1.0], [1.0, 2.0]], BadFeedback, "must be numbers"),
        ([0], [["1.0", "2.0", "3.0"]], BadFeedback, "must be numbers"),
        ([0], np.ones((1, 3)) + 0j, BadFeedback, "must be numbers"),
    ],
)
def test_runs_refuse_what_is_no_log(
    timeline: Any, feedback: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        WIDE.learner().replay(timeline, feedback)
