from libc.math cimport sqrt

from belated.core.directions cimport philox, unit_vector
from belated.core.memory cimport floats_at, part
from belated.core.numerics cimport dot

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
