"""Intervals around predictions: the theorem, the slow version, late labels, snapshots."""

from __future__ import annotations

import copy
import json
import math
import pickle
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import belated as bl
from belated import sealed
from belated.core.intervals import LENGTH, Issued, Threshold, Window, limit_of, size_of
from belated.errors import (
    AlreadyObserved,
    BadFeatures,
    BadFeedback,
    BadKey,
    BusyError,
    ClockError,
    SnapshotError,
    SpecError,
    UnknownTicket,
)
from belated.limits import HUGE_LABEL
from belated.models.intervals.report import IntervalsReport
from conftest import examples, shortened
from naive_intervals import NaiveIntervals, NaiveThreshold

SLACK = 1e-9


def made(loss: Any = "squared", coverage: float = 0.9, **more: Any) -> bl.Intervals:
    """Return intervals over a small model."""
    return bl.Intervals(bl.LinearModel(loss, **({"bits": 4} | more)), coverage)


def play(
    intervals: Any, rounds: int, seed: int = 0, scale: float = 1.0, lost: int = 7
) -> list[Any]:
    """Play a random game in which some labels never come; return all that was predicted."""
    rng, waiting, found = np.random.default_rng(seed), [], []
    for number in range(rounds):
        x = rng.normal(size=3)
        label = scale * float(x[0] + (1.0 + abs(x[1])) * rng.normal())
        answer = intervals.predict(x.tolist())
        found.append(tuple(answer))
        if number % lost:
            waiting.append((answer[0], label))
        while waiting and rng.random() < 0.48:
            intervals.observe(*waiting.pop(int(rng.integers(len(waiting)))))
    return found


# --- The theorem ---------------------------------------------------------------------------------

SCORES: dict[str, Callable[[float, float], float]] = {
    "just below": lambda q, _: math.nextafter(max(q, 0.0), 0.0),
    "just above": lambda q, _: math.nextafter(max(q, 0.0), math.inf),
    "at it": lambda q, _: max(q, 0.0),
    "nothing": lambda q, _: 0.0,
    "anything": lambda _, any_score: any_score,
    "far above": lambda q, any_score: max(q, 0.0) + any_score,
}
"""What one who sees the threshold answers, given one more number; any where there is none."""

MOVES = st.one_of(
    st.tuples(st.just("issue"), st.floats(-5.0, 50.0)),
    st.tuples(
        st.sampled_from(list(SCORES)),
        st.integers(0, 50),
        st.floats(0.0, 8.0, allow_subnormal=False),
    ),
)


def judged(issued: float, score: float, *, at_ends: bool) -> bool:
    """Tell whether a score is a miss, by one who has his will where a rounding may decide.

    Ends are rounded, so that a label which equals one may have a score at the threshold or above.
    """
    if issued < 0.0:
        return True
    if issued <= score <= math.nextafter(issued, math.inf):
        return at_ends
    return score > issued


def check_limits(rule: Threshold) -> None:
    """Demand what the theorem says."""
    low, high = rule.limits()
    slack = SLACK * (1.0 + rule.arrived)
    assert low - slack <= rule.owed <= high + slack
    floor = min(rule.floors)
    if floor == math.inf:  # nothing counts yet
        assert rule.owed == 0.0
        return
    if floor > 0.0:
        reach = rule.largest / floor + max(rule.alpha, 1.0 - rule.alpha) * rule.most_open
        assert abs(rule.owed) <= reach * (1.0 + SLACK)


@given(st.lists(MOVES, min_size=1, max_size=120), st.sampled_from([0.1, 0.02, 0.5, 0.9]))
@examples(40)
def test_what_is_owed_stays_within_the_limits(moves: list[Any], alpha: float) -> None:
    """Scores, delays, order and forecasts are anybody's who sees the thresholds."""
    rule, slow, waiting = Threshold(alpha), NaiveThreshold(alpha), []
    for move in moves:
        if move[0] == "issue":
            waiting.append(rule.issue(move[1]))
            assert waiting[-1] == slow.issue(move[1])
        elif waiting:
            issued = waiting.pop(move[1] % len(waiting))
            score = SCORES[move[0]](issued, move[2]) if issued < math.inf else move[2]
            is_missed = judged(issued, score, at_ends=move[2] < 4.0)
            rule.learn(issued, score, len(waiting) + 1, is_missed)
            slow.learn(issued, score, len(waiting) + 1, is_missed)
            check_limits(rule)
    if not rule.arrived:
        return
    count, heard = rule.arrived, rule.heard
    assert (count, heard) == (len(slow.counted(heard)), len(slow.arrivals))
    assert (rule.owed, rule.step) == (slow.owed(heard), slow.step(heard))
    found = rule.limits()
    for least in range(count):
        if slow.floor(least) > 0.0:
            for level in {0.0, rule.largest, *(limit_of(size) for size in rule.sizes)}:
                low, high = slow.limits(least, level)
                assert low - SLACK * count <= rule.owed <= high + SLACK * count
                if (least + 1) & least == 0 and level == rule.largest:
                    assert found.low >= low - SLACK * count
                    assert found.high <= high + SLACK * count


@pytest.mark.parametrize("delay", [0, 50, 300])
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_an_adversary_cannot_keep_the_share_away(delay: int, seed: int) -> None:
    """It misses whenever it likes, in bursts that it holds back for as long as it may."""
    rng, rule, waiting = np.random.default_rng(seed), Threshold(0.1), []
    for number in range(12_000):
        waiting.append(rule.issue(float(rng.uniform(0.0, 2.0))))
        if len(waiting) > delay:
            rising = (number // (2 * delay + 40)) % 2
            place = int(np.argmin(waiting) if rising else np.argmax(waiting))
            issued = waiting.pop(place)
            score = float(rising)
            rule.learn(issued, score, len(waiting) + 1, score > issued)
            if number % 97 == 0:
                check_limits(rule)
    check_limits(rule)
    low, high = rule.limits()
    assert max(-low, high) < 0.1 * rule.arrived


@pytest.mark.parametrize("delay", [0, 50, 300])
def test_scores_that_swing_with_the_delay_are_covered(delay: int) -> None:
    """The rule that judges by the threshold of the day misses nearly half of them."""
    rng, period = np.random.default_rng(delay), max(2 * delay, 100)
    rounds = 20_000
    high = np.arange(rounds) // (period // 2) % 2 == 1
    scores = np.where(high, 10.0, 1.0) * rng.uniform(0.5, 1.0, size=rounds)
    rule, issued, current, at_issue, common = Threshold(0.1), [], 0.0, [], 0
    for number in range(rounds + delay):
        if number < rounds:
            issued.append(rule.issue(9.0))  # what a model of scores would say
            at_issue.append(current)
        if number >= delay:
            ticket = number - delay
            score = float(scores[ticket])
            waiting, is_missed = min(delay, rounds - ticket) + 1, score > issued[ticket]
            rule.learn(issued[ticket], score, waiting, is_missed)
            common += score > at_issue[ticket]
            current += 3.0 * ((score > current) - 0.1)
    assert rule.missed / rounds <= 0.105
    assert common / rounds > 0.4 or delay == 0


def test_zeros_alone_promise_nothing_more_than_that_they_are_covered() -> None:
    """There is no unit as yet to take steps in."""
    rule = Threshold(0.1)
    for _ in range(101):  # the first says nothing
        rule.learn(rule.issue(3.0), 0.0, 1, False)
    assert rule.limits() == (-10.0, 90.0)
    assert rule.issue(3.0) == 0.0
    for _ in range(5000):
        issued = rule.issue(3.0)
        rule.learn(issued, 1.0, 1, issued < 1.0)
        check_limits(rule)


@given(st.floats(1e-300, 1e300))
def test_a_score_is_below_the_limit_of_its_size(score: float) -> None:
    """And not below three quarters of it."""
    limit = limit_of(size_of(score))
    assert 0.75 * limit <= score < limit


def test_the_worst_window_is_that_of_all_windows() -> None:
    """Compared with sums over all of them."""
    rng, window, slow = np.random.default_rng(0), Window(), NaiveThreshold(0.1)
    for number in range(3500):
        is_missed = bool(rng.random() < 0.1 + 0.3 * (1200 < number < 1900))
        window.add(number, is_missed)
        slow.learn(0.0, float(is_missed), 1, is_missed)
        if number < LENGTH - 1:
            assert window.worst == 0
    assert window.worst == slow.worst(LENGTH)


LABELS: dict[str, Callable[[float, float, float], float]] = {
    "low": lambda low, high, _: low,
    "high": lambda low, high, _: high,
    "below": lambda low, high, _: math.nextafter(low, -math.inf),
    "above": lambda low, high, _: math.nextafter(high, math.inf),
    "value": lambda low, high, _: 0.5 * (low + high),
    "any": lambda low, high, any_label: any_label,
}
"""What one who sees an interval answers, given one more number."""


@given(
    st.lists(
        st.tuples(st.sampled_from(list(LABELS)), st.floats(-3.0, 3.0), st.integers(0, 9)),
        min_size=20,
        max_size=80,
    ),
    st.sampled_from(["squared", "absolute", "poisson"]),
    st.sampled_from([0.0, 1e3, 1e9]),
    st.integers(0, 5),
)
@examples(25)
def test_labels_are_judged_by_the_ends_as_they_were_issued(
    moves: list[Any], loss: str, shift: float, delay: int
) -> None:
    """Whoever checks them alone counts the same misses, and the theorem holds.

    Only a threshold below 0 is a miss where the label is the point that was issued.
    """
    intervals, waiting, missed, points = made(loss, 0.7), [], 0, 0
    for kind, number, place in moves:
        waiting.append(intervals.predict([1.0]))
        while len(waiting) > delay:
            ticket, _, low, high = waiting.pop(place % len(waiting))
            label = LABELS[kind](low, high, number + shift) if high < math.inf else number + shift
            label = max(label, 0.0) if loss == "poisson" else label
            is_point = intervals._coverage.issued[ticket].threshold < 0.0
            if high < math.inf:
                missed += not low <= label <= high
                points += is_point and label == low
            intervals.observe(ticket, label)
            report = intervals.report()
            assert report.missed == missed + points
            if report.coverage is not None:
                slack = SLACK * (1.0 + abs(report.coverage))
                assert report.guaranteed - slack <= report.coverage <= report.at_most + slack
                check_limits(intervals._coverage.threshold)


@given(
    st.floats(-1e12, 1e12, allow_subnormal=False),
    st.floats(0.0, 1e12, allow_subnormal=False),
    st.floats(-1e12, 1e12, allow_subnormal=False),
)
def test_a_score_below_its_threshold_is_between_the_ends(
    value: float, threshold: float, label: float
) -> None:
    """That is all that the theorem asks of the verdict, besides thresholds below 0."""
    score = abs(label - value)
    for q in (threshold, math.nextafter(score, math.inf)):
        low, high = made()._coverage.ends(value, q)
        assert low <= label <= high or score >= q


def test_an_end_may_be_further_than_the_threshold() -> None:
    """By a rounding, and then a label there is covered all the same."""
    counted, found = made()._coverage, 0
    for number in range(200):
        value, q = 1.0 / (number + 3.0), 10.0 / (number + 7.0)
        low, high = counted.ends(value, q)
        found += abs(high - value) > q
        issued = Issued(0, value, q)
        for label in (low, high):
            missed = counted.threshold.missed
            counted.judge(issued, label, False)
            assert counted.threshold.missed == missed
    assert found > 10


# --- Two models and the rule ---------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["squared", "absolute"])
def test_the_slow_version_agrees(loss: str) -> None:
    """Bit for bit, also in the report."""
    ours, slow = made(loss, 0.8), NaiveIntervals(loss, 0.8, bits=4)
    assert play(ours, 250) == play(slow, 250)
    report, rule = ours.report(), slow.threshold
    count, counted = len(rule.arrivals), rule.counted(len(rule.arrivals))
    assert (report.rounds, report.observed, report.open) == (250, count, 250 - count)
    assert report.unbounded == count - len(counted) > 0
    assert report.coverage == 1.0 - sum(missed for *_, missed in counted) / len(counted)
    assert report.half_width == pytest.approx(sum(slow.widths) / len(counted))
    assert report.most_open == max(waiting for _, _, waiting, _ in rule.arrivals)
    assert report.guaranteed <= report.coverage <= report.at_most


@pytest.mark.parametrize("loss", ["squared", "absolute", "quantile"])
@pytest.mark.parametrize("power", [-20, 30])
def test_the_unit_of_labels_does_not_matter(loss: str, power: int) -> None:
    """Labels in another unit give the same intervals in that unit, to the last bit."""
    scale = 2.0**power
    plain, scaled = made(loss), made(loss)
    rounds = shortened(200)
    expected = [(t, *(scale * part for part in rest)) for t, *rest in play(plain, rounds)]
    assert play(scaled, rounds, scale=scale) == expected
    one, other = plain.report().to_dict(), scaled.report().to_dict()
    assert other.pop("half_width") == scale * one.pop("half_width")
    assert one == other


def test_labels_are_covered_as_often_as_asked() -> None:
    """And no more of the labels than needed: the widths follow the noise."""
    intervals = made(coverage=0.75)
    found = play(intervals, 700, lost=1000)
    report = intervals.report()
    assert report.coverage == pytest.approx(0.75, abs=0.05)
    late = [0.5 * (high - low) for _, _, low, high in found[350:]]
    assert 1.0 < np.mean(late) < 4.0
    assert np.std(late) > 0.05


def test_an_interval_is_around_its_value_and_has_no_ends_at_first() -> None:
    """Nothing is known before the first label."""
    intervals = made()
    first = intervals.predict([1.0])
    assert first == (0, 0.0, -math.inf, math.inf)
    assert made("poisson").predict([1.0])[2:] == (0.0, math.inf)
    assert intervals.observe(first.ticket, 4.0)
    ticket, value, low, high = intervals.predict([1.0])
    assert ticket == 1
    assert low < value < high
    assert high - value == pytest.approx(value - low)


def test_intervals_without_ends_neither_cover_nor_miss() -> None:
    """However many were issued before the first label, nobody pays for them later."""
    intervals = made(coverage=0.8)
    first = [intervals.predict([1.0]).ticket for _ in range(300)]
    for ticket in first:
        intervals.observe(ticket, float(ticket % 7))
    report = intervals.report()
    assert (report.observed, report.unbounded, report.missed) == (300, 300, 0)
    assert (report.coverage, report.half_width, report.worst_window) == (None, None, None)
    assert (report.guaranteed, report.at_most, report.is_vacuous) == (0.0, 1.0, True)
    assert "300   unbounded, from before the first label" in str(report)
    assert json.loads(report.to_json())["unbounded"] == 300
    assert intervals._coverage.threshold.owed == 0.0
    assert intervals.peek([1.0]).high < 20.0
    again = bl.Intervals.restore(intervals.snapshot())
    assert again.snapshot() == intervals.snapshot()
    for each in (intervals, again):
        for number in range(400):
            ticket, _, low, high = each.predict([1.0])
            assert high - low < 20.0
            each.observe(ticket, float(number % 7))
    assert intervals.report() == again.report()
    report = intervals.report()
    assert (report.observed, report.unbounded) == (700, 300)
    assert report.coverage == pytest.approx(0.8, abs=0.03)
    assert report.half_width is not None
    assert report.half_width < 7.0


def test_rates_have_no_interval_below_zero() -> None:
    """A count is never negative."""
    rng, intervals = np.random.default_rng(0), made("poisson")
    for _ in range(200):
        ticket, value, low, high = intervals.predict([1.0])
        intervals.observe(ticket, float(rng.poisson(0.8)))
        assert 0.0 <= low <= value <= high
    report = intervals.report()
    assert report.coverage is not None
    assert report.coverage > 0.8


@pytest.mark.parametrize("loss", ["squared", "absolute", "huber", "quantile", "poisson"])
def test_losses_of_numbers_have_intervals(loss: str) -> None:
    """All five of them."""
    intervals = made(loss)
    intervals.observe(intervals.predict([1.0]).ticket, 2.0)
    assert intervals.predict([1.0]).high > 0.0
    assert loss in repr(intervals)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: made("logistic"), "labels that are numbers.*logistic loss are classes"),
        (lambda: made("hinge"), "classes; use squared, absolute, quantile, huber, poisson"),
        (lambda: made("squared", silence=0.0), "never comes"),
        (lambda: made(coverage=1.0), "coverage must be between 0 and 1, got 1.0"),
        (lambda: made(coverage=math.nan), "coverage must be between"),
        (lambda: made(coverage="most"), "coverage must be between"),  # type: ignore[arg-type]
        (lambda: bl.Intervals("squared"), "must be a LinearModel, got str"),  # type: ignore[arg-type]
    ],
)
def test_what_cannot_have_intervals_is_told_so(make: Callable[[], Any], words: str) -> None:
    """In words."""
    with pytest.raises(SpecError, match=words):
        make()


# --- Refused, late and lost ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("act", "error"),
    [
        (lambda i: i.predict([math.nan]), BadFeatures),
        (lambda i: i.predict({"a": math.inf}), BadFeatures),
        (lambda i: i.predict("text"), BadFeatures),
        (lambda i: i.predict([1.0], key="mine"), BadKey),
        (lambda i: i.predict([1.0], at="noon"), ClockError),
        (lambda i: i.observe("mine", math.nan), BadFeedback),
        (lambda i: i.observe("mine", 1e60), BadFeedback),
        (lambda i: i.observe("mine", "ten"), BadFeedback),
        (lambda i: i.observe("mine", None), BadFeedback),
        (lambda i: i.observe("mine", 1.0, at="noon"), ClockError),
        (lambda i: i.observe("yours", 1.0), UnknownTicket),
        (lambda i: i.observe(99, 1.0), UnknownTicket),
        (lambda i: i.observe(1.5, 1.0), UnknownTicket),
        (lambda i: i.observe(-1, 1.0), UnknownTicket),
        (lambda i: i.observe(1 << 70, 1.0), UnknownTicket),
        (lambda i: i.observe(1, 1.0), AlreadyObserved),
        (lambda i: i.cancel(1), AlreadyObserved),
        (lambda i: i.cancel(99), UnknownTicket),
    ],
)
def test_what_is_refused_changes_nothing(act: Callable[[Any], Any], error: type) -> None:
    """Neither of the models, nor what is between them."""
    intervals = made()
    play(intervals, 12, lost=1000)
    for ticket in intervals.model.answerable():
        intervals.observe(ticket, 1.0)
    intervals.predict([1.0], key="mine")
    before = intervals.snapshot()
    with pytest.raises(error):
        act(intervals)
    assert intervals.snapshot() == before
    assert intervals.observe("mine", 3.0)


class Watched(dict[str, float]):
    """Features that do something while they are read."""

    act: Callable[[], Any]

    def items(self) -> Any:
        self.act()
        return super().items()


def test_a_call_during_another_one_is_refused() -> None:
    """Of the intervals, and of their model."""
    intervals = made()
    intervals.predict([1.0], key="mine")
    before, model, refused = intervals.snapshot(), intervals.model, []
    acts: dict[str, Callable[[], Any]] = {
        "predict": lambda: intervals.predict([1.0], key="yours"),
        "observe": lambda: intervals.observe("mine", 1.0),
        "cancel": lambda: intervals.cancel("mine"),
        "report": intervals.report,
        "snapshot": intervals.snapshot,
        "predict ": lambda: model.predict([1.0]),
        "observe ": lambda: model.observe("mine", 1.0),
        "cancel ": lambda: model.cancel("mine"),
    }

    def act() -> None:
        for name, each in acts.items():
            with pytest.raises(BusyError, match=f"{name.strip()}: another call is at work"):
                each()
            refused.append(name)
        raise KeyError("nothing")

    features = Watched(x=1.0)
    features.act = act
    with pytest.raises(KeyError):
        intervals.predict(features, key="yours")
    assert refused == list(acts)
    assert intervals.snapshot() == before
    assert intervals.predict([1.0], key="yours").ticket == 1


def test_labels_that_the_model_drops_count_for_the_coverage() -> None:
    """They came, and were covered or not."""
    intervals = made(wait={"predictions": 3})
    first = intervals.predict([1.0])
    for _ in range(6):
        intervals.predict([1.0])
    assert not intervals.observe(first.ticket, 2.0)
    report = intervals.report()
    assert (report.observed, report.unbounded, report.coverage) == (1, 1, None)
    second = intervals.predict([1.0])
    for _ in range(6):
        intervals.predict([1.0])
    assert not intervals.observe(second.ticket, 9.0)
    report = intervals.report()
    assert (report.observed, report.missed, report.coverage) == (2, 1, 0.0)
    assert intervals.model.report().late == report.late == 2
    assert "late 2, open" in str(report)
    assert json.loads(report.to_json())["late"] == 2
    with pytest.raises(AlreadyObserved):
        intervals.observe(first.ticket, 2.0)


@pytest.mark.parametrize(
    "more",
    [
        {"wait": {"predictions": 5}},
        pytest.param({"max_open": 5}, marks=pytest.mark.slow),
        pytest.param({"deadline": 5.0, "wait": None}, marks=pytest.mark.slow),
    ],
)
def test_memory_is_bounded_where_that_of_the_model_is(more: dict[str, Any]) -> None:
    """Labels that never come leave nothing behind, here and in the model of scores."""
    intervals = made(**more)
    sizes = []
    for _ in range(6500):
        intervals.predict([1.0])
        sizes.append(len(intervals._coverage.issued))
    assert max(sizes) == max(sizes[:4500])
    assert intervals._score_model.open <= len(intervals._coverage.issued)
    report = intervals.report()
    assert report.closed == 6500 - report.open > 0
    assert report.coverage is None


def test_deadlines_keys_and_times_are_those_of_the_model() -> None:
    """A ticket whose deadline has passed is closed there, and its label is counted here."""
    intervals = made(deadline=timedelta(minutes=5))
    with pytest.raises(ClockError):
        intervals.predict([1.0])
    intervals.predict([1.0], key="first", at=0.0)
    intervals.predict([1.0], key="second", at=200.0)
    assert not intervals.observe("first", 1.0, at=400.0)
    assert intervals.observe("second", 1.0, at=401.0)
    assert intervals.report().observed == 2


def test_labels_after_their_deadline_are_late() -> None:
    """As in the report of the model."""
    intervals = made(deadline=5.0, wait=None)
    for turn in range(4):
        intervals.predict([1.0], at=float(turn))
    assert intervals.observe(3, 1.0, at=8.0)
    assert not intervals.observe(2, 1.0, at=8.0)
    report = intervals.report()
    assert (report.observed, report.late) == (2, 1)
    assert report.late == intervals.model.report().late
    assert bl.Intervals.restore(intervals.snapshot()).report() == report


def test_late_labels_of_an_earlier_life_of_the_model_are_not_counted() -> None:
    """Those that came before there were intervals, and those of tickets without one."""
    model = bl.LinearModel("squared", bits=4, wait={"predictions": 2})
    for _ in range(6):
        model.predict([1.0])
    assert not model.observe(0, 1.0)
    intervals = bl.Intervals(model)
    assert not intervals.observe(1, 1.0)
    for _ in range(5):
        intervals.predict([1.0])
    assert not intervals.observe(6, 1.0)
    report = intervals.report()
    assert (model.report().late, report.late, report.observed) == (3, 1, 1)
    assert intervals.observe(10, 1.0)
    again = bl.Intervals.restore(intervals.snapshot())
    assert (again.report(), again.report().late) == (intervals.report(), 1)
    assert again.snapshot() == intervals.snapshot()


def test_cancelled_tickets_do_not_count() -> None:
    """Neither as covered nor as missed."""
    intervals = made()
    ticket = intervals.predict([1.0], key="a").ticket
    intervals.cancel("a")
    report = intervals.report()
    assert (report.observed, report.open, report.closed) == (0, 0, 1)
    assert intervals._score_model.open == 0
    with pytest.raises(AlreadyObserved):
        intervals.observe(ticket, 1.0)


def test_a_model_may_have_a_past() -> None:
    """Labels of its earlier tickets are learned, and do not count for the coverage."""
    model = bl.LinearModel("squared", bits=4)
    old = model.predict([1.0])
    intervals = bl.Intervals(model)
    new = intervals.predict([1.0])
    assert intervals.observe(old.ticket, 2.0)
    assert intervals.report().observed == 0
    assert intervals.observe(new.ticket, 2.0)
    assert intervals.report().observed == 1
    intervals.predict([1.0])
    assert bl.Intervals.restore(intervals.snapshot()).snapshot() == intervals.snapshot()


def test_labels_of_any_size_are_taken() -> None:
    """A distance may be twice the largest label."""
    intervals = made()
    for label in (HUGE_LABEL, -HUGE_LABEL, HUGE_LABEL, 0.0, 1e-300):
        assert intervals.observe(intervals.predict([1.0]).ticket, label)
    assert math.isfinite(intervals.predict([1.0]).high)
    assert bl.Intervals.restore(intervals.snapshot()).report() == intervals.report()


# --- Reports and snapshots -----------------------------------------------------------------------


def test_the_report_says_when_the_guarantee_is_vacuous() -> None:
    """And otherwise what it is."""
    intervals = made()
    assert "none yet" in str(intervals.report())
    assert "guaranteed nothing yet (vacuous)" in str(intervals.report())
    rule = intervals._coverage.threshold
    for number in range(3000):
        issued, score = rule.issue(1.0), number % 10 / 10.0
        rule.learn(issued, score, 1, score > issued)
        intervals._coverage.rounds += 1
    report = intervals.report()
    assert not report.is_vacuous
    assert report.guaranteed > 0.8
    assert f"guaranteed {report.guaranteed:.4f} to {report.at_most:.4f}" in str(report)
    data = json.loads(report.to_json())
    assert data["is_vacuous"] is False
    assert data["share_open"] == 0.0
    assert isinstance(report, IntervalsReport)


def test_a_restored_one_goes_on_as_if_nothing_had_happened(tmp_path: Path) -> None:
    """From bytes, from a file, from a pickle and from a copy."""
    intervals = made(wait={"predictions": 20})
    play(intervals, 150)
    intervals.predict([1.0], key="mine")
    blob = intervals.snapshot()
    intervals.save(tmp_path / "blob", secret=b"secret")
    others = [
        bl.Intervals.restore(blob),
        bl.Intervals.load(tmp_path / "blob", secret=b"secret"),
        pickle.loads(pickle.dumps(intervals)),
        copy.deepcopy(intervals),
    ]
    assert all(other.snapshot() == blob for other in others)
    expected = play(intervals, 60, seed=1)
    intervals.observe("mine", 1.0)
    for other in others:
        assert play(other, 60, seed=1) == expected
        other.observe("mine", 1.0)
        assert other.snapshot() == intervals.snapshot()
        assert other.report() == intervals.report()
        assert other.coverage == 0.9


def test_other_bytes_are_refused() -> None:
    """Damaged, of another kind, or without the key."""
    intervals = made()
    play(intervals, 20)
    blob = intervals.snapshot()
    with pytest.raises(SnapshotError, match="damaged"):
        bl.Intervals.restore(blob[:-1] + bytes([blob[-1] ^ 1]))
    with pytest.raises(SnapshotError, match="of a LinearModel, not of a Intervals"):
        bl.Intervals.restore(intervals.model.snapshot())
    with pytest.raises(SnapshotError, match="secret"):
        bl.Intervals.restore(intervals.snapshot(secret=b"k"))


def forged(name: str, place: Any, value: Any) -> bytes:
    """Return a snapshot with one number changed, and a checksum that is right."""
    intervals = made()
    play(intervals, 40)
    about, arrays = sealed.unseal("Intervals", intervals.snapshot(), None)
    if name in ("about", "state"):
        (about if name == "about" else about["state"])[place] = value
    else:
        arrays[name][place] = value
    return sealed.seal("Intervals", about, arrays)


WRONG: list[tuple[str, Any, Any]] = [
    *(("about", "coverage", value) for value in (0.8, 2.0, "all", None, ())),
    *(("about", "bytes", value) for value in ((8,), None, (0, 0), ("8", "8"), 8)),
    *(("about", "state", value) for value in ((), None, "", 8)),
    *(
        ("state", f"threshold.{name}", value)
        for name in ("arrived", "missed", "unbounded", "most_open")
        for value in (-1, 1000, 1.0, "all", None, 1e308, 10**400)
    ),
    ("state", "threshold.most_open", 0),
    ("state", "threshold.total", math.nan),
    ("state", "threshold.largest", 1e300),
    ("state", "threshold.top", 1e9),
    ("state", "widths", -1.0),
    *(("state", "late", value) for value in (-1, 1000, 1.0, None)),
    *(("state", "rounds", value) for value in (3, 1000, -1)),
    ("state", "tidy_at", 1),
    ("state", "window.worst", 5),
    ("state", "window.inside", 500),
    ("threshold.floors", 0, -1.0),
    ("threshold.floors", 0, math.inf),
    ("threshold.floors", 48, 1.0),
    ("threshold.floors", 1, math.nan),
    ("threshold.sizes", (0, 1), 1000),
    ("threshold.sizes", (0, 1), 0),
    ("threshold.sizes", (0, 0), 1 << 40),
    ("threshold.sizes", (0, 0), -1 << 63),
    ("window.flags", 500, 1),
    ("window.flags", 0, -1),
    ("tickets", 0, 1000),
    ("tickets", 0, -1),
    ("tickets", 1, 0),
    ("score_tickets", 0, -1),
    ("score_tickets", 0, 1000),
    ("values", 0, math.inf),
    ("thresholds", 0, -math.inf),
    ("thresholds", 0, math.nan),
]


@pytest.mark.parametrize(("name", "place", "value"), WRONG)
def test_what_cannot_have_come_to_be_is_refused(name: str, place: Any, value: Any) -> None:
    """Whatever the checksum says."""
    with pytest.raises(SnapshotError):
        bl.Intervals.restore(forged(name, place, value))


# ---- the clock, and looking without a ticket ---------------------------------------------------


def test_peek_is_what_predict_would_say_and_changes_nothing() -> None:
    intervals = bl.Intervals(bl.LinearModel("poisson", bits=8), coverage=0.8)
    assert intervals.peek({"x": 1.0})[1:] == (0.0, math.inf)
    for t in range(60):
        before = intervals.snapshot()
        seen = intervals.peek({"x": float(t % 4)})
        assert intervals.snapshot() == before
        ticket, *issued = intervals.predict({"x": float(t % 4)})
        assert tuple(seen) == tuple(issued)
        assert seen.low >= 0.0
        intervals.observe(ticket, float(t * 7 % 5))


def test_tickets_past_their_deadline_are_closed() -> None:
    intervals = bl.Intervals(bl.LinearModel("squared", deadline=10.0, wait=None))
    tickets = [intervals.predict({"x": 1.0}, at=float(t)).ticket for t in range(4)]
    intervals.observe(tickets[0], 1.0, at=4.0)
    intervals.tick(11.5)
    report = intervals.report()
    assert (report.observed, report.open, report.closed) == (1, 2, 1)
    assert report.open == intervals.model.report().open
    intervals.tick(100.0)
    report = intervals.report()
    assert (report.observed, report.open, report.closed) == (1, 0, 3)
    assert not intervals.observe(tickets[1], 1.0)  # the model drops it, and the coverage counts it
    report = intervals.report()
    assert (report.observed, report.open, report.closed) == (2, 0, 2)
    again = bl.Intervals.restore(intervals.snapshot()).report()
    assert again == report


def test_deadlines_in_predictions_close_tickets_too() -> None:
    intervals = bl.Intervals(bl.LinearModel("squared", deadline=3, wait=None))
    for _ in range(10):
        intervals.predict({"x": 1.0})
    report = intervals.report()
    assert (report.open, report.closed) == (intervals.model.report().open, 10 - report.open)
    assert report.closed > 0


def test_vectors_that_are_not_aligned() -> None:
    """They are copied: the core reads none of them as it is."""
    vector = np.zeros(25, dtype=np.uint8)[1:].view(np.float64)
    places = np.zeros(17, dtype=np.uint8)[1:].view(np.int64)
    assert not vector.flags.aligned
    assert not places.flags.aligned
    intervals = bl.Intervals(bl.LinearModel("squared", bits=4))
    tickets = [intervals.predict(row).ticket for row in (vector, (places, vector[:2]), [0.0])]
    assert [intervals.observe(ticket, 1.0) for ticket in tickets] == [True] * 3
    assert intervals.report().observed == 3
