cimport cython
from libc.math cimport fabs

from belated.core.component cimport Component
from belated.core.label_losses cimport LabelStatistics
from belated.core.numerics cimport exp, floats_at, ln, part, ticket_uniform
from belated.core.tickets cimport Tickets

cdef enum:
    QUANTILES = 16

cdef Py_ssize_t BUCKETS
cdef long long PASSES
cdef double PARTS_OF_DEADLINE

cdef Py_ssize_t bucket_of(long long age) noexcept nogil
cdef long long edge_of(Py_ssize_t bucket) noexcept nogil
cdef double importance_weight(double rounds, double usual, double age) noexcept nogil

@cython.final
cdef class Expiry(Component):
    cdef readonly bint by_ages, is_fixed
    cdef readonly long long least
    cdef public long long limit
    cdef readonly object came
    cdef cython.p_double count
    cdef void record(self, long long age) noexcept nogil
    cdef void review(self, long long rounds) noexcept nogil

cdef double share_by(long long k, double x) noexcept nogil
cdef void tabulate(cython.p_double share, cython.p_double mean_share) noexcept nogil

@cython.final
cdef class Delays(Component):
    cdef public double latest, gap, exposed, counted
    cdef public long long newest, next_update
    cdef readonly object came, limits, passed, cells
    cdef object work
    cdef double oldest, finished
    cdef long long beyond
    cdef cython.p_double count, block, cell, density, fresh, reached, limit, likelihood, found
    cdef cython.p_double later, weight, share, mean_share
    cdef void count_asked(self, double moment) noexcept nogil
    cdef void count_reached(self, double moment, double tickets, bint by_time) noexcept nogil
    cdef double middle(self, Py_ssize_t j, double moment) noexcept nogil
    cdef void begin_pass(self, double tickets) noexcept nogil
    cdef bint record(self, double asked, double moment, bint is_first) noexcept nogil
    cdef double overlap(self, Py_ssize_t j, long long least, long long age) noexcept nogil
    cdef void end_passes(self) noexcept nogil
    cdef double younger(self, double age, double moment) noexcept nogil
    cdef void group(self, double moment, double tickets, bint by_time) noexcept nogil
    cdef void estimate(self, double moment, double tickets) noexcept nogil
    cdef void update(self, double moment, long long tickets, bint by_time) noexcept nogil
    cdef double least_share(self, Py_ssize_t level) noexcept nogil
    cdef void hear(self, double moment, long long tickets, bint by_time) noexcept nogil
    cdef bint is_overdue(self, double moment) noexcept nogil
    cdef long long next(self, Py_ssize_t level) noexcept nogil
    cdef void advance(self, Py_ssize_t level) noexcept nogil

@cython.final
cdef class Censoring(Component):
    cdef readonly Tickets tickets
    cdef readonly LabelStatistics statistics
    cdef readonly Py_ssize_t label_at
    cdef public long long since, next_update
    cdef public double offset, shrinkage, earlier_yes
    cdef readonly object counts, yes
    cdef object work
    cdef cython.p_double labelled, positive, pending_by_age
    # Estimates of the latest update.
    cdef double rounds, labels, all_yes, tail, mean, stopped, pairs, late, late_yes, earlier_pending
    cdef double corrected(self, double p) noexcept nogil
    cdef void record(self, long long ticket, double y) noexcept nogil
    cdef void reset(self) noexcept nogil
    cdef void update(self) noexcept nogil
    cdef void count_pending(self) noexcept nogil
    cdef void estimate(self) noexcept nogil
    cdef void correct(self) noexcept nogil
    cdef double dependence(self, double yes, double no) noexcept nogil
    cdef double nearest_to_half(self, double earlier) noexcept nogil
