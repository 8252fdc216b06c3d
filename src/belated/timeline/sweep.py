"""Answers in order of arrival, counted in one pass over blocks of a log.

A log that fits in memory is a single block: :func:`interleave` and :func:`backlogs` do the counting
for both. A larger one is read block by block, and memory holds only what is still open.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from itertools import chain
from typing import Literal, TypeAlias, TypeVar, cast

import numpy as np

from belated.arrays import Array, Bools, Ints
from belated.errors import OutOfOrder
from belated.timeline.clock import Clock
from belated.timeline.time_column import TimesLike
from belated.timeline.times import Times, first_descent, read_times

Ties = Literal["observe-first", "predict-first"]
"""Which event comes first when a prediction and an observation carry the same time."""
Block: TypeAlias = Times | tuple[TimesLike, TimesLike]
"""Some rows of a log: times that were read already, or two columns."""

_A = TypeVar("_A", bound=Array)


@dataclass(frozen=True, eq=False)
class Arrivals:
    """A stretch of observations in the order of their arrival; see :meth:`Timeline.chunks`."""

    ticket: Ints
    """rho(n): which ticket was observed."""
    delay: Ints
    """d_t of that ticket."""
    backlog: Ints
    """sigma_t of that ticket."""
    dual_delay: Ints
    """d*_t of that ticket."""
    dual_backlog: Ints
    """sigma*_t of that ticket."""
    observed: Bools
    """False where no answer ever came and the interval ran to the end of the log."""

    def __post_init__(self) -> None:
        """Make the arrays read-only."""
        freeze(*(getattr(self, field.name) for field in fields(self)))

    def __len__(self) -> int:
        """Return the number of observations in this stretch."""
        return len(self.ticket)


def sweep(blocks: Iterable[Block], ties: Ties) -> Iterator[Arrivals]:
    """Read block after block and yield what has become final; at the end, the rest."""
    nothing = np.empty(0, dtype=np.int64)
    end = Times(nothing, nothing, np.empty(0, dtype=np.bool_), Clock(nothing.dtype))
    waiting, backlog = Tickets(nothing, nothing, end.answered), nothing
    made = seen = 0
    for times in chain(_successive_times(blocks), [end]):
        count = len(times)
        fresh = np.arange(made, made + count, dtype=np.int64)
        waiting = waiting.join(Tickets(fresh, times.observed_at, times.answered))
        due = _due(waiting, times.predicted_at, ties)
        settled = waiting.take(due)
        order, before = interleave(times.predicted_at, settled, made, ties)
        backlog = np.concatenate([backlog, backlogs(before, made, count, seen)])
        if len(order):
            yield _arrivals(settled.take(order), before, backlog[due][order], seen)
        waiting, backlog = waiting.take(~due), backlog[~due]
        made += count
        seen += len(order)


def _due(tickets: Tickets, predicted_at: Array, ties: Ties) -> Bools:
    """Tell which observations precede every prediction still to be read; all, when none is left.

    The next block may begin at the very time this one ends, so "predict-first" has to wait
    for observations at that time. With "observe-first" they come before whatever follows.
    """
    if not len(predicted_at):
        return np.ones(len(tickets.ticket), dtype=np.bool_)
    now = predicted_at[-1]
    passed = tickets.observed_at <= now if ties == "observe-first" else tickets.observed_at < now
    return cast("Bools", tickets.answered & passed)


def _arrivals(tickets: Tickets, made: Ints, backlog: Ints, seen: int) -> Arrivals:
    """All four counts of tickets that are observed one after the other, Theorem 3.4 (c)."""
    rank = np.arange(seen, seen + len(made))
    return Arrivals(
        ticket=tickets.ticket,
        delay=made - 1 - tickets.ticket,
        backlog=backlog,
        dual_delay=backlog + rank - tickets.ticket,
        dual_backlog=made - 1 - rank,
        observed=tickets.answered,
    )


def _successive_times(blocks: Iterable[Block]) -> Iterator[Times]:
    """Read the blocks that are not empty, all by the clock of the first, in prediction order."""
    before: Times | None = None
    for number, block in enumerate(blocks):
        who = f"Timeline.chunks: block {number}:"
        times = _read(block, who, None if before is None else before.clock)
        if len(times):
            _check_forward(times, before, who)
            before = times
            yield times


def _read(block: Block, who: str, clock: Clock | None) -> Times:
    """Read a block by a clock, unless it was read already."""
    if not isinstance(block, Times):
        return read_times(*block, who, clock)
    return block if clock in (None, block.clock) else read_times(*block.columns, who, clock)


def _check_forward(times: Times, before: Times | None, who: str) -> None:
    """Refuse a block that goes back in time."""
    latest = times.predicted_at[:0] if before is None else before.predicted_at[-1:]
    moments = np.concatenate([latest, times.predicted_at])
    row = first_descent(moments)
    if row is not None:
        raise OutOfOrder(
            f"{who} predicted_at[{row - len(latest)}] is before the prediction that precedes it "
            f"({times.show(moments[row])} < {times.show(moments[row - 1])}); "
            "blocks must come in prediction order: sort the log first"
        )


# ---- counting ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Tickets:
    """Tickets and the times of their observations."""

    ticket: Ints
    observed_at: Array
    answered: Bools

    def take(self, which: Array) -> Tickets:
        """Return some of the tickets."""
        return Tickets(self.ticket[which], self.observed_at[which], self.answered[which])

    def join(self, other: Tickets) -> Tickets:
        """Return these tickets, then the others."""
        return Tickets(
            np.concatenate([self.ticket, other.ticket]),
            np.concatenate([self.observed_at, other.observed_at]),
            np.concatenate([self.answered, other.answered]),
        )


def interleave(predicted_at: Array, tickets: Tickets, first: int, ties: Ties) -> tuple[Ints, Ints]:
    """Put observations in order and count the predictions made before each of them.

    ``predicted_at`` are the sorted times of predictions ``first``, ``first + 1``, ...; the
    earlier ones are known to precede every observation here. Returns positions in ``tickets`` in
    order of arrival, and the counts in that same order.
    """
    order = _arrival_order(tickets)
    answered = int(np.count_nonzero(tickets.answered))
    side: Literal["left", "right"] = "left" if ties == "observe-first" else "right"
    made = np.full(len(order), len(predicted_at), dtype=np.int64)
    # Looking up sorted times is several times faster than looking them up as they come.
    arrivals = tickets.observed_at[order[:answered]]
    made[:answered] = np.searchsorted(predicted_at, arrivals, side=side)
    made += first
    # A ticket's own prediction precedes its observation, also when both carry the same time.
    return order, np.maximum(made, tickets.ticket[order] + 1, out=made)


def _arrival_order(tickets: Tickets) -> Ints:
    """Positions by observation time, then by ticket; the never answered last.

    The stable sort keeps ticket order among equal times. It is also the fast one where delays
    are short, because the times are nearly sorted already.
    """
    if tickets.answered.all():
        return np.argsort(tickets.observed_at, kind="stable")
    known = np.flatnonzero(tickets.answered)
    order = known[np.argsort(tickets.observed_at[known], kind="stable")]
    return np.concatenate([order, np.flatnonzero(~tickets.answered)])


def backlogs(made: Ints, first: int, count: int, seen: int) -> Ints:
    """sigma_t = t - #{observations before l_t} for t = first, ..., first + count - 1.

    ``made`` counts the predictions before each observation: it precedes l_t exactly when that
    count is at most t (Lemma 3.2). Another ``seen`` observations precede all of these.
    """
    arrived = np.cumsum(np.bincount(made - first, minlength=count + 1)[:count])
    return np.arange(first - seen, first - seen + count) - arrived


def frozen(array: _A) -> _A:
    """Make an array read-only, and return it."""
    freeze(array)
    return array


def freeze(*arrays: Array) -> None:
    """Make arrays read-only."""
    for array in arrays:
        array.flags.writeable = False
