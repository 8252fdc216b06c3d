"""Whether what a snapshot holds can be the memory of a learner.

Kernels look nothing up twice: an entry, a copy or a length that stands in the memory is used as it
is. A snapshot may come from anywhere, and its checksum is no proof of who wrote it. So all that the
spec determines must be what it gives, and all that is counted must add up, before a kernel runs.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from belated.arrays import Floats, Ints
from belated.bases import Leader, Portfolio
from belated.errors import SnapshotError
from belated.kernels import thinning
from belated.kernels.learners import tracking
from belated.kernels.learners.sets import SETS
from belated.kernels.learners.wrappers import WRAPPERS
from belated.kernels.slots import code as C
from belated.kernels.slots import floats as F
from belated.kernels.slots import ints as N
from belated.kernels.slots import kinds as K
from belated.kernels.slots import own as OWN
from belated.kernels.slots import table as T
from belated.learner.program import MOVING, Program
from belated.learner.state import PARTS, Memory

_MOST_ROUNDS = 1 << 48  # years of them
_MOST_SUM = 1 << 62
_LARGE_SUM = 1e250  # sums of squares stay below
_LARGE_VECTOR = 1e120  # whose square is no overflow
_SLACK = 1e-6

# Slots of ``f`` that are never negative.
_NOT_NEGATIVE = (F.ETA, F.SPREAD, F.LEARNED, F.DRIFTED, F.LARGEST)
# Slots of ``n`` that change while a learner lives, each of which is looked at below.
COUNTS = (
    *(N.ROUNDS, N.ARRIVED, N.SKIPPED, N.CANCELLED, N.LATE, N.EXCESS, N.SUM_DUAL, N.MAX_DUAL),
    *(N.MAX_DELAY, N.MAX_DUAL_DELAY, N.GHOSTS, N.HOLDING, N.HEAD, N.SPARSE, N.OFFSET, N.CAPACITY),
    *(N.LAG, N.OPEN_LAGS, N.FORGOTTEN, N.MAX_LOST),
)
_OF_LEARNERS = (*COUNTS, N.SEED_LOW, N.SEED_HIGH, N.STRICT, N.PATIENCE, N.MADE, N.FREE)
_OF_COPIES = (*COUNTS, N.LINK, N.SEED_HIGH)
_PLACES = (N.DIM, N.OWN, N.OWN_AT, N.KEPT_AT, N.KEEP, N.COPY_F, N.COPY_N)


def demand(holds: Any, why: str) -> None:
    """Refuse a snapshot of which something does not hold."""
    if not holds:
        raise SnapshotError(f"restore: the arrays do not fit together ({why})")


def restored(program: Program, parts: Mapping[str, NDArray[Any]], fresh: Memory) -> Memory:
    """Return the memory that parts are of, or refuse them; ``fresh`` has seen nothing."""
    check_shapes(parts)
    for name in ("records", "copy_f"):
        demand(np.isfinite(parts[name]).all(), f"{name} is not finite")
    n = parts["n"]
    demand((n[[*_PLACES]] == fresh.n[[*_PLACES]]).all(), "of another composition than spec")
    demand(n[N.MADE] == 0 or program.copy is not None, "copies of nothing")
    check_parameters(n, fresh.n, _OF_LEARNERS)
    check_normal(n, parts["tickets"])
    memory = Memory.joined(parts)
    check_table(memory)
    _check_patience(program, memory, fresh)
    _check_numbers(program, memory, fresh)
    if program.inner is not None:
        _check_copies(program.inner, memory, fresh)
    demand(program.sound is None or program.sound(memory), "the method's own numbers")
    memory.make_roomy()
    return memory


# --- What every memory shares, that of a linear model too ----------------------------------------


def check_shapes(parts: Mapping[str, NDArray[Any]]) -> None:
    """Demand that the parts have the shapes that the counters say."""
    f, n, tickets, records, copy_f, copy_n = (parts[name] for name in PARTS)
    demand(n.shape == (N.HEADER,), "no header")
    numbers = [int(n[slot]) for slot in (N.KEPT_AT, N.ROUNDS, N.OFFSET, N.KEEP, N.MADE)]
    kept_at, rounds, offset, keep, made = numbers
    demand(0 <= rounds <= _MOST_ROUNDS and 0 <= made <= _MOST_ROUNDS, "too many rounds")
    rows = made + 1 if n[N.COPY_F] else 0
    demand(
        f.shape == (kept_at,)
        and tickets.shape == (rounds + offset, 2)
        and records.shape == (rounds + offset, keep)
        and copy_f.shape == (rows, int(n[N.COPY_F]))
        and copy_n.shape == (rows, int(n[N.COPY_N])),
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


def check_waiting(memory: Memory, least: int) -> None:
    """Demand that the sum of Skip's rule is possible, and that nothing open is overdue by it."""
    patience, rounds = int(memory.n[N.PATIENCE]), memory.rounds
    demand(least <= patience <= min(least + rounds * rounds, _MOST_SUM), "patience")
    late = T.is_overdue(memory.oldest_age, patience)
    demand(not late, "open tickets that should have been skipped")


# --- What belongs to one composition -------------------------------------------------------------


def _check_patience(program: Program, memory: Memory, fresh: Memory) -> None:
    """Demand that seed and switches are such, and that only skipping counts open tickets."""
    n = memory.n
    words = n[[N.SEED_LOW, N.SEED_HIGH]]
    demand((words >= 0).all() and (words < 1 << 32).all() and n[N.STRICT] in (0, 1), "the seed")
    demand(n[N.FORGET] > 0 or n[N.FORGOTTEN] == 0, "forgotten tickets")
    if program.code[C.WRAPPER] == WRAPPERS.code("Skip"):
        check_waiting(memory, int(fresh.n[N.PATIENCE]))
    elif program.code[C.WRAPPER] == WRAPPERS.code("Deadline"):
        demand(n[N.PATIENCE] == fresh.n[N.PATIENCE], "patience")
        late = T.is_overdue(memory.oldest_age, int(n[N.PATIENCE]))
        demand(not late, "open tickets past their deadline")
    elif program.code[C.WEIGHED]:
        demand(n[N.PATIENCE] == 0, "patience")
        _check_tracked(program, memory)
    elif program.code[C.METHOD] != K.OURS:
        demand(0 <= n[N.PATIENCE] <= min(memory.rounds**2, _MOST_SUM), "patience")
    else:
        demand(n[N.PATIENCE] == fresh.n[N.PATIENCE], "patience")


def _check_tracked(program: Program, memory: Memory) -> None:
    """Demand that no more tickets are tracked than may be, and that their weights are theirs."""
    f, rounds, most = memory.f, memory.rounds, int(memory.n[N.MOST_OPEN])
    demand(memory.open <= most, "more tickets than the capacity")
    demand(memory.n[N.LATE] == 0 and memory.n[N.GHOSTS] == 0, "tickets that are lost")
    demand((f[[tracking.WEIGHT, tracking.SQUARES, tracking.CROSSED]] >= 0.0).all(), "weights")
    if program.code[C.WEIGHED] == K.COINS:
        demand(f[tracking.AHEAD] == f[tracking.EXTRA] == 0.0, "weights")
        return
    drawn = memory.records[:, program.code[C.BASELINE]]
    demand(((drawn >= 0.0) & (drawn <= 1.0)).all(), "what is drawn for tickets")
    if not rounds:
        demand(not f[[*tracking.MOVING]].any(), "weights")
        return
    gap = int(memory.n[N.GAP])
    newest = (rounds - 1) - (rounds - 1) % gap
    ahead = 1 << (newest + gap - 1).bit_length()
    limit = thinning.limit(most, gap, math.log(ahead))
    chance = f[tracking.CHANCE]
    demand(f[tracking.AHEAD] == ahead and abs(chance - limit) <= _SLACK * limit, "weights")
    ages = np.maximum(newest - memory.entries[:, 0], 0) + 1
    extra = (np.maximum(1.0, ages / chance) - 1.0).sum()
    demand(abs(f[tracking.EXTRA] - extra) <= _SLACK * (1.0 + extra), "weights")


def _check_numbers(program: Program, memory: Memory, fresh: Memory) -> None:
    """Demand that floats are what the spec gives, or at least what they can be."""
    f, start = memory.f[: memory.n[N.KEPT_AT]], fresh.f
    fixed = _fixed(program)
    wrong = fixed[~(f[fixed] == start[fixed])]
    demand(wrong.size == 0, f"number {wrong[:1]} of f is not what the spec gives")
    moved = np.delete(f, fixed)
    demand((np.abs(moved) <= _LARGE_SUM).all(), "numbers not finite, or too large to compute with")
    demand((np.abs(memory.records) <= _LARGE_VECTOR).all(), "records too large to compute with")
    room = F.padded(program.dim)
    vectors = f[F.HEADER : F.HEADER + 2 * room]
    demand((np.abs(vectors) <= _LARGE_VECTOR).all(), "vectors too large to compute with")
    demand((f[[*_NOT_NEGATIVE]] >= 0.0).all(), "negative sums")
    largest = _LARGE_VECTOR if program.code[C.WEIGHED] else F.HUGE  # weights count in it
    demand(f[F.LARGEST] <= largest and abs(f[F.VALUES]) <= _LARGE_VECTOR, "sums of answers")
    _check_inside(program, memory.point)
    _check_past(program, memory)


def _fixed(program: Program) -> Ints:
    """Return the places of ``f`` that never move."""
    k, room = program.dim, F.padded(program.dim)
    moves = np.zeros(F.HEADER + 3 * room + program.chart.size + program.own.size, dtype=np.bool_)
    moves[[slot for slot in MOVING if slot not in program.numbers]] = True
    moves[[*program.moving]] = True
    moves[F.HEADER : F.HEADER + k] = moves[F.HEADER + room : F.HEADER + room + k] = True
    own = moves[moves.size - program.own.size :]
    own[:] = True
    own[[*program.fixed]] = False
    return np.flatnonzero(~moves)


def _check_inside(program: Program, points: Floats) -> None:
    """Demand that points, one per row, are in the set of the chart."""
    if program.has_user_parts:
        return
    holds, size = SETS.choices("holds")[program.code[C.DOMAIN]], program.numbers.get(F.SIZE, 1.0)
    demand(holds(points, size, _SLACK), "a point outside of the set")


def _check_past(program: Program, memory: Memory) -> None:
    """Demand the same of members, of weights, and of all points kept."""
    if isinstance(program.base, Leader):
        _check_leader(program, memory)
    elif isinstance(program.base, Portfolio):
        count = len(program.base.members)
        _check_members(program, count, memory.own)
        at = OWN.places(count, program.dim)
        _check_records(program, count, memory.own[at.records :].reshape(-1, at.width))


def _check_leader(program: Program, memory: Memory) -> None:
    """Demand that a leader's points are in the set, and its ways and answers possible."""
    own = memory.own
    kept = own[OWN.HEADER :].reshape(-1, OWN.point_width(program.dim))
    _check_inside(program, kept[:, OWN.POINT : OWN.POINT + program.dim])
    demand(not kept[:, OWN.POINT + program.dim :].any(), "coordinates of no point")
    ways = np.append(kept[:, : OWN.POINT], own[OWN.GONE])
    demand(((ways >= 0.0) & (ways <= _LARGE_VECTOR)).all(), "the way of a leader")
    demand(own[OWN.LED] == memory.n[N.ARRIVED], "answers that a leader used")


def _check_members(program: Program, count: int, own: Floats) -> None:
    """Demand that the members of a portfolio, and its weights now, are what they can be."""
    at = OWN.places(count, program.dim)
    for start in (OWN.HEADER, *(at.headers + i * OWN.MEMBER_HEADER for i in range(count))):
        demand((own[start:][[*_NOT_NEGATIVE]] >= 0.0).all(), "negative sums of members")
    demand(own[OWN.HEADER + OWN.WAY] >= 0.0, "the way of the weights")
    weights = own[OWN.HEADER + F.HEADER : at.rows].reshape(-1, at.wide)
    _check_weights(weights[:2, :count])
    rows = own[at.rows : at.headers].reshape(OWN.ROWS, at.wide)
    demand((rows[[OWN.WAYS, OWN.MISREAD], :count] >= 0.0).all(), "ways of members")
    points = own[at.z : at.p].reshape(-1, at.wide)
    _check_inside(program, points[: program.dim, :count].T)
    normals = own[at.p : at.records].reshape(-1, at.wide)
    keeps_none = (rows[OWN.LEADS] == 0.0) & (rows[OWN.SUMS] == 0.0)
    demand(not normals[:, keeps_none].any(), "normal vectors of members that have none")
    nobody = own[at.headers + count * OWN.MEMBER_HEADER : at.z]
    beyond = (
        weights[:, count:],
        rows[: OWN.FIRST, count:],
        points[:, count:],
        points[program.dim :],
    )
    demand(not any(part.any() for part in (nobody, *beyond)), "numbers of no member")


def _check_records(program: Program, count: int, records: Floats) -> None:
    """Demand that what a portfolio kept of its members and weights, one row each, is possible."""
    at = OWN.places(count, program.dim)
    ways, points, way, weights = np.split(
        records, [at.wide, at.width - at.wide - OWN.POINT, at.width - at.wide], axis=1
    )
    points = points.reshape(-1, program.dim, at.wide)
    _check_inside(program, points[..., :count].swapaxes(1, 2))
    demand(((ways >= 0.0) & (ways <= _LARGE_VECTOR)).all(), "ways of members")
    _check_weights(weights[:, :count])
    beyond = (ways[:, count:], points[..., count:], weights[:, count:])
    demand(not any(part.any() for part in beyond), "points of no member")
    demand((way >= 0.0).all(), "the way of the weights")


def _check_weights(weights: Floats) -> None:
    """Demand that the weights of a portfolio, one set per row, are some."""
    demand(((weights >= 0.0) & (weights <= 1.0 + _SLACK)).all(), "weights of members")
    demand((np.abs(weights.sum(axis=1) - 1.0) <= _SLACK).all(), "weights of members")


def _check_copies(inner: Program, memory: Memory, fresh: Memory) -> None:
    """Demand that every copy is a learner with at most one ticket open."""
    f, n = memory.copies
    first_f, first_n = (rows[0].copy() for rows in fresh.copies)
    shared = [N.SEED_LOW, N.SEED_HIGH, N.STRICT]
    first_n[shared] = memory.n[shared]
    demand((f[0] == first_f).all() and (n[0] == first_n).all(), "the copy that others are made of")
    made = int(memory.n[N.MADE])
    for number in range(1, made + 1):
        copy, start = Memory(f[number], n[number]), Memory(first_f, first_n)
        check_parameters(copy.n, start.n, _OF_COPIES)
        demand(copy.capacity == start.capacity and copy.open <= 1, "the tickets of a copy")
        check_table(copy)
        _check_numbers(inner, copy, start)
        demand(copy.n[N.HOLDING] == 0 and 0 <= copy.n[N.LINK] <= made, "links of copies")
