cdef class Component:
    pass
