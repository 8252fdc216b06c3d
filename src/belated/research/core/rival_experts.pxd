from libc.math cimport INFINITY, fabs, sqrt

from belated.core.numerics cimport exp, floats_at, largest_entry, ln, part, word_share
from belated.research.core.rival cimport SLACK, Method
from belated.core.tickets cimport HELD

cdef double inner_product(double* v, double* w, Py_ssize_t n) noexcept nogil
cdef double least(double* v, Py_ssize_t n) noexcept nogil
cdef double farthest(double* v, double* w, Py_ssize_t n) noexcept nogil
cdef void normalise(double* w, Py_ssize_t n) noexcept nogil
cdef void softmin(double* v, double strength, double* w, Py_ssize_t n) noexcept nogil

cdef class DORM(Method):
    cdef double power
    cdef public object regrets
    cdef double* p

cdef class AdaHedgeD(Method):
    cdef public long long turn
    cdef public double strength
    cdef public object in_turn
    cdef double* turned
    cdef double gap(self, double* seen, double share, double* w, double strength, double* passing) noexcept nogil
    cdef void tune(self, long long entry) noexcept nogil

cdef class Bandit(Method):
    cdef public object losses
    cdef public long long backlogs
    cdef double* lost
    cdef void weigh(self, double eta) noexcept nogil

cdef class DelayedExp3(Bandit):
    cdef double eta, threshold

cdef class TwoRegularisers(Bandit):
    cdef double logarithm, share, head_start, floor
    cdef public double multiplier
    cdef long long backlog(self) noexcept nogil
    cdef double entropy_weight(self) noexcept nogil

cdef class ZimmertSeldinSkipping(TwoRegularisers):
    cdef public long long counted, oldest
    cdef void stop_counting(self, long long entry) noexcept nogil

cdef class BankerTINF(Bandit):
    cdef public double savings, multiplier, scale
    cdef void save(self, long long entry, double loss) noexcept nogil

cdef double omega(double k, double w) noexcept nogil
cdef double solve(double* losses, double a, double b, double mu, double* x, Py_ssize_t n) noexcept nogil
cdef double solve_roots(double* losses, double lowest, double a, double mu, double* x, Py_ssize_t n) noexcept nogil
cdef double solve_both(double* losses, double lowest, double a, double b, double mu, double* x, Py_ssize_t n) noexcept nogil
