from libc.math cimport fabs

from belated.core.memory cimport floats_at
from belated.core.numerics cimport dot, exp, ln, squared_distance
from belated.core.sources cimport Source

cdef class Loss:
    cdef readonly Py_ssize_t dim
    cdef readonly bint is_custom
    cdef readonly Source source
    cdef int draw(self, long long t, double* x) except -1 nogil
    cdef double value(self, double* x) except? -1e300 nogil
    cdef int gradient(self, double* x, double* out) except -1 nogil
    cdef double both(self, double* x, double* out) except? -1e300 nogil
    cdef void coefficients(self, double* out) noexcept nogil
    cdef double add_part(self, long long first, long long stop, double* x, double* step, double* out) except? -1e300 nogil
    cdef double add_values(self, long long first, long long stop, double* x, double value) except? -1e300 nogil

cdef class Linear(Loss):
    pass

cdef class Quadratic(Loss):
    cdef readonly double curvature

cdef class OfProduct(Loss):
    cdef double of(self, double product) noexcept nogil
    cdef double slope(self, double product) noexcept nogil

cdef class Absolute(OfProduct):
    pass

cdef class Squared(OfProduct):
    pass

cdef class Logistic(OfProduct):
    pass

cdef class Hinge(OfProduct):
    pass

cdef class UserLoss(Loss):
    cdef object value_of, gradient_of
    cdef long long t
    cdef double value(self, double* x) except? -1e300 with gil
    cdef int gradient(self, double* x, double* out) except -1 with gil
    cdef object copy_of(self, double* x)
