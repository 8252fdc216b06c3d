"""What a learner does in particular situations; what holds for all compositions is in the laws."""

from __future__ import annotations

import math
import signal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import belated as bl
from belated.errors import AlreadyObserved, BadFeedback, SnapshotError, SpecError, UnknownTicket
from compositions import COMPOSITIONS, AdaGrad, Array, Drive, codes, events
from interrupts import without_collector

PLAIN = COMPOSITIONS["first-pftrl-ball-delay-1"]
WIDE = COMPOSITIONS["first-pftrl-l1-gradient-3"]
VALUES = COMPOSITIONS["one-omd-box-constant-convex-2"]
MEANS = COMPOSITIONS["mean-omd-box-table-root-2"]
PAIRS = COMPOSITIONS["two-omd-ball-constant-root-skip-3"]
CURVED = COMPOSITIONS["first-omd-simplex-curved-3"]
FUNCTIONS = COMPOSITIONS["full-omd-l1-tight-7"]
USER_SET = COMPOSITIONS["first-pftrl-moved-tight-3"]


def line(rate: Any = None, radius: float = 1.0) -> bl.FirstOrder:
    """Return first-order learning on [-radius, radius], cheap to compute by hand."""
    return bl.FirstOrder(bl.PFTRL(bl.Ball(1, radius), rate or bl.rates.DelayAdaptive(1.0)))


def impatient() -> bl.Skip:
    """Return a learner that gives up; the same parts as one of the compositions."""
    return bl.Skip(bl.FirstOrder(bl.OMD(bl.Box([0.0], [2.0]), bl.rates.GradientAdaptive(1.0))))


# --- Reports -------------------------------------------------------------------------------------


def test_a_report_by_hand() -> None:
    """Three tickets; 1 is answered first, then 0; 2 stays open. D = 2, G = 1."""
    learner = bl.Learner(line())
    report = learner.report()
    assert report.rate is None
    assert (report.rounds, report.observed, report.open, report.total_delay) == (0, 0, 0, 0)
    assert (report.max_delay, report.max_backlog, report.max_dual_delay) == (0, 0, 0)
    for _ in range(3):
        assert learner.predict().x.tolist() == [0.0]
    assert learner.observe(1, [1.0])  # two are left open: eta = 2 / sqrt(1 + 2)
    assert learner.report().rate == pytest.approx(2.0 / math.sqrt(3.0))
    assert learner.observe(0, [-0.5])  # one is left open: eta = 2 / sqrt(2 + 3)
    report = learner.report()
    eta = [2.0 / math.sqrt(3.0), 2.0 / math.sqrt(5.0)]
    assert report.rate == pytest.approx(eta[1])
    assert (report.rounds, report.observed, report.open) == (3, 2, 1)
    assert (report.skipped, report.cancelled, report.late, report.excess) == (0, 0, 0, 0)
    # Delays: ticket 0 saw 2 predictions, 1 saw 1, 2 none so far. Backlogs 0, 1, 2.
    assert (report.total_delay, report.max_delay, report.max_backlog) == (3, 2, 2)
    assert report.max_dual_delay == 1
    assert report.certificate is None  # the bound is still above G D T = 6
    assert "not below" in report.certificate_note
    assert "6" in report.certificate_note
    # z = Pi(-eta_1) = -1 with normal (1 - eta_1) / eta_1, then one step inside
    normal = (-eta[0] + 1.0) / eta[0]
    assert learner.predict().x[0] == pytest.approx(max(-1.0, -1.0 + eta[1] * (normal + 0.5)))


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


def test_a_certificate_holds() -> None:
    """Against the best fixed play of a random linear game, with delays."""
    rng = np.random.default_rng(0)
    learner = bl.Learner(line())
    costs = rng.choice([-1.0, 1.0], 3000, p=[0.3, 0.7])
    plays = np.empty(3000)
    for t in range(3000):
        plays[t] = learner.predict().x[0]
        if t >= 5:
            learner.observe(t - 5, [costs[t - 5]])
    regret = float(costs @ plays) + abs(float(costs.sum()))
    certificate = learner.report().certificate
    assert certificate is not None
    assert regret <= certificate.total < 2.0 * 3000
    assert certificate.unanswered == 5 * 2.0


def note(learner: bl.Learner) -> str:
    learner.predict()
    report = learner.report()
    assert report.certificate is None
    return report.certificate_note


def test_certificate_notes() -> None:
    assert "one-point" in note(VALUES.learner())
    assert "vacuous" in note(VALUES.learner())
    assert "two-point" in note(PAIRS.learner())
    assert "user" in note(COMPOSITIONS["first-adagrad-3"].learner())
    unknown = bl.FirstOrder(bl.PFTRL(bl.L1Ball(3), bl.rates.Constant(0.1)))
    assert "give lipschitz" in note(bl.Learner(unknown))
    assert "not below" in note(PLAIN.learner())


def many(learner: bl.Learner, gradient: list[float], rounds: int = 3000) -> bl.Report:
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


def test_counters_refuse_what_learners_refuse() -> None:
    counters = bl.Counters()
    counters.predict()
    with pytest.raises(UnknownTicket, match="never handed out"):
        counters.observe(1)
    for ticket in (0.7, None, "0", 10**30, -1, True):
        with pytest.raises(UnknownTicket):
            counters.observe(ticket)  # type: ignore[arg-type]
    assert counters.open == 1
    counters.observe(0)
    with pytest.raises(AlreadyObserved, match="before"):
        counters.observe(0)
    assert (counters.rounds, counters.open) == (1, 0)


# --- Cancelling and skipping ---------------------------------------------------------------------


def test_cancelling_is_zero_feedback() -> None:
    cancelled, answered = WIDE.learner(), WIDE.learner()
    for learner in (cancelled, answered):
        for _ in range(3):
            learner.predict()
        learner.observe(1, [0.3, -0.2, 0.1])
    cancelled.cancel(0)
    answered.observe(0, [0.0, 0.0, 0.0])
    assert cancelled.predict().x.tobytes() == answered.predict().x.tobytes()
    one, other = cancelled.report(), answered.report()
    assert (one.cancelled, one.observed) == (1, 1)
    assert (other.cancelled, other.observed) == (0, 2)
    assert (one.total_delay, one.rate) == (other.total_delay, other.rate)
    with pytest.raises(AlreadyObserved):
        cancelled.observe(0, [0.0, 0.0, 0.0])
    with pytest.raises(AlreadyObserved):
        cancelled.cancel(0)


def test_cancelling_under_curvature_pulls_to_the_centre() -> None:
    """(lambda / 2)|y|^2 stands in for the missing loss; on the simplex y = x."""
    cancelled, answered = CURVED.learner(), CURVED.learner()
    for learner in (cancelled, answered):
        for _ in range(3):
            learner.predict()
        learner.observe(0, [0.3, -0.2, 0.1])
    now = cancelled.predict().x
    answered.predict()
    cancelled.cancel(1)
    answered.observe(1, 0.4 * now)
    np.testing.assert_allclose(cancelled.predict().x, answered.predict().x, rtol=1e-14)


def test_the_baseline_counts_answers_only() -> None:
    """The mean is over values used: cancelled tickets do not count."""
    learner = MEANS.learner()
    reference = MEANS.reference()
    for one in (learner, reference):
        for _ in range(4):
            one.predict()
        one.observe(0, 1.0)
        one.cancel(1)
        one.observe(2, 0.5)
    assert reference.predict()[1] == pytest.approx(learner.predict().x)
    learner.observe(4, 0.75)
    reference.observe(4, 0.75)  # exactly the mean: no step
    np.testing.assert_allclose(learner.predict().x, reference.predict()[1], rtol=1e-9)


def test_skipping() -> None:
    """Nothing is answered: before prediction t the oldest waits t - s > sqrt(D_t)?"""
    learner = bl.Learner(impatient())
    total = 0
    waiting: list[int] = []
    skipped: list[int] = []
    for t in range(30):
        total += len(waiting)
        for s in list(waiting):
            if (t - s) ** 2 > total:
                waiting.remove(s)
                skipped.append(s)
        assert learner.predict().ticket == t
        waiting.append(t)
        assert learner.open == len(waiting)
    report = learner.report()
    assert report.skipped == len(skipped) > 3
    assert report.max_delay < 29
    before = learner.snapshot()
    for late, ticket in enumerate(skipped[:3], start=1):
        assert learner.observe(ticket, [0.5]) is False
        assert learner.report().late == late
        after = learner.snapshot()
        assert after != before
        with pytest.raises(AlreadyObserved):
            learner.observe(ticket, [0.5])
        with pytest.raises(AlreadyObserved):
            learner.cancel(ticket)
        assert learner.snapshot() == after
    learner.cancel(skipped[3])
    assert (learner.report().cancelled, learner.report().late) == (0, 3)
    with pytest.raises(AlreadyObserved):
        learner.observe(skipped[3], [0.5])
    assert learner.observe(waiting[0], [0.5]) is True
    with pytest.raises(BadFeedback):
        learner.observe(skipped[4], [math.nan])  # even what will be dropped is checked
    assert learner.observe(skipped[4], [0.5]) is False


def test_late_answers_to_skipped_tickets_teach_nothing() -> None:
    one, other = bl.Learner(impatient()), bl.Learner(impatient())
    for learner in (one, other):
        for _ in range(30):
            learner.predict()
    assert one.observe(0, [1.0]) is False
    assert one.predict().x.tobytes() == other.predict().x.tobytes()
    assert one.report().rate == other.report().rate


# --- Full information and user code --------------------------------------------------------------


def test_full_information_asks_at_the_current_point() -> None:
    learner = FUNCTIONS.learner()
    asked: list[Array] = []

    def gradient(x: Array) -> Array:
        asked.append(x.copy())
        return np.full(7, 0.5)

    for _ in range(4):
        played = learner.predict().x
    learner.observe(2, gradient)
    assert asked[0].tolist() == played.tolist()
    now = learner.predict().x
    learner.observe(0, gradient)
    assert asked[1].tolist() == now.tolist() != played.tolist()


class Moody(AdaGrad):
    """A base that fails when told to."""

    mood = ""

    def update(self, cost: Array, lag: int, open_lags: int) -> Array:
        """Fail, or answer with nonsense, without having learned anything."""
        if self.mood == "raises":
            raise RuntimeError("not today")
        if self.mood == "nan":
            return np.full(self.z.size, np.nan)
        if self.mood == "short":
            return np.zeros(1)
        if self.mood == "text":
            return "left"  # type: ignore[return-value]
        return super().update(cost, lag, open_lags)


@pytest.mark.parametrize(
    ("mood", "error", "message"),
    [
        ("raises", RuntimeError, "not today"),
        ("nan", SpecError, "Moody.update must return finite numbers"),
        ("short", SpecError, "Moody.update must return a vector of 3 numbers"),
        ("text", SpecError, "Moody.update must return a vector of numbers"),
    ],
)
@pytest.mark.parametrize("event", ["observe", "cancel"])
def test_a_failing_base_undoes_the_event(
    mood: str, error: type[Exception], message: str, event: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    learner = bl.Learner(bl.FirstOrder(Moody(3)))
    for _ in range(4):
        learner.predict()
    learner.observe(2, [0.1, 0.2, 0.3])
    before = learner.snapshot()
    monkeypatch.setattr(Moody, "mood", mood)
    with pytest.raises(error, match=message):
        learner.observe(1, [0.1, 0.2, 0.3]) if event == "observe" else learner.cancel(1)
    monkeypatch.undo()
    assert learner.snapshot() == before
    assert learner.observe(1, [0.1, 0.2, 0.3])
    assert learner.open == 2


def test_a_base_that_fails_while_skipping_undoes_the_prediction(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    learner = bl.Learner(bl.Skip(bl.FirstOrder(Moody(2))))
    monkeypatch.setattr(Moody, "mood", "raises")
    for _ in range(100):
        before = learner.snapshot()
        try:
            learner.predict()
        except RuntimeError:
            break
    else:
        pytest.fail("nothing was skipped")
    assert learner.snapshot() == before
    monkeypatch.undo()
    calm = bl.Learner(bl.Skip(bl.FirstOrder(AdaGrad(2))))
    for _ in range(learner.rounds + 1):
        expected = calm.predict()
    assert learner.predict().ticket == expected.ticket
    assert learner.report() == calm.report()


def test_a_base_that_learns_and_then_fails_is_undone_too() -> None:
    class Late(AdaGrad):
        fails = False

        def update(self, cost: Array, lag: int, open_lags: int) -> Array:
            z = super().update(cost, lag, open_lags)
            if self.fails:
                raise RuntimeError("too late")
            return z

    learner = bl.Learner(bl.FirstOrder(Late(3)))
    for _ in range(2):
        learner.predict()
    learner.observe(0, [0.1, 0.2, 0.3])
    before = learner.snapshot()
    Late.fails = True
    with pytest.raises(RuntimeError, match="too late"):
        learner.observe(1, [0.1, 0.2, 0.3])
    assert learner.snapshot() == before


def test_learners_do_not_share_a_users_base() -> None:
    base = AdaGrad(3)
    spec = bl.FirstOrder(base)
    one, other = bl.Learner(spec), bl.Learner(spec)
    for learner in (one, other):
        learner.predict()
    one.observe(0, [0.5, 0.5, 0.5])
    assert not other.predict().x.any()
    assert one.predict().x.any()
    assert not base.z.any()


def test_a_base_that_remembers_without_save_has_no_snapshot() -> None:
    class Forgetful:
        def start(self) -> list[float]:
            self.heard: list[Array] = []
            return [0.0, 0.0]

        def update(self, cost: Array, lag: int, open_lags: int) -> Array:
            self.heard.append(cost)
            return -cost

    learner = bl.Learner(bl.FirstOrder(Forgetful()))
    learner.predict()
    assert bl.Learner.restore(learner.snapshot(), learner.spec).rounds == 1
    learner.observe(0, [1.0, -2.0])
    assert learner.predict().x.tolist() == [-1.0, 2.0]
    with pytest.raises(SnapshotError, match=r"Forgetful has no save\(\) and load"):
        learner.snapshot()


def test_bad_starts_are_refused() -> None:
    class Nowhere(AdaGrad):
        def start(self) -> Array:
            return np.array([np.nan])

    with pytest.raises(SpecError, match=r"Nowhere\.start must return finite numbers"):
        bl.Learner(bl.FirstOrder(Nowhere(1)))


# --- Whole runs ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "composition", [WIDE, VALUES, MEANS, PAIRS, USER_SET], ids=lambda c: c.name
)
def test_a_refused_event_is_named_and_undoes_the_run(composition: Any) -> None:
    answers = composition.answers()
    learner = composition.learner()
    Drive(composition, answers)(learner, events(20, cancel=False))
    rows = answers.copy()
    rows[23] = np.nan
    before = learner.snapshot()
    cases: list[tuple[list[int], type[Exception], str]] = [
        ([20, 21, 23], UnknownTicket, "event 2: the next prediction is ticket 22, .* says 23"),
        ([20, 21, 21], UnknownTicket, "event 2: the next prediction is ticket 22, .* says 21"),
        ([20, ~20, 21, ~20], AlreadyObserved, "event 3: ticket 20 was answered"),
        ([20, ~22], UnknownTicket, "event 1: ticket 22 was never handed out"),
        ([20, 21, 22, 23, ~23], BadFeedback, "event 4: the answer to ticket 23 is not finite"),
        ([*range(20, 61), ~60], UnknownTicket, "event 41: ticket 60 has no row in feedback"),
    ]
    for timeline, error, message in cases:
        with pytest.raises(error, match=message):
            learner.replay(timeline, rows)
        assert learner.snapshot() == before
    assert learner.predict().ticket == 20


@pytest.mark.parametrize(
    "composition", [WIDE, VALUES, MEANS, PAIRS, USER_SET], ids=lambda c: c.name
)
def test_a_run_goes_on_where_the_learner_stands(composition: Any) -> None:
    life, answers = events(cancel=False), composition.answers()
    whole, parts = composition.learner(), composition.learner()
    plays = whole.replay(codes(life), answers)
    assert plays.shape == (60, *whole.predict().x.shape)
    whole = composition.learner()
    whole.replay(codes(life), answers)
    pieces = [
        parts.replay(codes(life[:50]), answers),
        parts.replay(codes(life[50:80]), answers),
        parts.replay(codes(life[80:]), answers, keep=True),
    ]
    assert np.concatenate(pieces).tobytes() == plays.tobytes()
    assert parts.snapshot() == whole.snapshot()
    last = composition.learner().replay(codes(life), answers, keep=False)
    assert last.tobytes() == plays[-1:].tobytes()
    assert last.shape == plays[-1:].shape


def test_a_run_along_a_timeline_leaves_open_what_was_never_answered() -> None:
    timeline = bl.Timeline.from_intervals([0.0, 1.0, 2.0, 3.0], [2.5, None, 3.5, np.inf])
    learner = WIDE.learner()
    learner.replay(timeline, WIDE.answers())
    assert (learner.open, learner.report().observed) == (2, 2)
    assert learner.report().total_delay == timeline.total_delay
    learner.observe(1, [0.1, 0.1, 0.1])
    learner.observe(3, [0.1, 0.1, 0.1])


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


@pytest.mark.compiled
def test_a_run_that_a_users_part_interrupts_leaves_no_trace() -> None:
    calls: list[None] = []

    def project(v: Array) -> Array:
        calls.append(None)
        if len(calls) == 40:
            raise KeyboardInterrupt
        return v / max(1.0, float(np.linalg.norm(v)))

    spec = bl.FirstOrder(bl.PFTRL(bl.ConvexSet(2, project, 2.0), bl.rates.Tight(1.0)))
    answers = np.full((60, 2), 0.5)
    learner, other = bl.Learner(spec), bl.Learner(spec)
    for each in (learner, other):
        each.predict()
        each.observe(0, answers[0])
    before = learner.snapshot()
    rest = np.concatenate([np.arange(1, 60), ~np.arange(1, 60)])
    calls.clear()
    with pytest.raises(KeyboardInterrupt):
        learner.replay(rest, answers)
    assert learner.snapshot() == before
    assert learner.replay(rest, answers).tobytes() == other.replay(rest, answers).tobytes()


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
