from belated.core.component cimport Component
from belated.core.tickets cimport Tickets

cdef class Rate(Component):
    cdef readonly Tickets tickets
    cdef double step_size(self, double norm) noexcept nogil
