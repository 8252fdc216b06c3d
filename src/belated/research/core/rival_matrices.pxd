from libc.math cimport fabs, sqrt

from belated.core.component cimport Component
from belated.core.learner cimport Player
from belated.core.numerics cimport dot, floats_at, ln, norm, part
from belated.research.core.rival cimport Method
from belated.core.tickets cimport OUT_OF_ORDER, USED, Tickets

cdef void times(double* matrix, double* v, double* out, Py_ssize_t k) noexcept nogil
cdef void add_outer(double* matrix, double* v, double scale, Py_ssize_t k) noexcept nogil
cdef void invert_sum(double* matrix, double scale, double ridge, double* inverse, Py_ssize_t k) noexcept nogil

cdef class DelayedONS(Method):
    cdef double beta, least, diameter
    cdef bint is_simplex
    cdef public double ridge
    cdef public long long backlogs, oldest, updates
    cdef public object slopes, matrix, inverse
    cdef object arrays
    cdef double* b
    cdef double* m
    cdef double* p
    cdef double* y
    cdef double* v
    cdef double next_ridge(self) noexcept nogil
    cdef void solve(self) noexcept nogil
    cdef bint is_inside(self) noexcept nogil
    cdef void descend_to_leader(self) noexcept nogil
    cdef void step_to_leader(self, double bend) noexcept nogil

cdef class Copies(Player):
    cdef object make, seed
    cdef readonly list copies
    cdef public double newest_rate
    cdef long long predict(self, double* x) except -100 with gil
    cdef long long observe(self, long long ticket, double* answer) except -100 with gil
    cdef long long cancel(self, long long ticket) except -100 with gil

cdef class BOLD(Copies):
    cdef list idle

cdef class WeinbergerOrdentlich(Copies):
    cdef long long most
