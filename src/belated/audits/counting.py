"""One pass over a log, in order of prediction, that counts all an audit reports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from belated.arrays import Array, Bools, Floats, Ints
from belated.audits.backlog import Backlogs
from belated.audits.spread import Spread
from belated.errors import LogError
from belated.timeline import Timeline
from belated.timeline.sweep import Arrivals, Ties
from belated.timeline.times import Times, joined_times

DRAWN = 3_000
"""Most intervals in the picture of the whole log."""
SHOWN = 40
"""Intervals in the picture of its beginning."""
FEWEST = 1 << 16
"""Rows that are counted at once, unless the log has fewer."""
EXACT = 1_000_000
"""Rounds up to which the whole timeline is kept, for results that need all of it."""


@dataclass
class OpenTickets:
    """Open tickets by number: when they were predicted, and how long their answer takes."""

    tickets: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    starts: Floats = field(default_factory=lambda: np.empty(0))
    waits: Floats = field(default_factory=lambda: np.empty(0))

    def enter(self, starts: Floats, waits: Floats, first: int) -> None:
        """Add the next tickets."""
        fresh = np.arange(first, first + len(starts))
        self.tickets = np.concatenate([self.tickets, fresh])
        self.starts = np.concatenate([self.starts, starts])
        self.waits = np.concatenate([self.waits, waits])

    def leave(self, tickets: Ints) -> tuple[Floats, Floats]:
        """Remove tickets, and return their starts and waits."""
        places = np.searchsorted(self.tickets, tickets)
        starts, waits = self.starts[places], self.waits[places]
        kept = np.ones(len(self.tickets), dtype=np.bool_)
        kept[places] = False
        self.tickets, self.starts = self.tickets[kept], self.starts[kept]
        self.waits = self.waits[kept]
        return starts, waits


@dataclass
class Tally:
    """What is counted; times are floats, in the log's own unit, after its first prediction."""

    ties: Ties = "observe-first"
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
    """Times until the answer, with delays beside them."""
    backlogs: Backlogs = field(default_factory=Backlogs)
    drawn: list[tuple[int, float, float]] = field(default_factory=list)
    """Ticket, start and wait of some tickets of the whole log; NaN where no answer came."""
    stride: int = 1
    shown: list[tuple[int, float, float]] = field(default_factory=list)
    """The same of the first tickets."""
    kept: list[Times] | None = field(default_factory=list)
    """All times, as long as there are few."""
    _open: OpenTickets = field(default_factory=OpenTickets)

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
        for block in self._gathered(blocks):
            starts, waits = self._relative(block)
            self._draw(starts, waits)
            self._open.enter(starts, waits, self.rounds)
            self.rounds += len(block)
            self.answered += int(np.count_nonzero(block.answered))
            self._keep(block)
            yield block

    def _gathered(self, blocks: Iterable[Times]) -> Iterator[Times]:
        """Put small blocks together, so that work on the open tickets is done less often."""
        found: list[Times] = []
        rows = 0
        for block in blocks:
            found.append(block)
            rows += len(block)
            if rows >= max(FEWEST, len(self._open.tickets) // 2):
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

    def _draw(self, starts: Floats, waits: Floats) -> None:
        """Choose tickets for the pictures: the first ones, and every n-th of all."""
        few = range(min(len(starts), max(0, SHOWN - self.rounds)))
        self.shown += [(self.rounds + i, float(starts[i]), float(waits[i])) for i in few]
        some = range(-self.rounds % self.stride, len(starts), self.stride)
        self.drawn += [(self.rounds + i, float(starts[i]), float(waits[i])) for i in some]
        while len(self.drawn) > DRAWN:
            self.stride *= 2
            self.drawn = [row for row in self.drawn if row[0] % self.stride == 0]

    def _keep(self, block: Times) -> None:
        if self.rounds > EXACT:
            self.kept = None
        if self.kept is not None:
            self.kept.append(block)

    def _settle(self, arrivals: Arrivals) -> None:
        """Count tickets whose interval has ended."""
        starts, waits = self._open.leave(arrivals.ticket)
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
