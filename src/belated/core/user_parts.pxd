from belated.core.bases cimport Base
from belated.core.component cimport Component
from belated.core.decisions cimport Rule
from belated.core.numerics cimport floats_at
from belated.core.rates cimport Rate, Smoothing
from belated.core.sets cimport Chart, Domain

cdef class UserObject(Component):
    cdef public object held
    cdef object first

cdef class UserRate(Rate):
    cdef readonly UserObject user
    cdef public double newest
    cdef object make_counts
    cdef double step_size(self, double norm) except? -1.0 with gil

cdef class UserExploration(Smoothing):
    cdef object function
    cdef double radius(self, long long t) except? -1.0 with gil

cdef class UserSet(Domain):
    cdef object function
    cdef Chart chart
    cdef double reach
    cdef int project(self, double* v, double* z) except -1 with gil

cdef class UserBase(Base):
    cdef readonly UserObject user
    cdef Chart chart, home_chart
    cdef Domain home
    cdef int update(self, double* cost, double norm) except -1 with gil

cdef class UserRule(Rule):
    cdef object function

cdef object copy_of(double* x, Py_ssize_t size)
