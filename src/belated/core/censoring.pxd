cimport cython
from libc.math cimport fabs

from belated.core.component cimport Component
from belated.core.label_losses cimport LabelLoss, LabelStatistics
from belated.core.numerics cimport exp, floats_at, ln
from belated.core.tickets cimport Tickets

cdef Py_ssize_t BUCKETS, KINDS

cdef Py_ssize_t bucket_of(long long age) noexcept nogil
cdef long long edge_of(Py_ssize_t bucket) noexcept nogil
cdef double full_weight(long long rounds, double age) noexcept nogil

@cython.final
cdef class Expiry(Component):
    cdef readonly bint by_ages, is_fixed
    cdef readonly long long least
    cdef public long long limit
    cdef readonly object came
    cdef double* count
    cdef void record(self, long long age) noexcept nogil
    cdef void review(self, long long rounds) noexcept nogil

@cython.final
cdef class LabelKinds(Component):
    cdef public long long kinds
    cdef readonly object labels, counts, ages, largest
    cdef double* label
    cdef double* count
    cdef double* age
    cdef double* most
    cdef void record(self, long long age, double y) noexcept nogil

@cython.final
cdef class ImportanceWeights(Component):
    cdef public double age
    cdef double weigh(self, long long rounds, long long ticket, double labels) noexcept nogil

@cython.final
cdef class PendingPositives(Component):
    cdef public long long next_update
    cdef public int is_counting
    cdef readonly object corrections
    cdef double* corrected
    cdef void record(self, long long rounds, long long ticket, bint is_taken_back) noexcept nogil
    cdef double update(self, long long rounds, long long open) noexcept nogil

cdef class Censoring(Component):
    cdef readonly Tickets tickets
    cdef readonly LabelLoss loss
    cdef readonly LabelStatistics statistics
    cdef readonly Py_ssize_t label_at
    cdef public int is_counting
    cdef public long long since, next_update
    cdef public double offset, shrinkage, earlier_residuals
    cdef readonly object counts, sums
    cdef object work
    cdef double* labelled
    cdef double* residuals
    cdef double* pending_by_age
    # Estimates of the latest update.
    cdef double rounds, pending, labels, total, tail, mean, stopped, pairs, late, late_total
    cdef double earlier, earlier_pending
    cdef void record(self, long long ticket, double residual) noexcept nogil
    cdef void restart(self) noexcept nogil
    cdef void reset(self) noexcept nogil
    cdef void update(self) noexcept nogil
    cdef void count_pending(self) noexcept nogil
    cdef void estimate(self) noexcept nogil
    cdef void correct(self) noexcept nogil
    cdef double corrected(self, double p) noexcept nogil

cdef class BinaryCensoring(Censoring):
    cdef double dependence(self, double yes, double no) noexcept nogil
    cdef double nearest_to_half(self) noexcept nogil

cdef class NumericCensoring(Censoring):
    pass
