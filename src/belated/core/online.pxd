from libc.math cimport isnan

cimport cython

from belated.core.numerics cimport plain_ticket
from belated.core.tickets cimport Keys

@cython.final
cdef class Guard:
    cdef bint is_ready

cdef class Online:
    cdef readonly Guard _guard
    cdef readonly Keys _keys
    cdef readonly object _memory, _settings
    cdef public object _times

    cdef object _receive(self, object who, object ticket, object answer, object at, object weight, bint is_final)
    cdef object _learn(self, object who, long long number, object answer, object at, object weight, bint is_final)
    cdef object _open(self, object who, object row, object key, object at, object deadline)
    cdef double _answer_so_far(self, long long number) except? -1
    cdef int _cancel(self, long long number) except -1
