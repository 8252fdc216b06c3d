cdef object new_floats(Py_ssize_t size)
cdef double* floats_at(object array) noexcept
cdef long long* ints_at(object array) noexcept
cdef bint is_plain(object array, Py_ssize_t size) noexcept

cdef inline double* part(double* vector, Py_ssize_t start) noexcept nogil:
    return vector + start
