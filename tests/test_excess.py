"""Answers larger than assumed, and answers that nobody saw: what a certificate may still say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import belated as bl
from belated.errors import BadFeedback
from belated.research.rivals import BistritzDoubling, QuanrudKhashabiDoubling
from conftest import examples

BALL = bl.Ball(1)
TIGHT = bl.rates.Tight(1.0)
VALUES = bl.PFTRL(BALL, bl.rates.DelayAdaptive(1.0))


def constantly(gradient: float) -> Any:
    return lambda x: np.array([gradient])


KINDS: list[tuple[str, Any, Any, Any]] = [
    ("gradient", bl.FirstOrder(bl.PFTRL(BALL, TIGHT)), [0.5], [1000.0]),
    ("portfolio", bl.FirstOrder(bl.Portfolio([bl.PFTRL(BALL, TIGHT)])), [0.5], [1000.0]),
    ("box", bl.FirstOrder(bl.OMD(bl.Box(0.0, 4.0), TIGHT)), [0.25], [0.75]),
    ("function", bl.FullInformation(bl.PFTRL(BALL, TIGHT)), constantly(0.5), constantly(1000.0)),
    ("value", bl.OnePoint(VALUES, 1.0), [0.5], [1000.0]),
    ("two values", bl.TwoPoint(VALUES), [0.0, 0.0], [1000.0, 0.0]),
]
WORDS = pytest.mark.parametrize(
    ("spec", "small", "large"), [case[1:] for case in KINDS], ids=[case[0] for case in KINDS]
)


def after_a_skip(spec: Any, small: Any, strict: bool = False, rounds: int = 30) -> bl.Learner:
    """Return a learner that has given up on ticket 0 and has the answers to all others."""
    learner = bl.Learner(bl.Skip(spec), strict=strict)
    learner.predict()
    for t in range(1, rounds):
        learner.predict()
        learner.observe(t, small)
    assert learner.report().skipped == 1
    return learner


@WORDS
def test_a_late_answer_to_a_skipped_ticket_is_counted_before_it_is_dropped(
    spec: Any, small: Any, large: Any
) -> None:
    learner = after_a_skip(spec, small)
    assert not learner.observe(0, large)
    report = learner.report()
    assert (report.excess, report.late, report.observed) == (1, 1, 29)
    usual = after_a_skip(spec, small)
    assert not usual.observe(0, small)
    assert usual.report().excess == 0
    assert usual.predict().x.tolist() == learner.predict().x.tolist()


@WORDS
def test_a_strict_learner_refuses_it(spec: Any, small: Any, large: Any) -> None:
    learner = after_a_skip(spec, small, strict=True)
    before = learner.snapshot()
    with pytest.raises(BadFeedback, match="exceeds the assumed bound"):
        learner.observe(0, large)
    assert learner.snapshot() == before
    assert not learner.observe(0, small)


def test_games_count_it_too() -> None:
    """A game and its own learner, event by event, agree on what was larger than assumed."""
    delays = [40, *(0,) * 59]
    timeline = bl.Timeline.from_delays(delays)
    losses = bl.losses.Linear([[1000.0], *([0.5],) * 59])
    for spec in (
        bl.Skip(bl.FirstOrder(bl.PFTRL(BALL, TIGHT))),
        bl.Skip(bl.FullInformation(bl.PFTRL(BALL, TIGHT))),
        bl.Skip(bl.TwoPoint(VALUES)),
    ):
        report = bl.play(spec, bl.Game(losses, timeline)).report
        assert (report.skipped, report.late, report.excess) == (1, 1, 1)


@pytest.mark.parametrize(
    "spec",
    [QuanrudKhashabiDoubling(BALL, lipschitz=1.0), BistritzDoubling(BALL, 1.0, 1.0)],
    ids=["gradient", "value"],
)
def test_rivals_count_what_they_gave_up_on(spec: Any) -> None:
    """A restart gives up on open tickets."""
    learner = bl.Learner(spec)
    learner.predict()
    for t in range(1, 60):
        learner.predict()
        learner.observe(t, [0.5])
    assert learner.report().skipped
    assert not learner.observe(0, [1000.0])
    assert learner.report().excess == 1


def test_the_certificate_knows_of_it() -> None:
    """The skipped round alone costs 1000 per unit, against 1 that was assumed."""
    learner = bl.Learner(bl.Skip(bl.FirstOrder(bl.PFTRL(BALL, TIGHT))))
    gradients, plays = np.array([1000.0, *(0.0,) * 3000]), []
    for t in range(3001):
        plays.append(learner.predict().x[0])
        if t:
            learner.observe(t, [gradients[t]])
    promised = learner.report().certificate
    assert promised is not None
    learner.observe(0, [1000.0])
    regret = float(gradients @ plays) + abs(float(gradients.sum()))
    report = learner.report()
    assert report.certificate is not None
    assert promised.total < regret <= report.certificate.total
    assert report.certificate.unanswered == 2.0 * 1000.0
    assert "1 gradients exceeded lipschitz" in report.certificate_note


# ---- gradients that nobody saw ------------------------------------------------------------------


def many_rounds(spec: Any, answer: Any, rounds: int = 2000) -> bl.Learner:
    learner = bl.Learner(spec)
    for t in range(rounds):
        learner.predict()
        learner.observe(t, answer)
    return learner


BLIND = bl.FirstOrder(bl.PFTRL(BALL, bl.rates.GradientAdaptive()))


@pytest.mark.parametrize("spec", [BLIND, bl.FirstOrder(bl.Portfolio([BLIND.base] * 2))])  # type: ignore[list-item]
def test_without_lipschitz_an_unanswered_ticket_ends_the_certificate(spec: Any) -> None:
    learner = many_rounds(spec, [1.0])
    assert learner.report().certificate is not None
    ticket, _ = learner.predict()
    for what in ("open", "cancelled"):
        report = learner.report()
        assert report.certificate is None
        assert "lipschitz was not given" in report.certificate_note
        assert "open, skipped or cancelled (1)" in report.certificate_note
        assert getattr(report, what) == 1
        if what == "open":
            learner.cancel(ticket)


def test_a_lipschitz_that_did_not_hold_bounds_nothing_unseen() -> None:
    learner = many_rounds(bl.FirstOrder(bl.PFTRL(BALL, TIGHT)), [1.5])
    assert learner.report().certificate is not None
    ticket, _ = learner.predict()
    report = learner.report()
    assert report.certificate is None
    assert "exceeded lipschitz, so nothing bounds" in report.certificate_note
    learner.observe(ticket, [1.0])
    assert learner.report().certificate is not None


def test_of_whole_losses_the_gradient_at_the_play_is_not_seen() -> None:
    """(3 x)^2 / 2 at the current point says nothing about its slope at the point played."""
    blind = bl.FullInformation(bl.PFTRL(BALL, bl.rates.GradientAdaptive()))
    learner = many_rounds(blind, constantly(1.0))
    assert learner.report().certificate is not None
    first, _ = learner.predict()
    second, _ = learner.predict()
    learner.observe(second, constantly(1.0))
    learner.observe(first, constantly(1.0))
    report = learner.report()
    assert report.certificate is None
    assert "nothing bounds the gradients at the points played" in report.certificate_note


@examples(20)
@given(
    lipschitz=st.none() | st.floats(0.1, 3.0),
    skip=st.booleans(),
    seed=st.integers(0, 10_000),
    loud=st.floats(0.0, 0.02),
)
def test_certificates_hold_in_lives_with_surprises(
    lipschitz: float | None, skip: bool, seed: int, loud: float
) -> None:
    """Gradients of any size; open, skipped and cancelled tickets have theirs too.

    A lipschitz that does not hold is only found out by an answer, so until then the promise is
    about gradients that keep to it.
    """
    spec: Any = bl.FirstOrder(bl.PFTRL(BALL, bl.rates.GradientAdaptive(lipschitz)))
    learner = bl.Learner(bl.Skip(spec) if skip else spec)
    rng = np.random.default_rng(seed)
    rounds = 400
    gradients = rng.choice([-1.0, 1.0], rounds, p=[0.2, 0.8]) * rng.uniform(0.5, 1.0, rounds)
    gradients[rng.random(rounds) < loud] *= 100.0
    plays, waiting = np.zeros(rounds), []
    for t in range(rounds):
        plays[t] = learner.predict().x[0]
        waiting.append(t)
        while waiting and rng.random() < 0.7:
            ticket = waiting.pop(int(rng.integers(len(waiting))))
            if rng.random() < 0.01:
                learner.cancel(ticket)
            else:
                learner.observe(ticket, [gradients[ticket]])
        if t % 40 == 39:
            report = learner.report()
            so_far = slice(0, t + 1)
            loss = float(gradients[so_far] @ plays[so_far])
            regret = loss + abs(float(gradients[so_far].sum()))
            keeps = lipschitz is not None and np.abs(gradients[so_far]).max() > lipschitz
            if report.certificate is not None and not (keeps and not report.excess):
                assert regret <= report.certificate.total * (1.0 + 1e-9)
