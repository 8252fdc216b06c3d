"""The timeline against the slow reference, the paper's statements, and every kind of input."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta, timezone
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from belated.charts import INK
from belated.errors import TimelineError
from belated.timeline.timeline import MOST_DRAWN, Arrivals, Ties, Timeline
from naive_timeline import (
    Naive,
    all_events,
    events_of_rounds,
    events_with_ties,
    from_events,
    skip_cost,
)

FIGURE_2 = ([1, 2, 3, 5, 8], [9, 6, 4, 7, 10])
TIES: list[Ties] = ["observe-first", "predict-first"]

SMALL_SYSTEMS = [events for rounds in range(1, 6) for events in all_events(rounds)]
Log = tuple[list[int], list[int | None]]


@st.composite
def logs(draw: st.DrawFn, max_size: int = 24) -> Log:
    """Sorted integer times with many ties, zero latencies and answers that never come."""
    gaps = draw(st.lists(st.integers(0, 2), max_size=max_size))
    starts = np.cumsum(gaps, dtype=np.int64).tolist()
    latencies = [draw(st.none() | st.integers(0, 6)) for _ in starts]
    return starts, [
        None if latency is None else start + latency
        for start, latency in zip(starts, latencies, strict=True)
    ]


def random_events(seed: int, rounds: int) -> list[int]:
    """An interval system drawn from times without ties."""
    generator = np.random.default_rng(seed)
    starts = np.sort(generator.random(rounds))
    ends = starts + generator.pareto(1.0, rounds) * generator.choice([0.001, 0.05, 1.0])
    return [int(event) for event in Timeline.from_intervals(starts, ends).events]


SOME_SYSTEMS = SMALL_SYSTEMS + [random_events(seed, 2 + seed % 29) for seed in range(300)]


def timeline_of(events: Sequence[int]) -> Timeline:
    """The timeline of an event list, by giving every event its position as time."""
    naive = from_events(events)
    return Timeline.from_intervals(list(naive.starts), list(naive.ends))


def assert_matches(timeline: Timeline, naive: Naive) -> None:
    """Every array equals its literal definition."""
    for name in ("delay", "backlog", "dual_delay", "dual_backlog", "rank"):
        literal = [getattr(naive, name)(t) for t in naive.tickets]
        assert getattr(timeline, name).tolist() == literal, name
    assert timeline.order.tolist() == naive.order()
    for n in naive.tickets:
        assert list(timeline.partition(n)) == naive.partition(n)


# ---- the paper ---------------------------------------------------------------------------------


def test_figures_2_and_3() -> None:
    timeline = Timeline.from_intervals(*FIGURE_2)
    assert timeline.delay.tolist() == [4, 2, 0, 0, 0]
    assert timeline.backlog.tolist() == [0, 1, 2, 2, 1]
    assert timeline.dual_delay.tolist() == [3, 1, 0, 1, 1]
    assert timeline.dual_backlog.tolist() == [1, 2, 2, 1, 0]
    assert (timeline.rank + 1).tolist() == [4, 2, 1, 3, 5]
    order = timeline.order
    assert timeline.delay[order].tolist() == [0, 2, 0, 4, 0]
    assert timeline.backlog[order].tolist() == [2, 1, 2, 0, 1]
    assert timeline.dual_delay[order].tolist() == [0, 1, 1, 3, 1]
    assert timeline.dual_backlog[order].tolist() == [2, 2, 1, 1, 0]
    assert (order + 1).tolist() == [3, 2, 4, 1, 5]
    assert [[t + 1 for t in timeline.partition(n)] for n in range(5)] == [
        [1, 2, 3],
        [4],
        [],
        [5],
        [],
    ]


def test_every_small_system_matches_the_definitions() -> None:
    for events in SMALL_SYSTEMS:
        timeline = timeline_of(events)
        assert timeline.events.tolist() == events
        assert_matches(timeline, from_events(events))


@pytest.mark.parametrize("seed", range(40))
def test_random_systems_match_the_definitions(seed: int) -> None:
    events = random_events(seed, 40)
    assert_matches(timeline_of(events), from_events(events))


def test_theorem_3_4() -> None:
    for events in SOME_SYSTEMS:
        timeline = timeline_of(events)
        tickets = np.arange(timeline.rounds)
        sums = {
            int(values.sum())
            for values in (
                timeline.delay,
                timeline.backlog,
                timeline.dual_delay,
                timeline.dual_backlog,
            )
        }
        assert sums == {timeline.total_delay}  # (a)
        assert timeline.max_backlog == timeline.dual_backlog.max()  # (b)
        assert timeline.max_delay <= 2 * timeline.max_dual_delay
        assert timeline.max_dual_delay <= 2 * timeline.max_delay
        naive = from_events(events)  # (c), both sides from their definitions
        rank = np.array([naive.rank(t) for t in naive.tickets])
        assert (timeline.dual_delay == timeline.backlog + rank - tickets).all()
        assert (timeline.dual_backlog == timeline.delay + tickets - rank).all()


def test_lemma_3_6() -> None:
    for events in SOME_SYSTEMS:
        timeline, naive = timeline_of(events), from_events(events)
        ends = [-math.inf, *sorted(naive.ends)]  # ends[n] is the n-th observation, from 1
        dual_delay = timeline.dual_delay[timeline.order]
        dual_backlog = timeline.dual_backlog[timeline.order]
        for n, ticket in enumerate(timeline.order, start=1):
            last = n - dual_delay[n - 1]
            assert ends[last - 1] < naive.starts[ticket] < ends[last]
            lagging = {m for m in range(1, len(ends)) if m - dual_delay[m - 1] <= n < m}
            assert dual_backlog[n - 1] == len(lagging)


def test_fact_c_2() -> None:
    for events in SOME_SYSTEMS:
        timeline = timeline_of(events)
        dual_delays = np.cumsum(timeline.dual_delay[timeline.order])
        assert (dual_delays <= np.cumsum(timeline.dual_backlog[timeline.order])).all()


def test_fact_c_3() -> None:
    for events in SOME_SYSTEMS:
        timeline = timeline_of(events)
        assert (np.diff(timeline.backlog) <= 1).all()
        assert (np.diff(timeline.dual_backlog[timeline.order]) >= -1).all()


def test_fact_c_4() -> None:
    for events in SOME_SYSTEMS:
        timeline = timeline_of(events)
        n = np.arange(1, timeline.rounds + 1)
        logarithmic = timeline.max_backlog * math.log(math.e * timeline.rounds)
        dual_backlogs = float((timeline.dual_backlog[timeline.order] / n).sum())
        dual_delays = float((timeline.dual_delay[timeline.order] / n).sum())
        assert dual_backlogs <= logarithmic
        assert dual_delays <= min(logarithmic, 2 * math.sqrt(timeline.total_delay))


# ---- rounds ------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 12), max_size=20))
def test_from_delays_is_the_round_based_protocol(delays: list[int]) -> None:
    timeline = Timeline.from_delays(delays)
    rounds = range(len(delays))
    last = len(delays) - 1
    assert timeline.events.tolist() == events_of_rounds(delays)
    assert timeline.delay.tolist() == [min(delays[t], last - t) for t in rounds]
    assert timeline.backlog.tolist() == [sum(s + delays[s] >= t for s in range(t)) for t in rounds]
    assert timeline.observed.tolist() == [t + delays[t] <= last for t in rounds]
    assert_matches(timeline, from_events(timeline.events.tolist()))


def test_from_delays_beyond_the_precision_of_floats() -> None:
    timeline = Timeline.from_delays(np.full(200, 60))
    assert timeline.order.tolist() == list(range(200))
    assert timeline.max_backlog == 60


@pytest.mark.parametrize(
    ("delays", "message"),
    [
        ([0, -1], r"Timeline.from_delays: delays\[1\] must be at least 0, got -1"),
        ([0.5], "array of integers, got dtype float64"),
        ([[1, 2]], r"shape \(1, 2\)"),
    ],
)
def test_from_delays_refuses(delays: npt.ArrayLike, message: str) -> None:
    with pytest.raises(TimelineError, match=message):
        Timeline.from_delays(delays)


# ---- ties, never observed, unsorted ------------------------------------------------------------


@pytest.mark.parametrize("ties", TIES)
@given(log=logs())
def test_ties_and_gaps(ties: Ties, log: Log) -> None:
    timeline = Timeline.from_intervals(*log, ties=ties)
    assert timeline.events.tolist() == events_with_ties(*log, ties)
    assert timeline.observed.tolist() == [time is not None for time in log[1]]
    assert_matches(timeline, from_events(timeline.events.tolist()))


@pytest.mark.parametrize("ties", TIES)
@given(log=logs(max_size=12), random=st.randoms(use_true_random=False))
def test_unsorted_rows(ties: Ties, log: Log, random: Any) -> None:
    rows = list(zip(*log, strict=True))
    random.shuffle(rows)
    shuffled = [start for start, _ in rows], [end for _, end in rows]
    timeline = Timeline.from_intervals(*shuffled, ties=ties)
    renumbered = sorted(range(len(rows)), key=lambda row: rows[row][0])
    assert timeline.rows.tolist() == renumbered
    by_ticket = [rows[row][0] for row in renumbered], [rows[row][1] for row in renumbered]
    assert timeline == Timeline.from_intervals(*by_ticket, ties=ties)


def test_empty_timeline() -> None:
    for timeline in (Timeline.from_intervals([], []), Timeline.from_delays([])):
        assert len(timeline) == timeline.rounds == 0
        assert timeline.max_delay == timeline.max_backlog == timeline.max_dual_delay == 0
        assert timeline.total_delay == 0
        assert timeline.skip_tradeoff().cost == 0.0
        assert timeline.boundaries.tolist() == [0]
        assert timeline.events.dtype == np.int64
        assert "0" in timeline.summary()
        with pytest.raises(TimelineError, match=r"Timeline\.partition"):
            timeline.partition(0)


# ---- inputs ------------------------------------------------------------------------------------

STARTS = [datetime(2024, 5, 1, 12, minute) for minute in (0, 1, 1, 2, 5)]
ENDS = [
    datetime(2024, 5, 1, 12, 4),
    datetime(2024, 5, 1, 12, 1),
    None,
    datetime(2024, 5, 1, 12, 5),
    datetime(2024, 5, 1, 12, 9, 30),
]
MINUTES = ([0, 1, 1, 2, 5], [4, 1, None, 5, 9.5])
PARIS = "Europe/Paris"


def unit(values: Sequence[datetime | None], name: str) -> npt.NDArray[Any]:
    """As datetime64 of a unit."""
    return np.array(values, dtype="datetime64[us]").astype(f"datetime64[{name}]")


def with_zone(values: Sequence[datetime | None], hours: int) -> list[datetime | None]:
    """The same instants, as seen in a zone that many hours east."""
    zone = timezone(timedelta(hours=hours))
    return [None if v is None else v.replace(tzinfo=UTC).astimezone(zone) for v in values]


CALENDAR: dict[str, Callable[[], tuple[Any, Any]]] = {
    "datetime lists": lambda: (STARTS, ENDS),
    "datetime64[us]": lambda: (unit(STARTS, "us"), unit(ENDS, "us")),
    "two units": lambda: (unit(STARTS, "m"), unit(ENDS, "ns")),
    "list of datetime64": lambda: (list(unit(STARTS, "s")), list(unit(ENDS, "ms"))),
    "list of mixed datetime64": lambda: (
        list(unit(STARTS, "s")),
        [*unit(ENDS[:2], "ms"), *ENDS[2:]],
    ),
    "masked objects": lambda: (
        STARTS,
        np.ma.masked_array(np.array([*ENDS[:2], STARTS[0], *ENDS[3:]]), mask=np.arange(5) == 2),
    ),
    "pandas": lambda: (pd.Series(STARTS), pd.Series(ENDS)),
    "timestamps": lambda: (list(pd.Series(STARTS)), list(pd.Series(ENDS))),
    "polars": lambda: (pl.Series(STARTS), pl.Series(ENDS)),
    "aware lists": lambda: (with_zone(STARTS, 2), with_zone(ENDS, -7)),
    "aware timestamps": lambda: (
        list(pd.Series(STARTS).dt.tz_localize("UTC").dt.tz_convert(PARIS)),
        with_zone(ENDS, 5),
    ),
    "aware pandas": lambda: (
        pd.Series(STARTS).dt.tz_localize("UTC").dt.tz_convert(PARIS),
        pd.DatetimeIndex(ENDS).tz_localize("UTC").tz_convert("Asia/Tokyo"),
    ),
    "aware polars": lambda: (
        pl.Series(STARTS).dt.replace_time_zone("UTC").dt.convert_time_zone(PARIS),
        pl.Series(ENDS).dt.replace_time_zone("UTC"),
    ),
}

NUMBERS: dict[str, Callable[[], tuple[Any, Any]]] = {
    "lists": lambda: MINUTES,
    "ranges": lambda: (iter(MINUTES[0]), (end for end in MINUTES[1])),
    "nan": lambda: (MINUTES[0], [4, 1, math.nan, 5, 9.5]),
    "small integers": lambda: (
        np.array(MINUTES[0], np.uint8),
        np.ma.masked_array(
            np.array([4, 1, 0, 5, 9], np.int16), mask=[False, False, True, False, False]
        ),
    ),
    "pandas": lambda: (pd.Series(MINUTES[0]), pd.Series(MINUTES[1])),
    "pandas nullable": lambda: (
        pd.Series(MINUTES[0], dtype="Int64"),
        pd.Series([4, 1, None, 5, 9], dtype="Int64"),
    ),
    "pandas NA": lambda: (MINUTES[0], [4, 1, pd.NA, 5, pd.Series([9])[0]]),
    "polars": lambda: (pl.Series(MINUTES[0]), pl.Series([4, 1, None, 5, 9])),
}


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("make", [*CALENDAR.values(), *NUMBERS.values()], ids=[*CALENDAR, *NUMBERS])
def test_inputs_agree(make: Callable[[], tuple[Any, Any]], ties: Ties) -> None:
    expected = events_with_ties(*MINUTES, ties)
    timeline = Timeline.from_intervals(*make(), ties=ties)
    assert timeline.events.tolist() == expected
    assert timeline.observed.tolist() == [True, True, False, True, True]


@pytest.mark.parametrize("kind", [list, np.array, pd.Series, pl.Series])
def test_large_integers_are_exact(kind: Callable[[list[int]], Any]) -> None:
    base = 2**62
    assert float(base) == float(base + 1)
    timeline = Timeline.from_intervals(kind([base, base + 2]), kind([base + 3, base + 3]))
    assert timeline.delay.tolist() == [1, 0]
    assert (
        Timeline.from_intervals(kind([base, base + 1]), kind([base + 1, base + 2])).total_delay == 0
    )


def test_dates() -> None:
    starts, ends = [date(2024, 1, 1), date(2024, 1, 3)], [date(2024, 1, 2), None]
    for make in (list, pl.Series):
        assert Timeline.from_intervals(make(starts), make(ends)).events.tolist() == [0, ~0, 1, ~1]


AWARE = pd.Series(STARTS).dt.tz_localize("UTC")
NS_LIMIT = np.array(["3000-01-01"], dtype="datetime64[s]")
NS_ZERO = np.array(["2000-01-01"], dtype="datetime64[ns]")


@pytest.mark.parametrize(
    ("predicted_at", "observed_at", "message"),
    [
        ([5.0], [3.0], r"Timeline: observed_at\[0\] is before predicted_at\[0\] \(3.0 < 5.0\)"),
        (STARTS[1:2], STARTS[:1], r"\(2024-05-01T12:00:00.000000 < 2024-05-01T12:01:00.000000\)"),
        ([1, None], [2, 3], r"Timeline: predicted_at\[1\] is missing or infinite"),
        ([1, 2], [3], "predicted_at has 2 rows and observed_at has 1"),
        ([1], STARTS[:1], "observed_at holds datetimes and the other times are numbers"),
        (STARTS[:1], [1], "observed_at holds numbers and the other times are datetimes"),
        (AWARE, STARTS, "observed_at holds datetimes without a time zone and .* are with one"),
        (STARTS, AWARE, "observed_at holds datetimes with a time zone and .* are without one"),
        ([STARTS[0], AWARE[0]], [None, None], "mixes datetimes with and without a time zone"),
        ([2**60 + 1], [2.0**61 + 0.5, 1.5][1:], r"predicted_at\[0\] = 1152921504606846977 cannot"),
        ([2**60 + 1, 1.5], [None, None], "mixes floats with the integer 1152921504606846977"),
        ([2**64], [None], "must hold only numbers below 2\\*\\*63"),
        ([2**63], [None], "has dtype uint64"),
        (NS_ZERO, NS_LIMIT, r"3000-01-01T00:00:00 cannot be kept exactly as datetime64\[ns\]"),
        ([*NS_LIMIT, *NS_ZERO], [None, None], r"holds 3000-01-01T00:00:00, which is out of range"),
        (["2024-05-01"], [None], "found str"),
        (np.array(["2024-05-01"]), [None], "has dtype <U10, which is no time"),
        ([STARTS[0], 3], [None, None], "found datetime, int"),
        (np.array([True]), [None], "has dtype bool"),
        (np.array([1], dtype=np.longdouble), [None], "floats of at most 64 bits"),
        (np.zeros((2, 2)), [None, None], r"must have one dimension, got shape \(2, 2\)"),
        ([[1, 2]], [None], "found list"),
        (7, [None], "must be a column of times, got 7"),
        (np.array([1], dtype="m8[s]"), [None], "which is no time"),
        (pl.Series([timedelta(1)]), [None], "found timedelta"),
    ],
)
def test_refused_intervals(predicted_at: Any, observed_at: Any, message: str) -> None:
    with pytest.raises(TimelineError, match=message):
        Timeline.from_intervals(predicted_at, observed_at)


@pytest.mark.parametrize(
    "call", [Timeline.from_intervals, lambda a, b, ties: Timeline.chunks([], ties)]
)
def test_unknown_ties(call: Callable[..., object]) -> None:
    with pytest.raises(TimelineError, match="'observe-first' or 'predict-first', got 'later'"):
        call([1], [2], ties="later")


# ---- chunks ------------------------------------------------------------------------------------


def split(columns: tuple[Any, Any], cuts: Sequence[int]) -> list[tuple[Any, Any]]:
    """Cut both columns at the same rows."""
    edges = [0, *sorted(cuts), len(columns[0])]
    return [(columns[0][a:b], columns[1][a:b]) for a, b in pairwise(edges)]


def assert_chunks_match(timeline: Timeline, chunks: list[Arrivals]) -> None:
    """The stretches are the timeline's arrays in the order of arrival."""
    assert all(len(stretch) for stretch in chunks)
    names = {"ticket": timeline.order} | {
        name: getattr(timeline, name)[timeline.order]
        for name in ("delay", "backlog", "dual_delay", "dual_backlog", "observed")
    }
    for name, expected in names.items():
        found = [value for stretch in chunks for value in getattr(stretch, name).tolist()]
        assert found == expected.tolist(), name


@pytest.mark.parametrize("ties", TIES)
@given(log=logs(), cuts=st.data())
def test_chunks_are_the_timeline(ties: Ties, log: Log, cuts: st.DataObject) -> None:
    places = cuts.draw(st.lists(st.integers(0, len(log[0])), max_size=6))
    chunks = list(Timeline.chunks(split(log, places), ties))
    assert_chunks_match(Timeline.from_intervals(*log, ties=ties), chunks)


def test_chunks_yield_as_soon_as_final() -> None:
    read = 0

    def blocks() -> Any:
        nonlocal read
        for start in range(0, 100, 10):
            read += 1
            times = np.arange(start, start + 10)
            yield times, times + 0.5

    first = next(Timeline.chunks(blocks()))
    assert read == 1
    assert first.ticket.tolist() == list(range(9))


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        (
            [([1, 5], [2, 6]), ([4], [9])],
            r"Timeline.chunks: block 1: predicted_at\[0\] is before .* \(4 < 5\).*sort the log",
        ),
        ([([2, 1], [2, 6])], r"block 0: predicted_at\[1\] is before .* \(1 < 2\)"),
        ([([1], [2]), ([3], [2])], r"block 1: observed_at\[0\] is before predicted_at\[0\]"),
        (
            [([1], [2]), ([3], [4.5])],
            r"block 1: observed_at\[0\] = 4.5 cannot be kept exactly as int64",
        ),
        ([([1], [2]), (STARTS[:1], [None])], "block 1: predicted_at holds datetimes"),
        ([(STARTS[:1], [None]), (AWARE[1:], [None] * 4)], "block 1: .* with a time zone"),
    ],
)
def test_refused_chunks(blocks: list[tuple[Any, Any]], message: str) -> None:
    with pytest.raises(TimelineError, match=message):
        list(Timeline.chunks(blocks))


# ---- skipping ----------------------------------------------------------------------------------


def test_skip_tradeoff_is_the_minimum_over_all_sets() -> None:
    for events in SMALL_SYSTEMS + [random_events(seed, 6) for seed in range(100)]:
        timeline = timeline_of(events)
        tradeoff = timeline.skip_tradeoff()
        assert tradeoff.cost == pytest.approx(skip_cost(timeline.delay.tolist()), rel=1e-14)
        assert tradeoff.cost == tradeoff.curve.min() == tradeoff.curve[tradeoff.skipped]


@given(st.lists(st.integers(0, 60), max_size=60))
def test_skip_tradeoff_threshold_selects_the_set(delays: list[int]) -> None:
    timeline = Timeline.from_delays(delays)
    tradeoff = timeline.skip_tradeoff()
    skipped = timeline.delay > tradeoff.threshold
    assert int(skipped.sum()) == tradeoff.skipped
    kept = int(timeline.delay[~skipped].sum())
    assert tradeoff.cost == tradeoff.skipped + math.sqrt(kept)
    assert len(tradeoff.curve) == timeline.rounds + 1
    assert tradeoff.curve[0] == math.sqrt(timeline.total_delay)
    assert tradeoff.curve[-1] == timeline.rounds
    assert not tradeoff.curve.flags.writeable


# ---- values, copies, text, figures -------------------------------------------------------------


def test_small_plot_shows_every_event() -> None:
    chart = Timeline.from_intervals(*FIGURE_2).plot()
    lines, points, texts = (layer["data"]["values"] for layer in chart.spec["layer"])
    found = Counter((each["shape"], each["fill"] == INK) for each in points)
    # Each dot is on its interval and on the axis; six triangles of each kind, as in Figure 2.
    assert (found["circle", True], found["circle", False]) == (10, 10)
    assert (found["triangle-down", True], found["triangle-up", False]) == (6, 6)
    assert {"I₀", "l₄", "r₂", "round 3"} <= {each["text"] for each in texts}
    assert sum(line["kind"] == "projection" for line in lines) == 10
    assert chart.image().startswith(b"<svg")


def test_large_plot_shows_intervals() -> None:
    timeline = Timeline.from_delays(np.arange(2000) % 17)
    chart = timeline.plot(100, 160)
    rows = chart.spec["data"]["values"]
    assert [row["delay"] for row in rows] == timeline.delay[100:160].tolist()
    assert len(timeline.plot().spec["data"]["values"]) == MOST_DRAWN
    assert chart.image().startswith(b"<svg")


def test_lost_answers_are_dotted() -> None:
    small = Timeline.from_intervals([1, 2], [3, None]).plot()
    assert [line["kind"] for line in small.spec["layer"][0]["data"]["values"]].count("lost") == 1
    large = Timeline.from_intervals(range(50), [None] * 50).plot()
    assert not any("delay" in row for row in large.spec["data"]["values"])
