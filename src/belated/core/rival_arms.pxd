from libc.math cimport fabs, sqrt

from belated.core.exploration cimport word_share
from belated.core.numerics cimport floats_at
from belated.core.numerics cimport exp, ln
from belated.core.rival cimport SLACK, Method
from belated.core.rival_experts cimport least, normalise

cdef double omega(double k, double w) noexcept nogil
cdef double solve(double* losses, double a, double b, double mu, double* x, Py_ssize_t n) noexcept nogil
cdef double solve_roots(double* losses, double lowest, double a, double mu, double* x, Py_ssize_t n) noexcept nogil
cdef double solve_both(double* losses, double lowest, double a, double b, double mu, double* x, Py_ssize_t n) noexcept nogil

cdef class Bandit(Method):
    cdef public object losses
    cdef double* lost
    cdef void weigh(self, double eta) noexcept nogil

cdef class DelayedExp3(Bandit):
    cdef double eta, threshold

cdef class AnytimeExp3(Bandit):
    cdef double logarithm
    cdef public long long backlogs

cdef class ZimmertSeldin(Bandit):
    cdef bint skipping
    cdef public double multiplier
    cdef public long long backlogs, counted, oldest
    cdef void stop_counting(self, double most) noexcept nogil
    cdef void uncount(self, long long entry) noexcept nogil

cdef class MasoudianZimmertSeldin(Bandit):
    cdef double logarithm, head_start, floor
    cdef public double multiplier
    cdef public long long backlogs

cdef class Banker(Bandit):
    cdef public double savings, multiplier, scale
    cdef void spend(self, double scale) noexcept nogil
    cdef void save(self, long long entry, double loss) noexcept nogil

cdef class BankerTINF(Banker):
    cdef public long long backlogs

cdef class BankerSFTINF(Banker):
    cdef public double believed, spread
