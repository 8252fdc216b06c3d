"""Where Python and NumPy keep what is looked at, and whether they do so here."""

from __future__ import annotations

import ctypes
import sys
import sysconfig
from typing import Any

import numpy as np

from belated.kernels.jit import EMITS

TYPE = 8
"""Bytes before the type of any object."""
DATA, RANK, LENGTHS, KIND, FLAGS = 16, 24, 32, 56, 64
"""Bytes before fields of an array: where its numbers are, its dimensions, their lengths, its type
of numbers, its flags."""
PLAIN = 0x501
"""Flags of an array without gaps, whose numbers are aligned and may be written to."""

FLOAT, INT = np.dtype(np.float64), np.dtype(np.int64)


def _word(place: int) -> int:
    return ctypes.c_uint64.from_address(place).value


def _short(place: int) -> int:
    return ctypes.c_int32.from_address(place).value


def _stands_so(array: Any) -> bool:
    """Tell whether an array has its fields where they are expected."""
    place = id(array)
    return (
        _word(place + TYPE) == id(type(array))
        and _word(place + DATA) == array.ctypes.data
        and _short(place + RANK) == array.ndim
        and _word(_word(place + LENGTHS)) == array.shape[0]
        and _word(place + KIND) == id(array.dtype)
        and _short(place + FLAGS) == array.flags.num
        and (array.flags.num & PLAIN == PLAIN) == array.flags.carray
    )


def _are_known() -> bool:
    """Tell whether objects are as they are expected to be; nothing is read that is not theirs."""
    if sys.platform != "linux" or sys.implementation.name != "cpython":  # nothing else was tried
        return False
    if sys.version_info >= (3, 14):  # a tuple has a hash of its own there, which is -1 at first
        return False
    if ctypes.sizeof(ctypes.c_void_p) != 8 or sys.byteorder != "little":
        return False
    if sysconfig.get_config_var("Py_GIL_DISABLED") or hasattr(sys, "getobjects"):
        return False
    floats, ints = np.arange(12.0), np.arange(5)
    frozen = floats[0:7]
    frozen.setflags(write=False)
    samples = (floats, ints.astype(np.int64), floats[0:12:2], frozen, floats.reshape(3, 4))
    return all(_stands_so(sample) for sample in samples)


IS_KNOWN = EMITS and _are_known()
"""Whether functions can be made here; where leaves are not emitted, none are."""
