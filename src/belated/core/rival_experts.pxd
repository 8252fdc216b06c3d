from libc.math cimport INFINITY, fabs, sqrt

from belated.core.numerics cimport floats_at, part
from belated.core.numerics cimport exp, ln
from belated.core.rival cimport Hint, Method
from belated.core.tickets cimport HELD

cdef double inner_product(double* v, double* w, Py_ssize_t n) noexcept nogil
cdef double least(double* v, Py_ssize_t n) noexcept nogil
cdef double farthest(double* v, double* w, Py_ssize_t n) noexcept nogil
cdef void normalise(double* w, Py_ssize_t n) noexcept nogil
cdef void softmin(double* v, double strength, double* w, Py_ssize_t n) noexcept nogil

cdef class RegretMatching(Method):
    cdef readonly Hint hint
    cdef public object regrets
    cdef double* p

cdef class DORM(RegretMatching):
    cdef double power

cdef class DORMPlus(RegretMatching):
    cdef void change_hint(self) noexcept nogil

cdef class InTurn(Method):
    cdef public long long turn
    cdef public object in_turn
    cdef double* turned
    cdef void tune(self, long long entry) noexcept nogil
    cdef void take_turns(self) noexcept nogil

cdef class Hedging(InTurn):
    cdef public double strength, paid
    cdef public object received
    cdef double* theta

cdef class DUB(Hedging):
    cdef public double widest, squares

cdef class AdaHedgeD(Hedging):
    cdef double gap(self, double* seen, double share, double* w, double strength, double* passing) noexcept nogil

cdef class LearnedHints(InTurn):
    cdef double eta
    cdef bint is_entropy
    cdef public long long used
    cdef public object regrets, newest, received
    cdef double* regret
    cdef double* last
    cdef double* sum
    cdef double guess(self, double* record, Py_ssize_t i) noexcept nogil
