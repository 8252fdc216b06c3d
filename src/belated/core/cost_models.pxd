cimport cython
from libc.math cimport INFINITY, fabs, floor, sqrt

from belated.core.component cimport Component
from belated.core.numerics cimport copy, dot, exp, floats_at, ints_at, ln, normals, part, word_share

cdef int LEVELS, SETS, FEATURES, MODELS, PER_WINDOW, BLOCK, RING, ANSWERS, TOTAL, TOTALS
cdef int CANDIDATES, MOST_STARTS, MOST_STEPS
cdef double GRID

cdef double cosine(double x) noexcept nogil
cdef void factorise(double* u, Py_ssize_t m) noexcept nogil
cdef Py_ssize_t choose(double* weights, Py_ssize_t n, double uniform) noexcept nogil

cdef class Basis:
    cdef readonly Py_ssize_t k, c, order, cosines_at, context_at, base, most
    cdef readonly list frequencies
    cdef object pairs, arrays
    cdef cython.p_double factors, by_factor
    cdef cython.p_longlong left, right
    cdef void write_factors(self, double* x, Py_ssize_t size) noexcept nogil
    cdef void write(self, double* x, double* z, double* phi) noexcept nogil
    cdef double surface(self, double* x, double* coefficients, Py_ssize_t size, double* slope) noexcept nogil

cdef class CostModels(Component):
    cdef readonly Basis basis
    cdef readonly Py_ssize_t most, base, k, size
    cdef public long long count, provisional, clipped, latest, origin
    cdef public double mean, squares
    cdef readonly object since, noise, weights, sums, factors, numbers, blocks
    cdef object given, work
    cdef cython.p_double window, prior, prior_weight, weight, a, s2, u, block, phi, net, z
    cdef cython.p_double forgotten, expected, variance
    cdef cython.p_longlong unsolved, number
    cdef double weight_at(self, Py_ssize_t g, long long t) noexcept nogil
    cdef long long count_final(self) noexcept nogil
    cdef double prior_variance(self) noexcept nogil
    cdef void solve_due(self) noexcept nogil
    cdef void predict(self, Py_ssize_t g, double* features, double level, double variance) noexcept nogil
    cdef Py_ssize_t best_model(self, Py_ssize_t first, Py_ssize_t count) noexcept nogil
    cdef void draw(self, Py_ssize_t model, long long t, double scale, unsigned long long seed, double* out) noexcept nogil
    cdef void advance(self, long long t) noexcept nogil
    cdef double learn(self, long long t, double y, double before, bint is_new, bint is_final, bint is_scored) noexcept nogil
    cdef double score(self, double y, double c, double* block, bint is_final) noexcept nogil
    cdef double clip(self, double y, double c) noexcept nogil
    cdef void reweigh(self, double y) noexcept nogil
    cdef double* block_of(self, long long t) noexcept nogil
    cdef void add_to_block(self, double* block, double y, double times) noexcept nogil
    cdef double write_net(self, double* block) noexcept nogil
    cdef void add_to_sets(self, long long t, double y, double net, double kappa, bint is_new) noexcept nogil

cdef class Sampler(Component):
    cdef readonly CostModels models
    cdef readonly Basis basis
    cdef readonly Py_ssize_t k, m
    cdef readonly object last
    cdef unsigned long long seed
    cdef double largest_radius
    cdef object given, constraints, work, long_work
    cdef cython.p_double x, low, high, found, slope, here, before, coefficients, masses, corrections
    cdef cython.p_double previous, rows, start, step, level
    cdef void project(self) noexcept nogil
    cdef void move_towards(self, double fraction, double* target) noexcept nogil
    cdef void make_allowed(self) noexcept nogil
    cdef void make_playable(self, bint is_free) noexcept nogil
    cdef void round(self, bint is_free) noexcept nogil
    cdef void check_place(self, double* otherwise) noexcept nogil
    cdef void minimise(self, long long t, Py_ssize_t size, int starts) noexcept nogil
    cdef void scatter(self, long long t, int start, Py_ssize_t size) noexcept nogil
    cdef double descend(self, Py_ssize_t size, double best) noexcept nogil
    cdef double uniform(self, Py_ssize_t number, long long t) noexcept nogil
    cdef void propose(self, double* z, long long t, bint is_best, bint has_unit) noexcept nogil
    cdef void play_early(self, long long t, bint is_best) noexcept nogil
    cdef Py_ssize_t pick(self, long long t) noexcept nogil
    cdef void expect(self, double* x, double* z, double* out) noexcept nogil
