"""Functions that Python calls without numba's help: a small part of what that takes.

numba takes apart every argument of a call, looks for types, counts references and lets go of the
interpreter lock: half a microsecond, which is longer than most events take. What is made here is
written for its arguments. It looks at an object where it knows what that is, and else it declines,
having changed nothing, so that the usual way is taken. ``objects`` finds out whether things stand
where they are expected; where they do not, nothing is made.
"""

from belated.kernels.direct.functions import Made, bound, made
from belated.kernels.direct.objects import IS_KNOWN

__all__ = ["IS_KNOWN", "Made", "bound", "made"]
