"""A capacity: which tickets are tracked, what their answers weigh, and what that is good for."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import belated as bl
import naive_capacity as slow
from belated.problem import BaseName, RateName
from capacities import CASES, Tracked
from compositions import SEED, Drive, codes, events
from test_theorems import SLACK, adversaries, linear_regret, patterns, quick

BASE = bl.PFTRL(bl.Ball(2), bl.rates.Tight(1.0))
INNER = bl.FirstOrder(BASE)
COST = np.array([0.6, 0.0])
wrong: Any = bl


COMPILED = (0, 8)
CHOSEN = [
    pytest.param(each, id=each.name, marks=[pytest.mark.compiled] * (i in COMPILED))
    for i, each in enumerate(CASES)
]
every = pytest.mark.parametrize("case", CHOSEN)
every_array = pytest.mark.parametrize(
    "case",
    [chosen for chosen, each in zip(CHOSEN, CASES, strict=True) if each.answer != "function"],
)
plain = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


# --- One algorithm, many ways to run it ----------------------------------------------------------


@plain
def test_agrees_with_the_slow_version(case: Tracked) -> None:
    answers, life = case.answers(), events()
    fast, patient = case.learner(), case.reference()
    ours = Drive(case, answers)(fast, life)
    theirs = Drive(case, answers)(patient, life)
    assert ours.used == theirs.used
    scale = float(np.abs(np.array(theirs.plays)).max())
    np.testing.assert_allclose(ours.plays, theirs.plays, rtol=1e-9, atol=1e-9 * scale)
    report, counters = fast.report(), patient.counters()
    for name in ("rounds", "observed", "skipped", "cancelled", "open", "late", "total_delay"):
        assert getattr(report, name) == getattr(counters, name), name
    assert report.max_backlog == counters.max_backlog
    assert report.skipped > 0
    assert report.rate == pytest.approx(patient.rate, rel=1e-9)
    assert report.certificate is None
    assert "an average" in report.certificate_note


@every_array
def test_batch_is_live_bit_for_bit(case: Tracked) -> None:
    life, answers = events(cancel=False), case.answers()
    live = case.learner()
    plays = Drive(case, answers)(live, life).plays
    batch = case.learner()
    assert batch.replay(codes(life), answers).tobytes() == np.array(plays).tobytes()
    assert batch.snapshot() == live.snapshot()


@every_array
def test_a_game_is_a_life(case: Tracked) -> None:
    """Linear losses that are given: what a game plays, a learner plays that is told the same."""
    rounds, k = 70, case.row.dim
    rng = np.random.default_rng(3)
    rows = rng.uniform(-1.0, 1.0, (rounds, k)) / math.sqrt(k)
    waits = [rng.choice([0, 1, 4, 30, rounds]) for _ in range(rounds)]
    timeline = bl.Timeline.from_delays(waits)
    losses = bl.losses.Linear(bl.losses.Given(rows))
    run = bl.play(case.spec(), bl.Game(losses, timeline), SEED, record="plays")
    learner = case.learner()
    assert run.plays is not None
    plays = run.plays.reshape(rounds, -1, k)
    values = np.einsum("tjk,tk->tj", plays, rows)
    told = rows if case.answer == "gradient" else values
    again = learner.replay(timeline, told)
    np.testing.assert_allclose(again.reshape(plays.shape), plays, rtol=1e-12, atol=1e-12)
    if case.answer == "gradient":
        assert again.tobytes() == run.plays.tobytes()
    assert run.report == learner.report()


# --- What is tracked -----------------------------------------------------------------------------


def tracked(learner: bl.Learner) -> list[int]:
    """Return the tickets that still wait for an answer."""
    return sorted(learner._player.tickets.answerable())


@pytest.mark.parametrize(("tickets", "known"), [(1, None), (7, None), (40, None), (12, 500)])
def test_no_more_tickets_are_tracked_than_may_be(tickets: int, known: int | None) -> None:
    """However long answers stay away; memory and snapshots stay small."""
    learner = bl.Learner(bl.Capacity(INNER, tickets, known), 3)
    for _ in range(3000):
        learner.predict()
        assert learner.open <= tickets
    assert learner._player.tickets.capacity <= max(64, 4 * tickets)
    assert len(learner.snapshot()) <= 2000 + 60 * tickets
    assert learner.report().skipped == 3000 - learner.open


# --- Snapshots that lie --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("known", "field", "value"),
    [
        (None, "wrapper.chance", 9.0),
        (None, "wrapper.ahead", 32.0),
        (None, "wrapper.extra", 40.0),
        (None, "tickets.weight", -1.0),
        (None, "tickets.weighted_arrivals", -1.0),
        (300, "wrapper.chance", 1.0),
        (300, "wrapper.extra", 1.0),
    ],
)
def test_weights_that_cannot_be_are_refused(known: int | None, field: str, value: float) -> None:
    learner = bl.Learner(bl.Capacity(INNER, 8, known), 2)
    for t in range(100):
        learner.predict()
        learner.observe(max(0, t - 9), COST)
    state = learner._player.state()
    learner._player.check(state)
    with pytest.raises(bl.errors.SnapshotError):
        learner._player.check({**state, field: value})


# --- The theorem ---------------------------------------------------------------------------------

KINDS: list[tuple[BaseName, RateName, int, int | None]] = [
    ("pftrl", "paper", 2, None),
    ("pftrl", "tight", 9, None),
    ("omd", "gradient", 9, None),
    ("pftrl", "tight", 32, 16),
]


@pytest.mark.parametrize(("base", "rate", "tickets", "known"), KINDS)
def test_the_bound_on_average(
    base: BaseName, rate: RateName, tickets: int, known: int | None
) -> None:
    """Regret against the best fixed play, averaged over seeds, on every kind of delays."""
    problem, tight = bl.Problem(bl.Ball(2), 1.0), 0.0
    words: dict[str, Any] = {"base": base, "rate": rate, "capacity": tickets, "backlog": known}
    every_kind = patterns(40, 41)
    for name in ("uniform", "batch", "pareto", "all at the end", "newest first", "lost"):
        timeline = every_kind[name]
        bound = problem.bound(timeline, **words)
        for adversary in adversaries(2, 1.0, 42).values():
            regrets = []
            for seed in range(3):
                record = quick(problem.learner(**words), timeline, adversary, seed)
                regrets.append(linear_regret(problem.domain, record.plays, record.gradients))
            assert np.mean(regrets) <= bound.total
            tight = max(tight, float(np.mean(regrets)) / bound.total)
    assert tight > 0.15


@given(
    st.lists(st.integers(0, 20), min_size=1, max_size=30),
    st.integers(1, 9),
    st.booleans(),
    st.integers(0, 2**32),
    st.randoms(use_true_random=False),
)
def test_every_step_of_the_proof_that_is_no_average(
    delays: list[int], tickets: int, coins: bool, seed: int, draw: Any
) -> None:
    """Weighted regret against every play, by what happened: learning, and pairs of answers.

    D^2 / (2 eta_N) + sum_n eta_n |c_n| (|c_n| / 2 + sum of |c_j| over the j that were open then and
    answered later) bounds the sum of <c_n, x_s - u>; on average the c_j become the weights of then.
    """
    timeline = bl.Timeline.from_delays(delays)
    learner = bl.Learner(bl.Capacity(INNER, tickets, 3 if coins else None), seed)
    plays, open_since = {}, {}
    paid, total, learned = 0.0, np.zeros(2), 0.0
    costs: list[float] = []
    steps: list[float] = []
    for event in timeline.events[: timeline.rounds + int(timeline.observed.sum())]:
        if event >= 0:
            _, plays[event] = learner.predict()
            open_since[event] = len(costs)
            continue
        ticket = ~int(event)
        gradient = np.array([draw.choice([-1.0, 1.0, 0.3]), 0.0])
        if ticket not in plays or not learner.observe(ticket, gradient):
            continue
        p = slow.chance_of_coin(tickets, 3)
        w = 1 / p if coins else slow.weight(tickets, ticket, learner.rounds - 1)
        rate = learner.report().rate
        assert rate is not None
        assert not steps or rate <= steps[-1]
        between = slice(open_since[ticket], len(costs))
        size = float(w * np.linalg.norm(gradient))
        went = sum(e * c for e, c in zip(steps[between], costs[between], strict=True))
        learned += size * went
        learned += rate * size**2 / 2
        costs.append(size)
        steps.append(rate)
        paid += w * float(gradient @ plays[ticket])
        total += w * gradient
    if steps:
        regret = paid + float(np.linalg.norm(total))
        assert regret <= SLACK * (4.0 / (2 * steps[-1]) + learned)


def test_a_fixed_step_has_the_theorem_too() -> None:
    late = bl.Timeline.from_delays([9] * 200)
    base = bl.PFTRL(bl.Ball(2), bl.rates.Constant(0.05, 1.0))
    for result in (bl.bounds.theorem_e_1, bl.bounds.theorem_e_2):
        kind: Any = base if result is bl.bounds.theorem_e_1 else bl.OMD(base.domain, base.rate)
        bound = bl.bounds.capacity(late, 10**6, result, base=kind)
        d_tot = late.total_delay
        assert bound.total == pytest.approx(4.0 / 0.1 + 0.05 * (100 + d_tot))
        assert bl.bounds.capacity(late, 8, result, base=kind).delay > bound.delay
    with pytest.raises(bl.errors.SpecError, match="fixed before"):
        bl.bounds.capacity(
            late, 8, bl.bounds.theorem_e_1, base=bl.PFTRL(base.domain, bl.rates.Tight(1.0))
        )


def test_bounds_are_those_of_the_learner_inside_without_a_limit() -> None:
    late = bl.Timeline.from_delays([9] * 300)
    for result in (bl.bounds.tight, bl.bounds.corollary_5_3, bl.bounds.gradient_adaptive):
        known: Any = {"lipschitz": 2.0, "diameter": 3.0}
        plain_bound = result(late, **known)
        whole = bl.bounds.capacity(late, 10**7, result, **known)
        assert whole.total == pytest.approx(plain_bound.total)
        assert (whole.skipped, whole.trivial) == (0.0, plain_bound.trivial)
        totals = [
            bl.bounds.capacity(late, c, result, **known).total for c in (1, 2, 4, 8, 16, 64, 256)
        ]
        assert totals == sorted(totals, reverse=True)
        assert bl.bounds.capacity(late, 1, result, **known).vacuous
        coins = bl.bounds.capacity(late, 80, result, backlog=9, **known)
        assert coins.total == pytest.approx(plain_bound.total)


@pytest.mark.parametrize("feedback", ["value", "two-values"])
def test_bounds_for_values_need_a_backlog_and_are_vacuous_for_long(feedback: Any) -> None:
    problem = bl.Problem(bl.Ball(2), 1.0, magnitude=1.0)
    late = bl.Timeline.from_delays([9] * 100)
    with pytest.raises(bl.errors.SpecError, match="give backlog="):
        problem.bound(late, feedback, capacity=20)
    bound = problem.bound(late, feedback, capacity=20, backlog=9)
    assert bound.vacuous
    assert "exploration directions" in bound.note
    plain_bound = problem.bound(late, feedback)
    assert bound.total > plain_bound.total
    spec = problem.learner(feedback, capacity=20, backlog=9)
    run = bl.play(spec, bl.Game(bl.losses.Linear(bl.losses.Random(2)), late))
    assert run.bound is not None
    assert run.bound.name == bound.name
    assert run.regret is not None
    assert run.regret <= bound.total


# --- Problem, words and refusals -----------------------------------------------------------------


def test_a_problem_chooses_a_learner_with_a_capacity() -> None:
    problem = bl.Problem(bl.Ball(2), 1.0, magnitude=2.0)
    pftrl = bl.PFTRL(bl.Ball(2), bl.rates.DelayAdaptive(1.0))
    tight = bl.PFTRL(bl.Ball(2), bl.rates.Tight(1.0))
    assert problem.learner(capacity=7) == bl.Capacity(bl.FirstOrder(tight), 7)
    assert problem.learner(capacity=7, rate="paper") == bl.Capacity(bl.FirstOrder(pftrl), 7)
    values = problem.learner("value", capacity=7, backlog=3)
    assert values == bl.Capacity(bl.OnePoint(pftrl, 2.0), 7, 3)
    late = bl.Timeline.from_delays([3] * 50)
    run = bl.play(problem.learner(capacity=7), bl.Game(bl.losses.Linear(bl.losses.Random(2)), late))
    assert run.bound == problem.bound(late, capacity=7)
    assert run.bound is not None
    assert run.bound.name == "Capacity of 7 over Corollary 5.3 with the tight rate"
    assert run.bound.total < 0.7 * problem.bound(late, capacity=7, rate="paper").total
    said = problem.explain(capacity=7)
    assert said.startswith("Capacity of 7 over Corollary 5.3 with the tight rate applies, because")
    assert "on average" in said
    assert "No theorem" in problem.explain("function", capacity=7)


REFUSED: list[tuple[Any, str]] = [
    (lambda: bl.Capacity(INNER, 0), "Capacity: tickets must be at least 1, got 0"),
    (lambda: bl.Capacity(INNER, 2**31 + 1), "tickets must be at most"),
    (lambda: wrong.Capacity(INNER, 2.5), "tickets must be"),
    (lambda: wrong.Capacity(bl.Skip(INNER), 5), "got Skip; there is one wrapper per learner"),
    (lambda: wrong.Capacity(None, 5), "Capacity: wraps FirstOrder"),
    (lambda: bl.Capacity(bl.FirstOrder(bl.Portfolio([BASE])), 5), "Portfolio compares points"),
    (
        lambda: bl.Capacity(
            bl.FirstOrder(bl.PFTRL(bl.Ball(2), bl.rates.StronglyConvex(0.5, 1.0))), 5
        ),
        "rates.StronglyConvex counts answers",
    ),
    (lambda: bl.Problem(bl.Ball(2), 1.0).learner(skip=True, capacity=3), "choose one"),
    (lambda: bl.Problem(bl.Ball(2), 1.0).learner(backlog=3), "give capacity="),
    (lambda: bl.Problem(bl.Ball(2), 1.0, 0.5).learner(capacity=3), "StronglyConvex counts"),
    (
        lambda: bl.bounds.capacity(
            bl.Timeline.from_delays([1]), 3, bl.bounds.corollary_5_4, lipschitz=1.0
        ),
        "a capacity is not implemented for corollary_5_4",
    ),
]


@pytest.mark.parametrize(("make", "why"), REFUSED, ids=[why for _, why in REFUSED])
def test_what_cannot_be_is_refused_in_words(make: Any, why: str) -> None:
    with pytest.raises(bl.errors.SpecError, match=why):
        make()


def test_batches_pass_over_keys_that_were_lost_as_single_answers_do() -> None:
    spec = bl.Capacity(bl.FirstOrder(bl.PFTRL(bl.Ball(2), bl.rates.Tight(1.0))), 2)
    one, many = bl.Learner(spec), bl.Learner(spec)
    for learner in (one, many):
        for number in range(600):
            learner.predict(key=f"k{number}")
    names = ["k0", "k590", "k599", "never"]
    used = [one.observe(name, [1.0, 0.0]) for name in names]
    assert many.observe_many(names, [[1.0, 0.0]] * 4).tolist() == used
    assert many.snapshot() == one.snapshot()
    with pytest.raises(bl.errors.UnknownTicket):
        many.observe_many([-1], [[1.0, 0.0]])
