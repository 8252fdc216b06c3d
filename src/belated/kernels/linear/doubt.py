"""What open tickets may still say, and how far predictions are to be believed until they do.

Labels may decide themselves when they are known: a cancellation within days, a stay on the day of
arrival; short journeys before long ones. What has come so far is then not like what is still open,
and a model that learns it is sure of the wrong thing until the others come.

Tickets since the first label are sorted by age: n_j labels came at an age in bucket j, what they
say sums to s_j, and c_j tickets are open at such an age. With R_j the tickets that reached the
bucket, less c_j / 2, S_j = prod_{i <= j} (1 - n_i / R_i) is the share without a label beyond it,
and m_j = S_{j-1} n_j / R_j the share whose label comes there (Kaplan and Meier, "Nonparametric
estimation from incomplete observations", JASA 1958). Unlike the labels so far, the m_j do not
favour what comes early. What remains, the tail S, is unknown.
"""

from __future__ import annotations

import math

from belated.arrays import Code, Floats
from belated.kernels.jit import leaf
from belated.kernels.learners.state import State
from belated.kernels.linear import layout as lm
from belated.kernels.linear.belief import Evidence
from belated.kernels.linear.losses import believe, saying
from belated.kernels.linear.waiting import bucket_of, edge_of
from belated.kernels.slots import ints as N
from belated.kernels.tickets import tail

_PART = 16  # looks per doubling of the tickets, and open tickets looked at per prediction
_FIRST, _REVIEW = 8, 256  # fewest and most predictions between two looks
_EARLY = 11.0  # labels after each of which it is looked again


@leaf
def hear(code: Code, s: State, record: int, ticket: int, y: float) -> None:
    """Count the first label of a ticket, by its age, with what it says."""
    f, rounds = s.f, s.n[N.ROUNDS]
    if f[lm.SINCE] == math.inf:
        f[lm.SINCE] = rounds
        f[lm.AGAIN] = rounds + _FIRST
    if ticket >= f[lm.SINCE]:
        place = lm.AGES + lm.BY_AGE * bucket_of(rounds - ticket - 1)
        f[place + lm.HEARD] += 1.0
        f[place + lm.SAID] += saying(code, f, s.kept[record + lm.MIXTURE], y)


@leaf
def attend_from(s: State) -> None:
    """Forget what was heard, and count from the next ticket on."""
    f, rounds = s.f, s.n[N.ROUNDS]
    f[lm.SINCE], f[lm.AGAIN] = rounds, rounds + _FIRST
    f[lm.LEAN], f[lm.TRUST], f[lm.LOOKED] = 0.0, 1.0, 0.0
    for j in range(lm.BUCKETS):
        place = lm.AGES + lm.BY_AGE * j
        f[place + lm.HEARD], f[place + lm.SAID] = 0.0, 0.0


@leaf
def rest(s: State) -> None:
    """Move nothing where nothing is open."""
    if s.n[N.ROUNDS] == s.n[N.ARRIVED]:
        s.f[lm.LEAN], s.f[lm.TRUST], s.f[lm.LOOKED] = 0.0, 1.0, 0.0


@leaf
def look_after(code: Code, s: State) -> None:
    """Look again after a label that is one of the first, or when half of what was open is not."""
    still_open, looked = s.n[N.ROUNDS] - s.n[N.ARRIVED], s.f[lm.LOOKED]
    if still_open == 0:
        rest(s)
    elif looked > 0.0 and (s.f[lm.LABELS] <= _EARLY or 2.0 * still_open <= looked):
        ponder(code, s)


@leaf
def ponder(code: Code, s: State) -> None:
    """Look again at what is open, and set LEAN and TRUST."""
    f, n = s.f, s.n
    f[lm.LOOKED] = n[N.ROUNDS] - n[N.ARRIVED]
    before_open = count_open(s)
    still_open, heard, says = 0.0, 0.0, 0.0
    for j in range(lm.BUCKETS):
        count, said = _labels(f, j)
        still_open += s.work[j]
        heard += count
        says += said
    tickets = n[N.ROUNDS] - f[lm.SINCE]
    if heard > 0.0:
        believe(code, f, _evidence(f, s.work, tickets, still_open, heard, says, before_open))
    pause = max(min(max(int(tickets) // _PART, _FIRST), _REVIEW), int(still_open) // _PART)
    f[lm.AGAIN] = n[N.ROUNDS] + pause


@leaf
def _labels(f: Floats, j: int) -> tuple[float, float]:
    """Return n_j and s_j: how many labels came at an age in bucket j, and what they say."""
    place = lm.AGES + lm.BY_AGE * j
    return f[place + lm.HEARD], f[place + lm.SAID]


@leaf
def _evidence(
    f: Floats,
    by_age: Floats,
    tickets: float,
    still_open: float,
    heard: float,
    says: float,
    before_open: float,
) -> Evidence:
    """Go through all ages, of which ``by_age`` tells how many tickets are open there."""
    middle = bucket_of(int(tickets) // 2)
    left, mean, fresh = _shares(f, by_age, heard + still_open, middle)
    late, late_says = _beyond(f, middle)
    yes, no = _watched(f, tickets)
    return Evidence(
        tickets=tickets,
        open=still_open,
        heard=heard,
        says=says,
        left=left,
        mean=mean,
        fresh=fresh,
        place=_place(f, by_age, heard + still_open, heard),
        late=late,
        late_says=late_says,
        yes=yes,
        no=no,
        order=_order(f),
        before=max(f[lm.LABELS] - heard, 0.0),
        before_yes=min(max(_all_yes(f) - says, 0.0), max(f[lm.LABELS] - heard, 0.0)),
        before_open=before_open,
    )


@leaf
def _shares(f: Floats, by_age: Floats, reached: float, middle: int) -> tuple[float, float, float]:
    """Return S, sum m_j s_j / n_j, and the part of the hazard that is beyond the middle bucket."""
    left, mean, hazard, late_hazard = 1.0, 0.0, 0.0, 0.0
    for j in range(lm.BUCKETS):
        count, said = _labels(f, j)
        if count > 0.0:
            chance = min(count / (reached - 0.5 * by_age[j]), 1.0)
            mass = left * chance
            left -= mass
            mean += mass * said / count
            rate = chance / (1.0 - 0.5 * chance)
            hazard += rate
            if j > middle:
                late_hazard += rate
        reached -= count + by_age[j]
    return left, mean, late_hazard / hazard


@leaf
def _place(f: Floats, by_age: Floats, reached: float, heard: float) -> float:
    """Return G: rounds waited up to the age of a label over all rounds waited, on average."""
    waited, rank = 0.0, 0.0
    for j in range(lm.BUCKETS):
        count, _ = _labels(f, j)
        rounds = (reached - 0.5 * (count + by_age[j])) * (edge_of(j + 1) - edge_of(j))
        rank += count * (waited + 0.5 * rounds)
        waited += rounds
        reached -= count + by_age[j]
    return rank / (waited * heard)


@leaf
def _beyond(f: Floats, middle: int) -> tuple[float, float]:
    """Return how many labels came at ages beyond the middle bucket, and what they say."""
    late, late_says = 0.0, 0.0
    for j in range(middle + 1, lm.BUCKETS):
        count, said = _labels(f, j)
        late += count
        late_says += said
    return late, late_says


@leaf
def _watched(f: Floats, tickets: float) -> tuple[float, float]:
    """Return how many labels are yes and how many no, each by how many were watched so long."""
    yes, no = 0.0, 0.0
    for j in range(lm.BUCKETS):
        count, said = _labels(f, j)
        if count > 0.0:
            watched = max(1.0 - edge_of(j) / tickets, 0.0)
            yes += said * watched * watched
            no += (count - said) * watched * watched
    return yes, no


@leaf
def _order(f: Floats) -> float:
    """Return in how many pairs a yes came at a later age than a no; half at the same one."""
    order, before = 0.0, 0.0
    for j in range(lm.BUCKETS):
        count, said = _labels(f, j)
        order += said * (before + 0.5 * (count - said))
        before += count - said
    return order


@leaf
def _all_yes(f: Floats) -> float:
    """Return how many labels are yes, of all that ever came; of numbers it means nothing."""
    yes = 0.0
    for kind in range(min(int(f[lm.KINDS]), lm.MOST_KINDS)):
        place = lm.OF_KINDS + lm.OF_KIND * kind
        if f[place] > 0.0:
            yes += f[place + 1]
    return yes


@leaf
def count_open(s: State) -> float:
    """Write into ``work`` how many tickets without a label have an age in each bucket.

    Return how many more are open from before the first label, which are in no bucket.

    The newest is left out, as nothing can have been heard of it. Ages fall along the table, so
    buckets are found one after the other.
    """
    work, rounds = s.work, s.n[N.ROUNDS]
    for j in range(lm.BUCKETS):
        work[j] = 0.0
    before, bucket = 0.0, lm.BUCKETS - 1
    for entry in range(s.n[N.HEAD], tail(s)):
        label = s.kept[entry * lm.KEEP + lm.LABEL]
        ticket = s.table[2 * entry]
        is_older = ticket < rounds - 1
        is_open = is_older and s.table[2 * entry + 1] >= 0 and label != label
        if is_open and ticket < s.f[lm.SINCE]:
            before += 1.0
        elif is_open:
            age = rounds - ticket - 1
            while edge_of(bucket) > age:
                bucket -= 1
            work[bucket] += 1.0
    return before
