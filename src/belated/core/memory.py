"""Arrays as the core sees them: a C pointer; interpreted a memoryview, which checks bounds."""

from __future__ import annotations

import cython
import numpy as np

if cython.compiled:
    from cython.cimports import numpy as cnp

    cnp.import_array()
else:

    def part(vector, start):
        """Return what begins at an entry of a vector."""
        return vector[start:]


@cython.cfunc
def new_floats(size: cython.Py_ssize_t) -> object:
    """Return an array for so many floats, with nothing in particular in it."""
    if cython.compiled:
        shape: cnp.npy_intp[1]
        shape[0] = size
        return cnp.PyArray_EMPTY(1, shape, cnp.NPY_DOUBLE, 0)
    else:
        return np.empty(size)


@cython.cfunc
@cython.exceptval(check=False)
def floats_at(array: object) -> cython.p_double:
    """Return where the floats of an array without gaps stand; the caller keeps the array alive."""
    if cython.compiled:
        return cython.cast(cython.p_double, cnp.PyArray_DATA(cython.cast(cnp.ndarray, array)))
    else:
        return memoryview(array.reshape(-1))


@cython.cfunc
@cython.exceptval(check=False)
def ints_at(array: object) -> cython.p_longlong:
    """Return where the ints of an array without gaps stand."""
    if cython.compiled:
        return cython.cast(cython.p_longlong, cnp.PyArray_DATA(cython.cast(cnp.ndarray, array)))
    else:
        return memoryview(array.reshape(-1))


@cython.cfunc
@cython.exceptval(check=False)
def is_plain(array: object, size: cython.Py_ssize_t) -> cython.bint:
    """Tell whether this is a NumPy vector of so many floats without gaps, aligned and native."""
    if cython.compiled:
        if not cnp.PyArray_CheckExact(array):
            return False
        vector: cnp.ndarray = array
        return (
            cnp.PyArray_TYPE(vector) == cnp.NPY_DOUBLE
            and cnp.PyArray_NDIM(vector) == 1
            and cnp.PyArray_ISCARRAY_RO(vector)
            and cnp.PyArray_SIZE(vector) == size
        )
    else:
        return (
            type(array) is np.ndarray
            and array.dtype == np.float64
            and array.shape == (size,)
            and array.flags.carray
        )
