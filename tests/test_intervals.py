"""Intervals around predictions: the theorem, the slow version, late labels, snapshots."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import belated as bl
from belated.core.intervals import Issued, Threshold, limit_of
from belated.errors import (
    AlreadyObserved,
    SnapshotError,
    SpecError,
)
from conftest import examples, shortened
from naive_intervals import NaiveIntervals, NaiveThreshold
from sealing import forged, rewritten

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
    if floor == math.inf:  # no threshold was issued after an arrival that counts
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
            waiting.append((len(slow.issues), rule.issue(move[1])))
            assert waiting[-1][1] == slow.issue(move[1])
        elif waiting:
            ticket, issued = waiting.pop(move[1] % len(waiting))
            score = SCORES[move[0]](issued, move[2]) if issued < math.inf else move[2]
            is_missed = judged(issued, score, at_ends=move[2] < 4.0)
            rule.learn(ticket, issued, score, len(waiting) + 1, is_missed)
            slow.learn(ticket, issued, score, len(waiting) + 1, is_missed)
            check_limits(rule)
    if not rule.arrived:
        return
    count, heard = rule.arrived, rule.heard
    assert (count, heard) == (len(slow.counted(heard)), len(slow.arrivals))
    assert (rule.owed, rule.step) == (slow.owed(heard), slow.step(heard))
    found = rule.limits()
    for least in range(count):
        if slow.floor(least) > 0.0:
            for level in {
                0.0,
                rule.largest,
                *(limit_of(size) for size in np.flatnonzero(rule.sizes).tolist()),
            }:
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
            rule.learn(number, issued, score, len(waiting) + 1, score > issued)
            if number % 97 == 0:
                check_limits(rule)
    check_limits(rule)
    low, high = rule.limits()
    assert max(-low, high) < 0.1 * rule.arrived


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
            counted.judge(number, issued, label, False)
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


def test_intervals_without_ends_neither_cover_nor_miss() -> None:
    """However many were issued before the first label, nobody pays for them later."""
    intervals = made(coverage=0.8)
    first = [intervals.predict([1.0]).ticket for _ in range(300)]
    for ticket in first:
        intervals.observe(ticket, float(ticket % 7))
    report = intervals.report()
    assert (report.observed, report.unbounded, report.missed) == (300, 300, 0)
    assert (report.coverage, report.half_width) == (None, None)
    assert (report.guaranteed, report.at_most, report.is_vacuous) == (0.0, 1.0, True)
    for number in range(400):
        ticket, _, low, high = intervals.predict([1.0])
        assert high - low < 20.0
        intervals.observe(ticket, float(number % 7))
    report = intervals.report()
    assert (report.observed, report.unbounded) == (700, 300)
    assert report.coverage == pytest.approx(0.8, abs=0.03)


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


# --- Reports and snapshots -----------------------------------------------------------------------


ABOUT = [
    *(("coverage", value) for value in (0.8, 2.0, "all", None, ())),
    *(("bytes", value) for value in ((8,), None, (0, 0), ("8", "8"), 8)),
    *(("state", value) for value in ((), None, "", 8)),
]
WRONG: list[tuple[Any, ...]] = [
    *(
        (f"threshold.{name}", value)
        for name in ("arrived", "missed", "unbounded", "most_open")
        for value in (-1, 1000, 1.0, "all", None, 1e308, 10**400)
    ),
    ("threshold.most_open", 0),
    ("threshold.scores.before", math.nan),
    ("threshold.largest", 1e300),
    ("threshold.top", 1e9),
    ("widths.before", -1.0),
    *(("widths.tickets", value, 0) for value in (-1, 1000)),
    *(("threshold.scores.numbers", value, 0) for value in (-1.0, math.nan, math.inf)),
    *(("late", value) for value in (-1, 1000, 1.0, None)),
    *(("rounds", value) for value in (3, 1000, -1)),
    ("tidy_at", 1),
    *(("threshold.floors", value, at) for at, value in ((0, -1.0), (48, 1.0))),
    ("threshold.floors", math.nan, 1),
    *(("threshold.sizes", value, at) for at, value in ((0, 1000), (511, -1), (300, -1 << 63))),
    *(("tickets", value, at) for at, value in ((0, 1000), (0, -1), (1, 0))),
    *(("score_tickets", value, 0) for value in (-1, 1000)),
    ("values", math.inf, 0),
    *(("thresholds", value, 0) for value in (-math.inf, math.nan)),
]


@pytest.mark.parametrize("change", [*ABOUT, *WRONG], ids=str)
def test_what_cannot_have_come_to_be_is_refused(change: tuple[Any, ...]) -> None:
    """Whatever the checksum says."""
    intervals = made()
    play(intervals, 40)
    intervals.observe(max(intervals._coverage.issued), 0.5)
    blob = intervals.snapshot()
    assert bl.Intervals.restore(rewritten(blob)).snapshot() == blob
    with pytest.raises(SnapshotError):
        bl.Intervals.restore(
            rewritten(blob, dict([change])) if change in ABOUT else forged(blob, *change)
        )


# ---- the clock, and looking without a ticket ---------------------------------------------------
