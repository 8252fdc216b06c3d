"""The calculus of latency intervals: when answers come, and what each one had to wait for.

Two kinds of events share one timeline (Definition 3.1): ticket t is *predicted* at time l_t and
*observed* at time r_t, and I_t = (l_t, r_t) is its latency interval. Only the order of the events
matters, so a :class:`Timeline` is a permutation of 2T events and everything else is counting:

====================  =====================================  ==================================
array                 equation                               meaning
====================  =====================================  ==================================
``delay``             d_t = #{s : l_s in I_t}                predictions made while t is open
``backlog``           sigma_t = #{s : l_t in I_s}            tickets open when t is predicted
``dual_delay``        d*_t = #{s : r_s in I_t}               observations made while t is open
``dual_backlog``      sigma*_t = #{s : r_t in I_s}           tickets open when t is observed
``order``, ``rank``   rho and beta = rho^-1                  n-th observed ticket, and the inverse
====================  =====================================  ==================================

Tickets, ranks and rounds are numbered from 0, where the paper counts from 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, cast, get_args

import numpy as np
import numpy.typing as npt

from belated.arrays import Array, Bools, Floats, Ints
from belated.errors import TimelineError
from belated.tables import as_html
from belated.timeline.sweep import (
    Arrivals,
    Block,
    Tickets,
    Ties,
    backlogs,
    freeze,
    frozen,
    interleave,
    sweep,
)
from belated.timeline.time_column import TimesLike
from belated.timeline.times import Times, read_times

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from belated.charts import Chart

__all__ = ["MOST_DRAWN", "Arrivals", "SkipTradeoff", "Ties", "Timeline", "TimesLike"]


MOST_DRAWN = 500
"""Largest window of tickets that :meth:`Timeline.plot` draws."""


@dataclass(frozen=True, eq=False)
class SkipTradeoff:
    """The best set Q of rounds to give up on: min over Q of #Q + sqrt(sum over t not in Q of d_t).

    Theorem 6.1: the skipping wrapper pays this minimum, up to a constant, without knowing Q.
    Giving up one round costs at most one round's loss; keeping it costs its delay under the root.
    """

    skipped: int
    """#Q, the number of rounds to give up on."""
    cost: float
    """The minimum itself."""
    threshold: int
    """Q holds exactly the rounds whose delay is above this one."""
    curve: Floats
    """``curve[q]`` is the cost of giving up on the q longest delays, q = 0..T."""


@dataclass(frozen=True, eq=False, repr=False)
class Timeline:
    """All predictions and observations of a log, in order (Definition 3.1).

    Build one with :meth:`from_intervals` (clock times) or :meth:`from_delays` (rounds). It never
    changes, and its arrays are read-only.

    The example of Figures 1 and 2, whose tables print ``rank`` and ``order`` counted from 1:

    >>> timeline = Timeline.from_intervals([1, 2, 3, 5, 8], [9, 6, 4, 7, 10])
    >>> timeline.delay, timeline.backlog
    (array([4, 2, 0, 0, 0]), array([0, 1, 2, 2, 1]))
    >>> timeline.dual_delay, timeline.dual_backlog
    (array([3, 1, 0, 1, 1]), array([1, 2, 2, 1, 0]))
    >>> timeline.rank, timeline.order
    (array([3, 1, 0, 2, 4]), array([2, 1, 3, 0, 4]))
    """

    order: Ints
    """rho (Definition 3.5): ``order[n]`` is the ticket observed n-th."""
    boundaries: Ints
    """``boundaries[n + 1]`` predictions precede observation n, and ``boundaries[0]`` is 0.

    So Z_n (Section 3.2) holds the tickets ``boundaries[n]`` up to ``boundaries[n + 1]``.
    """
    observed: Bools
    """By ticket: False where no answer ever came."""
    rows: Ints
    """``rows[t]`` is the input row of ticket t; 0, 1, 2, ... when the input was in order."""

    def __post_init__(self) -> None:
        """Make the arrays read-only."""
        freeze(self.order, self.boundaries, self.observed, self.rows)

    @classmethod
    def from_delays(cls, delays: npt.ArrayLike) -> Timeline:
        """Build the round-based protocol (Section 2): round t is answered at the end of t + d_t.

        Answers of one round arrive in ticket order. A delay that reaches beyond the last round
        T - 1 means that no answer ever came; its interval runs to the end, so ``delay`` is then
        T - 1 - t.

        Differs from the paper: its embedding r_t = t + d_t + 1 - 2^-t collides in floating point
        after 46 rounds, so events are sorted by the integer pair (t + d_t, t) instead.

        >>> timeline = Timeline.from_delays([3, 0, 9, 0])
        >>> timeline.order, timeline.delay
        (array([1, 0, 3, 2]), array([3, 0, 1, 0]))
        >>> timeline.observed
        array([ True,  True, False,  True])
        """
        delay = _checked_delays(delays)
        rounds = len(delay)
        tickets = np.arange(rounds, dtype=np.int64)
        # Round T, one past the end, collects all that is never answered.
        answered_in = np.minimum(tickets + delay, rounds)
        order = np.argsort(answered_in, kind="stable")
        made = np.minimum(answered_in[order] + 1, rounds)
        return cls(order, np.append(0, made), answered_in < rounds, tickets)

    @classmethod
    def from_intervals(
        cls, predicted_at: TimesLike, observed_at: TimesLike, ties: Ties = "observe-first"
    ) -> Timeline:
        """Build the timeline of a log from its clock times l_t and r_t.

        Both columns hold numbers or both hold datetimes: lists, NumPy arrays of any unit, pandas
        or polars Series. Integers and datetimes are compared exactly. Never observed is NaN, NaT,
        None or +infinity; such an interval runs to the end of the log.

        Tickets are numbered by prediction time; ``rows`` leads back to the input when it was not
        sorted. Events of one kind at one time keep ticket order. For events of different kinds
        ``ties`` decides, except that a ticket's own prediction always precedes its observation:
        with "observe-first" a zero-latency observation directly follows its own prediction.

        >>> Timeline.from_intervals([0, 1], [1, None]).backlog
        array([0, 0])
        >>> Timeline.from_intervals([0, 1], [1, None], ties="predict-first").backlog
        array([0, 1])
        >>> Timeline.from_intervals([5.0, 2.0], [6.0, 9.0]).rows
        array([1, 0])
        """
        _check_ties(ties)
        return cls.of(read_times(predicted_at, observed_at, "Timeline:"), ties)

    @classmethod
    def of(cls, times: Times, ties: Ties = "observe-first") -> Timeline:
        """Build the timeline of a log whose times were read already, such as ``Log.times``."""
        _check_ties(ties)
        times, rows = times.by_prediction_time()
        tickets = np.arange(len(rows), dtype=np.int64)
        opened = Tickets(tickets, times.observed_at, times.answered)
        order, made = interleave(times.predicted_at, opened, 0, ties)
        return cls(order, np.append(0, made), times.answered.copy(), rows)

    @staticmethod
    def chunks(blocks: Iterable[Block], ties: Ties = "observe-first") -> Iterator[Arrivals]:
        """Count a log that is larger than memory, in one pass over blocks of it.

        ``blocks`` are pairs ``(predicted_at, observed_at)`` as for :meth:`from_intervals`, or
        times that were read already, in prediction order. Observations are yielded in order of
        arrival, as soon as nothing that is still to be read can change them; tickets number the
        rows of all blocks from 0. Memory is proportional to the open tickets and one block. Put
        together, the stretches are the arrays of the in-memory timeline, taken in its ``order``.

        >>> blocks = [([1, 2, 3], [9, 6, 4]), ([5, 8], [7, 10])]
        >>> [stretch.ticket.tolist() for stretch in Timeline.chunks(blocks)]
        [[2, 1, 3], [0, 4]]
        """
        _check_ties(ties)
        return sweep(blocks, ties)

    @property
    def rounds(self) -> int:
        """T, the number of tickets."""
        return len(self.order)

    @cached_property
    def delay(self) -> Ints:
        """d_t = #{s : l_s in I_t}, the predictions made while t is open, equation (1).

        Lemma 3.2: t + d_t + 1 predictions precede r_t (counting tickets from 0).
        """
        made = np.empty(self.rounds, dtype=np.int64)
        made[self.order] = self.boundaries[1:]
        made -= np.arange(1, self.rounds + 1)
        return frozen(made)

    @cached_property
    def backlog(self) -> Ints:
        """sigma_t = #{s : l_t in I_s}, the tickets open when t is predicted, equation (1)."""
        return frozen(backlogs(self.boundaries[1:], 0, self.rounds, 0))

    @cached_property
    def rank(self) -> Ints:
        """beta, the inverse of ``order``: how many observations come before that of t."""
        rank = np.empty(self.rounds, dtype=np.int64)
        rank[self.order] = np.arange(self.rounds)
        return frozen(rank)

    @cached_property
    def dual_delay(self) -> Ints:
        """d*_t = #{s : r_s in I_t} = sigma_t + beta(t) - t, equation (2) and Theorem 3.4 (c)."""
        return frozen(self.backlog + self.rank - np.arange(self.rounds))

    @cached_property
    def dual_backlog(self) -> Ints:
        """sigma*_t = #{s : r_t in I_s} = d_t + t - beta(t), equation (2) and Theorem 3.4 (c)."""
        return frozen(self.delay + np.arange(self.rounds) - self.rank)

    @cached_property
    def events(self) -> Ints:
        """All 2T events in time order: t where t is predicted, ``~t`` where it is observed.

        The observations that never came stand at the end, in ticket order.

        >>> Timeline.from_delays([1, 0, 0]).events
        array([ 0,  1, -1, -2,  2, -3])
        """
        tickets = np.arange(self.rounds)
        events = np.empty(2 * self.rounds, dtype=np.int64)
        events[self._predicted_index] = tickets
        events[tickets + self.boundaries[1:]] = ~self.order
        return frozen(events)

    @property
    def _predicted_index(self) -> Ints:
        """Index in ``events`` of each l_t: t predictions, t - sigma_t observations precede."""
        return 2 * np.arange(self.rounds) - self.backlog

    @cached_property
    def total_delay(self) -> int:
        """d_tot, the sum of all delays; Theorem 3.4 (a): of all four sequences."""
        return int(self.delay.sum())

    @cached_property
    def max_delay(self) -> int:
        """d_max."""
        return int(self.delay.max(initial=0))

    @cached_property
    def max_backlog(self) -> int:
        """sigma_max, which is also the largest dual backlog by Theorem 3.4 (b)."""
        return int(self.backlog.max(initial=0))

    @cached_property
    def max_dual_delay(self) -> int:
        """d*_max, between d_max / 2 and 2 d_max by Theorem 3.4 (b)."""
        return int(self.dual_delay.max(initial=0))

    def partition(self, n: int) -> range:
        """Return Z_n: the tickets predicted after exactly n observations (Section 3.2).

        A steady algorithm plays the same point in all of them.

        >>> timeline = Timeline.from_intervals([1, 2, 3, 5, 8], [9, 6, 4, 7, 10])
        >>> [list(timeline.partition(n)) for n in range(5)]
        [[0, 1, 2], [3], [], [4], []]
        """
        if not 0 <= n < self.rounds:
            raise TimelineError(f"Timeline.partition: n must be in 0..{self.rounds - 1}, got {n}")
        return range(int(self.boundaries[n]), int(self.boundaries[n + 1]))

    def skip_tradeoff(self) -> SkipTradeoff:
        """Return the best set of rounds to give up on (Theorem 6.1).

        The best Q of each size holds the longest delays, so one sort and exact integer prefix
        sums give min over q of q + sqrt(sum of the T - q smallest delays).

        >>> tradeoff = Timeline.from_delays([50] + 99 * [0]).skip_tradeoff()
        >>> tradeoff.skipped, tradeoff.cost, tradeoff.threshold
        (1, 1.0, 0)
        """
        ordered = np.sort(self.delay)
        kept = np.append(0, np.cumsum(ordered))
        curve = np.arange(self.rounds + 1) + np.sqrt(kept[::-1])
        threshold = int(ordered[self.rounds - 1 - int(np.argmin(curve))]) if self.rounds else 0
        # Among equal delays the curve is concave, so its minimum takes all of them or none.
        skipped = self.rounds - int(np.searchsorted(ordered, threshold, side="right"))
        return SkipTradeoff(skipped, float(curve[skipped]), threshold, frozen(curve))

    def summary(self) -> str:
        """Return the timeline in words.

        >>> print(Timeline.from_intervals([1, 2, 3, 5, 8], [9, 6, 4, 7, None]).summary())
        Timeline
          rounds           5
          answered         4 (80.0%), never 1
          delay            mean 1.2, median 0, p90 4, max 4
          backlog          mean 1.2, max 2
          total delay      6
          skip trade-off   best to skip 2 rounds (delay above 0): cost 2 instead of 2.45
        """
        return "\n".join(["Timeline", *(f"  {name:<17}{text}" for name, text in self._facts())])

    def _facts(self) -> list[tuple[str, str]]:
        """Name and text of each line of the summary."""
        if not self.rounds:
            return [("rounds", "0")]
        answered = int(np.count_nonzero(self.observed))
        mean = f"{self.total_delay / self.rounds:.6g}"
        median, high = np.quantile(self.delay, [0.5, 0.9], method="inverted_cdf")
        return [
            ("rounds", f"{self.rounds:,}"),
            (
                "answered",
                f"{answered:,} ({answered / self.rounds:.1%}), never {self.rounds - answered:,}",
            ),
            ("delay", f"mean {mean}, median {median:,}, p90 {high:,}, max {self.max_delay:,}"),
            ("backlog", f"mean {mean}, max {self.max_backlog:,}"),
            ("total delay", f"{self.total_delay:,}"),
            ("skip trade-off", _in_words(self.skip_tradeoff())),
        ]

    def plot(self, start: int = 0, stop: int | None = None) -> Chart:
        """Draw tickets ``start`` up to ``stop`` as intervals over the event index, as in Figure 1.

        A small window shows every event: filled marks are predictions, open marks observations;
        the filled triangles on a line are that ticket's delay, the open ones its dual delay. A
        larger window shows the intervals only, coloured by delay. A dotted line is a ticket whose
        answer never came. Without ``stop`` the window holds up to 500 tickets. Notebooks show
        the chart, and its ``save`` writes an image (``belated[report]``).
        """
        from belated.timeline.picture import draw_intervals

        stop = min(self.rounds, start + MOST_DRAWN) if stop is None else stop
        _check_window(start, stop, self.rounds)
        return draw_intervals(self.events, self.delay, self.observed, range(start, stop))

    def __len__(self) -> int:
        """Return the number of rounds."""
        return self.rounds

    def __eq__(self, other: object) -> bool:
        """Two timelines are equal when they have the same events, of which the same came."""
        if not isinstance(other, Timeline):
            return NotImplemented
        return (
            np.array_equal(self.order, other.order)
            and np.array_equal(self.boundaries, other.boundaries)
            and np.array_equal(self.observed, other.observed)
        )

    def __hash__(self) -> int:
        """Equal timelines have equal counts."""
        return hash((self.rounds, self.total_delay, self.max_delay, self.max_backlog))

    def __reduce__(self) -> tuple[type[Timeline], tuple[Array, ...]]:
        """Rebuild from the defining arrays: copies are small, and read-only again."""
        return Timeline, (self.order, self.boundaries, self.observed, self.rows)

    def __repr__(self) -> str:
        """Return the main counts on one line.

        >>> Timeline.from_delays([2, 0, 0])
        Timeline(3 rounds, 3 answered, total_delay=2, max_delay=2, max_backlog=1)
        """
        return (
            f"Timeline({_count(self.rounds, 'round')}, {np.count_nonzero(self.observed)} answered, "
            f"total_delay={self.total_delay}, max_delay={self.max_delay}, "
            f"max_backlog={self.max_backlog})"
        )

    def _repr_html_(self) -> str:
        """Return the summary as a table, for notebooks."""
        return as_html("Timeline", self._facts())


def _checked_delays(delays: npt.ArrayLike) -> Ints:
    """Delays as int64, at most T, or the reason why they are no delays."""
    try:
        given = np.asarray(delays)
    except ValueError:  # lists of several lengths
        raise TimelineError(
            f"Timeline.from_delays: delays must be a one-dimensional array, got {delays!r}"
        ) from None
    if given.ndim != 1 or (given.dtype.kind not in "iu" and given.size):
        raise TimelineError(
            "Timeline.from_delays: delays must be a one-dimensional array of integers, got "
            f"dtype {given.dtype} and shape {given.shape}; for clock times use from_intervals"
        )
    if given.min(initial=0) < 0:
        row = int(np.argmax(given < 0))
        raise TimelineError(
            f"Timeline.from_delays: delays[{row}] must be at least 0, got {given[row]}; "
            "0 means answered at the end of its own round"
        )
    # Capping first: an unsigned delay may be too large for int64, and T already means never.
    return cast("Ints", np.minimum(given, len(given)).astype(np.int64))


def _check_ties(ties: str) -> None:
    if ties not in get_args(Ties):
        known = " or ".join(repr(name) for name in get_args(Ties))
        raise TimelineError(f"Timeline: ties must be {known}, got {ties!r}")


def _check_window(start: int, stop: int, rounds: int) -> None:
    if not 0 <= start < stop <= rounds or stop - start > MOST_DRAWN:
        raise TimelineError(
            f"Timeline.plot: the window must lie in tickets 0 to {rounds} and hold 1 to "
            f"{MOST_DRAWN} of them, got start={start} and stop={stop}"
        )


def _in_words(tradeoff: SkipTradeoff) -> str:
    """The skip trade-off on one line."""
    if not tradeoff.skipped:
        return f"best to skip nothing: cost {tradeoff.cost:.3g}"
    rounds = _count(tradeoff.skipped, "round")
    return (
        f"best to skip {rounds} (delay above {tradeoff.threshold:,}): "
        f"cost {tradeoff.cost:.3g} instead of {tradeoff.curve[0]:.3g}"
    )


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
