cimport cython
from libc.math cimport INFINITY, fabs, sqrt

from belated.core.component cimport Component
from belated.core.numerics cimport bits_of, copy, dot, exp, floats_at, largest_entry, ln, norm, part
from belated.core.numerics cimport squared_distance
from belated.core.rates cimport Rate
from belated.core.sets cimport Domain
from belated.core.tickets cimport Tickets

@cython.final
cdef class Sums(Component):
    cdef readonly double diameter, width, lipschitz
    cdef public double rate, learned, drifted, largest
    cdef double add(self, double rate, double waiting, double norm) noexcept nogil
    cdef void see(self, double norm) noexcept nogil

cdef class Base(Component):
    cdef readonly Py_ssize_t dim
    cdef readonly Tickets tickets
    cdef readonly Domain domain
    cdef readonly Rate rate
    cdef readonly Sums sums
    cdef readonly double curvature
    cdef readonly bint hears_all
    cdef public object point, inner
    cdef object work_array
    cdef cython.p_double z, p, work
    cdef double norm(self, double* cost) noexcept nogil
    @cython.final
    cdef double choose_rate(self, double norm) except? -1.0 nogil
    cdef int move(self, double* cost, double norm, double eta) except -1 nogil
    cdef int update(self, double* cost, double norm) except -1 nogil

@cython.final
cdef class Past(Component):
    cdef readonly Tickets tickets
    cdef readonly Py_ssize_t width
    cdef readonly long long reach
    cdef int last_ring
    cdef public object records
    cdef cython.p_double first
    cdef long long seen(self) noexcept nogil
    cdef int level(self) noexcept nogil
    cdef double* at(self, long long arrivals) noexcept nogil
    cdef double* below(self, int level) noexcept nogil
    cdef double* beyond(self, int level) noexcept nogil

cdef class PFTRL(Base): pass
cdef class OMD(Base): pass
cdef class DualAveraging(Base): pass

cdef class EntropyOMD(Base):
    cdef double floor
    cdef void raise_to_floor(self) noexcept nogil

cdef class Leader(Base):
    cdef readonly Past past
    cdef object spare
    cdef cython.p_double apart, slope
    cdef public double learning, drift, unsure, way
    @cython.final
    cdef double lead(self, double* cost, double* below, double* beyond) noexcept nogil
    @cython.final
    cdef void keep(self, double* old) noexcept nogil

cdef class Member(Component):
    cdef readonly Base base
    cdef Member following
    cdef Py_ssize_t number
    cdef bint is_last
    cdef public double way
    cdef double choose_rates(self, double norm, double* weights, double mean) except? -1.0 nogil
    cdef void move(self, double* cost, double norm, double* work, double* weights, double* z) noexcept nogil
    cdef void keep(self, Py_ssize_t count, double* record) noexcept nogil

cdef class Portfolio(Base):
    cdef readonly tuple members
    cdef Member first_member, anchor
    cdef Py_ssize_t count
    cdef double leash
    cdef Past past
    cdef public object weights, targets, gaps, misread
    cdef object prior, charge_array
    cdef public double weights_rate, risen, weights_way, soft_top
    cdef cython.p_double w, target, gap, lost, priors, charges
    cdef void keep(self) noexcept nogil
    cdef double charge(self, double* cost, double norm) noexcept nogil
    cdef double mixed_charge(self, double span) noexcept nogil
    cdef void weigh(self, double* cost, double norm) noexcept nogil
    cdef double soften(self) noexcept nogil
    cdef void follow(self) noexcept nogil
    cdef bint exceeds_leash(self) noexcept nogil
