from belated.core.component cimport Component
from belated.core.tickets cimport Tickets

cdef class Past(Component):
    cdef readonly Tickets tickets
    cdef readonly Py_ssize_t width
    cdef readonly long long reach
    cdef int last_ring
    cdef public object records
    cdef double* first
    cdef long long seen(self) noexcept nogil
    cdef int level(self) noexcept nogil
    cdef double* at(self, long long arrivals) noexcept nogil
    cdef double* below(self, int level) noexcept nogil
    cdef double* beyond(self, int level) noexcept nogil
