cimport cython
from libc.math cimport fabs

from belated.core.component cimport Component
from belated.core.label_losses cimport LabelStatistics
from belated.core.numerics cimport exp, floats_at, ln
from belated.core.tickets cimport Tickets

cdef Py_ssize_t BUCKETS
cdef long long FEWEST_UPDATES

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

@cython.final
cdef class PendingPositives(Component):
    cdef public long long next_update
    cdef readonly object corrections
    cdef cython.p_double corrected
    cdef void record(self, long long age, bint is_taken_back) noexcept nogil
    cdef double update(self, long long rounds, long long open) noexcept nogil

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
