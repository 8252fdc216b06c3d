"""Giving up and forgetting: what ``Deadline`` and ``forget`` do, and what that is good for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import belated as bl
from belated.reductions import Wrapper
from conftest import shortened
from held import held
from test_leader import surrogate_regret
from test_theorems import SLACK, adversaries, patterns, quick

INNER = bl.FirstOrder(bl.OMD(bl.Ball(2), bl.rates.Tight(1.0)))
COST = np.array([0.6, 0.0])


def after(rounds: int, wrapper: Wrapper, lost: int = 1) -> bl.Learner:
    """Return a learner that got an answer at once, but for every ``lost``-th ticket."""
    learner = bl.Learner(wrapper)
    for t in range(rounds):
        learner.predict()
        if t % lost:
            learner.observe(t, COST)
    return learner


# --- When it gives up ----------------------------------------------------------------------------


def test_giving_up_is_cancelling_in_time() -> None:
    """A deadline does what a user does who cancels after so many rounds, bit for bit."""
    rng = np.random.default_rng(1)
    wait, rounds = 6, 300
    delays = rng.integers(0, 12, rounds)
    ours = bl.Learner(bl.Deadline(INNER, wait))
    by_hand = bl.Learner(INNER)
    for t in range(rounds):
        if t > wait and delays[t - wait - 1] > wait:
            by_hand.cancel(t - wait - 1)
        assert ours.predict().x.tobytes() == by_hand.predict().x.tobytes()
        for s in np.flatnonzero(np.arange(t + 1) + delays[: t + 1] == t).tolist():
            gradient = rng.standard_normal(2) / 4.0
            if ours.observe(s, gradient):
                by_hand.observe(s, gradient)
    a, b = ours.report(), by_hand.report()
    assert a.skipped == b.cancelled > 0
    assert a.late > 0
    for name in ("observed", "open", "total_delay", "max_delay", "max_backlog", "rate"):
        assert getattr(a, name) == getattr(b, name), name
    assert a.certificate == b.certificate


# --- Forgetting ----------------------------------------------------------------------------------


@pytest.mark.parametrize("forget", [0, 1, 5])
def test_a_ticket_is_forgotten_so_many_predictions_after_giving_up(forget: int) -> None:
    learner = bl.Learner(bl.Deadline(INNER, 2, forget=forget))
    for _ in range(4 + forget):  # tickets 0 to 2, the prediction that gives up, and so many more
        if learner.rounds > 3:
            twin = bl.Learner.restore(learner.snapshot())
            assert twin.observe(0, COST) is False
        learner.predict()
    before = learner.snapshot()
    for word in (lambda: learner.observe(0, COST), lambda: learner.cancel(0)):
        with pytest.raises(
            bl.errors.UnknownTicket, match="ticket 0 is forgotten: it was given up on"
        ):
            word()
    assert learner.snapshot() == before
    assert learner.report().late == 0


SMALLEST = 64
"""Entries of the smallest table."""


def known(learner: bl.Learner) -> int:
    """Return how many tickets are open or not forgotten yet."""
    return len(learner._player.tickets.answerable())


@pytest.mark.compiled
@pytest.mark.needs_compiler
@pytest.mark.parametrize(("forget", "most"), [(0, SMALLEST), (100, 4 * SMALLEST)])
def test_memory_is_bounded_when_every_answer_is_lost(forget: int, most: int) -> None:
    """After 10^5 lost answers: a table for what is open or not forgotten yet, and no more."""
    spec = bl.Deadline(INNER, 20, forget=forget)
    live, batch = bl.Learner(spec), bl.Learner(spec)
    sizes = []
    for rounds in (10_000, 100_000):
        while live.rounds < rounds:
            live.predict()
        sizes.append((held(live), len(live.snapshot())))
    assert live.report().skipped == 100_000 - 21
    assert known(live) == 21 + forget
    assert live._player.tickets.capacity <= most
    assert sizes[0][0] == sizes[1][0] <= 16 * most + 1000
    assert sizes[1][1] <= 16 * most + 2000
    batch.replay(np.arange(100_000), [], keep=False)
    assert batch.snapshot() == live.snapshot()
    assert held(batch) <= 16 * 1024 + 1000  # the smallest table of a run


@pytest.mark.compiled
@pytest.mark.needs_compiler
def test_skip_needs_memory_for_open_tickets_only() -> None:
    """One answer in ten is lost: ten thousand of them, of which some hundreds are still open."""
    learner = after(100_000, bl.Skip(INNER, forget=0), lost=10)
    assert learner.report().skipped > 9_000
    assert known(learner) == learner.open < 1_000
    assert learner._player.tickets.capacity <= 4 * learner.open
    assert after(100_000, bl.Skip(INNER), lost=10)._player.tickets.capacity > 10_000


@given(
    st.lists(st.sampled_from(["predict", "predict", "observe", "cancel"]), max_size=80),
    st.integers(0, 5),
    st.integers(0, 5),
    st.booleans(),
    st.randoms(use_true_random=False),
)
def test_forgetting_changes_nothing_but_what_is_known(
    life: list[str], wait: int, forget: int, skips: bool, draw: Any
) -> None:
    """Plays and counts are those of a learner that keeps everything, but for late answers."""
    kind = bl.Skip(INNER) if skips else bl.Deadline(INNER, wait)
    short = bl.Skip(INNER, forget) if skips else bl.Deadline(INNER, wait, forget)
    keeps, forgets = bl.Learner(kind), bl.Learner(short)
    for event in life:
        if event == "predict" or not keeps.rounds:
            assert forgets.predict().x.tobytes() == keeps.predict().x.tobytes()
            continue
        ticket = draw.randrange(keeps.rounds)
        found = [outcome(learner, event, ticket) for learner in (keeps, forgets)]
        if ticket < forgets._player.tickets.forgotten:
            assert found[0] in (False, None, bl.errors.AlreadyObserved)
            assert found[1] is bl.errors.UnknownTicket
        else:
            assert found[0] == found[1]
    a, b = keeps.report().to_dict(), forgets.report().to_dict()
    assert b.pop("late") <= a.pop("late")
    assert a == b


def outcome(learner: bl.Learner, event: str, ticket: int) -> Any:
    """Return what an event returns or raises."""
    try:
        return learner.observe(ticket, COST) if event == "observe" else learner.cancel(ticket)
    except bl.BelatedError as error:
        return type(error)


# --- Whole logs and games ------------------------------------------------------------------------


def test_runs_and_games_pass_over_what_is_forgotten() -> None:
    rng = np.random.default_rng(3)
    timeline = bl.Timeline.from_delays(rng.integers(0, 30, 200))
    spec = bl.Deadline(bl.FirstOrder(bl.PFTRL(bl.Ball(2), bl.rates.Tight(1.0))), 8, forget=4)
    rows = rng.standard_normal((200, 2)) / 4.0
    learner = bl.Learner(spec)
    learner.replay(timeline, rows)
    report = learner.report()
    assert 0 < report.late < report.skipped
    game = bl.Game(bl.losses.Linear(rows), timeline)
    run = bl.play(spec, game)
    assert run.report == report
    custom = bl.losses.Custom(
        2, lambda t, x: float(rows[t] @ x), lambda t, x: rows[t], lipschitz=2.0
    )
    slow = bl.play(spec, bl.Game(custom, timeline))
    assert slow.report == report
    assert slow.loss == pytest.approx(run.loss)
    assert run.bound is not None
    assert run.bound.name == "Deadline over Corollary 5.3 with the tight rate"
    assert run.bound == bl.play(bl.Deadline(spec.learner, 8), game).bound


# --- What a deadline is good for -----------------------------------------------------------------


def lost_after_a_change(wrap: Any, rounds: int) -> float:
    """Return what is lost after the costs are reversed half-way, with 10 % of the answers lost."""
    costs = np.zeros((rounds, 2))
    costs[: rounds // 2, 0], costs[rounds // 2 :, 0] = 0.3, -0.3
    timeline = bl.delays.lost(bl.delays.constant(rounds, 0), 0.1, seed=1)
    plays = bl.Learner(wrap).replay(timeline, costs)[rounds // 2 :]
    return float(np.sum(costs[rounds // 2 :] * plays)) + 0.3 * len(plays)


@pytest.mark.compiled
@pytest.mark.needs_compiler
@pytest.mark.parametrize(
    ("words", "lost"),
    [
        pytest.param({}, 30_533, marks=pytest.mark.slow),
        pytest.param({"skip": True}, 5_908, marks=pytest.mark.slow),
        ({"deadline": 100}, 1_173),
    ],
)
def test_the_table_of_the_guide(words: dict[str, Any], lost: int) -> None:
    """Its line for OMD: costs reversed half-way through 200,000 rounds; 60,000 is worst."""
    spec = bl.Problem(bl.Ball(2), lipschitz=1.0).learner("gradient", base="omd", **words)
    assert round(lost_after_a_change(spec, 200_000)) == lost


def test_a_deadline_keeps_the_rate_from_falling_with_what_is_lost() -> None:
    """The same with fewer rounds."""
    worst = 0.6 * 2_000
    waits, skips, expires = (
        lost_after_a_change(wrap, 4_000) for wrap in (INNER, bl.Skip(INNER), bl.Deadline(INNER, 20))
    )
    assert 0.2 * worst < waits <= worst
    assert 2.25 * expires < 1.5 * skips < waits
    rates = [after(rounds, bl.Deadline(INNER, 20), lost=10).report() for rounds in (500, 4500)]
    first, last = (report.rate for report in rates)
    assert first is not None
    assert last == pytest.approx(first / 3.0, rel=0.02)  # 1 / sqrt(t), not 1 / t


# --- The guarantee over strongly convex losses ---------------------------------------------------


@pytest.mark.parametrize("wait", [0, 6])
@pytest.mark.parametrize("base", ["pftrl", "omd", "leader"])
def test_strongly_convex_losses(base: Any, wait: int) -> None:
    """The hardest losses with these gradients: <c_t, x> + (lambda / 2) |x - x_t|^2."""
    problem = bl.Problem(bl.Ball(2), 1.3, curvature=1.3)
    spec = problem.learner("gradient", base, deadline=wait)
    given_up = 0
    for timeline in patterns(shortened(80), 91).values():
        bound = problem.bound(timeline, "gradient", base, deadline=wait)
        for adversary in adversaries(2, 1.3, 92).values():
            record = quick(spec, timeline, adversary)
            regret = surrogate_regret(problem.domain, record.plays, record.gradients, 1.3)
            report = record.learner.report()
            assert regret <= bound.total * SLACK
            assert report.certificate is None or regret <= report.certificate.total * SLACK
            given_up += report.skipped
    assert given_up > 100
