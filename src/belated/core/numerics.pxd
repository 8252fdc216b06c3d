from libc.math cimport fabs, floor, frexp, isnan, ldexp, sqrt
from libc.string cimport memcpy, memset

cdef inline long long bits_of(double x) noexcept nogil:
    cdef long long bits
    memcpy(&bits, &x, 8)
    return bits

cdef double MOST_SQUARES, DOWN, LAST

cpdef double ln(double x) noexcept nogil
cdef double exp(double x) noexcept nogil
cpdef double cube_root(double x) noexcept nogil
cdef double scaled_norm(double* v, Py_ssize_t n, double scale) noexcept nogil
cdef double far_norm(double* v, Py_ssize_t n, double squares) noexcept nogil
cdef double largest_entry(double* v, Py_ssize_t n) noexcept nogil
cdef double squared_distance(double* v, double* w, Py_ssize_t n) noexcept nogil

cdef void philox(unsigned long long block, unsigned long long stream, unsigned long long t, unsigned long long seed, long long* words) noexcept nogil
cdef double uniform(unsigned long long stream, unsigned long long t, unsigned long long seed) noexcept nogil
cdef void normals(double* u, Py_ssize_t size, unsigned long long stream, unsigned long long t, unsigned long long seed) noexcept nogil
cdef void unit_vector(double* u, Py_ssize_t size, unsigned long long stream, unsigned long long t, unsigned long long seed) noexcept nogil
cdef double word_share(unsigned long long stream, unsigned long long t, unsigned long long seed) noexcept nogil

cdef object new_floats(Py_ssize_t size)
cdef object new_zeros(Py_ssize_t size)
cdef double* floats_at(object array) noexcept
cdef long long* ints_at(object array) noexcept
cdef Py_ssize_t plain_size(object array, bint is_whole) noexcept
cdef bint is_plain(object array, Py_ssize_t size) noexcept

cdef inline double dot(double* v, double* w, Py_ssize_t n) noexcept nogil:
    cdef double a = 0.0
    cdef double b = 0.0
    cdef double c = 0.0
    cdef double d = 0.0
    cdef Py_ssize_t i
    cdef Py_ssize_t whole = n & -4
    for i in range(0, whole, 4):
        a += v[i] * w[i]
        b += v[i + 1] * w[i + 1]
        c += v[i + 2] * w[i + 2]
        d += v[i + 3] * w[i + 3]
    # Written out, since compilers turn even a loop of three into one with vectors.
    if whole < n:
        a += v[whole] * w[whole]
    if whole + 1 < n:
        a += v[whole + 1] * w[whole + 1]
    if whole + 2 < n:
        a += v[whole + 2] * w[whole + 2]
    return (a + b) + (c + d)

cdef inline double norm(double* v, Py_ssize_t n) noexcept nogil:
    cdef double squares = dot(v, v, n)
    return sqrt(squares) if 1e-290 <= squares <= 1e300 else far_norm(v, n, squares)

cdef inline double* part(double* vector, Py_ssize_t start) noexcept nogil:
    return vector + start

cdef inline long long* ints_from(long long* vector, Py_ssize_t start) noexcept nogil:
    return vector + start

cdef inline void copy(double* v, double* to, Py_ssize_t n) noexcept nogil:
    # memcpy would read more at once than was written just before, and so wait for the cache.
    cdef Py_ssize_t i
    for i in range(n):
        to[i] = v[i]
