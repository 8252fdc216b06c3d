from belated.core.component cimport Component
from belated.core.rates cimport Rate
from belated.core.sets cimport Chart, Domain
from belated.core.tickets cimport Tickets

cdef class Sums(Component):
    cdef readonly double diameter, width, lipschitz
    cdef public double rate, learned, drifted, largest
    cdef void add(self, double rate, double waiting, double norm) noexcept nogil
    cdef void see(self, double norm) noexcept nogil

cdef class Base(Component):
    cdef readonly Py_ssize_t dim
    cdef readonly Tickets tickets
    cdef readonly Domain domain
    cdef readonly Rate rate
    cdef readonly Sums sums
    cdef readonly double curvature
    cdef readonly bint hears_all
    cdef public object point, inner
    cdef object work_array
    cdef double* z
    cdef double* p
    cdef double* work
    cdef double norm(self, double* cost) noexcept nogil
    cdef double choose_rate(self, double norm) noexcept nogil
    cdef int move(self, double* cost, double norm, double eta) except -1 nogil
    cdef int update(self, double* cost, double norm) except -1 nogil
