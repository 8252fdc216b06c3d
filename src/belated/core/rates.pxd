cimport cython
from libc.math cimport sqrt

from belated.core.component cimport Component
from belated.core.numerics cimport cube_root, floats_at, ints_at, ln
from belated.core.tickets cimport Tickets

cdef class Smoothing(Component):
    cdef readonly double inner_radius, breadth
    cdef readonly long long horizon
    cdef double share(self, double t) noexcept nogil
    cdef double radius(self, long long t) except? -1.0 nogil

cdef class ConvexSmoothing(Smoothing): pass
cdef class StronglyConvexSmoothing(Smoothing): pass
cdef class InverseRootSmoothing(Smoothing): pass
cdef class InverseSmoothing(Smoothing): pass
cdef class ConstantSmoothing(Smoothing): pass

cdef class Rate(Component):
    cdef readonly Tickets tickets
    cdef double step_size(self, double norm) except? -1.0 nogil

cdef class DelayAdaptive(Rate):
    cdef double gain, u, v

cdef class DelayAdaptivePairs(DelayAdaptive): pass
cdef class Tight(DelayAdaptive): pass
cdef class InverseRoot(DelayAdaptive): pass

cdef class DelayAdaptiveValues(Rate):
    cdef double gain, noise
    cdef Smoothing smoothing
    cdef public double spread

cdef class GradientAdaptive(Rate):
    cdef double gain, lipschitz
    cdef public double spread, largest

cdef class StronglyConvex(Rate):
    cdef double curvature

cdef class Constant(Rate):
    cdef double step

cdef class Table(Rate):
    cdef object array
    cdef cython.p_double steps
    cdef long long size
