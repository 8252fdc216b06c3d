from belated.core.component cimport Component

cdef class Smoothing(Component):
    cdef readonly double inner_radius, breadth
    cdef readonly long long horizon
    cdef double share(self, double t) noexcept nogil
    cdef double radius(self, long long t) noexcept nogil
