from belated.core.component cimport Component

cdef class Chart(Component):
    cdef readonly Py_ssize_t dim
    cdef void to_user(self, double* y, double* x) noexcept nogil
    cdef void from_user(self, double* x, double* y) noexcept nogil
    cdef double* scale_gradient(self, double* gradient, double* work) noexcept nogil
    cdef void unscale_cost(self, double* cost, double* out) noexcept nogil

cdef class Domain(Component):
    cdef readonly Py_ssize_t dim
    cdef int project(self, double* v, double* z) except -1 nogil
    cdef void corner(self, double* g, double* v) noexcept nogil
