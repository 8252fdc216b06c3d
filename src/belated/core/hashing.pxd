from libc.string cimport memcpy

from belated.core.numerics cimport floats_at, ints_at

cdef extern from "Python.h":
    void* PyUnicode_DATA(object text)
    Py_UCS4 PyUnicode_MAX_CHAR_VALUE(object text)

cdef unsigned long long M64, M32, EVEN_BYTES, EVEN_PAIRS
cdef unsigned long long P32_1, P32_2, P32_3, P64_1, P64_2, P64_3, P64_4, P64_5, PMX_1, PMX_2
cdef bytes SECRET_BYTES
cdef const unsigned char* SECRET
cdef Py_ssize_t MOST_CACHED, LONGEST_CACHED

cdef unsigned long long half(const unsigned char* data, Py_ssize_t i) noexcept nogil
cdef unsigned long long word(const unsigned char* data, Py_ssize_t i) noexcept nogil
cdef unsigned long long fold(unsigned long long a, unsigned long long b) noexcept nogil
cdef unsigned long long avalanche(unsigned long long x) noexcept nogil
cdef unsigned long long hash_short(const unsigned char* data, Py_ssize_t n) noexcept nogil
cdef unsigned long long mix(const unsigned char* data, Py_ssize_t i, Py_ssize_t s) noexcept nogil
cdef unsigned long long hash_medium(const unsigned char* data, Py_ssize_t n) noexcept nogil
cdef void add_stripe(
    unsigned long long* lanes, const unsigned char* data, Py_ssize_t i, Py_ssize_t s
) noexcept nogil
cdef unsigned long long hash_long(const unsigned char* data, Py_ssize_t n) noexcept nogil
cdef unsigned long long hash_bytes(const unsigned char* data, Py_ssize_t n) noexcept nogil
cpdef unsigned long long xxh3(bytes data)

cdef unsigned long long hash_text(str text) except? 0
cdef unsigned long long hash_string(str name, str text) except? 0
cpdef str to_text(object text)
cpdef double to_number(object name, object value) except? -1.0

cdef class Hasher:
    cdef readonly long long bits
    cdef readonly tuple interactions
    cdef readonly object columns, indices, values
    cdef readonly list cached
    cdef unsigned long long mask
    cdef object cached_array
    cdef long long* cached_at
    cdef long long* index_at
    cdef double* value_at
    cdef Py_ssize_t room

    cdef int make_room(self, Py_ssize_t room) except -1
    cdef Py_ssize_t fill(self, object features) except -1
    cdef Py_ssize_t write(self, dict features) except -1
    cdef long long look_up(self, object name, Py_ssize_t place) except -1
    cdef Py_ssize_t write_interaction(self, tuple group, dict features, Py_ssize_t count) except -1
