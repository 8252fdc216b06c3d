cimport cython
from libc.math cimport INFINITY, NAN, fabs, floor, sqrt

from belated.core.component cimport Component
from belated.core.linear cimport Heap
from belated.core.numerics cimport LAST, copy, floats_at, ints_at, ln, new_floats, part
from belated.core.cost_models cimport GRID, Basis, CostModels, Sampler
from belated.core.online cimport Guard, Online
from belated.core.tickets cimport BAD, CLOSED, DROPPED, OUT_OF_ORDER, USED, Keys, Tickets

cdef int KNOWN, COST, LEARNED, PLACE_AT, TICKET, REPLACES, BEFORE, FINAL, ARM, ANSWER_PLACE_AT
cdef int LEARNER, START, EXCLUDED
cdef int LEARNING, PAUSED, REVERTED

cdef double order_statistic(double* values, Py_ssize_t n, Py_ssize_t rank) noexcept nogil

cdef class Answers(Component):
    cdef readonly Tickets tickets
    cdef readonly CostModels models
    cdef readonly Py_ssize_t k, place_size, capacity, width
    cdef public long long waiting, equal
    cdef public double anchor, unit
    cdef readonly object rows
    cdef readonly Heap heap
    cdef readonly object new_rows
    cdef readonly long long count, room
    cdef object work
    cdef cython.p_double row, costs, distances, new
    cdef int reserve(self, long long room) except -1 with gil
    cdef void append(self, long long entry, double cost, int arm, bint is_new, bint is_final) noexcept nogil
    cdef void sort_new(self) noexcept nogil
    cdef double* first_new(self) noexcept nogil
    cdef void enqueue(self, double* new) noexcept nogil
    cdef void learn_first(self) noexcept nogil
    cdef Py_ssize_t count_ready(self) noexcept nogil

@cython.final
cdef class Comparison(Component):
    cdef readonly double share
    cdef public long long compared, first, alarms, alarmed
    cdef readonly object answers, means
    cdef public double gain, gain_squares, baseline, cost_squares
    cdef cython.p_longlong count
    cdef cython.p_double mean
    cdef void begin(self, long long rounds) noexcept nogil
    cdef double radius(self) noexcept nogil
    cpdef bint compare(self, int arm, double cost) noexcept nogil

@cython.final
cdef class History(Component):
    cdef public long long length
    cdef readonly object answers, means
    cdef cython.p_longlong count
    cdef cython.p_double mean
    cpdef void record(self, long long ticket, int arm, double cost) noexcept nogil

cdef class Tuner(Component):
    cdef readonly Tickets tickets
    cdef readonly CostModels models
    cdef readonly Sampler sampler
    cdef readonly Answers answers
    cdef readonly Comparison comparison
    cdef readonly History history
    cdef readonly Py_ssize_t k, c, arm_at, due_at
    cdef readonly long long hold
    cdef readonly double holdout, silence, deadline
    cdef readonly bint has_silence, has_deadline
    cdef public long long settled, corrected
    cdef public int mode, arm, may_change
    cdef public long long kind_of_times
    cdef public double now
    cdef object work
    cdef cython.p_double context, out
    cdef long long predict(self, double* z, double at, long long kind, double* x) except -100 nogil
    cdef void play(self) noexcept nogil
    cdef void commit(self) noexcept nogil
    cdef void compare(self, long long number, int arm, double cost) noexcept nogil
    cdef long long correct_place(self, long long ticket, double* place, bint by_coin) noexcept nogil
    cdef long long observe(self, long long ticket, double cost, double at, bint is_final) noexcept nogil
    cdef double cost_so_far(self, long long ticket) noexcept nogil
    cdef long long cancel(self, long long ticket) noexcept nogil
    cdef void learn(self, long long entry, double cost, bint is_final) noexcept nogil
    cdef void begin_round(self, double at, long long kind) noexcept nogil
    cdef void pass_time(self, double at, long long kind) noexcept nogil

cdef class Knobs(Online):
    cdef readonly Tuner _tuner
    cdef readonly double _sign
