"""How far to believe a model while labels are open, for answers (yes or no) and for numbers.

**Answers.** Of all tickets a share p lies between what yes has so far and that plus the tail; the
least sure p in between is as good a guess as any. As predictions are surer than that, they are
moved towards it, by all of the way while only one answer has ever come, and by none once the rarer
one has come often: LEAN = ln(p / (1 - p)), and

    shown = LEAN + TRUST (prediction - LEAN),   TRUST = b / (b + d),   d = (0.3 t + 1) S f D.

t counts tickets and S is the tail. b is 1/2 and counts the rarer answer, each time by
(1 - age / t)^2, since only that part of the tickets was watched so long. f = 1 - 5/2 (phi + 2 / N),
at least 0, with phi the share of the N labels that came at more than half of the time so far:
labels that have not stopped coming are of one kind. D = (0.3 + B r^2) / (0.3 + B), with B the rarer
answer's count and r the rank correlation of answer and age: answers that come equally late say the
same of what is open.

**Numbers.** LEAN = o / (N + o) (mean by Kaplan and Meier - mean) of how far labels were above their
predictions, with o tickets open; shown = prediction + LEAN, within the labels so far. Both means
agree where that distance has nothing to do with the age. For absolute and quantile loss it is the
slope, in units of 5/4 S; for Poisson loss, LEAN is the logarithm of what the mean is multiplied by.
"""

from __future__ import annotations

from typing import NamedTuple

from belated.arrays import Code, Floats
from belated.kernels.exact import ln
from belated.kernels.jit import leaf
from belated.kernels.linear import layout as lm

_PER_OPEN = 0.3  # what an open ticket counts against the rarer answer
_FADING = 2.5  # labels still come when 1 / 2.5 of them came in the later half of the time
_FEW = 2.0  # labels that a share is in doubt by
_PRIOR = 0.3  # answers before a rank correlation is believed
_PER_SLOPE = 1.25  # S / (2 density at the median), for a normal distribution
_MOST_TIMES = 4.0  # a mean is moved by


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
    early: float
    """The share whose label comes before half of the time so far."""
    yes: float
    """Sum of (1 - age / t)^2 over labels that are yes ..."""
    no: float
    """... and over the others."""
    order: float
    """Pairs of a yes and an earlier no."""


# --- Answers -------------------------------------------------------------------------------------


@leaf
def is_yes(code: Code, f: Floats, p: float, y: float) -> float:
    """Return 1 for yes, 0 for no."""
    return 1.0 if y > 0.0 else 0.0


@leaf
def doubt(code: Code, f: Floats, e: Evidence) -> None:
    """Set LEAN and TRUST for log odds."""
    came = 1.0 - e.left
    later = (came - e.early) / came + _FEW / e.heard
    tail = e.left * max(1.0 - _FADING * later, 0.0)
    total = came + tail
    share = min(max(0.5 * total, e.mean), e.mean + tail) / total
    share = (share * e.tickets + 0.5) / (e.tickets + 1.0)
    against = (_PER_OPEN * e.tickets + 1.0) * tail * _dependence(e)
    rarer = 0.5 + min(e.yes, e.no)
    f[lm.LEAN] = ln(share / (1.0 - share))
    f[lm.TRUST] = rarer / (rarer + against)


@leaf
def _dependence(e: Evidence) -> float:
    """D: how much the answer has to do with the age; 1 while there is only one answer."""
    yes, no = e.says, e.heard - e.says
    rarer = min(yes, no)
    if rarer <= 0.0:
        return 1.0
    r = 2.0 * e.order / (yes * no) - 1.0
    return (_PRIOR + rarer * r * r) / (_PRIOR + rarer)


@leaf
def doubt_sign(code: Code, f: Floats, e: Evidence) -> None:
    """Set LEAN and TRUST for scores, of which those beyond 1 are sure."""
    doubt(code, f, e)
    f[lm.LEAN] = min(max(f[lm.LEAN], -1.0), 1.0)


@leaf
def doubted(code: Code, f: Floats, p: float) -> float:
    """Return what is shown for a prediction."""
    trust, lean = f[lm.TRUST], f[lm.LEAN]
    return p if trust == 1.0 else lean + trust * (p - lean)


# --- Numbers -------------------------------------------------------------------------------------


@leaf
def _moved_by(e: Evidence) -> float:
    came = 1.0 - e.left
    return e.open / (e.heard + e.open) * (e.mean / came - e.says / e.heard)


@leaf
def lean(code: Code, f: Floats, e: Evidence) -> None:
    """Set LEAN for numbers."""
    f[lm.LEAN] = _moved_by(e)


@leaf
def lean_by_slopes(code: Code, f: Floats, e: Evidence) -> None:
    """Set LEAN for losses whose slopes are no distances."""
    f[lm.LEAN] = _PER_SLOPE * f[lm.SIZE] * _moved_by(e)


@leaf
def lean_rate(code: Code, f: Floats, e: Evidence) -> None:
    """Set LEAN for logarithms of means."""
    times = 1.0 + _moved_by(e) / f[lm.MEAN] if f[lm.MEAN] > 0.0 else 1.0
    f[lm.LEAN] = ln(min(max(times, 1.0 / _MOST_TIMES), _MOST_TIMES))


@leaf
def moved(code: Code, f: Floats, p: float) -> float:
    """Return what is shown for a prediction."""
    if f[lm.LEAN] == 0.0:
        return p
    return min(max(p + f[lm.LEAN], f[lm.FLOOR]), f[lm.CEILING])
