from belated.core.learner cimport Composition, Player
from belated.research.core.losses cimport Loss
from belated.core.numerics cimport floats_at, ints_at, part
from belated.core.numerics cimport dot
from belated.core.tickets cimport CLOSED, DROPPED, FORGOTTEN, UNKNOWN, USED, Tickets

cdef class ByRule:
    cdef readonly long long rounds
    cdef object rule
    cdef tuple shape
    cdef Py_ssize_t size
    cdef long long delay(self, long long t, double* x) except -1 with gil

cdef class Game:
    cdef readonly Player player
    cdef readonly Loss loss
    cdef Tickets tickets
    cdef Composition followed
    cdef ByRule rule
    cdef object kind
    cdef readonly bint is_running
    cdef bint wants_detail, sees_base, is_adaptive, keeps_rounds
    cdef Py_ssize_t dim, stored, own
    cdef int told
    cdef readonly double met, linear, stale, prompt
    cdef readonly object marks, curve, losses, plays, delays
    cdef readonly object gradients, costs, vectors
    cdef object work_array, due, last, after
    cdef long long mark, mark_count, status, refused
    cdef object events
    cdef long long* events_at
    cdef long long* marks_at
    cdef double* curve_at
    cdef double* losses_at
    cdef double* play
    cdef double* gradient_sum
    cdef double* cost_sum
    cdef double* vector_sum
    cdef double* point
    cdef double* answer
    cdef long long* delays_at
    cdef long long* due_at
    cdef long long* last_at
    cdef long long* after_at

    cdef long long play_round(self, long long t) except -100 nogil
    cdef double meet(self, double* x, double* answer) except? -1e300 nogil
    cdef int note_detail(self, double* x, double* answer) except -1 nogil
    cdef void pass_mark(self) noexcept nogil
    cdef long long give_answer(self, long long ticket) except -100 nogil
    cdef long long compare_points(self, long long ticket, double* answer) except -100 nogil
    cdef Py_ssize_t follow(self, Py_ssize_t start, Py_ssize_t end) except -1 nogil
    cdef Py_ssize_t follow_rule(self, Py_ssize_t start, Py_ssize_t end) except -1 nogil
    cdef object begin(self)
    cdef object run(self, Py_ssize_t count)
    cdef object look_around(self)
