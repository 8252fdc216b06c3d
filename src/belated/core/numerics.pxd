cpdef double ln(double x) noexcept nogil
cdef double exp(double x) noexcept nogil
cpdef double cube_root(double x) noexcept nogil
cdef double dot(double* v, double* w, Py_ssize_t n) noexcept nogil
cdef double norm(double* v, Py_ssize_t n) noexcept nogil
cdef double scaled_norm(double* v, Py_ssize_t n, double scale) noexcept nogil
cdef double largest_entry(double* v, Py_ssize_t n) noexcept nogil
cdef double squared_distance(double* v, double* w, Py_ssize_t n) noexcept nogil
