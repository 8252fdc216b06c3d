from libc.math cimport fabs, sqrt
from belated.core.label_losses cimport sigmoid, softplus
from belated.core.user_parts cimport copy_of
from belated.core.numerics cimport dot, floats_at, part, philox, squared_distance, unit_vector

cdef class Source:
    cdef readonly Py_ssize_t dim
    cdef readonly bint is_adaptive
    cdef double* a
    cdef double b
    cdef void draw(self, long long t, double* x) noexcept nogil

cdef class Given(Source):
    cdef object array
    cdef double* rows

cdef class Generated(Source):
    cdef readonly double scale
    cdef bint has_targets, has_labels
    cdef unsigned long long seed
    cdef long long length, phase
    cdef object arrays
    cdef double target(self, double number) noexcept nogil
    cdef bint enters(self, long long phase) noexcept nogil

cdef class Random(Generated):
    cdef double noise
    cdef double* m
    cdef void move_mean(self, long long t) noexcept nogil
    cdef double between_signs(self, long long t) noexcept nogil

cdef class Drifting(Random):
    cdef double* start
    cdef double* end

cdef class Switching(Random):
    pass

cdef class Blocks(Generated):
    pass

cdef class Alternating(Generated):
    pass

cdef class Adaptive(Generated):
    pass

cdef class Loss:
    cdef readonly Py_ssize_t dim
    cdef readonly bint is_custom
    cdef readonly Source source
    cdef int draw(self, long long t, double* x) except -1 nogil
    cdef double value(self, double* x) except? -1e300 nogil
    cdef int gradient(self, double* x, double* out) except -1 nogil
    cdef double both(self, double* x, double* out) except? -1e300 nogil
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
