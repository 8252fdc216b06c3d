from libc.math cimport sqrt

from belated.core.component cimport Component
from belated.core.numerics cimport cube_root, dot, ln

cdef void philox(unsigned long long block, unsigned long long stream, unsigned long long t, unsigned long long seed, long long* words) noexcept nogil
cdef double uniform(unsigned long long stream, unsigned long long t, unsigned long long seed) noexcept nogil
cdef void normals(double* u, Py_ssize_t size, unsigned long long stream, unsigned long long t, unsigned long long seed) noexcept nogil
cdef void unit_vector(double* u, Py_ssize_t size, unsigned long long stream, unsigned long long t, unsigned long long seed) noexcept nogil
cdef double word_share(unsigned long long stream, unsigned long long t, unsigned long long seed) noexcept nogil

cdef class Smoothing(Component):
    cdef readonly double inner_radius, breadth
    cdef readonly long long horizon
    cdef double share(self, double t) noexcept nogil
    cdef double radius(self, long long t) except? -1.0 nogil

cdef class ConvexSmoothing(Smoothing):
    pass

cdef class StronglyConvexSmoothing(Smoothing):
    pass

cdef class InverseRootSmoothing(Smoothing):
    pass

cdef class InverseSmoothing(Smoothing):
    pass

cdef class ConstantSmoothing(Smoothing):
    pass
