"""Statistics of an audit, in one pass over a log in order of prediction and in little memory."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from belated.arrays import Array, Bools, Floats, Ints
from belated.audits.silence import Deadline
from belated.errors import LogError
from belated.timeline import Timeline
from belated.timeline.sweep import Arrivals, Ties
from belated.timeline.times import Times, joined_times

# How values are spread, in little memory: counts and sums in bins of about a thousandth.
# The bins are those of the first eleven significant bits: whole numbers below 2048 have a bin of
# their own, and every other number shares one with numbers that differ by less than 0.1 %.

_SHIFT = 52 - 10
"""Bits of a float64 below the first eleven significant ones, of which the first is not stored."""
_LEAST = (1023 - 64) << 10
"""The bin of 2 ** -64, in which all smaller numbers are put, as if they were zero."""


@dataclass
class Spread:
    """Counts of positive numbers and zeros, and sums of something that comes with them.

    >>> spread = Spread()
    >>> spread.add(np.array([3.0, 1.0, 0.0, 7.0]), np.array([30.0, 10.0, 0.0, 70.0]))
    >>> spread.count, spread.largest, spread.quantile(0.5)
    (4, 7.0, 1.0)
    >>> spread.add(np.full(9, 3.5), np.zeros(9))
    >>> round(spread.quantile(0.5), 2)
    3.5
    """

    first: int = 0
    counts: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    sums: Floats = field(default_factory=lambda: np.zeros(0))
    largest: float = 0.0
    total: float = 0.0
    are_whole: bool = True

    @property
    def count(self) -> int:
        """How many values there are."""
        return int(self.counts.sum())

    @property
    def mean(self) -> float:
        """The mean of all values."""
        return self.total / self.count if self.count else 0.0

    def add(self, values: Array, parts: Array) -> None:
        """Count values that are not negative; ``parts`` are summed beside them."""
        if not len(values):
            return
        exact = np.asarray(values, dtype=np.float64)
        keys = np.maximum(exact.view(np.int64) >> _SHIFT, _LEAST)
        self._reach(int(keys.min()), int(keys.max()))
        size = len(self.counts)
        self.counts += np.bincount(keys - self.first, minlength=size)
        self.sums += np.bincount(keys - self.first, weights=parts, minlength=size)
        self.largest = max(self.largest, float(exact.max()))
        self.are_whole = self.are_whole and bool((exact == np.floor(exact)).all())
        self.total += float(exact.sum())

    def _reach(self, low: int, high: int) -> None:
        """Make room for bins from low to high."""
        if not len(self.counts):
            self.first = low
        before = max(0, self.first - low)
        after = max(0, high + 1 - self.first - len(self.counts))
        if before or after:
            self.counts = np.pad(self.counts, (before, after))
            self.sums = np.pad(self.sums, (before, after))
            self.first -= before

    @property
    def edges(self) -> Floats:
        """The largest value that each bin can hold, but none above the largest there is."""
        keys = np.arange(self.first + 1, self.first + 1 + len(self.counts))
        below = np.nextafter((keys << _SHIFT).view(np.float64), 0.0)
        return np.minimum(np.where(keys - 1 == _LEAST, 0.0, below), self.largest)

    def quantile(self, share: float) -> float:
        """Return a value that this share of all values does not exceed, to 0.1 %.

        Where all of them are whole, that is the last whole number in its bin.
        """
        if not self.count:
            return 0.0
        place = int(np.searchsorted(np.cumsum(self.counts), share * self.count, side="left"))
        edge = float(self.edges[place])
        return float(np.floor(edge)) if self.are_whole else edge

    def filled(self) -> tuple[Floats, Ints, Floats]:
        """Return edges, counts and sums of the bins that are not empty."""
        used = self.counts > 0
        return self.edges[used], self.counts[used], self.sums[used]


# ---- how long something takes, in five numbers ---------------------------------------------------

SHARES = (0.5, 0.9, 0.99)
"""Quantiles that are reported."""


@dataclass(frozen=True)
class Quantiles:
    """How long something takes: mean, median, 90 % and 99 % of all, and the longest."""

    mean: float
    median: float
    p90: float
    p99: float
    longest: float

    @classmethod
    def of(cls, spread: Spread) -> Quantiles:
        """Read them off a spread; they are exact to 0.1 %."""
        median, p90, p99 = (spread.quantile(share) for share in SHARES)
        return cls(spread.mean, median, p90, p99, spread.largest)

    def to_dict(self, scale: float = 1.0) -> dict[str, float]:
        """Return plain data, times a scale."""
        return {name: value * scale for name, value in vars(self).items()}


# ---- the number of open tickets over time, in a fixed number of stretches of time ----------------

STRETCHES = 1024
"""Stretches of time."""


@dataclass
class Backlogs:
    """Largest and mean backlog by stretch of time; stretches grow as the log does.

    >>> backlogs = Backlogs()
    >>> backlogs.add(np.array([0.0, 1.0, 2.0]), np.array([0, 1, 2]))
    >>> len(backlogs.curves()[0])
    3
    """

    width: float = 0.0
    largest: Ints = field(default_factory=lambda: np.full(STRETCHES, -1, dtype=np.int64))
    counts: Ints = field(default_factory=lambda: np.zeros(STRETCHES, dtype=np.int64))
    sums: npt.NDArray[np.float64] = field(default_factory=lambda: np.zeros(STRETCHES))

    def add(self, times: Array, backlog: Ints) -> None:
        """Count predictions at times after the beginning of the log."""
        if not len(times):
            return
        self._reach(float(times.max()))
        places = np.minimum((times / self.width).astype(np.int64), STRETCHES - 1)
        np.maximum.at(self.largest, places, backlog)
        self.counts += np.bincount(places, minlength=STRETCHES)
        self.sums += np.bincount(places, weights=backlog, minlength=STRETCHES)

    def _reach(self, end: float) -> None:
        """Make stretches longer, by twos, until they reach the end."""
        if self.width == 0.0:
            self.width = max(end, 1e-9) / (STRETCHES - 1)
        while end >= self.width * STRETCHES:
            self.width *= 2.0
            spare = STRETCHES // 2
            self.largest = np.pad(
                self.largest.reshape(-1, 2).max(axis=1), (0, spare), constant_values=-1
            )
            self.counts = np.pad(self.counts.reshape(-1, 2).sum(axis=1), (0, spare))
            self.sums = np.pad(self.sums.reshape(-1, 2).sum(axis=1), (0, spare))

    def curves(self) -> tuple[Array, Array, Ints]:
        """Return middles of stretches with predictions, and mean and largest backlog there."""
        used = self.counts > 0
        middles = (np.flatnonzero(used) + 0.5) * self.width
        return middles, self.sums[used] / self.counts[used], self.largest[used]


# How long it pays to wait: the skip trade-off, by rounds as in the paper, and by the clock.
# Giving up on a round costs one; waiting for it costs its delay under a root: the trade-off is
# |Q| + sqrt(sum of the delays outside Q), least over all sets Q of rounds (Theorem 6.1).


@dataclass(frozen=True, eq=False)
class Patience:
    """The best limit on waiting, and what every limit costs."""

    limit: float
    """Give up on what takes longer: rounds, or time in the log's own unit."""
    given_up: int
    """|Q|, the rounds that take longer or are never answered."""
    cost: float
    """|Q| + sqrt(sum of the other delays), at the limit."""
    forever: float
    """The same for waiting as long as it takes."""
    limits: Floats
    """Limits, in order, ..."""
    costs: Floats
    """... and what each of them costs."""

    @property
    def pays(self) -> bool:
        """Whether giving up at the limit costs less than to wait for ever."""
        return self.cost < self.forever


def by_rounds(delays: Spread, total_delay: int) -> Patience:
    """Return the best limit on delays, counted in rounds; those of all rounds are given."""
    edges, counts, sums = delays.filled()
    return _patience(np.floor(edges), counts, sums, 0, total_delay)


def by_clock(waits: Spread, never: int, total_delay: int) -> Patience:
    """Return the best limit on waiting by the clock, at which the never answered are given up."""
    return _patience(*waits.filled(), never, total_delay)


def _patience(edges: Floats, counts: Ints, sums: Floats, never: int, total_delay: int) -> Patience:
    given_up = never + counts.sum() - np.cumsum(counts)
    costs = given_up + np.sqrt(np.cumsum(sums))
    forever = math.sqrt(total_delay)
    if not len(costs):
        return Patience(0.0, never, float(never), forever, edges, costs)
    # Of equal costs, the longest wait.
    best = len(costs) - 1 - int(np.argmin(costs[::-1]))
    limit = float(edges[best])
    return Patience(limit, int(given_up[best]), float(costs[best]), forever, edges, costs)


FEWEST = 1 << 16
"""Rows that are counted at once, unless the log has fewer."""
EXACT = 1_000_000
"""Rounds up to which the whole timeline is kept, for results that need all of it."""


@dataclass
class Tally:
    """Statistics of an audit; times are floats in the unit of the log, after its first time."""

    ties: Ties = "observe-first"
    deadline: Deadline = field(default_factory=Deadline)
    """When no answer settles a ticket, if that means something."""
    rounds: int = 0
    answered: int = 0
    total_delay: int = 0
    max_delay: int = 0
    """d_max: of all rounds; where no answer came, up to the end of the log."""
    max_answered_delay: int = 0
    """Of rounds whose answer came."""
    max_unanswered_age: int = 0
    """Of the others: predictions until the end of the log."""
    max_backlog: int = 0
    max_dual_delay: int = 0
    busiest: float = 0.0
    """When the backlog was largest."""
    origin: Array | None = None
    """The first prediction, as the log has it."""
    last: Array | None = None
    all_delays: Spread = field(default_factory=Spread)
    """Delays of all rounds, with themselves beside them."""
    delays: Spread = field(default_factory=Spread)
    """The same of those that were answered."""
    dual_delays: Spread = field(default_factory=Spread)
    waits: Spread = field(default_factory=Spread)
    """Times until the answer or the deadline, with delays beside them."""
    answers: Spread = field(default_factory=Spread)
    """Times until the answers that came in time."""
    silent: int = 0
    """Tickets that silence has settled."""
    backlogs: Backlogs = field(default_factory=Backlogs)
    kept: list[Times] | None = field(default_factory=list)
    """All times, as long as there are few."""
    _open: Floats = field(default_factory=lambda: np.empty((3, 0)))
    """Open tickets: their numbers, when they were predicted, and how long they take."""
    _due: Array = field(default_factory=lambda: np.empty(0))
    """Deadlines of tickets without an answer, where they are after all that the log has shown."""

    def count(self, blocks: Iterable[Times]) -> None:
        """Count all blocks, which must be in order of prediction."""
        for arrivals in Timeline.chunks(self._fed(blocks), self.ties):
            self._settle(arrivals)

    @property
    def timeline(self) -> Timeline | None:
        """The whole timeline, if the log is short enough to keep it."""
        if not self.kept:
            return None
        return Timeline.of(joined_times(self.kept), self.ties)

    def _fed(self, blocks: Iterable[Times]) -> Iterator[Times]:
        """Take note of every block on its way to being counted."""
        for block in self._gathered(map(self._settled, blocks)):
            numbers = np.arange(self.rounds, self.rounds + len(block))
            fresh = np.array([numbers, *self._relative(block)])
            self._open = np.concatenate([self._open, fresh], axis=1)
            self.rounds += len(block)
            self.answered += int(np.count_nonzero(block.answered))
            self._keep(block)
            yield block

    def _settled(self, times: Times) -> Times:
        """Return times of which each one ends, where silence is an answer."""
        if self.deadline.span is None or not len(times):
            return times
        self.deadline.note(times, times.answered)
        ends = self.deadline.ends(times, times.answered)
        due = ends.due[~ends.in_time]
        waiting = np.concatenate([self._due.astype(due.dtype), due])
        self._due = waiting[waiting > self.deadline.latest]
        self.silent += len(waiting) - len(self._due)
        took = times.lengths[ends.in_time].astype(np.float64)
        self.answers.add(took, took)
        waits = times.waits
        if waits is not None:
            waits = np.where(ends.in_time, waits, self.deadline.span)
        everyone = np.ones_like(times.answered)
        return replace(times, observed_at=ends.at, answered=everyone, waits=waits)

    def _gathered(self, blocks: Iterable[Times]) -> Iterator[Times]:
        """Put small blocks together, so that work on the open tickets is done less often."""
        found: list[Times] = []
        rows = 0
        for block in blocks:
            found.append(block)
            rows += len(block)
            if rows >= max(FEWEST, self._open.shape[1] // 2):
                yield joined_times(found)
                found, rows = [], 0
        if rows:
            yield joined_times(found)

    def _relative(self, block: Times) -> tuple[Floats, Floats]:
        """Return starts after the origin, and waits, NaN where no answer came."""
        predictions = block.clock.shown(block.predicted_at)
        if self.origin is None:
            self.origin = predictions[:1]
        self.last = predictions[-1:]
        with np.errstate(over="ignore"):
            starts = block.predicted_at - block.clock.plain(self.origin)
            waits = block.lengths
        starts = starts.astype(np.float64)
        waits = np.where(block.answered, waits.astype(np.float64), np.nan)
        if np.isinf(starts).any() or np.isinf(waits).any():
            raise LogError("audit: times are so far apart that their distance is no number")
        return starts, waits

    def _keep(self, block: Times) -> None:
        if self.rounds > EXACT:
            self.kept = None
        if self.kept is not None:
            self.kept.append(block)

    def _settle(self, arrivals: Arrivals) -> None:
        """Count tickets whose interval has ended."""
        places = np.searchsorted(self._open[0], arrivals.ticket)
        _, starts, waits = self._open[:, places]
        self._open = np.delete(self._open, places, axis=1)
        came: Bools = arrivals.observed
        self.total_delay += int(arrivals.delay.sum())
        answered, others = (arrivals.delay[which].max(initial=0) for which in (came, ~came))
        self.max_answered_delay = max(self.max_answered_delay, int(answered))
        self.max_unanswered_age = max(self.max_unanswered_age, int(others))
        self.max_delay = max(self.max_answered_delay, self.max_unanswered_age)
        self.max_dual_delay = max(self.max_dual_delay, int(arrivals.dual_delay.max()))
        peak = int(np.argmax(arrivals.backlog))
        if arrivals.backlog[peak] > self.max_backlog:
            self.max_backlog, self.busiest = int(arrivals.backlog[peak]), float(starts[peak])
        self.all_delays.add(arrivals.delay, arrivals.delay)
        self.delays.add(arrivals.delay[came], arrivals.delay[came])
        self.dual_delays.add(arrivals.dual_delay[came], arrivals.dual_delay[came])
        self.waits.add(waits[came], arrivals.delay[came])
        self.backlogs.add(starts, arrivals.backlog)
