from libc.math cimport sqrt

from belated.core.exploration cimport unit_vector
from belated.core.numerics cimport floats_at, part
from belated.core.numerics cimport cube_root, exp, ln
from belated.core.rival cimport Exploring, Pairs
from belated.core.tickets cimport HELD

cdef double power(double t, double exponent) noexcept nogil

cdef class Flaxman(Exploring):
    cdef double step

cdef class Bistritz(Exploring):
    cdef double diameter, gain
    cdef void tune(self, double rounds, double total_delay) noexcept nogil

cdef class BistritzDoubling(Bistritz):
    cdef public double most_rounds, most_waiting, rounds, waiting

cdef class GOLD(Exploring):
    cdef double breadth, gain, radius_power, step_power
    cdef public long long oldest
    cdef double radius(self, long long ticket) noexcept nogil
    cdef long long merged(self, long long a, long long b) noexcept nogil

cdef class DFTBL(Exploring):
    cdef double alpha
    cdef long long block
    cdef bint ends_block(self) noexcept nogil

cdef class DFTBLStronglyConvex(DFTBL):
    cdef double curvature
    cdef public long long blocks
    cdef public object points
    cdef double* sum

cdef class AgarwalDekelXiao(Pairs):
    cdef double step, curvature

cdef class DOGDSCTwoPoint(Pairs):
    cdef double curvature

cdef class DOGDSCManyPoint(Exploring):
    cdef double curvature
