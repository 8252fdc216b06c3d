cimport cython
from libc.math cimport INFINITY, fabs, sqrt

from belated.core.component cimport Component
from belated.core.numerics cimport exp, floats_at, ln

# Known when C is compiled, so that loops over experts have no counter.
cdef enum:
    EXPERTS = 6
    FIRST_LABELS = 5

cdef double HUGE_LABEL, HUGE_WEIGHT

cdef double sigmoid(double p) noexcept nogil
cdef double softplus(double p) noexcept nogil
cdef double power(double p) noexcept nogil

cdef class LabelLoss:
    cdef readonly bint is_binary, has_link
    cdef double value(self, double p, double y) noexcept nogil
    cdef double slope(self, double p, double y) noexcept nogil
    cdef double solve(self, double p, double y, double g, double q) noexcept nogil
    cdef double link(self, double p) noexcept nogil
    cdef double unlink(self, double v) noexcept nogil
    cdef double linked_value(self, double v, double y) noexcept nogil
    cdef double blend(self, double* issued, double* shares, double mixture, double floor, double ceiling) noexcept nogil
    cdef bint is_label(self, double y) noexcept nogil
    cdef double slope_unit(self, double unit) noexcept nogil
    cdef double base(self, double mean, double total, double count) noexcept nogil
    cdef double ceiling(self, double high) noexcept nogil

cdef class Squared(LabelLoss): pass

cdef class Quantile(LabelLoss):
    cdef readonly double below, above

cdef class Absolute(Quantile): pass

cdef class Huber(LabelLoss):
    cdef readonly double delta

cdef class Hinge(LabelLoss): pass

cdef class Curved(LabelLoss):
    cdef double bend(self, double y, double g) noexcept nogil

cdef class Logistic(Curved): pass
cdef class Poisson(Curved): pass

cdef class LabelStatistics(Component):
    cdef readonly LabelLoss loss
    cdef public double count, mean, spread, low, high, sum
    cdef public double base, unit, floor, ceiling
    cdef public long long labels, clipped
    cdef public object first_labels, first_weights
    cdef cython.p_double first_label, first_weight
    cdef void add(self, double y, double weight) noexcept nogil
    cdef void replace(self, double old, double new) noexcept nogil
    cdef void rebase(self) noexcept nogil
    cdef void expect(self, double y, double count) noexcept nogil
    cdef void set_range(self, double low, double high) noexcept nogil
    cdef double clip(self, double y) noexcept nogil
    cdef double clip_again(self, double y, double own) noexcept nogil
    cdef double clip_to(self, double y, double others, double count, double mean, double spread) noexcept nogil
    cdef void record_first(self, double y, double weight) noexcept nogil
    cdef double clip_first(self, Py_ssize_t which, double y) noexcept nogil
    cdef Py_ssize_t early_outlier(self, double y) noexcept nogil
    cdef void restart(self, Py_ssize_t outlier, double y) noexcept nogil
