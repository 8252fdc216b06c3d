from libc.math cimport fabs, floor, frexp, isnan, ldexp, sqrt
from libc.string cimport memcpy

cdef inline long long bits_of(double x) noexcept nogil:
    cdef long long bits
    memcpy(&bits, &x, 8)
    return bits

cpdef double ln(double x) noexcept nogil
cdef double exp(double x) noexcept nogil
cpdef double cube_root(double x) noexcept nogil
cdef double dot(double* v, double* w, Py_ssize_t n) noexcept nogil
cdef double norm(double* v, Py_ssize_t n) noexcept nogil
cdef double scaled_norm(double* v, Py_ssize_t n, double scale) noexcept nogil
cdef double largest_entry(double* v, Py_ssize_t n) noexcept nogil
cdef double squared_distance(double* v, double* w, Py_ssize_t n) noexcept nogil

cdef object new_floats(Py_ssize_t size)
cdef double* floats_at(object array) noexcept
cdef long long* ints_at(object array) noexcept
cdef bint is_plain(object array, Py_ssize_t size) noexcept

cdef inline double* part(double* vector, Py_ssize_t start) noexcept nogil:
    return vector + start

cdef inline void copy(double* v, double* to, Py_ssize_t n) noexcept nogil:
    # memcpy would read more at once than was written just before, and so wait for the cache.
    cdef Py_ssize_t i
    for i in range(n):
        to[i] = v[i]
