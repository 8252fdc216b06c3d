from libc.math cimport sqrt

from belated.core.component cimport Component
from belated.core.exploration cimport uniform
from belated.core.numerics cimport ln
from belated.core.tickets cimport Tickets

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

cdef class Patient(Wrapper):
    cdef public long long patience

cdef class Skip(Patient):
    pass

cdef class Deadline(Patient):
    pass

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
