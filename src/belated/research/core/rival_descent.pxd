from libc.math cimport sqrt

from belated.core.numerics cimport dot, exp, floats_at, ln, part, unit_vector
from belated.research.core.rival cimport Exploring, Method
from belated.core.tickets cimport HELD

cdef class GradientDescent(Method):
    cdef double gain, curvature
    cdef bint falls
    cdef double step_size(self) noexcept nogil

cdef class LangfordSmolaZinkevich(GradientDescent):
    cdef long long delay

cdef class AdaGrad(Method):
    cdef double gain
    cdef public double squares

cdef class AdaDelay(Method):
    cdef double smoothness, scale

cdef class DelayAdaptiveSGD(Method):
    cdef double step, workers

cdef class Ringmaster(Method):
    cdef double step
    cdef long long threshold
    cdef public long long steps

cdef class AdaptiveRevision(Method):
    cdef double gain, offset
    cdef public object unprojected, squares, largest
    cdef double* w
    cdef double* square
    cdef double* top

cdef class MildOGD(Method):
    cdef Py_ssize_t experts
    cdef double gain, alpha
    cdef object weight_array
    cdef public object points, losses
    cdef double* x
    cdef double* loss
    cdef double* weight

cdef class RoundDescent(GradientDescent):
    pass

cdef class DelayedDualAveraging(Method):
    cdef double gain
    cdef public double spread

cdef class QiuEspositoZhang(Method):
    cdef double curvature

cdef class ODFTRL(Method):
    cdef double eta, copies

cdef class FrankWolfe(Method):
    cdef double gain
    cdef object corner_array
    cdef double* corner
    cdef void go_towards_corner(self, double* slope, double bend) noexcept nogil
    cdef void step(self) noexcept nogil

cdef class FrankWolfeStronglyConvex(FrankWolfe):
    cdef double curvature, reach
    cdef public object points
    cdef double* sum

cdef double power(double t, double exponent) noexcept nogil

cdef class Flaxman(Exploring):
    cdef double step

cdef class Bistritz(Exploring):
    cdef double gain

cdef class GOLD(Exploring):
    cdef double breadth, gain, radius_power, step_power
    cdef public long long oldest
    cdef double radius(self, long long ticket) noexcept nogil
    cdef long long merged(self, long long a, long long b) noexcept nogil

cdef class DFTBL(Exploring):
    cdef double alpha
    cdef long long block
    cdef bint ends_block(self) noexcept nogil

cdef class DFTBLStronglyConvex(DFTBL):
    cdef double curvature
    cdef public long long blocks
    cdef public object points
    cdef double* sum

cdef class AgarwalDekelXiao(Exploring):
    cdef double step, curvature
    cdef double* estimate_from(self, long long entry, double* values) noexcept nogil

cdef class DOGDSCTwoPoint(AgarwalDekelXiao):
    pass

cdef class DOGDSCManyPoint(DOGDSCTwoPoint):
    pass
