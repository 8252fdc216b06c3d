"""Slow, obvious versions of the timeline's counts, written from the paper's equations.

Times here are positions of events: ``starts[t]`` and ``ends[t]`` are the distinct l_t and r_t.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import sqrt

Time = float | int


def inside(time: Time, start: Time, end: Time) -> bool:
    """Whether a time lies in the open interval I = (start, end)."""
    return start < time < end


@dataclass(frozen=True)
class Naive:
    """An interval system with distinct times, starts increasing; tickets from 0."""

    starts: Sequence[Time]
    ends: Sequence[Time]

    @property
    def tickets(self) -> range:
        """All t."""
        return range(len(self.starts))

    def delay(self, t: int) -> int:
        """d_t = #{s : l_s in I_t}."""
        return len({s for s in self.tickets if inside(self.starts[s], *self.interval(t))})

    def backlog(self, t: int) -> int:
        """sigma_t = #{s : l_t in I_s}."""
        return len({s for s in self.tickets if inside(self.starts[t], *self.interval(s))})

    def dual_delay(self, t: int) -> int:
        """d*_t = #{s : r_s in I_t}."""
        return len({s for s in self.tickets if inside(self.ends[s], *self.interval(t))})

    def dual_backlog(self, t: int) -> int:
        """sigma*_t = #{s : r_t in I_s}."""
        return len({s for s in self.tickets if inside(self.ends[t], *self.interval(s))})

    def rank(self, t: int) -> int:
        """beta(t) - 1 = #{s : r_s <= r_t} - 1."""
        return len({s for s in self.tickets if self.ends[s] <= self.ends[t]}) - 1

    def order(self) -> list[int]:
        """rho: tickets by observation time (Definition 3.5)."""
        return sorted(self.tickets, key=lambda t: self.ends[t])

    def partition(self, n: int) -> list[int]:
        """Z_n = {t : l_t between observation n - 1 and observation n}, counting from 0."""
        times = [float("-inf"), *sorted(self.ends)]
        return [t for t in self.tickets if times[n] <= self.starts[t] < times[n + 1]]

    def interval(self, t: int) -> tuple[Time, Time]:
        """I_t."""
        return self.starts[t], self.ends[t]


def from_events(events: Sequence[int]) -> Naive:
    """Read l_t and r_t off a list of events, t for a prediction and ~t for an observation."""
    rounds = len(events) // 2
    starts = [events.index(t) for t in range(rounds)]
    ends = [events.index(~t) for t in range(rounds)]
    return Naive(starts, ends)


def all_events(rounds: int) -> Iterator[list[int]]:
    """Every order of 2T events in which l is increasing and l_t < r_t."""

    def extend(events: list[int], made: int) -> Iterator[list[int]]:
        if len(events) == 2 * rounds:
            yield events
            return
        if made < rounds:
            yield from extend([*events, made], made + 1)
        for t in range(made):
            if ~t not in events:
                yield from extend([*events, ~t], made)

    return extend([], 0)


def events_with_ties(
    predicted_at: Sequence[Time], observed_at: Sequence[Time | None], ties: str
) -> list[int]:
    """Order the events of a log whose predictions are sorted, instant by instant."""
    tickets = range(len(predicted_at))
    events: list[int] = []
    for now in sorted({*predicted_at, *(time for time in observed_at if time is not None)}):
        made = [t for t in tickets if predicted_at[t] == now]
        seen = [t for t in tickets if observed_at[t] == now]
        if ties == "predict-first":
            events += made + [~t for t in seen]
        else:
            events += [~t for t in seen if t not in made]
            for t in made:
                events += [t, ~t] if t in seen else [t]
    return events + [~t for t in tickets if observed_at[t] is None]


def events_of_rounds(delays: Sequence[int]) -> list[int]:
    """The round-based protocol: predict t, then see every s with s + d_s = t."""
    rounds = range(len(delays))
    events: list[int] = []
    for t in rounds:
        events += [t, *(~s for s in rounds if s + delays[s] == t)]
    return events + [~s for s in rounds if s + delays[s] >= len(delays)]


def skip_cost(delays: Sequence[int]) -> float:
    """Minimum over all sets Q of #Q + sqrt(sum over t not in Q of d_t)."""
    rounds = range(len(delays))
    return min(
        size + sqrt(sum(delays[t] for t in rounds if t not in skipped))
        for size in range(len(delays) + 1)
        for skipped in combinations(rounds, size)
    )
