"""Losses l(p, y) of a linear model: slopes, implicit steps, and what labels say about the scale.

Every loss is a few leaves, chosen by ``code`` while compiling. p is a prediction before the link, y
a label, g = l'(p, y).
"""

from __future__ import annotations

import math

from belated.arrays import Code, Floats
from belated.kernels.choices import only, switch
from belated.kernels.exact import exp, ln
from belated.kernels.jit import leaf, limb
from belated.kernels.linear import censoring_binary, censoring_numeric, taming
from belated.kernels.linear import layout as lm
from belated.kernels.linear.links import power, sigmoid
from belated.kernels.parts import Leaf, Part, Parts

_ENOUGH = 1e-10  # Newton squares the relative error: after a step this short none is left
_ROUNDS = 200  # bisection alone needs fewer
_TINY = 1e-300


# --- What losses share ---------------------------------------------------------------------------


@leaf
def _clip(x: float, low: float, high: float) -> float:
    return low if x < low else high if x > high else x


@leaf
def _unit_of_labels(code: Code, f: Floats) -> float:
    return f[lm.SIZE]


@leaf
def _no_unit(code: Code, f: Floats) -> float:
    return 1.0


@leaf
def _never(code: Code) -> bool:
    return False


@leaf
def _any_number(code: Code, y: float) -> bool:
    return abs(y) <= lm.HUGE_LABEL


@leaf
def _as_it_is(code: Code, p: float) -> float:
    return p


@leaf
def _centre(code: Code, f: Floats) -> None:
    """Mean, standard deviation and range of the labels."""
    f[lm.BASE] = f[lm.MEAN]
    f[lm.SIZE] = math.sqrt(f[lm.SPREAD] / f[lm.COUNT])
    f[lm.FLOOR], f[lm.CEILING] = f[lm.LOW], f[lm.HIGH]


@limb
def _root(code: Code, f: Floats, p: float, y: float, g: float, q: float) -> float:
    """Solve r = l'(p - q r, y) by Newton's method, kept inside the bracket between 0 and g.

    F(r) = r - l'(p - q r, y) rises from F(0) = -g; a step that leaves the bracket, or that is not
    half as long as the one before, becomes a bisection.
    """
    low, high = min(0.0, g), max(0.0, g)
    length = high - low
    r = g / (1.0 + q * _bend(code, f, p, y, g))
    for _ in range(_ROUNDS):
        at = slope(code, f, p - q * r, y)
        excess = r - at
        if excess > 0.0:
            high = r
        else:
            low = r
        step = excess / (1.0 + q * _bend(code, f, p - q * r, y, at))
        new = r - step
        if not low <= new <= high or 2.0 * abs(step) > length:
            new = 0.5 * (low + high)
        length = abs(new - r)
        r = new
        if length <= _ENOUGH * abs(r):
            break
    return r


# --- What experts say together -------------------------------------------------------------------


@leaf
def _as_mixed(code: Code, f: Floats, experts: Floats, p: float) -> float:
    return p


@leaf
def _mean_odds(code: Code, f: Floats, experts: Floats, p: float) -> float:
    """Log odds of the mean probability; the mixture itself where that is all but 0 or 1."""
    yes, no = 0.0, 0.0
    for k in range(lm.EXPERTS):
        e = exp(-abs(experts[k]))
        more, less = 1.0 / (1.0 + e), e / (1.0 + e)
        yes += f[lm.SHARE + k] * (more if experts[k] >= 0.0 else less)
        no += f[lm.SHARE + k] * (less if experts[k] >= 0.0 else more)
    return ln(yes / no) if min(yes, no) > _TINY else p


@leaf
def _log_mean_rate(code: Code, f: Floats, experts: Floats, p: float) -> float:
    """Logarithm of the mean rate; the mixture itself where that is all but 0."""
    rate = 0.0
    for k in range(lm.EXPERTS):
        rate += f[lm.SHARE + k] * power(experts[k])
    return _clip(ln(rate), f[lm.FLOOR], f[lm.CEILING]) if rate > _TINY else p


# --- Squared -------------------------------------------------------------------------------------


@leaf
def _squared_loss(code: Code, f: Floats, p: float, y: float) -> float:
    return 0.5 * (p - y) * (p - y)


@leaf
def _squared_slope(code: Code, f: Floats, p: float, y: float) -> float:
    return p - y


@leaf
def _squared_step(code: Code, f: Floats, p: float, y: float, g: float, q: float) -> float:
    return g / (1.0 + q)


# --- Absolute and quantile -----------------------------------------------------------------------


@leaf
def _unit_slopes(code: Code, f: Floats) -> tuple[float, float]:
    return -1.0, 1.0


@leaf
def _slopes_of_level(code: Code, f: Floats) -> tuple[float, float]:
    return -f[lm.TAU], 1.0 - f[lm.TAU]


@leaf
def _bent_loss(code: Code, f: Floats, p: float, y: float) -> float:
    below, above = _both_slopes(code, f)
    return max(above * (p - y), below * (p - y))


@leaf
def _bent_slope(code: Code, f: Floats, p: float, y: float) -> float:
    below, above = _both_slopes(code, f)
    return above if p > y else below if p < y else 0.0


@leaf
def _bent_step(code: Code, f: Floats, p: float, y: float, g: float, q: float) -> float:
    below, above = _both_slopes(code, f)
    return _clip((p - y) / q, below, above)


# --- Huber ---------------------------------------------------------------------------------------


@leaf
def _huber_loss(code: Code, f: Floats, p: float, y: float) -> float:
    away, delta = abs(p - y), f[lm.DELTA]
    return 0.5 * away * away if away <= delta else delta * (away - 0.5 * delta)


@leaf
def _huber_slope(code: Code, f: Floats, p: float, y: float) -> float:
    return _clip(p - y, -f[lm.DELTA], f[lm.DELTA])


@leaf
def _huber_step(code: Code, f: Floats, p: float, y: float, g: float, q: float) -> float:
    return _clip((p - y) / (1.0 + q), -f[lm.DELTA], f[lm.DELTA])


# --- Logistic ------------------------------------------------------------------------------------


@leaf
def _logistic_loss(code: Code, f: Floats, p: float, y: float) -> float:
    wrong = p if y == 0.0 else -p
    return max(wrong, 0.0) + ln(1.0 + exp(-abs(wrong)))


@leaf
def _logistic_slope(code: Code, f: Floats, p: float, y: float) -> float:
    # 1 - sigmoid(p) is sigmoid(-p), without cancellation.
    is_no = y == 0.0
    size = sigmoid(p if is_no else -p)
    return size if is_no else -size


@leaf
def _logistic_bend(code: Code, f: Floats, p: float, y: float, g: float) -> float:
    size = abs(g)
    return size * (1.0 - size)


@leaf
def _zero_or_one(code: Code, y: float) -> bool:
    return y == 1.0 or y == 0.0


@leaf
def _probability(code: Code, p: float) -> float:
    return sigmoid(p)


@leaf
def _log_odds(code: Code, f: Floats) -> None:
    """Log odds of (sum y + 1/2) / (N + 1), with positives that are still to come."""
    yes = f[lm.SUM] + f[lm.PENDING_POSITIVES]
    f[lm.BASE] = ln((max(yes, 0.0) + 0.5) / (max(f[lm.COUNT] - yes, 0.0) + 0.5))
    f[lm.SIZE] = 1.0
    f[lm.FLOOR], f[lm.CEILING] = -math.inf, math.inf


# --- Hinge ---------------------------------------------------------------------------------------


@leaf
def _hinge_loss(code: Code, f: Floats, p: float, y: float) -> float:
    return max(0.0, 1.0 - y * p)


@leaf
def _hinge_slope(code: Code, f: Floats, p: float, y: float) -> float:
    return -y if y * p < 1.0 else 0.0


@leaf
def _hinge_step(code: Code, f: Floats, p: float, y: float, g: float, q: float) -> float:
    return -y * min((1.0 - y * p) / q, 1.0)


@leaf
def _sign(code: Code, y: float) -> bool:
    return y == 1.0 or y == -1.0


# --- Poisson -------------------------------------------------------------------------------------


@leaf
def _poisson_loss(code: Code, f: Floats, p: float, y: float) -> float:
    return power(p) - y * p


@leaf
def _poisson_slope(code: Code, f: Floats, p: float, y: float) -> float:
    return power(p) - y


@leaf
def _poisson_bend(code: Code, f: Floats, p: float, y: float, g: float) -> float:
    return g + y


@leaf
def _not_negative(code: Code, y: float) -> bool:
    return 0.0 <= y <= lm.HUGE_LABEL


@leaf
def _rate(code: Code, p: float) -> float:
    return power(p)


@leaf
def _log_mean(code: Code, f: Floats) -> None:
    """Logarithm of (sum y + 1/2) / (N + 1/2)."""
    f[lm.BASE] = ln((f[lm.SUM] + 0.5) / (f[lm.COUNT] + 0.5))
    f[lm.SIZE] = 1.0
    f[lm.FLOOR], f[lm.CEILING] = -math.inf, ln(max(f[lm.HIGH], 1.0)) + 1.0


# --- Residuals -----------------------------------------------------------------------------------


@leaf
def _negative_slope(code: Code, f: Floats, p: float, y: float) -> float:
    """Return how far a label pulls its prediction up."""
    return -slope(code, f, p, y)


# --- All of them ---------------------------------------------------------------------------------

_OF_NUMBERS: dict[str, Leaf] = {
    "unit": _unit_of_labels,
    "is_label": _any_number,
    "link": _as_it_is,
    "blended": _as_mixed,
    "rebase": _centre,
    "residual": _negative_slope,
    "set_correction": censoring_numeric.set_offset,
    "shown": censoring_numeric.corrected,
    "tame": taming.tamed,
    "slipped": taming.slipped,
}
_OF_SLOPES = _OF_NUMBERS | {
    "unit": _no_unit,
    "set_correction": censoring_numeric.set_offset_by_slopes,
    "slopes": _unit_slopes,
}
_OF_LEVELS = _OF_SLOPES | {"slopes": _slopes_of_level}
_OF_RATES = _OF_NUMBERS | {
    "unit": _no_unit,
    "is_label": _not_negative,
    "link": _rate,
    "blended": _log_mean_rate,
    "rebase": _log_mean,
    "bend": _poisson_bend,
    "set_correction": censoring_numeric.set_log_rate,
}
_OF_SIGNS = _OF_NUMBERS | {
    "unit": _no_unit,
    "is_label": _sign,
    "residual": censoring_binary.is_yes,
    "set_correction": censoring_binary.set_score,
    "shown": censoring_binary.corrected,
    "tame": taming.as_it_is,
    "slipped": taming.never_slipped,
}
_OF_ODDS = _OF_SIGNS | {
    "is_label": _zero_or_one,
    "link": _probability,
    "blended": _mean_odds,
    "rebase": _log_odds,
    "bend": _logistic_bend,
    "set_correction": censoring_binary.set_log_odds,
}


def _part(
    name: str, code: int, loss: Leaf, slope: Leaf, step: Leaf, others: dict[str, Leaf]
) -> Part:
    return Part(name, code, loss=loss, slope=slope, step=step, **others)


LOSSES = Parts(
    "loss of linear models",
    _part("squared", 0, _squared_loss, _squared_slope, _squared_step, _OF_NUMBERS),
    _part("absolute", 1, _bent_loss, _bent_slope, _bent_step, _OF_SLOPES),
    _part("quantile", 2, _bent_loss, _bent_slope, _bent_step, _OF_LEVELS),
    _part("huber", 3, _huber_loss, _huber_slope, _huber_step, _OF_NUMBERS),
    _part("logistic", lm.LOGISTIC, _logistic_loss, _logistic_slope, _root, _OF_ODDS),
    _part("hinge", 5, _hinge_loss, _hinge_slope, _hinge_step, _OF_SIGNS),
    _part("poisson", 6, _poisson_loss, _poisson_slope, _root, _OF_RATES),
)
of_loss = only(lm.LOSS)
loss = switch(lm.LOSS, LOSSES.choices("loss"))  # l(p, y), or without what only depends on y
slope = switch(lm.LOSS, LOSSES.choices("slope"))  # l'(p, y)
_both_slopes = switch(lm.LOSS, LOSSES.choices("slopes"))  # below and above a label
_bend = switch(lm.LOSS, LOSSES.choices("bend"))  # l''(p, y), where the step has no closed form
_step = switch(lm.LOSS, LOSSES.choices("step"))  # solves r = l'(p - q r, y), for q > 0, g != 0
slope_unit = switch(lm.LOSS, LOSSES.choices("unit"))  # U: what slopes are measured in
is_label = switch(lm.LOSS, LOSSES.choices("is_label"))  # whether y can be one; NaN never can
link = switch(lm.LOSS, LOSSES.choices("link"))  # what the user gets for a prediction p
blended = switch(lm.LOSS, LOSSES.choices("blended"))  # what experts say together, of what is shown
_rebase = switch(lm.LOSS, LOSSES.choices("rebase"))  # where predictions start, and their unit
residual = switch(lm.LOSS, LOSSES.choices("residual"))  # of a label; see ``censoring``
set_correction = switch(lm.LOSS, LOSSES.choices("set_correction"))  # OFFSET and SHRINKAGE
shown = switch(lm.LOSS, LOSSES.choices("shown"))  # p after that correction
tame = switch(lm.LOSS, LOSSES.choices("tame"))  # what is learned of a label; see ``taming``
slipped = switch(lm.LOSS, LOSSES.choices("slipped"))  # which of the first labels is far; ``slips``


# --- Steps and labels ----------------------------------------------------------------------------


@leaf
def implicit(code: Code, f: Floats, p: float, y: float, g: float, q: float) -> float:
    """Return the slope after a step of length q against it; the slope itself where q = 0."""
    if g == 0.0 or q <= 0.0:
        return g
    return _step(code, f, p, y, g, q)


@leaf
def count_label(code: Code, f: Floats, y: float, weight: float) -> None:
    """Count a label ``weight`` times: N, mean, spread, range and sum, then base and S."""
    before = f[lm.COUNT]
    first = before == 0.0
    f[lm.LABELS] += 1.0
    f[lm.COUNT] = before + weight
    share = weight / f[lm.COUNT]  # exactly 1 at the first label, whose mean is the label itself
    away = y - f[lm.MEAN]
    f[lm.MEAN] += away * share
    f[lm.SPREAD] += away * away * before * share
    f[lm.LOW] = y if first else min(f[lm.LOW], y)
    f[lm.HIGH] = y if first else max(f[lm.HIGH], y)
    f[lm.SUM] += weight * y
    _rebase(code, f)


@leaf
def recount_label(code: Code, f: Floats, old: float, new: float) -> None:
    """Count ``new`` in the place of ``old``, which counted once.

    With d = new - old: mean' = mean + d / N, and the sum of squared distances grows by
    d (new - mean' + old - mean). What was once a label stays in the range, and rounding takes
    neither the mean out of it nor the sum of labels that are at least 0 below 0.
    """
    away = new - old
    before = f[lm.MEAN]
    f[lm.MEAN] += away / f[lm.COUNT]
    spread = f[lm.SPREAD] + away * (new - f[lm.MEAN] + old - before)
    # One label has no spread, but for rounding, which is no unit of anything.
    f[lm.SPREAD] = max(spread, 0.0) if f[lm.COUNT] > 1.0 else 0.0
    f[lm.LOW] = min(f[lm.LOW], new)
    f[lm.HIGH] = max(f[lm.HIGH], new)
    f[lm.MEAN] = min(max(f[lm.MEAN], f[lm.LOW]), f[lm.HIGH])
    f[lm.SUM] += away
    if f[lm.LOW] >= 0.0:
        f[lm.SUM] = max(f[lm.SUM], 0.0)
    _rebase(code, f)
