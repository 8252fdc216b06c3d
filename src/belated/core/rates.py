# cython: infer_types=True
"""Step sizes eta_n of the base learner, and exploration radii delta_t.

Step sizes are those for the arrival that the tickets have just counted.

Notation: n arrivals, s*_m tickets open after arrival m, |c_m| norms of costs, D the diameter, G a
bound on gradients. Under a ``Capacity`` arrivals have weights w: sum w^2 stands for n, and sum of w
times the waiting weights for sum s*.
"""

from __future__ import annotations

import cython
import numpy as np

from belated.core.component import NOT_NEGATIVE

if not cython.compiled:
    from math import sqrt

    from belated.core.component import Component
    from belated.core.numerics import cube_root, floats_at, ints_at, ln
    from belated.core.tickets import Tickets


class Rate(Component):
    """A rule for the step size; this one never moves."""

    def __init__(self, tickets: Tickets):
        self.tickets = tickets

    def step_size(self, norm):
        """Return eta_n for a cost of this norm; 0: do not move."""
        return 0.0


class DelayAdaptive(Rate):
    """eta_n = gain / sqrt(u n + v sum s*_m).

    Corollary 5.3: gain = scale D / G and u = v = 1; regret <= 3 G D sqrt(T + d_tot).
    """

    def __init__(self, tickets: Tickets, gain: float, u: float = 1.0, v: float = 1.0):
        self.tickets, self.gain, self.u, self.v = tickets, gain, u, v

    def step_size(self, norm):
        arrivals, backlogs = self.tickets.weighted_arrivals, self.tickets.weighted_backlogs
        return self.gain / sqrt(self.u * arrivals + self.v * backlogs)


class DelayAdaptivePairs(DelayAdaptive):
    """Corollary G.3: u = k."""


class Tight(DelayAdaptive):
    """gain = scale D / 2G and u = 1/2; regret <= 2 G D sqrt(T / 2 + d_tot)."""


class InverseRoot(DelayAdaptive):
    """gain = step and v = 0: it does not look at delays (Zinkevich 2003)."""


class DelayAdaptiveValues(Rate):
    """Corollary 5.7: eta_n = (D / G) / sqrt(n + sum s*_m + sum (k M / (G delta'_m))^2).

    delta'_m is the radius of the round in progress at arrival m; ``noise`` is k M / G. An answer of
    weight w has w times the noise.
    """

    FIELDS = {"spread": NOT_NEGATIVE}

    def __init__(self, tickets: Tickets, gain: float, noise: float, smoothing: Smoothing):
        self.tickets, self.gain, self.noise = tickets, gain, noise
        self.smoothing, self.spread = smoothing, 0.0

    def step_size(self, norm):
        noise = self.noise / self.smoothing.radius(self.tickets.rounds) * self.tickets.weight
        self.spread += noise * noise
        return self.gain / sqrt(
            self.tickets.weighted_arrivals + self.tickets.weighted_backlogs + self.spread
        )


class GradientAdaptive(Rate):
    """eta_n = (D / 2) / sqrt(sum (|c_m|^2 / 2 + G s*_m |c_m|)); 0 before the first cost.

    Without G (``lipschitz`` 0) the largest norm so far stands in for it.
    """

    FIELDS = {"spread": NOT_NEGATIVE, "largest": NOT_NEGATIVE}

    def __init__(self, tickets: Tickets, gain: float, lipschitz: float):
        self.tickets, self.gain, self.lipschitz = tickets, gain, lipschitz
        self.spread = self.largest = 0.0

    def step_size(self, norm):
        self.largest = max(self.largest, norm)
        bound = self.lipschitz if self.lipschitz > 0.0 else self.largest
        self.spread += 0.5 * norm * norm + bound * self.tickets.waiting * norm
        return self.gain / sqrt(self.spread) if self.spread > 0.0 else 0.0


class StronglyConvex(Rate):
    """Corollary 5.4: eta_n = 1 / (lambda n)."""

    def __init__(self, tickets: Tickets, curvature: float):
        self.tickets, self.curvature = tickets, curvature

    def step_size(self, norm):
        return 1.0 / (self.curvature * self.tickets.arrived)


class Constant(Rate):
    """eta_n = step."""

    def __init__(self, tickets: Tickets, step: float):
        self.tickets, self.step = tickets, step

    def step_size(self, norm):
        return self.step


class Table(Rate):
    """eta_n = steps[n - 1]; the last one is kept after the end."""

    def __init__(self, tickets: Tickets, steps):
        self.tickets = tickets
        self.array, self.size = np.array(steps, dtype=np.float64), len(steps)
        self.steps = floats_at(self.array)

    def step_size(self, norm):
        return self.steps[min(self.size, self.tickets.fed) - 1]


# --- Exploration radii ---------------------------------------------------------------------------


class Smoothing(Component):
    """delta_t = r min{1, share(t)}, r the inner radius; with a horizon T the radius is delta_T.

    ``breadth`` is the factor of the schedule, as the class says.
    """

    def __init__(self, inner_radius: float, breadth: float = 0.0, horizon: int = 0):
        self.inner_radius, self.breadth, self.horizon = inner_radius, breadth, horizon

    def share(self, t):
        """Return delta_t / r, before it is cut off at 1."""
        return 0.0

    def radius(self, t):
        """Return delta_t."""
        return self.inner_radius * min(1.0, self.share(self.horizon if self.horizon > 0 else t))


class ConvexSmoothing(Smoothing):
    """breadth / t^(1/4), breadth = sqrt(nu k) (Corollary 5.7)."""

    def share(self, t):
        return self.breadth / sqrt(sqrt(t))


class StronglyConvexSmoothing(Smoothing):
    """(breadth ln(e t) / t)^(1/3), breadth = (nu k)^2 (Corollary 5.8)."""

    def share(self, t):
        return cube_root(self.breadth * (1.0 + ln(t)) / t)


class InverseRootSmoothing(Smoothing):
    """1 / sqrt(t) (Corollary G.3)."""

    def share(self, t):
        return 1.0 / sqrt(t)


class InverseSmoothing(Smoothing):
    """1 / t (Corollary G.4)."""

    def share(self, t):
        return 1.0 / t


class ConstantSmoothing(Smoothing):
    """breadth = delta / r, for ever."""

    def share(self, t):
        return self.breadth


# --- Along a timeline ----------------------------------------------------------------------------


def schedule(rate: Rate, smoothing: Smoothing, events):
    """Return eta_n and delta'_n by arrival, and delta_t by prediction, along events t and ~t.

    delta'_n is the radius of the round in progress at arrival n. For a rate that does not depend on
    costs and whose tickets are new.
    """
    tickets: Tickets = rate.tickets
    array = np.array(events, dtype=np.int64)
    etas, late_radii, radii = np.zeros((3, np.count_nonzero(array >= 0)))
    code, eta = ints_at(array), floats_at(etas)
    late_radius, radius = floats_at(late_radii), floats_at(radii)
    for i in range(len(array)):
        if code[i] >= 0:
            tickets.issue()
            radius[tickets.rounds - 1] = smoothing.radius(tickets.rounds)
            continue
        entry = tickets.locate(~code[i])
        if entry < 0:
            raise ValueError(f"event {i}: ticket {~code[i]} is not open")
        tickets.feed_arrival(entry)
        tickets.close(entry)
        eta[tickets.arrived - 1] = rate.step_size(0.0)
        late_radius[tickets.arrived - 1] = smoothing.radius(tickets.rounds)
    return etas, late_radii, radii
