cimport cython

from belated.core.component cimport Component
from belated.core.numerics cimport copy, floats_at, ints_at, new_zeros

cdef long long UNKNOWN, CLOSED, BAD, TOO_LARGE, OUT_OF_ORDER, FORGOTTEN, DROPPED, USED
cdef long long DEAD, HELD, EXPIRED

@cython.final
cdef class Tickets(Component):
    cdef public long long rounds, arrived, skipped, cancelled, late, excess
    cdef public long long sum_dual, max_dual, max_delay, max_lost_delay, max_dual_delay
    cdef public long long lag, open_lags, expired, forgotten, fed, held
    cdef public double weight, waiting, weighted_arrivals, weighted_backlogs
    cdef readonly long long head, faded, sparse, offset, capacity
    cdef readonly Py_ssize_t width
    cdef readonly double largest
    cdef cython.p_longlong number, seen
    cdef cython.p_double records
    cdef object number_array, seen_array, record_array

    cdef int grow(self) except -1 with gil
    cdef bint make_room(self) noexcept nogil
    cdef void compact(self) noexcept nogil
    cdef long long bisect(self, long long ticket) noexcept nogil

    cdef inline double* record(self, long long entry) noexcept nogil:
        return self.records + entry * self.width

    cdef long long tail(self) noexcept nogil
    cdef long long locate(self, long long ticket) noexcept nogil
    cdef long long entry_of(self, long long ticket) noexcept nogil
    cdef long long open_next(self) noexcept nogil
    cdef void close(self, long long entry) noexcept nogil
    cdef long long count_arrival(self, long long entry) noexcept nogil
    cdef void count_weight(self, double weight, double waiting) noexcept nogil
    cdef void feed_arrival(self, long long entry) noexcept nogil
    cpdef bint is_open(self, long long ticket) noexcept nogil

    cdef void close_lost(self, long long entry, long long seen) noexcept nogil
    cdef void skip(self, long long entry) noexcept nogil
    cdef void cancel(self, long long entry) noexcept nogil
    cdef void lose(self, long long entry) noexcept nogil
    cdef void hold(self, long long entry) noexcept nogil
    cdef void release(self, long long entry) noexcept nogil
    cdef bint is_expired(self, long long entry) noexcept nogil
    cdef void drop_expired(self, long long entry) noexcept nogil
    cdef void forget_expired(self, long long rounds) noexcept nogil
    cdef void forget_oldest(self) noexcept nogil
    cdef long long advance_head(self) noexcept nogil

cdef object plain_key(object key)

cdef class Keys:
    cdef readonly object tickets
    cdef readonly dict ticket_of
    cdef Py_ssize_t prune_at
    cdef int assign(self, object key, long long ticket) except -1
    cdef bint stands_for(self, object name, long long ticket) except -1
    cdef int remove(self, object name) except -1
