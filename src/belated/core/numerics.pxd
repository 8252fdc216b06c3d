from cpython.long cimport PyLong_AsLongLongAndOverflow, PyLong_CheckExact
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_SET_ITEM
from libc.math cimport fabs, floor, frexp, isnan, ldexp, sqrt
from libc.string cimport memcpy, memset

cdef inline long long bits_of(double x) noexcept nogil:
    cdef long long bits
    memcpy(&bits, &x, 8)
    return bits

cdef double MOST_SQUARES, DOWN, LAST

cdef double float_of(long long bits) noexcept nogil
cdef double ln_scaled(double x, long long shift) noexcept nogil
cpdef double ln(double x) noexcept nogil
cdef double exp(double x) noexcept nogil
cpdef double cube_root(double x) noexcept nogil
cdef double scaled_norm(double* v, Py_ssize_t n, double scale) noexcept nogil
cdef double far_norm(double* v, Py_ssize_t n, double squares) noexcept nogil
cdef double largest_entry(double* v, Py_ssize_t n) noexcept nogil
cdef double squared_distance(double* v, double* w, Py_ssize_t n) noexcept nogil

cdef void philox(unsigned long long block, unsigned long long stream, unsigned long long t, unsigned long long seed, long long* words) noexcept nogil
cdef double uniform(unsigned long long stream, unsigned long long t, unsigned long long seed) noexcept nogil
cdef Py_ssize_t place_pair(double* u, Py_ssize_t size, Py_ssize_t filled, long long first, long long second) noexcept nogil
cdef double polar_factor(double s) noexcept nogil
cdef void normals(double* u, Py_ssize_t size, unsigned long long stream, unsigned long long t, unsigned long long seed) noexcept nogil
cdef void unit_vector(double* u, Py_ssize_t size, unsigned long long stream, unsigned long long t, unsigned long long seed) noexcept nogil
cdef double word_share(unsigned long long stream, unsigned long long t, unsigned long long seed) noexcept nogil

cdef double ticket_uniform(long long ticket) noexcept nogil

cdef object new_floats(Py_ssize_t size)
cdef object new_zeros(Py_ssize_t size)
cdef object grown(object array, Py_ssize_t room)
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

cdef extern from "Python.h":
    object PyType_GenericAlloc(type kind, Py_ssize_t size)
    int pause_collector "PyGC_Disable"()
    int resume_collector "PyGC_Enable"()

cdef inline object pair(type kind, object first, object second):
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
