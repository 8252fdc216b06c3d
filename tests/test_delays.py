"""Delay patterns against slow loops, their closed forms, and the paper's Theorem 3.4."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from belated import delays
from belated.errors import SpecError, TimelineError
from belated.research.delays import PATTERNS
from belated.timeline import Timeline
from naive_timeline import events_of_rounds

HORIZONS = [0, 1, 2, 3, 7, 20, 61]
HUGE = 10**30
DRAWN: dict[str, Callable[[int, int], Timeline]] = {
    "uniform": lambda rounds, seed: delays.uniform(rounds, 0, 9, seed),
    "geometric": lambda rounds, seed: delays.geometric(rounds, 3.0, seed),
    "pareto": lambda rounds, seed: delays.pareto(rounds, seed=seed),
    "shuffled": lambda rounds, seed: delays.shuffled(rounds, 5, seed),
    "queue": lambda rounds, seed: delays.queue(rounds, 2, 0.8, seed),
    "lognormal": lambda rounds, seed: delays.queue(rounds, 2, 0.8, seed, service="lognormal"),
    "heavy": lambda rounds, seed: delays.queue(rounds, 2, 0.8, seed, service="pareto"),
    "lost": lambda rounds, seed: delays.lost(delays.constant(rounds, 3), 0.5, seed),
}

small = st.integers(0, 12)
rounds_of = st.integers(0, 40)


def assert_is(timeline: Timeline, expected: Sequence[int]) -> None:
    """The timeline is the round-based protocol with these delays."""
    assert timeline.events.tolist() == events_of_rounds(expected)
    assert timeline.rounds == len(expected)
    in_time = [t + delay < len(expected) for t, delay in enumerate(expected)]
    assert timeline.observed.tolist() == in_time


def assert_counts(timeline: Timeline, total_delay: int, max_backlog: int) -> None:
    """The closed forms of a docstring."""
    assert (timeline.total_delay, timeline.max_backlog) == (total_delay, max_backlog)


def average_total(build: Callable[[int], Timeline], seeds: int) -> tuple[float, float]:
    """Mean of d_tot over seeds, and five standard errors of it."""
    totals = np.array([build(seed).total_delay for seed in range(seeds)], dtype=np.float64)
    return float(totals.mean()), 5.0 * float(totals.std()) / math.sqrt(seeds)


# ---- every pattern -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", PATTERNS)
@pytest.mark.parametrize("rounds", [*HORIZONS, 500])
def test_every_pattern_is_a_valid_timeline(name: str, rounds: int) -> None:
    timeline = PATTERNS[name](rounds, 3)
    events = timeline.events.tolist()
    assert timeline.rounds == rounds == len(timeline.observed) == len(timeline.rows)
    assert sorted(timeline.order.tolist()) == list(range(rounds))
    assert sorted(events) == list(range(-rounds, rounds))
    assert [event for event in events if event >= 0] == list(range(rounds))
    assert [~event for event in events if event < 0] == timeline.order.tolist()
    position = {event: index for index, event in enumerate(events)}
    assert all(position[t] < position[~t] for t in range(rounds))
    never = int(np.count_nonzero(~timeline.observed))
    assert timeline.order[rounds - never :].tolist() == np.flatnonzero(~timeline.observed).tolist()
    assert np.all(timeline.boundaries[rounds - never + 1 :] == rounds)


# ---- fixed patterns: definition and closed form ------------------------------------------------


@given(rounds_of, st.integers(0, 50))
def test_constant(rounds: int, delay: int) -> None:
    timeline = delays.constant(rounds, delay)
    assert_is(timeline, [delay] * rounds)
    d = min(delay, rounds)
    backlog = d if d < rounds else max(rounds - 1, 0)
    assert_counts(timeline, d * (rounds - d) + d * (d - 1) // 2, backlog)


@given(rounds_of, st.integers(1, 12), small)
def test_batches(rounds: int, length: int, lag: int) -> None:
    expected = []
    for t in range(rounds):
        end = t
        while (end + 1) % length:
            end += 1
        expected.append(end + lag - t)
    timeline = delays.batches(rounds, length, lag)
    assert_is(timeline, expected)
    assert timeline.max_backlog == max(min(length + lag, rounds) - 1, 0)
    m, n = divmod(rounds, length)
    if not lag:
        assert timeline.total_delay == m * length * (length - 1) // 2 + n * (n - 1) // 2
    if not n:
        waits = sum(min(lag, j * length) for j in range(m))
        assert timeline.total_delay == rounds * (length - 1) // 2 + length * waits


@given(rounds_of, st.integers(1, 12), small)
def test_bursts(rounds: int, length: int, gap: int) -> None:
    expected: list[int] = []
    while len(expected) < rounds:
        expected += [length - 1 - place for place in range(length)] + [0] * gap
    timeline = delays.bursts(rounds, length, gap)
    assert_is(timeline, expected[:rounds])
    m, rest = divmod(rounds, length + gap)
    n = min(rest, length)
    total = m * length * (length - 1) // 2 + n * (n - 1) // 2
    assert_counts(timeline, total, max(min(length, rounds) - 1, 0))


@given(rounds_of, st.integers(1, 6), st.integers(1, 8), st.integers(0, 9))
def test_outages(rounds: int, length: int, up: int, delay: int) -> None:
    every = length + up
    expected = []
    for t in range(rounds):
        answered_in = t + delay
        while answered_in % every >= up:
            answered_in += 1
        expected.append(answered_in - t)
    timeline = delays.outages(rounds, length, every, delay)
    assert_is(timeline, expected)
    if not delay and rounds and not rounds % every:
        m = rounds // every
        assert timeline.total_delay == m * length * (length + 1) // 2 - length
    starts = range(up, rounds, every)
    if any(start >= delay and start + length < rounds for start in starts):
        assert timeline.max_backlog == length + delay
    assert timeline.max_backlog <= length + delay


@given(rounds_of, st.none() | st.integers(0, 40))
def test_first_rounds(rounds: int, count: int | None) -> None:
    c = min(count, rounds) if count is not None else math.floor(math.sqrt(rounds))
    timeline = delays.first_rounds(rounds, None if count is None else c)
    assert_is(timeline, [rounds if t < c else 1 for t in range(rounds)])
    total = c * (rounds - 1) - c * (c - 1) // 2 + max(rounds - c - 1, 0)
    assert_counts(timeline, total, max(min(c + 1, rounds - 1), 0))


# ---- drawn delays ------------------------------------------------------------------------------


@pytest.mark.parametrize("mean_delay", [0.2, 5.0, 80.0])
def test_geometric_total(mean_delay: float) -> None:
    rounds, q = 100, mean_delay / (1 + mean_delay)
    mean, margin = average_total(lambda seed: delays.geometric(rounds, mean_delay, seed), 1000)
    expected = mean_delay * (rounds - (1 + mean_delay) * (1 - q**rounds))
    tails = sum((rounds - k) * q**k for k in range(1, rounds))
    assert expected == pytest.approx(tails)
    assert mean == pytest.approx(expected, abs=margin)
    assert margin < 0.1 * mean


@pytest.mark.parametrize(("shape", "scale"), [(1.5, 1.0), (3.0, 8.0), (0.5, 1.0)])
def test_pareto_total(shape: float, scale: float) -> None:
    rounds = 100
    mean, margin = average_total(lambda seed: delays.pareto(rounds, shape, scale, seed), 1000)
    expected = sum((rounds - k) * (1 + k / scale) ** -shape for k in range(1, rounds))
    assert mean == pytest.approx(expected, abs=margin)
    assert margin < 0.1 * mean


@pytest.mark.parametrize("seed", range(3))
def test_the_first_rounds_of_drawn_delays_do_not_depend_on_the_horizon(seed: int) -> None:
    for name in ("uniform", "geometric", "pareto"):
        short, long = DRAWN[name](50, seed), DRAWN[name](200, seed)
        ends = np.arange(50) + long.delay[:50]
        assert np.array_equal(short.delay, np.minimum(ends, 49) - np.arange(50))


# ---- order of arrival --------------------------------------------------------------------------


@given(rounds_of, st.integers(1, 50), st.integers(0, 3))
def test_shuffled(rounds: int, window: int, seed: int) -> None:
    timeline = delays.shuffled(rounds, window, seed)
    plain = delays.batches(rounds, window)
    for name in ("delay", "backlog", "observed", "boundaries"):
        assert np.array_equal(getattr(timeline, name), getattr(plain, name))
    for start in range(0, rounds, window):
        tickets = timeline.order[start : start + window].tolist()
        assert sorted(tickets) == list(range(start, min(start + window, rounds)))
    complete = rounds - rounds % window
    assert timeline.order[complete:].tolist() == list(range(complete, rounds))


# ---- lost answers ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PATTERNS)
def test_lost(name: str) -> None:
    timeline = PATTERNS[name](150, 1)
    rest = delays.lost(timeline, 0.3, seed=2)
    kept = set(np.flatnonzero(rest.observed).tolist())
    assert kept < set(np.flatnonzero(timeline.observed).tolist())
    stay = [event for event in timeline.events.tolist() if event >= 0 or ~event in kept]
    never = [~t for t in range(150) if t not in kept]
    assert rest.events.tolist() == stay + never
    assert rest.delay.tolist() == [timeline.delay[t] if t in kept else 149 - t for t in range(150)]


# ---- the queue ---------------------------------------------------------------------------------


def serve_slowly(start: Sequence[float], work: Sequence[float], servers: int) -> list[float]:
    """First come, first served: go from event to event, with a line and a list of busy servers."""
    done = [math.inf] * len(start)
    line: list[int] = []
    busy: list[int] = []
    coming = list(range(len(start)))
    while coming or busy:
        now = min([start[t] for t in coming[:1]] + [done[t] for t in busy])
        finished = [t for t in busy if done[t] == now]
        busy = [t for t in busy if t not in finished]
        if not finished:
            line.append(coming.pop(0))
        while line and len(busy) < servers:
            t = line.pop(0)
            done[t] = now + work[t]
            busy.append(t)
    return done


@pytest.mark.parametrize("servers", [1, 2, 3, 10, 200])
@pytest.mark.parametrize("load", [0.3, 0.95, 2.0])
def test_served_first_come_first_served(servers: int, load: float) -> None:
    generator = np.random.default_rng(servers)
    start = np.cumsum(generator.exponential(size=100))
    work = generator.exponential(load * servers, size=100)
    slow = serve_slowly(start.tolist(), work.tolist(), servers)
    assert delays.served(start, work, servers).tolist() == slow


# ---- edges and errors --------------------------------------------------------------------------


BAD: list[tuple[str, tuple[Any, ...], str]] = [
    ("constant", (-1, 2), "rounds must be at least 0"),
    ("constant", (5.0, 2), r"rounds must be a whole number, got 5\.0"),
    ("constant", (5, -2), "delay must be at least 0.*-2"),
    ("uniform", (5, 3, 2), "high must lie between low and .*low=3 and high=2"),
    ("uniform", (5, 0, HUGE), f"high={HUGE}"),
    ("uniform", (5, -1, 2), "low must be at least 0"),
    ("uniform", (5, 0, 2, -1), "seed must be .*-1"),
    ("geometric", (5, -0.5), "mean must be .*-0.5"),
    ("geometric", (5, math.inf), "mean must be finite"),
    ("pareto", (5, 0), "shape must be positive, got 0"),
    ("pareto", (5, 1, -1), "scale must be positive, got -1"),
    ("batches", (5, 0), "length must be at least 1"),
    ("batches", (5, 1, -1), "lag must be at least 0"),
    ("bursts", (5, 0, 1), "length must be at least 1"),
    ("bursts", (5, 1, -1), "gap must be at least 0"),
    ("outages", (5, 0, 1), "length must be at least 1"),
    ("outages", (5, 3, 3), "every must be above length.*every=3 and length=3"),
    ("outages", (5, 1, 3, -1), "delay must be at least 0"),
    ("shuffled", (5, 0), "window must be at least 1"),
    ("footnote", (-1,), "rounds must be at least 0"),
    ("first_rounds", (5, 6), "count must be at most the number of rounds, 5, got 6"),
    ("first_rounds", (5, -1), "count must be at least"),
    ("lost", (delays.footnote(3), 1.5), "probability must be between 0 and 1, got 1.5"),
    ("lost", (delays.footnote(3), math.nan), "probability must be finite"),
    ("lost", ([1, 2], 0.5), r"timeline must be a Timeline, got \[1, 2\]"),
    ("queue", (5, 0, 0.5), "servers must be at least 1"),
    ("queue", (5, 1, 0.0), "load must be positive"),
    ("queue", (5, 10**50, 1e60), r"load \* servers must be"),
    (
        "queue",
        (5, 1, 0.5, {"service": "slow"}),
        "service must be one of 'exponential', 'lognormal', 'par",
    ),
]


@pytest.mark.parametrize(("name", "given", "message"), BAD)
def test_bad_arguments(name: str, given: tuple[Any, ...], message: str) -> None:
    *rest, last = given
    words = last if isinstance(last, dict) else {}
    with pytest.raises((SpecError, TimelineError), match=f"delays.{name}.*{message}"):
        getattr(delays, name)(*(rest if words else given), **words)
