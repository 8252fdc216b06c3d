cimport cython
from libc.math cimport INFINITY, NAN, sqrt

from belated.core.censoring cimport (
    Censoring, Expiry, ImportanceWeights, LabelKinds, PendingPositives
)
from belated.core.component cimport Component
from belated.core.experts cimport ROW_FLOATS, Experts, row_at
from belated.core.hashing cimport Hasher
from belated.core.label_losses cimport FIRST_LABELS, HUGE_WEIGHT, LabelLoss, LabelStatistics
from belated.core.learner cimport pair, plain_ticket
from belated.core.numerics cimport LAST, floats_at, ints_at, ints_from, part, plain_size
from belated.core.tickets cimport (
    BAD, CLOSED, DROPPED, FULL, TOO_LARGE, USED, Keys, Tickets
)

cdef Py_ssize_t SHOWN, KNOWN, LABEL, LEARNED, DUE, SETTLED, QUEUED, WIDTH

@cython.final
cdef class Deadlines:
    cdef readonly Tickets tickets
    cdef long long count, room
    cdef object due_array, number_array
    cdef double* due
    cdef long long* number
    cdef bint make_room(self) noexcept nogil
    cdef bint precedes(self, double due, long long number, long long place) noexcept nogil
    cdef void push(self, double due, long long number) noexcept nogil
    cdef long long pop(self) noexcept nogil
    cdef bint drop_closed_and_check_due(self, double now) noexcept nogil

@cython.final
cdef class Answers(Component):
    cdef readonly long long count, room
    cdef long long closing
    cdef object number_array, label_array, weight_array, final_array, key_array, order_array
    cdef long long* number
    cdef double* label
    cdef double* weight
    cdef long long* final
    cdef double* key
    cdef long long* order
    cdef long long* spare
    cdef void append(self, long long number, double label, double weight, bint is_final) noexcept nogil
    cdef void sort(self) noexcept nogil
    cdef void sort_by_key(self) noexcept nogil

cdef class Linear(Component):
    cdef readonly Tickets tickets
    cdef readonly LabelLoss loss
    cdef readonly LabelStatistics labels
    cdef readonly Experts experts
    cdef readonly Censoring censoring
    cdef readonly PendingPositives positives
    cdef readonly Expiry expiry
    cdef readonly LabelKinds kinds
    cdef readonly ImportanceWeights weights
    cdef readonly Answers answers
    cdef readonly Deadlines deadlines
    cdef readonly bint has_deadlines, has_silence, expects_positives, learns_late
    cdef readonly long long most_open
    cdef readonly double deadline, silence
    cdef public long long settled, settled_late, corrected, heard, kind_of_times
    cdef public double clock, lost, scored
    # The prediction of the latest ``predict`` or ``peek``; whether the latest answer was late.
    cdef readonly double value
    cdef readonly bint is_late
    cdef readonly bint is_applied
    cdef object saved

    # Each returns a ticket or a status of ``tickets``; FULL asks for ``grow`` and another try.
    cdef long long predict(self, long long* indices, double* values, Py_ssize_t count, double at, double span) noexcept nogil
    cdef long long peek(self, long long* indices, double* values, Py_ssize_t count) noexcept nogil
    cdef long long observe(self, long long ticket, double label, double weight, double at, bint is_final) noexcept nogil
    cdef long long cancel(self, long long ticket) noexcept nogil
    cdef void tick(self, double at) noexcept nogil
    cdef void note_time(self, long long kind) noexcept nogil
    cdef bint is_waiting(self, long long ticket) noexcept nogil
    cdef double label_so_far(self, long long ticket) noexcept nogil
    cdef void compact(self) noexcept nogil
    cdef int grow(self, Py_ssize_t count) except -1
    cdef int apply_provisionally(self) except -1
    cdef void commit_answers(self) noexcept nogil

    cdef long long find(self, long long ticket) noexcept nogil
    cdef bint replaces(self, long long entry) noexcept nogil
    cdef long long check_answer(self, long long entry, double label, double weight, bint is_final) noexcept nogil
    cdef bint uses(self, long long entry, double at) noexcept nogil
    cdef bint has_room(self, Py_ssize_t count) noexcept nogil
    cdef bint make_room(self, Py_ssize_t count) noexcept nogil
    cdef void reset_if_none_pending(self) noexcept nogil
    cdef void pass_time(self, double at) noexcept nogil
    cdef void expire_tickets(self) noexcept nogil
    cdef void close_late(self, long long entry) noexcept nogil
    cdef void release(self, long long entry) noexcept nogil
    cdef void update_correction(self) noexcept nogil
    cdef double show(self, double p) noexcept nogil
    cdef void apply(self, long long ticket, double y, double weight, bint is_final) noexcept nogil
    cdef void learn(self, long long entry, double y, double learned, double weight, double often) noexcept nogil
    cdef void learn_again(self, long long entry, double y, double learned) noexcept nogil
    cdef void apply_queue(self) noexcept nogil
    cdef int save(self) except -1
    cdef void roll_back(self) noexcept with gil

@cython.final
cdef class Replay:
    cdef readonly Linear linear
    cdef readonly long long first, begin
    cdef readonly Py_ssize_t count
    cdef readonly int status
    cdef readonly bint has_times, has_spans
    cdef readonly object predictions, arrays, margins
    cdef double* margin
    cdef long long* event
    cdef long long* place
    cdef long long* index
    cdef double* value
    cdef double* label
    cdef double* weight
    cdef double* time
    cdef double* span
    cdef double* out
    cdef Py_ssize_t run(self, Py_ssize_t start, Py_ssize_t end) noexcept nogil
    cdef Py_ssize_t entries_at(self, Py_ssize_t i) noexcept

cdef class LinearModel:
    cdef readonly Linear _linear
    cdef readonly Keys _names
    cdef readonly Hasher _hasher
    cdef readonly object _settings
    cdef bint _is_ready
    cdef object _row, _positions
    cdef long long* _indices
    cdef double* _values

    cdef Py_ssize_t _read_row(self, object features) except -1
    cdef long long _issue(self, Py_ssize_t count, double at, double span) except -100
    cdef long long _answer(self, long long ticket, double label, double weight, double at, bint is_final) except -100
    cdef object _queue_label(self, object who, object ticket, object label, object weight, object at, bint is_final)
    cdef object _queue_label_alone(self, object who, object ticket, object label, object weight, object at, bint is_final)
    cdef object _run(self, Replay replay, object progress)
    cpdef object _checked_key(self, object key)
    cdef object _refused_row(self, object features, Py_ssize_t count, object who)
    cdef object _refusal(self, long long status, long long ticket, object label, object weight, object who)
