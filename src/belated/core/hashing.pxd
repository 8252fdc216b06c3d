cimport cython
cdef extern from "Python.h":
    bint PyUnicode_IS_ASCII(object text)
    unsigned char* PyUnicode_1BYTE_DATA(object text)

from belated.core.numerics cimport floats_at, ints_at

cdef unsigned long long M64, P1, P2, P3, P4, P5
cdef str BETWEEN, AND
cdef Py_ssize_t MOST_CACHED, LONGEST_CACHED, MOST_NAMES

cdef unsigned char* bytes_at(object array) noexcept

cdef unsigned long long rotate(unsigned long long x, int k) noexcept nogil
cdef unsigned long long read(const unsigned char* data, Py_ssize_t i, Py_ssize_t size) noexcept nogil
cdef unsigned long long mix(unsigned long long lane, unsigned long long x) noexcept nogil
cdef unsigned long long hash_bytes(const unsigned char* data, Py_ssize_t n) noexcept nogil
cpdef unsigned long long xxh64(bytes data)

cdef unsigned long long hash_text(str text) except? 0
cpdef str to_text(object text)
cdef object to_plain(object name, object value)
cdef str text_of(tuple parts)

cdef class Hasher:
    cdef readonly long long bits
    cdef readonly tuple interactions
    cdef readonly object columns, indices, values
    cdef readonly list cached
    cdef readonly dict seen
    cdef readonly object first_and_last
    cdef object number_array
    cdef long long* first_at
    cdef long long* last_at
    cdef long long* number_at
    cdef public long long rows_read
    cdef readonly Py_ssize_t width
    cdef readonly dict names
    cdef unsigned long long mask
    cdef object cached_array, known_array
    cdef unsigned char* known_at
    cdef cython.p_longlong cached_at, index_at
    cdef cython.p_double value_at
    cdef Py_ssize_t room

    cdef int make_room(self, Py_ssize_t room) except -1
    cdef Py_ssize_t fill(self, object features) except -1
    cdef object remember(self, long long index, str text)
    cdef long long look_up(self, object name, Py_ssize_t place) except -1
    cdef long long number_of(self, object name) except -1
    cdef Py_ssize_t write_interaction(self, tuple group, dict features, Py_ssize_t count) except -1
