cimport cython
from libc.math cimport fabs, isnan, sqrt

from belated.core.component cimport Component
from belated.core.experts cimport HUGE_VALUE, combine_coordinates
from belated.core.hashing cimport Hasher
from belated.core.linear cimport Linear, LinearModel
from belated.core.label_losses cimport EXPERTS
from belated.core.numerics cimport floats_at, ints_at, part, philox
from belated.core.online cimport Online
from belated.core.tickets cimport BAD, CLOSED, TOO_LARGE, USED, Keys

cdef class Offer:
    cdef readonly Py_ssize_t count
    cdef readonly object names, arrays
    cdef cython.p_double scores, chances
    cdef double spread
    cdef Py_ssize_t room

    cdef int begin(self, object names) except -1
    cdef Py_ssize_t best(self) noexcept
    cdef bint is_known(self) noexcept
    cdef int try_new(self, object places, double trial) except -1
    cpdef Py_ssize_t draw(self, long long ticket, unsigned long long seed) noexcept
    cdef double expected(self) noexcept

cdef class Rule(Component):
    cdef readonly double amount, floor, trial
    cdef readonly bint is_custom
    cdef double share(self, double gap, double count, double rounds) noexcept
    cdef int weigh(self, Offer offer, long long rounds, long long ticket) except -1

cdef class GapWeighted(Rule): pass
cdef class Uniform(Rule): pass
cdef class Greedy(Rule): pass

cdef class Menu:
    cdef readonly tuple names
    cdef readonly Py_ssize_t count, width
    cdef readonly bint are_alike
    cdef readonly object arrays
    cdef cython.p_longlong heads, bounds, indices
    cdef cython.p_double values

cdef class Encoder:
    cdef readonly Hasher of_context, of_actions
    cdef unsigned long long mask
    cdef bint crosses_all
    cdef object wanted
    cdef dict menus, heads
    cdef tuple names
    cdef object name_heads, row_arrays, flag_array
    cdef Py_ssize_t given, bands, room, flag_room
    cdef cython.p_longlong crossed, indices
    cdef cython.p_double values

    cdef int make_room(self, Py_ssize_t room) except -1
    cdef int read_context(self, object features) except -1
    cpdef Menu menu(self, object given)
    cpdef Menu encoded(self, object given)
    cdef Py_ssize_t write_row(self, Menu menu, Py_ssize_t a) except -1
    cdef Py_ssize_t write_band(self, Menu menu, Py_ssize_t a, Py_ssize_t i, Py_ssize_t count) noexcept
    cdef bint fits(self, Menu menu) noexcept
    cdef long long place(self, long long feature, Py_ssize_t i) noexcept

cdef class Scorer:
    cdef Encoder encoder
    cdef Linear linear
    cdef Py_ssize_t room
    cdef object arrays
    cdef cython.p_double values, x, sums

    cdef void add(self, long long place, Py_ssize_t first, Py_ssize_t count) noexcept
    cdef void add_to_all(self, long long place, double value, Py_ssize_t count) noexcept
    cdef int score(self, Menu menu, Offer offer) except -1
    cdef void add_band(self, Menu menu, Py_ssize_t i) noexcept

cdef class ActionCounts:
    cdef readonly long long chosen, answered
    cdef readonly double total, squares

cdef class OpenChoice:
    cdef readonly str action
    cdef readonly double probability, reward, span
    cdef readonly long long model_ticket
    cdef readonly object row

cdef class Choices(Component):
    cdef readonly Linear linear
    cdef public long long rounds, own, compared, withdrawn
    cdef public double explored, agreed, gain
    cdef readonly dict actions, open, hidden
    cdef set tried
    cdef Py_ssize_t tidy_at

    cpdef bint is_known(self, long long ticket)
    cpdef bint is_open(self, long long ticket)
    cdef int withdraw(self, long long ticket) except -1
    cdef int tidy(self) except -1
    cdef ActionCounts counts_of(self, str action)
    cdef int count_shown(self, str action) except -1
    cdef int count_reward(self, OpenChoice choice, double reward) except -1
    cdef object new_among(self, tuple names)
    cdef bint is_new(self, str name) except -1

cdef class Chooser(Online):
    cdef readonly LinearModel _model
    cdef readonly Choices _choices
    cdef public object _mode
    cdef Rule _rule
    cdef Linear _linear
    cdef readonly Encoder _encoder
    cdef Scorer _scorer
    cdef Offer _offer
    cdef Menu _fixed
    cdef unsigned long long _seed
    cdef long long _most_hidden

    cdef Menu _menu(self, object actions)
    cdef Py_ssize_t _draw(self, object context, Menu menu, object given, bint is_certain) except -1
    cdef Py_ssize_t _usual(self, Menu menu, object baseline) except -2
    cdef long long _issue(self, long long* indices, double* values, Py_ssize_t count, double now, double span, long long kind) except -100
    cdef int _count(self, Py_ssize_t usual, Py_ssize_t best) except -1
    cdef OpenChoice _found(self, long long number, str who)
    cdef OpenChoice _heard(self, long long number, str who)

cdef Py_ssize_t place_of(Menu menu, object action, str what) except -1
