from belated.core.tickets cimport Tickets

cdef class Keys:
    cdef readonly Tickets tickets
    cdef readonly dict known
    cdef Py_ssize_t most
    cdef int give(self, object key, long long ticket) except -1
    cdef int drop(self, object name) except -1
