from libc.math cimport sqrt

from belated.core.numerics cimport floats_at
from belated.core.rival cimport Hint, Method
from belated.core.tickets cimport BAD

cdef class DelayedDualAveraging(Method):
    cdef double gain
    cdef public double spread

cdef class FTDRL(Method):
    cdef double gain
    cdef public double bend

cdef class QiuEspositoZhang(Method):
    cdef double curvature

cdef class ODFTRL(Method):
    cdef double eta, copies
    cdef readonly Hint hint

cdef class FrankWolfe(Method):
    cdef double gain
    cdef object corner_array
    cdef double* corner
    cdef void go_towards_corner(self, double* slope, double bend) noexcept nogil
    cdef void step(self) noexcept nogil

cdef class FrankWolfeStronglyConvex(FrankWolfe):
    cdef double curvature, reach
    cdef public object points
    cdef double* sum
