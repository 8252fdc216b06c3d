"""Whether the arrays of a snapshot can be the memory of a model.

Kernels use entries and lengths in the memory as they are. A snapshot can have any content, and its
checksum does not prove its origin. So parameters must be those of the settings, and counts must add
up, before a kernel runs.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from belated.arrays import Ints
from belated.errors import SnapshotError
from belated.kernels.memory import PARTS, Memory
from belated.kernels.slots import ints as N
from belated.kernels.slots import table as T

_MOST_ROUNDS = 1 << 48  # years of them
_MOST_SUM = 1 << 62

# Slots of ``n`` that change while a learner lives, each of which is looked at below.
COUNTS = (
    *(N.ROUNDS, N.ARRIVED, N.SKIPPED, N.CANCELLED, N.LATE, N.EXCESS, N.SUM_DUAL, N.MAX_DUAL),
    *(N.MAX_DELAY, N.MAX_DUAL_DELAY, N.GHOSTS, N.HOLDING, N.HEAD, N.SPARSE, N.OFFSET, N.CAPACITY),
    *(N.LAG, N.OPEN_LAGS, N.FORGOTTEN, N.MAX_LOST),
)


def demand(holds: Any, why: str) -> None:
    """Refuse a snapshot of which something does not hold."""
    if not holds:
        raise SnapshotError(f"restore: the arrays do not fit together ({why})")


def check_shapes(parts: Mapping[str, NDArray[Any]]) -> None:
    """Demand that the parts have the shapes that the counters say."""
    f, n, tickets, records, copy_f, copy_n = (parts[name] for name in PARTS)
    demand(n.shape == (N.HEADER,), "no header")
    numbers = [int(n[slot]) for slot in (N.KEPT_AT, N.ROUNDS, N.OFFSET, N.KEEP, N.MADE)]
    kept_at, rounds, offset, keep, made = numbers
    demand(0 <= rounds <= _MOST_ROUNDS, "too many rounds")
    demand(
        f.shape == (kept_at,)
        and tickets.shape == (rounds + offset, 2)
        and records.shape == (rounds + offset, keep)
        and copy_f.shape == copy_n.shape == (0, 0)
        and n[N.COPY_F] == n[N.COPY_N] == made == 0,
        "shapes",
    )


def check_parameters(n: Ints, fresh: Ints, moving: Collection[int]) -> None:
    """Demand that all ints are as they were at the start, but for those that move."""
    same = np.delete(np.arange(N.HEADER), [*moving])
    wrong = same[n[same] != fresh[same]]
    demand(wrong.size == 0, f"number {wrong[:1]} is not what the spec gives")


def check_normal(n: Ints, tickets: Ints) -> None:
    """Demand what ``Memory.parts`` has made the same for all memories."""
    first = np.argmax(np.append(tickets[:, 1], 0) >= 0)
    demand(n[N.HEAD] == first and n[N.SPARSE] == n[N.CAPACITY] == len(tickets), "the table's ends")
    demand((tickets[:, 1] != T.DEAD).all(), "dead tickets")


def check_table(memory: Memory, *, learns_late: bool = False) -> None:
    """Demand that the counters agree with one another and with the table of tickets.

    Where late answers are learned, one ticket can have several.
    """
    count = {slot: int(memory.n[slot]) for slot in COUNTS}
    rounds, arrived = count[N.ROUNDS], count[N.ARRIVED]
    demand(0 <= arrived <= rounds <= _MOST_ROUNDS, "rounds and arrivals")
    _check_tickets(memory, count)
    lost, skipped = count[N.SKIPPED] + count[N.CANCELLED], count[N.SKIPPED]
    demand(min(count[N.SKIPPED], count[N.CANCELLED]) >= 0 and lost <= arrived, "lost tickets")
    demand(0 <= count[N.GHOSTS] <= skipped, "skipped tickets")
    demand(count[N.LATE] >= 0, "late answers")
    demand(learns_late or count[N.LATE] <= skipped - count[N.GHOSTS], "late answers")
    answers = arrived - lost + count[N.LATE]
    demand(0 <= count[N.EXCESS] <= answers, "large answers")
    demand(0 <= count[N.MAX_DUAL] <= rounds, "dual backlogs")
    total = count[N.SUM_DUAL]
    demand(count[N.MAX_DUAL] <= total <= arrived * count[N.MAX_DUAL], "sum of dual backlogs")
    demand(0 <= total < _MOST_SUM and memory.total_delay >= 0, "total delay")
    demand(0 <= count[N.MAX_DELAY] <= rounds and 0 <= count[N.MAX_LOST] <= rounds, "delays")
    demand(0 <= count[N.MAX_DUAL_DELAY] <= arrived, "dual delays")
    demand(0 <= count[N.LAG] <= arrived and 0 <= count[N.OPEN_LAGS] <= rounds, "lags")


def _check_tickets(memory: Memory, count: Mapping[int, int]) -> None:
    """Demand that tickets stand in order, and that there are as many of each kind as counted."""
    rounds, arrived = count[N.ROUNDS], count[N.ARRIVED]
    head, sparse, offset = count[N.HEAD], count[N.SPARSE], count[N.OFFSET]
    tail = rounds + offset
    demand(0 <= tail <= count[N.CAPACITY], "the table's length")
    number, seen = memory.entries[:, 0], memory.entries[:, 1]
    demand(0 <= head <= tail and 0 <= sparse <= tail, "the table's ends")
    demand(0 <= count[N.FORGOTTEN] <= rounds, "forgotten tickets")
    demand((number >= count[N.FORGOTTEN]).all(), "forgotten tickets")
    demand((np.diff(number) > 0).all(), "tickets out of order")
    demand((number < rounds).all(), "tickets that were never handed out")
    demand((number[sparse:] == np.arange(sparse, tail) - offset).all(), "places of tickets")
    given_up_at = T.GIVEN_UP - seen  # by the predictions made then; below 0 for other states
    demand((given_up_at <= rounds).all() and (seen[:head] < 0).all(), "states of tickets")
    demand(((given_up_at < 0) | (given_up_at >= number)).all(), "when tickets were given up on")
    is_open = seen >= 0
    demand(np.count_nonzero(is_open) == rounds - arrived, "open tickets")
    demand(np.count_nonzero(given_up_at >= 0) == count[N.GHOSTS], "skipped tickets")
    demand(np.count_nonzero(seen == T.HELD) == count[N.HOLDING], "held tickets")
    issued, before = number[is_open], seen[is_open]
    demand((before <= np.minimum(issued - np.arange(issued.size), arrived)).all(), "arrivals")
    demand((np.diff(before) >= 0).all(), "arrivals out of order")
