cimport cython
from libc.math cimport INFINITY, NAN, fabs, frexp, ldexp

from belated.core.component cimport Component
from belated.core.label_losses cimport HUGE_LABEL
from belated.core.linear cimport LinearModel
from belated.core.numerics cimport floats_at, ints_at
from belated.core.online cimport Online
from belated.core.tickets cimport USED

cdef class OrderedSum(Component):
    cdef public double before
    cdef readonly dict terms
    cdef double sum
    cdef Py_ssize_t summed

    cdef int add(self, long long ticket, double number) except -1
    cpdef double total(self) except -1.0
    cdef int close(self) except -1

cdef class Threshold(Component):
    cdef readonly double alpha
    cdef public long long arrived, missed, unbounded, most_open
    cdef public double largest, top
    cdef readonly OrderedSum scores
    cdef readonly object floors, sizes
    cdef cython.p_double floor
    cdef cython.p_longlong of_size

    cdef double step_size(self) except? -1.0
    cdef double clipped(self, double forecast) noexcept
    cpdef double peek(self, double forecast) except? -1.0
    cpdef double issue(self, double forecast) except? -1.0
    cpdef int learn(self, long long ticket, double issued, double score, long long waiting, bint is_missed) except -1

cdef class Issued:
    cdef readonly long long score_ticket
    cdef readonly double value, threshold

cdef class Coverage(Component):
    cdef readonly Threshold threshold
    cdef public dict issued
    cdef readonly double least
    cdef public long long rounds, late, tidy_at
    cdef readonly OrderedSum widths

    cdef double low(self, double value, double threshold) noexcept
    cdef double high(self, double value, double threshold) noexcept
    cpdef int judge(self, long long ticket, Issued issued, double label, bint is_late) except -1

cdef class Intervals(Online):
    cdef readonly LinearModel _model, _score_model
    cdef readonly Coverage _coverage

    cdef object _issue(self, object who, object row, double now, double span)
    cdef object _issue_row(self, object who, object sparse, long long i, double now, double span)
    cdef int _judge(self, long long number, double y) except -1
    cdef int _tidy(self) except -1
    cdef int _close_score(self, Issued issued) except -1
