"""Exploration radii delta_t; see ``belated.smoothing`` for the formulas."""

from __future__ import annotations

import math

from belated.arrays import Code
from belated.kernels.choices import switch
from belated.kernels.exact import cube_root, ln
from belated.kernels.jit import leaf
from belated.kernels.learners.state import State
from belated.kernels.parts import Part, Parts
from belated.kernels.slots import code as C
from belated.kernels.slots import floats as F
from belated.kernels.slots import ints as N


@leaf
def _quarter_root(code: Code, breadth: float, t: float) -> float:
    return breadth / math.sqrt(math.sqrt(t))  # breadth = sqrt(nu k)


@leaf
def _cube_root(code: Code, breadth: float, t: float) -> float:
    return cube_root(breadth * (1.0 + ln(t)) / t)  # breadth = (nu k)^2; ln(e t) = 1 + ln t


@leaf
def _inverse_root(code: Code, breadth: float, t: float) -> float:
    return 1.0 / math.sqrt(t)


@leaf
def _inverse(code: Code, breadth: float, t: float) -> float:
    return 1.0 / t


@leaf
def _fixed(code: Code, breadth: float, t: float) -> float:
    return breadth  # delta / r


@leaf
def _unsmoothed(code: Code, breadth: float, t: float) -> float:
    return 0.0


# ``share``: delta_t / r, before it is cut off at 1.
SMOOTHINGS = Parts(
    "smoothing",
    Part("none", 0, share=_unsmoothed),
    Part("smoothing.Convex", 1, share=_quarter_root),
    Part("smoothing.StronglyConvex", 2, share=_cube_root),
    Part("smoothing.InverseRoot", 3, share=_inverse_root),
    Part("smoothing.Inverse", 4, share=_inverse),
    Part("smoothing.Constant", 5, share=_fixed),
)
_share = switch(C.SMOOTHING, SMOOTHINGS.choices("share"))


@leaf
def radius(code: Code, s: State, round_: int) -> float:
    """Return delta_t for round t = 1, 2, ... (see ``belated.smoothing`` for the formulas)."""
    t = float(s.n[N.HORIZON] if s.n[N.HORIZON] > 0 else round_)
    return s.f[F.INNER] * min(1.0, _share(code, s.f[F.BREADTH], t))
