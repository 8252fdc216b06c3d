# cython: infer_types=True
"""Losses l(p, y) of linear models, and what the labels so far say about their scale.

p is a prediction before the link, y a label, g = l'(p, y). A loss is one class; ``LabelStatistics``
keeps what labels say. ``Linear.apply`` has the calls for one label, in their order.
"""

from __future__ import annotations

import cython
import numpy as np

from belated import limits
from belated.core.component import ANY, COUNT, NOT_NEGATIVE, Range, demand

if not cython.compiled:
    from math import fabs, sqrt
    from math import inf as INFINITY

    from belated.core.component import Component
    from belated.core.numerics import exp, floats_at, ln

    EXPERTS = 6
    FIRST_LABELS = 5

HUGE_LABEL, HUGE_WEIGHT = limits.HUGE_LABEL, limits.HUGE_WEIGHT

MOST_POWER = cython.declare(cython.double, 300.0)  # e^300 can be squared; no label is as large
TINY = cython.declare(cython.double, 1e-300)
HALF_ULP = cython.declare(cython.double, 2.0**-54)  # of 1: what is left of a v that rounds to 1
CLOSE = cython.declare(cython.double, 1e-8)  # Newton squares the relative error, so none is left
FARTHEST = cython.declare(cython.double, 800.0)  # e^-800 is 0
MOST_STEPS = cython.declare(cython.int, 200)  # bisection alone needs fewer
FAR = cython.declare(cython.double, 400.0)  # the square of 20 standard deviations
ROUNDING = cython.declare(cython.double, 1e-12)  # sums of squares that equal labels leave


def sigmoid(p):
    """Return 1 / (1 + e^-p)."""
    e = exp(-fabs(p))
    return (1.0 if p >= 0.0 else e) / (1.0 + e)


def softplus(p):
    """Return ln(1 + e^p)."""
    e = exp(-fabs(p))
    one_plus = 1.0 + e  # its rounding is divided out
    tail = e if one_plus == 1.0 else ln(one_plus) * (e / (one_plus - 1.0))
    return max(p, 0.0) + tail


def power(p):
    """Return e^p, for p cut off at 300."""
    return exp(p) if p <= 0.0 else 1.0 / exp(-min(p, MOST_POWER))


# --- Losses --------------------------------------------------------------------------------------


class LabelLoss:
    """A loss l(p, y), with what belongs to it where labels are numbers."""

    is_linear_in_label = False  # whether l(p, y) = A(p) - y p, up to what depends only on y

    def __init__(self):
        self.is_binary = self.has_link = False

    def value(self, p, y):
        """Return l(p, y), or without what depends only on y."""
        return 0.0

    def slope(self, p, y):
        """Return l'(p, y); 0 at a minimum that is a kink."""
        return 0.0

    def solve(self, p, y, g, q):
        """Solve r = l'(p - q r, y) for q > 0 and g != 0: the slope after a step of length q."""
        return g

    def link(self, p):
        """Return what the user gets for a prediction."""
        return p

    def unlink(self, v):
        """Return the prediction for which the user gets v."""
        return v

    def linked_value(self, v, y):
        """Return the loss of what the user got."""
        return self.value(v, y)

    def blend(self, issued, shares, mixture, floor, ceiling):
        """Return what experts predict together: the mean of what the user would get."""
        return mixture

    def is_label(self, y):
        """Tell whether y can be a label; NaN never can."""
        return fabs(y) <= HUGE_LABEL

    def slope_unit(self, unit):
        """Return U, what slopes are measured in, where ``unit`` is that of labels."""
        return 1.0

    def base(self, mean, total, count):
        """Return the constant that predictions start from: mean, sum and number of labels."""
        return mean

    def ceiling(self, high):
        """Return the largest prediction where there is a link and ``high`` is the largest label."""
        return INFINITY

    def evaluate(self, p: float, y: float, q: float = 0.0):
        """Return value, slope, and the slope after a step of length q against it."""
        g: cython.double = self.slope(p, y)
        return self.value(p, y), g, g if g == 0.0 or q <= 0.0 else self.solve(p, y, g, q)

    def accepts(self, y: float):
        """Tell whether y can be a label."""
        return bool(self.is_label(y))

    def to_value(self, p: float):
        """Return what the user gets for a prediction."""
        return self.link(p)

    def to_prediction(self, v: float):
        """Return the prediction for which the user gets v."""
        return self.unlink(v)

    def losses(self, values, labels):
        """Return the losses of what the user got, by place."""
        values = np.ascontiguousarray(values, np.float64)
        labels = np.ascontiguousarray(labels, np.float64)
        if values.shape != labels.shape:
            raise ValueError("losses: values and labels must have the same shape")
        found = np.empty(values.size)
        v, y, out = floats_at(values), floats_at(labels), floats_at(found)
        i: cython.Py_ssize_t
        for i in range(values.size):
            out[i] = self.linked_value(v[i], y[i])
        return found.reshape(values.shape)


class Squared(LabelLoss):
    """(p - y)^2 / 2, for the mean."""

    is_linear_in_label = True

    def value(self, p, y):
        return 0.5 * (p - y) * (p - y)

    def slope(self, p, y):
        return p - y

    def solve(self, p, y, g, q):
        return g / (1.0 + q)

    def slope_unit(self, unit):
        return unit


class Quantile(LabelLoss):
    """max((1 - tau) (p - y), tau (y - p)), for the quantile tau."""

    def __init__(self, quantile=0.5):
        LabelLoss.__init__(self)
        self.below, self.above = -quantile, 1.0 - quantile

    def value(self, p, y):
        return max(self.above * (p - y), self.below * (p - y))

    def slope(self, p, y):
        return self.above if p > y else self.below if p < y else 0.0

    def solve(self, p, y, g, q):
        return min(max((p - y) / q, self.below), self.above)


class Absolute(Quantile):
    """|p - y|, for the median."""

    def __init__(self):
        LabelLoss.__init__(self)
        self.below, self.above = -1.0, 1.0


class Huber(LabelLoss):
    """(p - y)^2 / 2 up to |p - y| = delta, and linear beyond."""

    def __init__(self, delta=1.0):
        LabelLoss.__init__(self)
        self.delta = delta

    def value(self, p, y):
        away = fabs(p - y)
        if away <= self.delta:
            return 0.5 * away * away
        return self.delta * (away - 0.5 * self.delta)

    def slope(self, p, y):
        return min(max(p - y, -self.delta), self.delta)

    def solve(self, p, y, g, q):
        return min(max((p - y) / (1.0 + q), -self.delta), self.delta)

    def slope_unit(self, unit):
        return unit


class Hinge(LabelLoss):
    """max(0, 1 - y p), with labels -1 and 1."""

    def __init__(self):
        LabelLoss.__init__(self)
        self.is_binary = True

    def value(self, p, y):
        return max(0.0, 1.0 - y * p)

    def slope(self, p, y):
        return -y if y * p < 1.0 else 0.0

    def solve(self, p, y, g, q):
        return -y * min((1.0 - y * p) / q, 1.0)

    def is_label(self, y):
        return y == 1.0 or y == -1.0


class Curved(LabelLoss):
    """A loss A(p) - y p with a link, whose implicit step has no closed form."""

    is_linear_in_label = True

    def __init__(self):
        LabelLoss.__init__(self)
        self.has_link = True

    def bend(self, y, g):
        """Return l'' where the slope is g."""
        return 0.0

    def solve(self, p, y, g, q):
        """Newton's method, kept inside the bracket between 0 and g.

        F(r) = r - l'(p - q r, y) rises from F(0) = -g; a step that leaves the bracket, or that is
        not half as long as the one before, becomes a bisection.
        """
        low, high = min(0.0, g), max(0.0, g)
        length = high - low
        r = g / (1.0 + q * self.bend(y, g))
        if length * q > fabs(p) + FARTHEST:  # r = l'(p - q r, y) is smaller for certain
            length = (fabs(p) + FARTHEST) / q
            low, high = max(low, -length), min(high, length)
            r = min(max(r, low), high)
        for _ in range(MOST_STEPS):
            at = self.slope(p - q * r, y)
            excess = r - at
            if excess > 0.0:
                high = r
            else:
                low = r
            step = excess / (1.0 + q * self.bend(y, at))
            new = r - step
            if not (low <= new <= high) or 2.0 * fabs(step) > length:
                new = 0.5 * (low + high)
            length = fabs(new - r)
            r = new
            if length <= CLOSE * fabs(r):
                break
        return r


class Logistic(Curved):
    """ln(1 + e^p) - y p, with labels 0 and 1; the user gets the probability 1 / (1 + e^-p)."""

    def __init__(self):
        Curved.__init__(self)
        self.is_binary = True

    def value(self, p, y):
        return softplus(p if y == 0.0 else -p)

    def slope(self, p, y):
        """1 - sigmoid(p) is sigmoid(-p), without cancellation."""
        return sigmoid(p) if y == 0.0 else -sigmoid(-p)

    def bend(self, y, g):
        return fabs(g) * (1.0 - fabs(g))

    def link(self, p):
        return sigmoid(p)

    def unlink(self, v):
        return ln(max(v, TINY)) - ln(max(1.0 - v, TINY))

    def linked_value(self, v, y):
        return -ln(max(v, TINY) if y == 1.0 else max(1.0 - v, HALF_ULP))

    def blend(self, issued, shares, mixture, floor, ceiling):
        """Log odds of the mean probability; the mixture itself where that is all but 0 or 1."""
        yes = no = 0.0
        for k in range(EXPERTS):
            e = exp(-fabs(issued[k]))
            more, less = 1.0 / (1.0 + e), e / (1.0 + e)
            yes += shares[k] * (more if issued[k] >= 0.0 else less)
            no += shares[k] * (less if issued[k] >= 0.0 else more)
        return ln(yes / no) if min(yes, no) > TINY else mixture

    def is_label(self, y):
        return y == 1.0 or y == 0.0

    def base(self, mean, total, count):
        """Log odds of (sum y + 1/2) / (N + 1)."""
        return ln((max(total, 0.0) + 0.5) / (max(count - total, 0.0) + 0.5))


class Poisson(Curved):
    """e^p - y p, with labels from 0 on; the user gets the rate e^p."""

    def value(self, p, y):
        return power(p) - y * p

    def slope(self, p, y):
        return power(p) - y

    def bend(self, y, g):
        return g + y

    def link(self, p):
        return power(p)

    def unlink(self, v):
        return ln(max(v, TINY))

    def linked_value(self, v, y):
        return v - y * ln(max(v, TINY))

    def blend(self, issued, shares, mixture, floor, ceiling):
        """Logarithm of the mean rate; the mixture itself where that is all but 0."""
        rate = 0.0
        for k in range(EXPERTS):
            rate += shares[k] * power(issued[k])
        return min(max(ln(rate), floor), ceiling) if rate > TINY else mixture

    def is_label(self, y):
        return 0.0 <= y <= HUGE_LABEL

    def base(self, mean, total, count):
        """Logarithm of (sum y + 1/2) / (N + 1/2)."""
        return ln((total + 0.5) / (count + 0.5))

    def ceiling(self, high):
        return ln(max(high, 1.0)) + 1.0


# --- Statistics of labels ------------------------------------------------------------------------


class LabelStatistics(Component):
    """What the labels so far say about predictions: where they start, their unit and range.

    ``count`` is N, each label as often as it counts, ``mean`` and ``sum`` are of those, ``spread``
    = N S^2 is the sum of squared distances from the mean, ``low`` and ``high`` are the range.
    ``labels`` counts tickets with a label. ``base`` is what every expert adds its weights to,
    ``unit`` is S, or 1 where there is a link; 0 while nothing can be learned. Issued predictions
    are clipped to [``floor``, ``ceiling``].

    *Clipping.* So that one wrong label does not ruin the model, numbers are learned only so far out
    as

        |learned - mean| <= max(20, sqrt(n)) S,

    where n, mean and S are of what was learned of all other labels. With Q = n S^2 that is
    |learned - mean|^2 <= max(400 / n, 1) Q: from 400 labels on, no label counts for more than all
    others together. Each label that is clipped, with weight 1, multiplies Q by
    1 + max(400, n) / (n + 1) >= 1.9975, and no first label makes Q less. One that is at most R from
    the mean is clipped only while Q < R^2. So where labels are in a range of length R and never
    change, at most 1 + ln(R^2 / Q) / ln(1.9975) are clipped from then on.

    *Early outliers.* The first five labels are learned as they are, since nothing is known of their
    range. The sixth allows a comparison: if one of the five is more than twenty standard deviations
    from the mean of the others, all are counted again, that one at this distance.
    """

    FIELDS = {
        **dict.fromkeys(("mean", "sum", "base"), ANY),
        **dict.fromkeys(("low", "high", "first_labels"), Range(-HUGE_LABEL, HUGE_LABEL)),
        **dict.fromkeys(("count", "spread", "first_weights"), NOT_NEGATIVE),
        "unit": Range(0.0, 2.0 * HUGE_LABEL),
        "floor": Range(-INFINITY, HUGE_LABEL),
        "ceiling": Range(-HUGE_LABEL, INFINITY),
        **dict.fromkeys(("labels", "clipped"), COUNT),
    }

    def __init__(self, loss):
        self.loss = loss
        self.count = self.mean = self.spread = self.low = self.high = self.sum = 0.0
        self.base = self.unit = self.floor = self.ceiling = 0.0
        self.labels = self.clipped = 0
        self.first_labels, self.first_weights = np.zeros(FIRST_LABELS), np.zeros(FIRST_LABELS)
        self.first_label = floats_at(self.first_labels)
        self.first_weight = floats_at(self.first_weights)

    def add(self, y, weight):
        """Count a label ``weight`` times."""
        before = self.count
        is_first: cython.bint = before == 0.0
        self.labels += 1
        self.count = before + weight
        share = weight / self.count  # exactly 1 at the first label, whose mean is the label itself
        away = y - self.mean
        self.mean += away * share
        self.spread += away * away * before * share
        self.low = y if is_first else min(self.low, y)
        self.high = y if is_first else max(self.high, y)
        self.sum += weight * y
        self.rebase()

    def replace(self, old, new):
        """Count ``new`` in the place of ``old``, which counted once.

        With d = new - old: mean' = mean + d / N, and the sum of squared distances grows by
        d (new - mean' + old - mean). What was once a label stays in the range, and rounding takes
        neither the mean out of it nor the sum of labels that are at least 0 below 0.
        """
        away, before = new - old, self.mean
        self.mean += away / self.count
        spread = self.spread + away * (new - self.mean + old - before)
        # One label has no spread, but for rounding, which is no unit of anything.
        self.spread = max(spread, 0.0) if self.count > 1.0 else 0.0
        self.low, self.high = min(self.low, new), max(self.high, new)
        self.mean = min(max(self.mean, self.low), self.high)
        self.sum += away
        if self.low >= 0.0:
            self.sum = max(self.sum, 0.0)
        self.rebase()

    def rebase(self):
        """Set base, unit and range of predictions."""
        self.base = self.loss.base(self.mean, self.sum, self.count)
        self.unit = 1.0 if self.loss.has_link else sqrt(self.spread / self.count)
        self.set_range(self.low, self.high)

    def expect(self, y, count):
        """Before the first label, set base and range as if ``count`` labels were y."""
        self.base = self.loss.base(y, y * count, count)
        self.set_range(y, y)

    def set_range(self, low, high):
        """Set the range of predictions by that of labels."""
        self.floor, self.ceiling = low, high
        if self.loss.has_link:
            self.floor, self.ceiling = -INFINITY, self.loss.ceiling(high)

    # --- Clipping --------------------------------------------------------------------------------

    def clip(self, y):
        """Return what is learned of the first label of a ticket."""
        return self.clip_to(y, self.labels, self.count, self.mean, self.spread)

    def clip_again(self, y, own):
        """Return what is learned of a label of a ticket, of which ``own`` was learned before."""
        others = self.count - 1.0
        if others <= 0.0:
            return y
        away = own - self.mean
        spread = self.spread - away * away * (1.0 + 1.0 / others)
        return self.clip_to(y, self.labels - 1.0, others, self.mean - away / others, spread)

    def clip_to(self, y, others, count, mean, spread):
        """Return what is learned of y beside ``others`` labels with these sums."""
        if self.loss.is_binary or others < FIRST_LABELS or count <= 0.0:
            return y
        largest = max(-self.low, self.high)
        if spread <= ROUNDING * largest * largest:
            return y
        far, away = max(FAR, others), y - mean
        if away * away * count <= far * spread:  # nearly always, without division and root
            return y
        reach = sqrt(far * (spread / count))
        learned = min(max(y, mean - reach), mean + reach)
        self.clipped += 1 if learned != y else 0
        return learned

    # --- Early outliers --------------------------------------------------------------------------

    def record_first(self, y, weight):
        """Keep one of the first labels, and how often it counts; 0 for one that may change."""
        if self.labels < FIRST_LABELS:
            self.first_label[self.labels] = y
            self.first_weight[self.labels] = weight

    def clip_first(self, which, y):
        """Return one of the first labels, no farther out than the others and y allow."""
        first, label = self.first_label, self.first_label[which]
        mean = y / FIRST_LABELS
        for i in range(FIRST_LABELS):
            mean += first[i] / FIRST_LABELS if i != which else 0.0
        spread, largest = (y - mean) * (y - mean), fabs(y)
        for i in range(FIRST_LABELS):
            if i != which:
                spread += (first[i] - mean) * (first[i] - mean)
                largest = max(largest, fabs(first[i]))
        if spread <= ROUNDING * largest * largest:  # all are equal
            return label
        reach = sqrt(FAR * (spread / FIRST_LABELS))
        return min(max(label, mean - reach), mean + reach)

    def early_outlier(self, y):
        """Return which of the first labels is far from the others and from y; -1 for none."""
        if self.labels != FIRST_LABELS or self.loss.is_binary:
            return -1
        for i in range(FIRST_LABELS):
            if self.first_weight[i] == 0.0:
                return -1
        for i in range(FIRST_LABELS):
            if self.clip_first(i, y) != self.first_label[i]:
                return i
        return -1

    def restart(self, outlier, y):
        """Count the first labels again, an outlier no farther out than it may be."""
        self.first_label[outlier] = self.clip_first(outlier, y)
        self.clipped += 1
        self.count = self.mean = self.spread = self.sum = 0.0
        self.labels = 0
        for i in range(FIRST_LABELS):
            self.add(self.first_label[i], self.first_weight[i])

    # --- Snapshots -------------------------------------------------------------------------------

    def verify(self, state):
        low, mean, high = state["low"], state["mean"], state["high"]
        room = 1e-6 * max(abs(low), abs(high))
        demand((state["count"] > 0.0) == (state["labels"] > 0), "the number of labels")
        demand(low - room <= mean <= high + room, "the mean of labels")
        demand(abs(state["base"]) <= HUGE_LABEL, "the base of predictions")
        if state["labels"] == 0:
            return
        demand(self.loss.is_label(low) and self.loss.is_label(high), "labels")
        most = (state["count"] + FIRST_LABELS) * (high - low + room) * (high - low + room)
        demand(state["spread"] <= most, "the spread of labels")
        ends = (low, high) if not self.loss.has_link else (-INFINITY, self.loss.ceiling(high))
        demand((state["floor"], state["ceiling"]) == ends, "the range of predictions")
        first = state["first_labels"]
        demand(((first == 0.0) | ((first >= low) & (first <= high))).all(), "the first labels")
