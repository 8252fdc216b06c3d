"""Spares a start what numba does to find out whether matrices can be multiplied.

Before numba compiles or loads anything, it imports all of scipy.linalg, where scipy is installed,
to see whether there is a BLAS. That is a quarter of a first call, and no kernel multiplies
matrices. Whoever does is looked after as before, when the product is compiled.
"""

from __future__ import annotations

import functools
import sys
from importlib.util import find_spec

import numba

_TRIED = ((0, 68),)


@functools.cache
def take_on_trust() -> None:
    """Let numba believe that scipy has a BLAS, until somebody wants to use it."""
    if (
        numba.version_info.short not in _TRIED
        or "numba.np.arraymath" in sys.modules
        or find_spec("scipy") is None
    ):
        return
    from numba.np import linalg

    ensure = linalg.ensure_blas
    linalg.ensure_blas = lambda: None
    try:
        from numba.np import arraymath
    finally:
        linalg.ensure_blas = ensure
    arraymath.ensure_blas = ensure
