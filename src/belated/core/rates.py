"""Step sizes eta_n of the base learner, for the arrival that the tickets have just counted.

Notation: n arrivals, s*_m tickets open after arrival m, |c_m| norms of costs, D the diameter, G a
bound on gradients. Under a ``Capacity`` arrivals have weights w: sum w^2 stands for n, and sum of w
times the waiting weights for sum s*.
"""

from __future__ import annotations

import cython
import numpy as np

from belated.core.component import NOT_NEGATIVE

if cython.compiled:
    from cython.cimports.belated.core.component import Component
    from cython.cimports.belated.core.memory import floats_at
    from cython.cimports.belated.core.smoothing import Smoothing
    from cython.cimports.belated.core.tickets import Tickets
    from cython.cimports.libc.math import sqrt
else:
    from math import sqrt

    from belated.core.component import Component
    from belated.core.memory import floats_at
    from belated.core.smoothing import Smoothing
    from belated.core.tickets import Tickets


@cython.cclass
class Rate(Component):
    """A rule for the step size; this one never moves."""

    def __init__(self, tickets: Tickets):
        self.tickets = tickets

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def step_size(self, norm: cython.double) -> cython.double:
        """Return eta_n for a cost of this norm; 0: do not move."""
        return 0.0


@cython.cclass
class DelayAdaptive(Rate):
    """Corollary 5.3: eta_n = (D / G) / sqrt(n + sum s*_m); regret <= 3 G D sqrt(T + d_tot).

    ``gain`` is scale D / G.
    """

    gain: cython.double

    def __init__(self, tickets: Tickets, gain: float):
        self.tickets, self.gain = tickets, gain

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def step_size(self, norm: cython.double) -> cython.double:
        return self.gain / sqrt(self.tickets.weighted_arrivals + self.tickets.weighted_backlogs)


@cython.cclass
class DelayAdaptiveValues(Rate):
    """Corollary 5.7: eta_n = (D / G) / sqrt(n + sum s*_m + sum (k M / (G delta'_m))^2).

    delta'_m is the radius of the round in progress at arrival m; ``noise`` is k M / G. An answer of
    weight w has w times the noise.
    """

    FIELDS = {"spread": NOT_NEGATIVE}

    gain: cython.double
    noise: cython.double
    smoothing: Smoothing
    spread = cython.declare(cython.double, visibility="public")

    def __init__(self, tickets: Tickets, gain: float, noise: float, smoothing: Smoothing):
        self.tickets, self.gain, self.noise = tickets, gain, noise
        self.smoothing, self.spread = smoothing, 0.0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def step_size(self, norm: cython.double) -> cython.double:
        noise: cython.double = self.noise / self.smoothing.radius(self.tickets.rounds)
        noise *= self.tickets.weight
        self.spread += noise * noise
        return self.gain / sqrt(
            self.tickets.weighted_arrivals + self.tickets.weighted_backlogs + self.spread
        )


@cython.cclass
class DelayAdaptivePairs(Rate):
    """Corollary G.3: eta_n = (D / G) / sqrt(n k + sum s*_m)."""

    gain: cython.double
    dim: cython.double

    def __init__(self, tickets: Tickets, gain: float, dim: int):
        self.tickets, self.gain, self.dim = tickets, gain, dim

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def step_size(self, norm: cython.double) -> cython.double:
        return self.gain / sqrt(
            self.tickets.weighted_arrivals * self.dim + self.tickets.weighted_backlogs
        )


@cython.cclass
class Tight(Rate):
    """eta_n = scale (D / 2G) / sqrt(n / 2 + sum s*_m); regret <= 2 G D sqrt(T / 2 + d_tot)."""

    gain: cython.double

    def __init__(self, tickets: Tickets, gain: float):
        self.tickets, self.gain = tickets, gain

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def step_size(self, norm: cython.double) -> cython.double:
        return self.gain / sqrt(
            0.5 * (self.tickets.weighted_arrivals + 2.0 * self.tickets.weighted_backlogs)
        )


@cython.cclass
class GradientAdaptive(Rate):
    """eta_n = (D / 2) / sqrt(sum (|c_m|^2 / 2 + G s*_m |c_m|)); 0 before the first cost.

    Without G (``lipschitz`` 0) the largest norm so far stands in for it.
    """

    FIELDS = {"spread": NOT_NEGATIVE, "largest": NOT_NEGATIVE}

    gain: cython.double
    lipschitz: cython.double
    spread = cython.declare(cython.double, visibility="public")
    largest = cython.declare(cython.double, visibility="public")

    def __init__(self, tickets: Tickets, gain: float, lipschitz: float):
        self.tickets, self.gain, self.lipschitz = tickets, gain, lipschitz
        self.spread = self.largest = 0.0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def step_size(self, norm: cython.double) -> cython.double:
        if norm > self.largest:
            self.largest = norm
        bound: cython.double = self.lipschitz if self.lipschitz > 0.0 else self.largest
        self.spread += 0.5 * norm * norm + bound * self.tickets.waiting * norm
        return self.gain / sqrt(self.spread) if self.spread > 0.0 else 0.0


@cython.cclass
class StronglyConvex(Rate):
    """Corollary 5.4: eta_n = 1 / (lambda n)."""

    curvature: cython.double

    def __init__(self, tickets: Tickets, curvature: float):
        self.tickets, self.curvature = tickets, curvature

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def step_size(self, norm: cython.double) -> cython.double:
        return 1.0 / (self.curvature * self.tickets.arrived)


@cython.cclass
class Constant(Rate):
    """eta_n = step."""

    step: cython.double

    def __init__(self, tickets: Tickets, step: float):
        self.tickets, self.step = tickets, step

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def step_size(self, norm: cython.double) -> cython.double:
        return self.step


@cython.cclass
class InverseRoot(Rate):
    """eta_n = step / sqrt(n), which does not look at delays (Zinkevich 2003)."""

    step: cython.double

    def __init__(self, tickets: Tickets, step: float):
        self.tickets, self.step = tickets, step

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def step_size(self, norm: cython.double) -> cython.double:
        return self.step / sqrt(self.tickets.weighted_arrivals)


@cython.cclass
class Table(Rate):
    """eta_n = steps[n - 1]; the last one is kept after the end."""

    array: object
    steps: cython.p_double
    size: cython.longlong

    def __init__(self, tickets: Tickets, steps):
        self.tickets = tickets
        self.array, self.size = np.array(steps, dtype=np.float64), len(steps)
        self.steps = floats_at(self.array)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def step_size(self, norm: cython.double) -> cython.double:
        fed: cython.longlong = self.tickets.fed
        return self.steps[(fed if fed < self.size else self.size) - 1]
