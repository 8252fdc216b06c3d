from libc.math cimport sqrt

from belated.core.numerics cimport floats_at, part
from belated.core.numerics cimport dot, exp
from belated.core.rival cimport Hint, Method

cdef class FixedDescent(Method):
    cdef double step

cdef class FallingDescent(Method):
    cdef double gain, curvature

cdef class LangfordSmolaZinkevich(FallingDescent):
    cdef long long delay

cdef class AdaGrad(Method):
    cdef double gain
    cdef public double squares

cdef class AdaDelay(Method):
    cdef double smoothness, scale

cdef class DelayAdaptiveSGD(Method):
    cdef double step, workers

cdef class KoloskovaStichJaggi(Method):
    cdef double step, smoothness, workers

cdef class Ringmaster(Method):
    cdef double step
    cdef long long stalest
    cdef public long long steps

cdef class AdaptiveRevision(Method):
    cdef double gain, offset
    cdef public object unprojected, applied, squares, largest
    cdef double* w
    cdef double* sum
    cdef double* square
    cdef double* top

cdef class DOOMD(Method):
    cdef double eta
    cdef readonly Hint hint
    cdef void change_hint(self) noexcept nogil

cdef class MildOGD(Method):
    cdef Py_ssize_t experts
    cdef double gain, alpha
    cdef object weight_array
    cdef public object points, losses
    cdef double* x
    cdef double* loss
    cdef double* weight
    cdef void weigh(self) noexcept nogil

cdef class RoundDescent(Method):
    cdef double step, curvature

cdef class QuanrudKhashabiDoubling(Method):
    cdef double gain
    cdef public double spent, budget
