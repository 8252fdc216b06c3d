cimport cython
from libc.math cimport INFINITY, NAN, sqrt

from belated.core.censoring cimport (
    PARTS_OF_DEADLINE, PASSES, QUANTILES, Censoring, Delays, Expiry, importance_weight
)
from belated.core.component cimport Component
from belated.core.experts cimport NUMBERS, ROW_FLOATS, Experts, PairExperts, row_at
from belated.core.hashing cimport Hasher
from belated.core.label_losses cimport FIRST_LABELS, HUGE_WEIGHT, LabelLoss, LabelStatistics
from belated.core.numerics cimport (
    LAST, floats_at, grown, ints_at, ints_from, pair, part, plain_size, ticket_uniform
)
from belated.core.online cimport Guard, Online
from belated.core.tickets cimport (
    BAD, CLOSED, DROPPED, TOO_LARGE, USED, Keys, Tickets, plain_key
)

cdef Py_ssize_t SHOWN, KNOWN, LABEL, LEARNED, DUE, SETTLED, QUEUED, ASKED, WIDTH, OF_PAIRS

@cython.final
cdef class Heap:
    cdef readonly long long count, room
    cdef object time_array, number_array
    cdef cython.p_double time
    cdef cython.p_longlong number
    cdef int resize(self, long long room) except -1 with gil
    cdef bint precedes(self, double time, long long number, long long place) noexcept nogil
    cdef void push(self, double time, long long number) noexcept nogil
    cdef long long pop(self) noexcept nogil

@cython.final
cdef class Answers(Component):
    cdef readonly long long count, room
    cdef long long closing
    cdef Heap heap
    cdef tuple arrays
    cdef cython.p_longlong number, final, order
    cdef cython.p_double label, weight
    cdef int reserve(self, long long more) except -1 with gil
    cdef void append(self, long long number, double label, double weight, long long final) noexcept nogil
    cdef void sort(self) noexcept nogil

cdef class Linear(Component):
    cdef readonly Tickets tickets
    cdef readonly LabelLoss loss
    cdef readonly LabelStatistics labels
    cdef readonly Experts experts
    cdef readonly PairExperts pairs
    cdef Py_ssize_t width
    cdef readonly Censoring censoring
    cdef readonly Delays delays
    cdef readonly Expiry expiry
    cdef readonly Answers answers
    cdef readonly Heap deadlines
    cdef readonly bint has_deadlines, has_silence, is_censored, learns_late
    cdef readonly long long most_open
    cdef readonly double deadline, silence, unit
    cdef public long long settled, settled_late, corrected, heard, kind_of_times, silent
    cdef public double clock, start, lost, scored, sum_of_ages
    # The prediction of the latest ``predict`` or ``peek``; whether the latest answer was late.
    cdef readonly double value
    cdef readonly bint is_late
    cdef readonly bint is_applied
    cdef object saved

    # Each returns a ticket or a status of ``tickets``.
    cdef long long predict(self, long long* indices, double* values, Py_ssize_t count, double at, double span) except -100 nogil
    cdef long long peek(self, long long* indices, double* values, Py_ssize_t count) except -100 nogil
    cdef long long observe(self, long long ticket, double label, double weight, double at, bint is_final) except -100 nogil
    cdef long long cancel(self, long long ticket) noexcept nogil
    cdef void tick(self, double at) noexcept nogil
    cdef void note_time(self, long long kind) noexcept nogil
    cpdef bint is_known(self, long long ticket) noexcept
    cpdef bint is_open(self, long long ticket) noexcept
    cdef double label_so_far(self, long long ticket) noexcept nogil
    cdef void compact(self) noexcept nogil
    cpdef int apply_provisionally(self) except -1
    cdef void commit_answers(self) noexcept nogil

    cdef long long find(self, long long ticket) noexcept nogil
    cdef bint replaces(self, long long entry) noexcept nogil
    cdef long long check_answer(self, long long entry, double label, double weight, bint is_final) noexcept nogil
    cdef bint uses(self, long long entry, double at) noexcept nogil
    cdef bint has_room(self, Py_ssize_t count) noexcept nogil
    cdef int make_room(self, Py_ssize_t count) except -1 nogil
    cdef void drop_closed_deadlines(self) noexcept nogil
    cdef bint is_any_due(self, double at) noexcept nogil
    cdef void reset_if_none_pending(self) noexcept nogil
    cdef void pass_time(self, double at) noexcept nogil
    cdef void expire_tickets(self) noexcept nogil
    cdef void close_late(self, long long entry) noexcept nogil
    cdef void release(self, long long entry) noexcept nogil
    cdef void apply(self, long long ticket, double y, double weight, bint is_final) noexcept nogil
    cdef void learn(self, long long entry, double y, double learned, double weight, double often) noexcept nogil
    cdef void learn_again(self, long long entry, double y, double learned) noexcept nogil
    cdef void apply_queue(self) noexcept nogil
    cdef void hear_answers(self) noexcept nogil
    cdef double moment(self) noexcept nogil
    cdef void open_silent(self, double* record) noexcept nogil
    cdef bint is_due(self, long long number, Py_ssize_t level, double moment) noexcept nogil
    cdef bint count_answers(self, double moment, bint is_first) noexcept nogil
    cdef void add_silent(self, double moment) noexcept nogil
    cdef void learn_silence(self, long long entry) noexcept nogil
    cdef int save(self) except -1
    cdef void roll_back(self) noexcept with gil

@cython.final
cdef class Replay:
    cdef readonly Linear linear
    cdef readonly long long first, begin
    cdef readonly Py_ssize_t count
    cdef bint has_times, has_spans
    cdef readonly object predictions, arrays, statuses
    cdef cython.p_longlong status_of, event, place, index
    cdef cython.p_double value, label, weight, time, span, out
    cdef Py_ssize_t run(self, Py_ssize_t start, Py_ssize_t end) except -1 nogil


cdef class LinearModel(Online):
    cdef readonly Linear _linear
    cdef readonly Hasher _hasher
    cdef public int _kind_of_rows
    cdef object _row, _positions
    cdef cython.p_longlong _indices
    cdef cython.p_double _values

    cdef int _kind_of(self, object row, object who) except -1
    cpdef int _check_kind(self, int kind, object who) except -1
    cdef double _value_of(self, object row, object who) except? -1
    cdef Py_ssize_t _read_row(self, object row) except -1
    cdef object _run(self, Replay replay, object progress)
    cdef object _refused_row(self, object row, Py_ssize_t count, object who)
    cdef object _refusal(self, long long status, long long ticket, object label, object weight, object who)
