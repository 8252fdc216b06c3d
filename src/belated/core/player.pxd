from belated.core.bases cimport Base
from belated.core.component cimport Component
from belated.core.feedback cimport Feedback
from belated.core.numerics cimport floats_at
from belated.core.tickets cimport BAD, CLOSED, DROPPED, FULL, TOO_LARGE, Tickets, USED
from belated.core.wrappers cimport Wrapper

cdef class Player(Component):
    cdef readonly Tickets tickets
    cdef readonly Py_ssize_t dim, play_size, answer_size
    cdef readonly bint strict, has_user_parts, loses
    cdef long long predict(self, double* x) except -100 nogil
    cdef long long observe(self, long long ticket, double* answer) except -100 nogil
    cdef long long cancel(self, long long ticket) except -100 nogil
    cdef long long look(self, long long ticket) noexcept nogil
    cdef void peek(self, double* x) noexcept nogil

cdef class Composition(Player):
    cdef readonly Base base
    cdef readonly Feedback feedback
    cdef readonly Wrapper wrapper
    cdef readonly object work_array
    cdef double* work
    cdef double* learned_cost
    cdef void count(self, long long entry) noexcept nogil
    cdef int feed_nothing(self, long long entry) except -1 nogil
    cdef int give_up(self, long long entry) except -1 nogil
