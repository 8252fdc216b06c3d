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

from belated.research.losses.base import Constants as Constants
from belated.research.losses.base import Loss as Loss
from belated.research.losses.custom import Custom as Custom
from belated.research.losses.families import Absolute as Absolute
from belated.research.losses.families import Hinge as Hinge
from belated.research.losses.families import Linear as Linear
from belated.research.losses.families import Logistic as Logistic
from belated.research.losses.families import Quadratic as Quadratic
from belated.research.losses.families import Squared as Squared
from belated.research.losses.sources import Adaptive as Adaptive
from belated.research.losses.sources import Alternating as Alternating
from belated.research.losses.sources import Blocks as Blocks
from belated.research.losses.sources import Drifting as Drifting
from belated.research.losses.sources import Given as Given
from belated.research.losses.sources import Random as Random
from belated.research.losses.sources import Source as Source
from belated.research.losses.sources import Switching as Switching

__all__ = sorted(name for name, thing in vars().items() if isinstance(thing, type))
