"""Delay patterns against slow loops, their closed forms, and the paper's Theorem 3.4."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from belated import delays
from belated.errors import BelatedError, SpecError, TimelineError
from belated.research.delays import PATTERNS, Service
from belated.timeline import Timeline
from naive_timeline import events_of_rounds, from_events

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


@pytest.mark.parametrize("name", PATTERNS)
def test_every_pattern_counts_as_defined(name: str) -> None:
    timeline = PATTERNS[name](120, 1)
    naive = from_events(timeline.events.tolist())
    for array in ("delay", "backlog", "dual_delay", "dual_backlog"):
        assert getattr(timeline, array).tolist() == [getattr(naive, array)(t) for t in range(120)]


@pytest.mark.parametrize("name", PATTERNS)
@pytest.mark.parametrize("rounds", [1, 50, 3000])
def test_theorem_3_4(name: str, rounds: int) -> None:
    timeline = PATTERNS[name](rounds, 5)
    sums = {
        int(counts.sum())
        for counts in (
            timeline.delay,
            timeline.backlog,
            timeline.dual_delay,
            timeline.dual_backlog,
        )
    }
    assert sums == {timeline.total_delay}
    assert timeline.max_backlog == timeline.dual_backlog.max()
    assert timeline.max_delay <= 2 * timeline.max_dual_delay
    assert timeline.max_dual_delay <= 2 * timeline.max_delay
    assert timeline.max_backlog <= min(timeline.max_delay, timeline.max_dual_delay)


@pytest.mark.parametrize("name", PATTERNS)
def test_patterns_repeat_themselves(name: str) -> None:
    state = repr(np.random.get_state())
    assert PATTERNS[name](200, 4) == PATTERNS[name](200, 4)
    assert repr(np.random.get_state()) == state


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


def test_an_outage_ends_with_all_answers_in_ticket_order() -> None:
    timeline = delays.outages(12, length=4, every=6)
    assert timeline.events.tolist()[:16] == [
        *[0, -1, 1, -2, 2, 3, 4, 5],
        *[6, -3, -4, -5, -6, -7, 7, -8],
    ]


@given(rounds_of, st.none() | st.integers(0, 40))
def test_first_rounds(rounds: int, count: int | None) -> None:
    c = min(count, rounds) if count is not None else math.floor(math.sqrt(rounds))
    timeline = delays.first_rounds(rounds, None if count is None else c)
    assert_is(timeline, [rounds if t < c else 1 for t in range(rounds)])
    total = c * (rounds - 1) - c * (c - 1) // 2 + max(rounds - c - 1, 0)
    assert_counts(timeline, total, max(min(c + 1, rounds - 1), 0))


# ---- drawn delays ------------------------------------------------------------------------------


@pytest.mark.parametrize(("low", "high"), [(0, 7), (3, 11)])
def test_uniform_total(low: int, high: int) -> None:
    rounds, m, v = 200, (low + high) / 2, ((high - low + 1) ** 2 - 1) / 12
    mean, margin = average_total(lambda seed: delays.uniform(rounds, low, high, seed), 400)
    assert mean == pytest.approx(rounds * m - (v + m * m + m) / 2, abs=margin)
    assert margin < 0.03 * mean


@pytest.mark.parametrize("mean_delay", [0.2, 5.0, 80.0])
def test_geometric_total(mean_delay: float) -> None:
    rounds, q = 100, mean_delay / (1 + mean_delay)
    mean, margin = average_total(lambda seed: delays.geometric(rounds, mean_delay, seed), 1000)
    expected = mean_delay * (rounds - (1 + mean_delay) * (1 - q**rounds))
    tails = sum((rounds - k) * q**k for k in range(1, rounds))
    assert expected == pytest.approx(tails)
    assert mean == pytest.approx(expected, abs=margin)
    assert margin < 0.1 * mean


def test_geometric_tail() -> None:
    delay = delays.geometric(200_000, 4.0, seed=2).delay[:-1000]
    for k in (1, 3, 10):
        assert np.mean(delay >= k) == pytest.approx(0.8**k, abs=0.005)


@pytest.mark.parametrize(("shape", "scale"), [(1.5, 1.0), (3.0, 8.0), (0.5, 1.0)])
def test_pareto_total(shape: float, scale: float) -> None:
    rounds = 100
    mean, margin = average_total(lambda seed: delays.pareto(rounds, shape, scale, seed), 1000)
    expected = sum((rounds - k) * (1 + k / scale) ** -shape for k in range(1, rounds))
    assert mean == pytest.approx(expected, abs=margin)
    assert margin < 0.1 * mean


def test_pareto_tail() -> None:
    delay = delays.pareto(200_000, seed=2).delay[:-1000]
    for k in (1, 3, 10, 100):
        assert np.mean(delay >= k) == pytest.approx((1 + k) ** -1.5, abs=0.005)


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


def test_lost_does_not_depend_on_the_delays_drawn_with_the_same_seed() -> None:
    timeline = delays.pareto(20_000, shape=1.0, seed=5)
    kept = delays.lost(timeline, 0.5, seed=5).observed
    long = timeline.delay >= 5
    assert np.mean(kept[long]) == pytest.approx(np.mean(kept[~long]), abs=0.03)


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


def erlang_c(servers: int, load: float) -> float:
    """Probability of waiting in the stationary M/M/c queue."""
    offered = servers * load
    busy = offered**servers / math.factorial(servers) / (1 - load)
    return busy / (busy + sum(offered**k / math.factorial(k) for k in range(servers)))


@pytest.mark.parametrize(("servers", "load"), [(1, 0.5), (1, 0.8), (3, 0.7), (10, 0.5)])
def test_mean_backlog_of_the_queue(servers: int, load: float) -> None:
    timeline = delays.queue(200_000, servers, load, seed=1)
    expected = servers * load + load / (1 - load) * erlang_c(servers, load)
    assert servers > 1 or expected == pytest.approx(load / (1 - load))
    assert timeline.total_delay / timeline.rounds == pytest.approx(expected, rel=0.04)
    assert timeline.observed.all()


def test_a_queue_with_endless_work_answers_nothing_in_time() -> None:
    timeline = delays.queue(50, servers=60, load=1e50, seed=1)
    assert timeline.delay.tolist() == [49 - t for t in range(50)]


# ---- a real log --------------------------------------------------------------------------------


# ---- edges and errors --------------------------------------------------------------------------


@pytest.mark.parametrize("rounds", HORIZONS)
def test_spans_beyond_every_horizon(rounds: int) -> None:
    never = delays.constant(rounds, rounds)
    prompt = delays.constant(rounds, 0)
    assert delays.constant(rounds, HUGE) == never
    assert delays.batches(rounds, HUGE, HUGE) == never
    assert delays.bursts(rounds, HUGE, HUGE) == never
    assert delays.shuffled(rounds, HUGE) == never
    assert delays.outages(rounds, 1, HUGE) == prompt
    assert delays.outages(rounds, HUGE, HUGE + 1, HUGE) == never
    assert delays.outages(rounds, HUGE, HUGE + rounds + 1) == prompt
    assert delays.bursts(rounds, 1, HUGE) == prompt
    assert delays.uniform(rounds, 2**63 - 1, 2**63 - 1) == never
    assert delays.geometric(rounds, 1e99) == never
    assert delays.geometric(rounds, 1e-99) == prompt
    assert delays.pareto(rounds, 1e-3, 1e99) == never


BAD: list[tuple[Callable[[], Timeline], type[BelatedError], str]] = [
    (lambda: delays.constant(-1, 2), SpecError, "delays.constant: rounds must be at least 0"),
    (lambda: delays.constant(5, -2), SpecError, "delays.constant: delay must be at least 0.*-2"),
    (
        lambda: delays.constant(cast("int", 5.0), 2),
        SpecError,
        r"delays.constant: rounds must be a whole number, got 5\.0",
    ),
    (
        lambda: delays.uniform(5, 3, 2),
        TimelineError,
        "delays.uniform: high must lie between low and .*low=3 and high=2",
    ),
    (lambda: delays.uniform(5, 0, HUGE), TimelineError, f"high={HUGE}"),
    (lambda: delays.uniform(5, -1, 2), SpecError, "delays.uniform: low must be at least 0"),
    (lambda: delays.uniform(5, 0, 2, seed=-1), SpecError, "delays.uniform: seed must be .*-1"),
    (lambda: delays.geometric(5, -0.5), TimelineError, "delays.geometric: mean must be .*-0.5"),
    (lambda: delays.geometric(5, math.inf), SpecError, "delays.geometric: mean must be finite"),
    (lambda: delays.pareto(5, 0), SpecError, "delays.pareto: shape must be positive, got 0"),
    (lambda: delays.pareto(5, 1, -1), SpecError, "delays.pareto: scale must be positive, got -1"),
    (lambda: delays.batches(5, 0), SpecError, "delays.batches: length must be at least 1"),
    (lambda: delays.batches(5, 1, -1), SpecError, "delays.batches: lag must be at least 0"),
    (lambda: delays.bursts(5, 0, 1), SpecError, "delays.bursts: length must be at least 1"),
    (lambda: delays.bursts(5, 1, -1), SpecError, "delays.bursts: gap must be at least 0"),
    (lambda: delays.outages(5, 0, 1), SpecError, "delays.outages: length must be at least 1"),
    (
        lambda: delays.outages(5, 3, 3),
        TimelineError,
        "delays.outages: every must be above length.*every=3 and length=3",
    ),
    (lambda: delays.outages(5, 1, 3, -1), SpecError, "delays.outages: delay must be at least 0"),
    (lambda: delays.shuffled(5, 0), SpecError, "delays.shuffled: window must be at least 1"),
    (lambda: delays.footnote(-1), SpecError, "delays.footnote: rounds must be at least 0"),
    (
        lambda: delays.first_rounds(5, 6),
        TimelineError,
        "delays.first_rounds: count must be at most the number of rounds, 5, got 6",
    ),
    (lambda: delays.first_rounds(5, -1), SpecError, "delays.first_rounds: count must be at least"),
    (
        lambda: delays.lost(delays.footnote(3), 1.5),
        TimelineError,
        "delays.lost: probability must be between 0 and 1, got 1.5",
    ),
    (
        lambda: delays.lost(delays.footnote(3), math.nan),
        SpecError,
        "delays.lost: probability must be finite",
    ),
    (
        lambda: delays.lost(cast("Timeline", [1, 2]), 0.5),
        TimelineError,
        r"delays.lost: timeline must be a Timeline, got \[1, 2\]",
    ),
    (lambda: delays.queue(5, 0, 0.5), SpecError, "delays.queue: servers must be at least 1"),
    (lambda: delays.queue(5, 1, 0.0), SpecError, "delays.queue: load must be positive"),
    (lambda: delays.queue(5, 10**50, 1e60), SpecError, r"delays.queue: load \* servers must be"),
    (
        lambda: delays.queue(5, 1, 0.5, service=cast("Service", "slow")),
        TimelineError,
        "delays.queue: service must be one of 'exponential', 'lognormal', 'pareto', got 'slow'",
    ),
]


@pytest.mark.parametrize(("build", "error", "message"), BAD)
def test_bad_arguments(
    build: Callable[[], Timeline], error: type[BelatedError], message: str
) -> None:
    with pytest.raises(error, match=message):
        build()
