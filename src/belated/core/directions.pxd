cdef void philox(unsigned long long block, unsigned long long stream, unsigned long long t, unsigned long long seed, long long* words) noexcept nogil
cdef double uniform(unsigned long long stream, unsigned long long t, unsigned long long seed) noexcept nogil
cdef void unit_vector(double* u, Py_ssize_t size, unsigned long long stream, unsigned long long t, unsigned long long seed) noexcept nogil
cdef double word_share(unsigned long long stream, unsigned long long t, unsigned long long seed) noexcept nogil
