cimport cython
from libc.math cimport fabs, sqrt

from belated.core.component cimport Component
from belated.core.numerics cimport DOWN, MOST_SQUARES, copy, dot, floats_at, norm, scaled_norm

cdef double water_level(double* v, Py_ssize_t n, bint absolute, double top, double floor, double mass) noexcept nogil

cdef class Chart(Component):
    cdef readonly Py_ssize_t dim
    cdef void to_user(self, double* y, double* x) noexcept nogil
    cdef void from_user(self, double* x, double* y) noexcept nogil
    cdef double* scale_gradient(self, double* gradient, double* work) noexcept nogil
    cdef void unscale_cost(self, double* cost, double* out) noexcept nogil

cdef class Domain(Component):
    cdef readonly Py_ssize_t dim
    cdef int project(self, double* v, double* z) except -1 nogil
    cdef void corner(self, double* g, double* v) noexcept nogil

cdef class Scale(Chart):
    cdef object arrays
    cdef cython.p_double shift, scale, low, high

cdef class Ball(Domain):
    cdef double radius

cdef class Box(Domain): pass

cdef class Simplex(Domain):
    cdef readonly double floor

cdef class L1Ball(Domain):
    cdef double radius
