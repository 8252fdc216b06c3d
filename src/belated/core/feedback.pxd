from libc.math cimport fabs

from belated.core.component cimport Component
from belated.core.exploration cimport Smoothing, unit_vector
from belated.core.numerics cimport floats_at, part
from belated.core.sets cimport Chart
from belated.core.tickets cimport Tickets

cdef class Feedback(Component):
    cdef readonly Py_ssize_t dim, play_size, answer_size, columns
    cdef readonly Tickets tickets
    cdef readonly Chart chart
    cdef readonly object work_array
    cdef double* work
    cdef void open(self, long long entry) noexcept nogil
    cdef int play(self, long long ticket, double* z, double* x) except -1 nogil
    cdef double* cost(self, long long entry, double* answer) except NULL nogil
    cdef bint is_excessive(self, long long entry, double* answer, double norm) except -1 nogil
    cdef void use(self, double* answer) noexcept nogil

cdef class FirstOrder(Feedback):
    cdef double lipschitz

cdef class Exploring(Feedback):
    cdef unsigned long long seed
    cdef Smoothing smoothing
    cdef object point_array
    cdef double* point
    cdef int explore(self, long long ticket, double sign, double* z, double* x) except -1 nogil
    cdef double* along(self, long long entry, double value) except NULL nogil

cdef class OnePoint(Exploring):
    cdef double magnitude
    cdef bint has_baseline
    cdef public double values

cdef class TwoPoint(Exploring):
    cdef double lipschitz
