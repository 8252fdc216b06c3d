"""Labels that take long are censored: estimates from the ages of labels and of open tickets.

The delay of a label may depend on the label. Cancellations are known within days, stays on the day
of arrival; short journeys end before long ones. The labels so far then differ from those that are
still to come, and a model that learns from them alone is biased until the others arrive.

Tickets since the first label are sorted into buckets of ages. In bucket j there are n_j labels,
whose residuals sum to s_j, and c_j tickets that are open at such an age. R_j tickets reached the
bucket, less c_j / 2. S_j = prod_{i <= j} (1 - n_i / R_i) is the share of tickets without a label
beyond it, and m_j = S_{j-1} n_j / R_j the share whose label comes there (Kaplan and Meier,
"Nonparametric estimation from incomplete observations", JASA 1958). Unlike a mean over the labels
so far, sum_j m_j s_j / n_j does not favour labels that come early (Aalen and Johansen, "An
empirical transition matrix", Scandinavian Journal of Statistics 1978). Nothing is known of the
tail, the share S without a label at any age so far.

Have labels stopped coming? If as many come in every round of waiting, an age a after t tickets has
the density 2 (1 - a / t) / t, as only t - a tickets are so old. Against it stands 4 (1 - a / t)^3 /
t, where labels come at young ages. The likelihood ratio of N labels is prod 2 (1 - a / t)^2.

``censoring_binary`` and ``censoring_numeric`` correct predictions by these estimates. Experts and
their weights never see the correction: it changes what is shown, not what is learned.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from belated.kernels.exact import ln
from belated.kernels.jit import leaf
from belated.kernels.linear import layout as lm
from belated.kernels.linear.waiting import bucket_of, edge_of
from belated.kernels.slots import ints as N
from belated.kernels.state import State
from belated.kernels.tickets import tail

_UPDATES = 16  # per doubling of the tickets since the first label
_FEWEST = 8  # predictions between two updates
_LN_2 = math.log(2.0)


class Estimate(NamedTuple):
    """What labels and open tickets since the first label say."""

    tickets: float
    pending: float
    labels: float
    residuals: float
    """Sum over labels: 1 for yes, or how far a number is above its prediction."""
    tail: float
    """S."""
    mean: float
    """Sum of m_j s_j / n_j."""
    stopped: float
    """Log likelihood ratio of labels that have stopped coming, over a constant rate."""
    pairs: float
    """Pairs of a yes and a no at a younger age; half of those at the same age."""
    late: float
    """Labels at ages beyond half of the time since the first label ..."""
    late_residuals: float
    earlier: float
    """Labels of tickets before the first label ..."""
    earlier_residuals: float
    earlier_pending: float
    """... and how many of these tickets are still open."""


@leaf
def record_label_age(s: State, ticket: int, residual: float) -> None:
    """Count the first label of a ticket by its age."""
    f, rounds = s.f, s.n[N.ROUNDS]
    if f[lm.SINCE] == math.inf:
        f[lm.SINCE] = rounds
        f[lm.NEXT_UPDATE] = rounds + _FEWEST
    if ticket >= f[lm.SINCE]:
        place = lm.AGES + lm.BY_AGE * bucket_of(rounds - ticket - 1)
        f[place + lm.LABELLED] += 1.0
        f[place + lm.RESIDUALS] += residual
    else:
        f[lm.EARLIER] += residual


@leaf
def restart_counts(s: State) -> None:
    """Forget all ages and residuals, and count from the next ticket on."""
    f, rounds = s.f, s.n[N.ROUNDS]
    f[lm.SINCE], f[lm.NEXT_UPDATE] = rounds, rounds + _FEWEST
    f[lm.OFFSET], f[lm.SHRINKAGE], f[lm.EARLIER] = 0.0, 1.0, 0.0
    for j in range(lm.BUCKETS):
        place = lm.AGES + lm.BY_AGE * j
        f[place + lm.LABELLED], f[place + lm.RESIDUALS] = 0.0, 0.0


@leaf
def reset_if_none_pending(s: State) -> None:
    """Remove the correction when no ticket is open."""
    if s.n[N.ROUNDS] == s.n[N.ARRIVED]:
        s.f[lm.OFFSET], s.f[lm.SHRINKAGE] = 0.0, 1.0


@leaf
def schedule_update(s: State) -> None:
    """Set the prediction after which the correction is computed again."""
    tickets = s.n[N.ROUNDS] - int(s.f[lm.SINCE])
    s.f[lm.NEXT_UPDATE] = s.n[N.ROUNDS] + max(tickets // _UPDATES, _FEWEST)


@leaf
def estimate(s: State) -> Estimate:
    """Go through the buckets."""
    f, pending_by_age = s.f, s.work
    earlier_pending = _count_pending(s)
    labels, residuals, pending = 0.0, 0.0, 0.0
    for j in range(lm.BUCKETS):
        labels += f[lm.AGES + lm.BY_AGE * j + lm.LABELLED]
        residuals += f[lm.AGES + lm.BY_AGE * j + lm.RESIDUALS]
        pending += pending_by_age[j]
    tickets = s.n[N.ROUNDS] - f[lm.SINCE]
    middle = bucket_of(int(tickets) // 2)
    reached, left, mean, stopped = labels + pending, 1.0, 0.0, 0.0
    before, pairs, late, late_residuals = 0.0, 0.0, 0.0, 0.0
    for j in range(lm.BUCKETS):
        place = lm.AGES + lm.BY_AGE * j
        count, total = f[place + lm.LABELLED], f[place + lm.RESIDUALS]
        if count > 0.0:
            share = left * min(count / (reached - 0.5 * pending_by_age[j]), 1.0)
            left -= share
            mean += share * total / count
            # Ages are continuous from 0 to t in the densities: the integer age a is [a, a + 1].
            age = min(0.5 * (edge_of(j) + edge_of(j + 1)), tickets - 0.5)
            stopped += count * (_LN_2 + 2.0 * ln(1.0 - age / tickets))
            pairs += total * (before + 0.5 * (count - total))
            before += count - total
            if j > middle:
                late += count
                late_residuals += total
        reached -= count + pending_by_age[j]
    return Estimate(
        tickets=tickets,
        pending=pending,
        labels=labels,
        residuals=residuals,
        tail=left,
        mean=mean,
        stopped=stopped,
        pairs=pairs,
        late=late,
        late_residuals=late_residuals,
        earlier=max(f[lm.LABELS] - labels, 0.0),
        earlier_residuals=f[lm.EARLIER],
        earlier_pending=earlier_pending,
    )


@leaf
def _count_pending(s: State) -> float:
    """Write into ``work`` how many tickets without a label have an age in each bucket.

    Return how many more are open from before the first label, which are in no bucket.

    The newest ticket is left out, as it can have no label yet. Ages fall along the table, so
    buckets are found one after the other.
    """
    work, rounds = s.work, s.n[N.ROUNDS]
    for j in range(lm.BUCKETS):
        work[j] = 0.0
    earlier, bucket = 0.0, lm.BUCKETS - 1
    for entry in range(s.n[N.HEAD], tail(s)):
        label = s.kept[entry * lm.KEEP + lm.LABEL]
        ticket = s.table[2 * entry]
        is_older = ticket < rounds - 1
        is_open = is_older and s.table[2 * entry + 1] >= 0 and label != label
        if is_open and ticket < s.f[lm.SINCE]:
            earlier += 1.0
        elif is_open:
            age = rounds - ticket - 1
            while edge_of(bucket) > age:
                bucket -= 1
            work[bucket] += 1.0
    return earlier
