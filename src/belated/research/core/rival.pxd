from libc.math cimport fabs

from belated.core.bases cimport Base, Sums
from belated.core.component cimport Component
from belated.core.numerics cimport floats_at, norm, unit_vector
from belated.core.learner cimport HUGE, Player
from belated.core.rates cimport Rate
from belated.core.sets cimport Chart
from belated.core.tickets cimport BAD, DROPPED, OUT_OF_ORDER, TOO_LARGE, USED, Tickets

cdef double SLACK

cdef class Method(Player):
    cdef readonly Base base
    cdef readonly Chart chart
    cdef readonly Gathered gathered
    cdef readonly Hint hint
    cdef readonly double lipschitz
    cdef unsigned long long seed
    cdef object first_array, work_array, gradient_array
    cdef double* first
    cdef double* z
    cdef double* work
    cdef double* gradient
    cdef double* learned_cost
    cdef void begin_round(self) noexcept nogil
    cdef void play(self, long long entry, double* x) noexcept nogil
    cdef double* cost_of(self, double* answer) noexcept nogil
    cdef bint is_excessive(self, double* answer, double size) noexcept nogil
    cdef bint accepts(self, long long entry) noexcept nogil
    cdef void learn(self, long long entry, double* cost) noexcept nogil
    cdef void lose(self, long long entry) noexcept nogil
    cdef void descend(self, double* cost, double eta) noexcept nogil
    cdef void go_to_nearest(self, double* v) noexcept nogil
    cdef void step_with_gathered(self, double eta) noexcept nogil

cdef class Gathered(Component):
    cdef readonly Py_ssize_t dim
    cdef public long long count
    cdef public object total
    cdef double* sum
    cdef void add(self, double* cost) noexcept nogil
    cdef void clear(self) noexcept nogil

cdef class Hint(Component):
    cdef readonly Py_ssize_t dim
    cdef readonly Tickets tickets
    cdef readonly bint is_used
    cdef public object newest
    cdef double* last
    cdef double weight(self) noexcept nogil

cdef class Exploring(Method):
    cdef readonly double inner, magnitude
    cdef public double delta
    cdef object direction_array
    cdef double* direction
    cdef long long answers_used(self) noexcept nogil
    cdef void play_along(self, long long ticket, double sign, double shrink, double* x) noexcept nogil
    cdef double* estimate(self, long long ticket, double value) noexcept nogil
    cdef bint differ(self, double first, double second, double apart) noexcept nogil
    cdef void go_inside(self, double* v) noexcept nogil
    cdef void descend_inside(self, double* cost, double eta) noexcept nogil
