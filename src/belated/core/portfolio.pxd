from libc.math cimport fabs, sqrt

from belated.core.bases cimport Base, Past
from belated.core.component cimport Component
from belated.core.numerics cimport exp, floats_at, ln, part, squared_distance

cdef class Member(Component):
    cdef readonly Base base
    cdef Member following
    cdef Py_ssize_t number
    cdef bint is_last
    cdef public double way
    cdef double choose_rates(self, double norm, double* weights, double mean) except? -1.0 nogil
    cdef void move(self, double* cost, double norm, double* work) noexcept nogil
    cdef void mix(self, double* weights, double* z) noexcept nogil
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
    cdef double* w
    cdef double* target
    cdef double* gap
    cdef double* lost
    cdef double* priors
    cdef double* charges
    cdef void keep(self) noexcept nogil
    cdef double charge(self, double* cost, double norm) noexcept nogil
    cdef double mixed_charge(self, double span) noexcept nogil
    cdef void weigh(self, double* cost, double norm) noexcept nogil
    cdef double soften(self) noexcept nogil
    cdef void follow(self) noexcept nogil
    cdef bint exceeds_leash(self) noexcept nogil
