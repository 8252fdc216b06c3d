from belated.core.component cimport Component
from belated.core.sets cimport Chart
from belated.core.smoothing cimport Smoothing
from belated.core.tickets cimport Tickets

cdef class Feedback(Component):
    cdef readonly Py_ssize_t dim, play_size, answer_size, columns
    cdef readonly Tickets tickets
    cdef readonly Chart chart
    cdef readonly object work_array
    cdef double* work
    cdef void open(self, long long entry) noexcept nogil
    cdef void play(self, long long ticket, double* z, double* x) noexcept nogil
    cdef double* cost(self, long long entry, double* answer) noexcept nogil
    cdef bint is_excessive(self, long long entry, double* answer, double norm) noexcept nogil
    cdef void use(self, double* answer) noexcept nogil
