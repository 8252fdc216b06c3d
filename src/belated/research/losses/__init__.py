"""Losses f_0, f_1, ... to play against: families of functions, and where their vectors come from.

A family says what f_t is, given a vector a_t and, where it has one, a target b_t:

=============  ==========================  =================================
family         f_t(x)                      gradient
=============  ==========================  =================================
``Linear``     <a_t, x>                    a_t
``Quadratic``  (lambda/2) |x - a_t|^2      lambda (x - a_t)
``Absolute``   |<a_t, x> - b_t|            sign(<a_t, x> - b_t) a_t
``Squared``    (<a_t, x> - b_t)^2 / 2      (<a_t, x> - b_t) a_t
``Logistic``   ln(1 + e^(-b_t <a_t, x>))   -b_t a_t / (1 + e^(b_t <a_t, x>))
``Hinge``      max(0, 1 - b_t <a_t, x>)    -b_t a_t where b_t <a_t, x> < 1
=============  ==========================  =================================

with labels b_t = 1 or -1 for the last two; at a kink the gradient is 0. A source says where the
rounds come from: arrays (``Given``) or one of the generators ``Random``, ``Drifting``,
``Switching``, ``Blocks``, ``Alternating`` and ``Adaptive``. Generators are pure functions of their
seed and t, bit for bit the same everywhere, without end and without memory.

``Custom`` takes Python functions instead.
"""

from __future__ import annotations

from belated.research.losses.base import Constants, Loss
from belated.research.losses.custom import Custom
from belated.research.losses.families import Absolute, Hinge, Linear, Logistic, Quadratic, Squared
from belated.research.losses.generators import (
    Adaptive,
    Alternating,
    Blocks,
    Drifting,
    Random,
    Switching,
)
from belated.research.losses.given import Given
from belated.research.losses.source import Source

__all__ = [
    "Absolute",
    "Adaptive",
    "Alternating",
    "Blocks",
    "Constants",
    "Custom",
    "Drifting",
    "Given",
    "Hinge",
    "Linear",
    "Logistic",
    "Loss",
    "Quadratic",
    "Random",
    "Source",
    "Squared",
    "Switching",
]
