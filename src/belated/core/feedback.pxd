cimport cython
from libc.math cimport fabs, sqrt

from belated.core.component cimport Component
from belated.core.numerics cimport floats_at, ln, part, uniform, unit_vector
from belated.core.rates cimport Smoothing
from belated.core.sets cimport Chart
from belated.core.tickets cimport Tickets

cdef class Feedback(Component):
    cdef readonly Py_ssize_t dim, play_size, answer_size, columns
    cdef readonly Tickets tickets
    cdef readonly Chart chart
    cdef readonly double most_norm
    cdef readonly bint explores
    cdef readonly object work_array
    cdef cython.p_double work
    cdef void open(self, long long entry) noexcept nogil
    cdef int play(self, long long ticket, double* z, double* x) except -1 nogil
    cdef double* cost(self, long long entry, double* answer) except NULL nogil
    cdef bint is_excessive(self, long long entry, double* answer) except -1 nogil
    cdef void use(self, double* answer) noexcept nogil

cdef class FirstOrder(Feedback): pass

cdef class Exploring(Feedback):
    cdef unsigned long long seed
    cdef Smoothing smoothing
    cdef object point_array
    cdef cython.p_double point
    cdef int explore(self, long long ticket, double sign, double* z, double* x) except -1 nogil
    cdef double* along(self, long long entry, double value) except NULL nogil

cdef class OnePoint(Exploring):
    cdef double magnitude
    cdef bint has_baseline
    cdef public double values

cdef class TwoPoint(Exploring):
    cdef double lipschitz

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

cdef class Skip(Wrapper):
    cdef public long long patience

cdef class Deadline(Skip): pass

cdef class Coins(Wrapper):
    cdef long long most
    cdef double chance
    cdef unsigned long long seed

cdef class Thinning(Wrapper):
    cdef long long most, gap, next_entry
    cdef Py_ssize_t column
    cdef unsigned long long seed
    cdef public double chance, ahead, extra
    cdef double drawn(self, long long entry) noexcept nogil
    cdef void look_ahead(self) noexcept nogil
