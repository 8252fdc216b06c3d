cimport cython
from belated.core.bases cimport Base
from belated.core.component cimport Component
from belated.core.feedback cimport Feedback, Wrapper
from belated.core.numerics cimport (
    floats_at, ints_at, is_plain, new_floats, pair, part, pause_collector, plain_ticket,
    resume_collector
)
from belated.core.online cimport Guard, Online
from belated.core.tickets cimport BAD, CLOSED, DROPPED, FORGOTTEN, Keys, TOO_LARGE, Tickets, USED

cdef double HUGE
cdef int PREDICT, OBSERVE, CANCEL

cdef class Player(Component):
    cdef readonly Tickets tickets
    cdef readonly Py_ssize_t dim, play_size, answer_size
    cdef readonly bint strict, has_user_parts, loses
    cdef long long predict(self, double* x) except -100 nogil
    cdef long long observe(self, long long ticket, double* answer) except -100 nogil
    cdef long long cancel(self, long long ticket) except -100 nogil
    cdef long long status_of(self, long long ticket) noexcept nogil
    cdef void peek(self, double* x) noexcept nogil

cdef class Composition(Player):
    cdef readonly Base base
    cdef readonly Feedback feedback
    cdef readonly Wrapper wrapper
    cdef readonly object work_array
    cdef cython.p_double work, learned_cost
    cdef void count(self, long long entry) noexcept nogil
    cdef int feed_missing_answer(self, long long entry) except -1 nogil
    cdef int give_up(self, long long entry) except -1 nogil

cdef class Learner(Online):
    cdef readonly Player _player
    cdef object _kind
    cdef tuple _shape
    cdef bint _wants_function

    cdef object _decision(self, long long ticket, object x, object who)
    cdef long long _event_alone(self, int event, long long ticket, double* numbers, object name) except -100
    cdef long long _event(self, int event, long long ticket, double* numbers, object name, object who) except -100
    cdef long long _do_or_undo(self, int event, long long ticket, double* numbers) except -100
    cdef long long _do(self, int event, long long ticket, double* numbers) except -100
    cdef object _replay_events(self, object events, object answers, object plays, long long first)
    cdef Py_ssize_t _loop(self, long long* timeline, Py_ssize_t start, Py_ssize_t end, double* answers, Py_ssize_t rows, long long first, double* plays, long long begin, bint keeps_all) except -1 nogil
    cdef object _refuse(self, long long event, object position, object answers, long long first)
    cdef object _find(self, object name)
    cdef object _converted(self, object feedback, object who)
    cdef object _refusal(self, long long status, long long ticket, object where)
