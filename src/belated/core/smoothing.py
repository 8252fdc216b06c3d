"""Exploration radii delta_t of one-point and two-point feedback, t = 1, 2, ..."""

from __future__ import annotations

import cython

if cython.compiled:
    from cython.cimports.belated.core.component import Component
    from cython.cimports.belated.core.numerics import cube_root, ln
    from cython.cimports.libc.math import sqrt
else:
    from math import sqrt

    from belated.core.component import Component
    from belated.core.numerics import cube_root, ln


@cython.cclass
class Smoothing(Component):
    """delta_t = r min{1, share(t)}, r the inner radius; with a horizon T the radius is delta_T.

    ``breadth`` is the factor of the schedule, as the class says.
    """

    def __init__(self, inner_radius: float, breadth: float = 0.0, horizon: int = 0):
        self.inner_radius, self.breadth, self.horizon = inner_radius, breadth, horizon

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def share(self, t: cython.double) -> cython.double:
        """Return delta_t / r, before it is cut off at 1."""
        return 0.0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def radius(self, t: cython.longlong) -> cython.double:
        """Return delta_t."""
        share: cython.double = self.share(self.horizon if self.horizon > 0 else t)
        return self.inner_radius * (share if share < 1.0 else 1.0)


@cython.cclass
class Convex(Smoothing):
    """breadth / t^(1/4), breadth = sqrt(nu k) (Corollary 5.7)."""

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def share(self, t: cython.double) -> cython.double:
        return self.breadth / sqrt(sqrt(t))


@cython.cclass
class StronglyConvex(Smoothing):
    """(breadth ln(e t) / t)^(1/3), breadth = (nu k)^2 (Corollary 5.8)."""

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def share(self, t: cython.double) -> cython.double:
        return cube_root(self.breadth * (1.0 + ln(t)) / t)


@cython.cclass
class InverseRoot(Smoothing):
    """1 / sqrt(t) (Corollary G.3)."""

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def share(self, t: cython.double) -> cython.double:
        return 1.0 / sqrt(t)


@cython.cclass
class Inverse(Smoothing):
    """1 / t (Corollary G.4)."""

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def share(self, t: cython.double) -> cython.double:
        return 1.0 / t


@cython.cclass
class Constant(Smoothing):
    """breadth = delta / r, for ever."""

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def share(self, t: cython.double) -> cython.double:
        return self.breadth
