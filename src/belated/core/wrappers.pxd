from belated.core.component cimport Component
from belated.core.tickets cimport Tickets

cdef class Wrapper(Component):
    cdef readonly Tickets tickets
    cdef readonly bint gives_up, weighs, forgets
    cdef readonly long long forget
    cdef long long calm
    cdef void begin_round(self) noexcept nogil
    cdef long long overdue(self) noexcept nogil
    cdef bint admits(self, long long entry) noexcept nogil
    cdef double weight(self, long long ticket) noexcept nogil
    cdef double count_waiting(self, double weight, long long open_lags) noexcept nogil
