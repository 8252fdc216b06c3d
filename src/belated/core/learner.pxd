from cpython.long cimport PyLong_AsLongLongAndOverflow, PyLong_CheckExact
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_SET_ITEM
from cpython.type cimport PyType_GenericAlloc

from belated.core.numerics cimport floats_at, ints_at, is_plain, new_floats, part
from belated.core.player cimport Player
from belated.core.tickets cimport FORGOTTEN, FULL, Keys, USED

cdef inline object pair(object kind, object first, object second):
    made = PyType_GenericAlloc(kind, 2)  # calling the class, or tuple.__new__, takes 60 ns more
    Py_INCREF(first)
    PyTuple_SET_ITEM(made, 0, first)
    Py_INCREF(second)
    PyTuple_SET_ITEM(made, 1, second)
    return made

cdef inline long long plain_ticket(object name) noexcept:
    cdef int overflow = 0
    cdef long long number = -1
    if PyLong_CheckExact(name):
        number = PyLong_AsLongLongAndOverflow(name, &overflow)
    return -1 if overflow or number >> 62 else number

cdef class Learner:
    cdef readonly Player _player
    cdef readonly Keys _names
    cdef object _kind
    cdef tuple _shape
    cdef bint _wants_function
    cdef bint _is_ready

    cdef long long _predict_into(self, double* x) except -100
    cdef long long _observe_from(self, long long ticket, double* answer) except -100
    cdef long long _cancel_at(self, long long ticket) except -100
    cdef long long _try(self, int event, long long ticket, double* numbers) except -100
    cdef object _gradient_now(self, long long ticket, object gradient)
    cdef object _run_events(self, object events, object answers, object plays, long long first)
    cdef Py_ssize_t _loop(self, long long* timeline, Py_ssize_t start, Py_ssize_t end, double* answers, Py_ssize_t rows, long long first, double* plays, long long begin, bint keeps_all) except -1 nogil
    cdef object _grow_or_raise(self, long long event, object position, object answers, long long first)
    cdef object _find(self, object name)
    cdef object _converted(self, object feedback)
    cdef object _refusal(self, long long status, long long ticket, object where)
