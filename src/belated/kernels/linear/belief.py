"""How far to believe a model while labels are open, for answers (yes or no).

Either open tickets are like those that have a label, or they are of another kind. For
the second there are two signs.

*Labels have stopped coming.* Those of one kind come more often, for each doubling of the age, the
longer one has waited (so it is with exponential, normal, log-normal and Weibull delays), or they
have all come. Bucket j with h = n_j / R_j has the hazard h / (1 - h / 2), and phi is the part of
all hazard that is beyond half of the time so far. Z is Laplace's trend: G counts the rounds that
all tickets have waited up to the age of a label, as a part of all such rounds; at a constant rate G
is uniform, and sqrt(12 N) (mean of G - 1/2) normal, with N the labels (Cox and Lewis, "The
statistical analysis of series of events", 1966). Z has 0.485 for the 1/2, as no rate is quite
constant. Labels have stopped by

    f = max(1 - 9/4 (phi + 3 / N), 0) min(max(-Z - 3/2, 0), 1).

*One answer comes later than the other.* With B the rarer answer's count and r the rank correlation
of answer and age, x = B r^2 is 1/3 on average where they have nothing to do with each other.

Of the tail S, a part u may be of another kind: f while there is one answer, and then

    u = (f (0.3 + x) + (1 - f) max(x - 5/4, 0)) / (0.3 + B).

It says what makes the share of yes nearest to h, and once there are two answers, that counts as ten
labels beside those that came beyond half of the time. h is one half, unless a backlog was answered
first: of tickets before the first label n have one, y of them yes, and o are open, and h is the
number from (y + 5) / (n + o + 10) to (y + o + 5) / (n + o + 10) that is nearest to one half. LEAN
is the log odds of that share, and

    shown = LEAN + TRUST (prediction - LEAN),   TRUST = b / (b + d),   d = (0.3 t + 1) S u.

t counts tickets. b is 1/2 and counts the rarer answer, each time by (1 - age / t)^2, since only
that part of the tickets was watched so long. Before a second answer has come (of all labels ever;
the signs are of tickets since the first) features can say nothing, so there d = (0.3 t + 1) S, and
LEAN is all but what is shown: the share, with half an answer of each kind beside the labels, and
with two answers beside the tickets.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from belated.arrays import Code, Floats
from belated.kernels.exact import ln
from belated.kernels.jit import leaf
from belated.kernels.linear import layout as lm

_PER_OPEN = 0.3  # what an open ticket counts against the rarer answer
_FADING = 2.25  # labels still come when 1 / 2.25 of all hazard is in the later half of the time
_FEW = 3.0  # labels that may have come there, though none did (the rule of three)
_STEADY = 0.485  # place of labels whose rate does not fall, or hardly
_BELOW = 1.5  # standard deviations that a trend is below 0 by chance
_PRIOR = 0.3  # answers before a rank correlation is believed
_BY_CHANCE = 1.25  # B r^2 that is no sign yet
_UNKNOWN = 10.0  # late labels before what they say is believed


class Evidence(NamedTuple):
    """What labels and open tickets since the first label say."""

    tickets: float
    open: float
    heard: float
    says: float
    """Sum of what the labels say: 1 for yes, or how far they are above their predictions."""
    left: float
    """S: the share without a label at any age so far."""
    mean: float
    """Sum of shares by age, times what labels of that age say on average."""
    fresh: float
    """The part of the hazard that is at ages beyond half of the time so far."""
    place: float
    """Rounds waited up to the age of a label over all rounds waited, on average."""
    late: float
    """Labels at ages beyond half of the time so far ..."""
    late_says: float
    """... and what they say."""
    yes: float
    """Sum of (1 - age / t)^2 over labels that are yes ..."""
    no: float
    """... and over the others."""
    order: float
    """Pairs of a yes and an earlier no."""
    before: float
    """Labels of tickets before the first label ..."""
    before_yes: float
    """... how many of them are yes ..."""
    before_open: float
    """... and how many of these tickets are still open."""


@leaf
def is_yes(code: Code, f: Floats, p: float, y: float) -> float:
    """Return 1 for yes, 0 for no."""
    return 1.0 if y > 0.0 else 0.0


@leaf
def doubt(code: Code, f: Floats, e: Evidence) -> None:
    """Set LEAN and TRUST for log odds."""
    is_one = f[lm.LOW] == f[lm.HIGH]
    other = _other_kind(e)
    tail = e.left * other
    total = 1.0 - e.left + tail
    least_sure = min(max(_least_sure(e) * total, e.mean), e.mean + tail) - e.mean
    told = 1.0 if 0.0 < e.says < e.heard else 0.0
    yes = (told * tail * e.late_says + _UNKNOWN * least_sure) / (told * e.late + _UNKNOWN)
    count = f[lm.COUNT] if is_one else e.tickets
    share = ((e.mean + yes) / total * count + 0.5) / (count + 1.0)
    against = (_PER_OPEN * e.tickets + 1.0) * (e.left if is_one else tail)
    rarer = 0.5 + min(e.yes, e.no)
    f[lm.LEAN] = ln(share / (1.0 - share))
    f[lm.TRUST] = rarer / (rarer + against)


@leaf
def _least_sure(e: Evidence) -> float:
    """h: the share of yes nearest to one half that tickets before the first label allow."""
    count, yes = e.before + e.before_open + _UNKNOWN, e.before_yes + 0.5 * _UNKNOWN
    return min(max(0.5, yes / count), (yes + e.before_open) / count)


@leaf
def _other_kind(e: Evidence) -> float:
    """u: which part of the tail may be of another kind than the labels so far."""
    stopped = _stopped(e)
    yes, no = e.says, e.heard - e.says
    rarer = min(yes, no)
    if rarer <= 0.0:
        return stopped
    r = 2.0 * e.order / (yes * no) - 1.0
    sign = rarer * r * r
    apart = stopped * (_PRIOR + sign) + (1.0 - stopped) * max(sign - _BY_CHANCE, 0.0)
    return apart / (_PRIOR + rarer)


@leaf
def _stopped(e: Evidence) -> float:
    """f: 1 when labels have stopped coming, 0 while they do, or nobody can tell."""
    faded = max(1.0 - _FADING * (e.fresh + _FEW / e.heard), 0.0)
    trend = math.sqrt(12.0 * e.heard) * (e.place - _STEADY)
    return faded * min(max(-trend - _BELOW, 0.0), 1.0)


@leaf
def doubt_sign(code: Code, f: Floats, e: Evidence) -> None:
    """Set LEAN and TRUST for scores, of which those beyond 1 are sure."""
    doubt(code, f, e)
    f[lm.LEAN] = min(max(f[lm.LEAN], -1.0), 1.0)


@leaf
def doubted(code: Code, f: Floats, p: float) -> float:
    """Return what is shown for a prediction."""
    trust, lean = f[lm.TRUST], f[lm.LEAN]
    if f[lm.SHIFT] != 0.0:  # silence is a label, so that nothing is without one
        return p + f[lm.SHIFT]
    return p if trust == 1.0 else lean + trust * (p - lean)
