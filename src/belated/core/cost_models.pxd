cimport cython
from libc.math cimport INFINITY, fabs, floor, sqrt

from belated.core.component cimport Component
from belated.core.numerics cimport copy, exp, floats_at, ints_at, ln, normals, part, philox

cdef int LEVELS, SETS, FEATURES, MODELS, PER_WINDOW, BLOCK, RING, ANSWERS, TOTAL, TOTALS
cdef double GRID

cdef double cosine(double x) noexcept nogil
cdef void write_cosines(double first, double* out, Py_ssize_t order, Py_ssize_t stride) noexcept nogil
cdef void factorise(double* u, Py_ssize_t m) noexcept nogil
cdef void forward(double* u, double* z, Py_ssize_t m) noexcept nogil
cdef void backward(double* u, double* z, Py_ssize_t size, Py_ssize_t m) noexcept nogil
cdef Py_ssize_t choose(double* weights, Py_ssize_t n, double uniform) noexcept nogil
cdef double vertex(double slope, double bend, double low, double high) noexcept nogil
cdef double refine(double* values, Py_ssize_t size, Py_ssize_t best) noexcept nogil

cdef class Basis:
    cdef readonly Py_ssize_t k, c, order, cosines_at, context_at, base, most
    cdef readonly list frequencies
    cdef object pairs, factor_array
    cdef cython.p_double factors
    cdef cython.p_longlong left, right
    cdef void write(self, double* x, double* z, double* phi) noexcept nogil

cdef class CostModels(Component):
    cdef readonly Basis basis
    cdef readonly Py_ssize_t most, base, k, size
    cdef public long long count, provisional, clipped, latest
    cdef public double mean, squares
    cdef readonly object origins, since, noise, weights, a, b, factor, whitened, numbers, blocks
    cdef object given, work
    cdef cython.p_double window, prior, prior_weight, weight, aa, bb, s2, u, w, block, phi, net, z
    cdef cython.p_double forgotten, expected, variance
    cdef cython.p_longlong origin, unsolved, number
    cdef double weight_at(self, Py_ssize_t g, long long t) noexcept nogil
    cdef long long count_final(self) noexcept nogil
    cdef double prior_variance(self) noexcept nogil
    cdef void solve_due(self) noexcept nogil
    cdef void solve(self, Py_ssize_t g, double fade) noexcept nogil
    cdef void predict(self, Py_ssize_t g, double* features, double level, double variance) noexcept nogil
    cdef Py_ssize_t best_model(self, Py_ssize_t first, Py_ssize_t count) noexcept nogil
    cdef void draw(self, Py_ssize_t model, long long t, double scale, unsigned long long seed, double* out) noexcept nogil
    cdef void advance(self, long long t) noexcept nogil
    cdef double learn(self, long long t, double y, double before, bint is_new, bint is_final, bint is_scored) noexcept nogil
    cdef double score(self, double y, double c, double* block, bint is_final) noexcept nogil
    cdef double clip(self, double y, double c) noexcept nogil
    cdef void reweigh(self, double y, double answers) noexcept nogil
    cdef double* block_of(self, long long t) noexcept nogil
    cdef void add_to_block(self, double* block, double y, double times) noexcept nogil
    cdef double write_net(self, double* block) noexcept nogil
    cdef void add_to_sets(self, long long t, double y, double net, double kappa, bint is_new) noexcept nogil

cdef class Search(Component):
    cdef readonly Basis basis
    cdef readonly Py_ssize_t k, m, points
    cdef readonly object last
    cdef object given, constraints, work, long_work, grid, zero_array, series_array
    cdef cython.p_double x, low, high, found, slope, here, uniforms, coefficients, phi, zeros, series
    cdef cython.p_double corrections, table, values, previous, rows, start, step, level
    cdef double total(self, double* row, double* x) noexcept nogil
    cdef bint is_allowed(self, double* x) noexcept nogil
    cdef void project(self) noexcept nogil
    cdef void move_towards(self, double fraction, double* target) noexcept nogil
    cdef void make_allowed(self) noexcept nogil
    cdef void make_playable(self, bint is_free) noexcept nogil
    cdef void limit_steps(self) noexcept nogil
    cdef void round(self, bint is_free) noexcept nogil
    cdef void check_place(self, double* otherwise) noexcept nogil
    cdef void minimise(self, bint has_cosines) noexcept nogil
    cdef double value_at(self, bint has_cosines) noexcept nogil
    cdef void search_grid(self) noexcept nogil
    cdef void descend_by_knob(self, bint has_cosines) noexcept nogil
    cdef double minimise_along(self, Py_ssize_t i, bint has_cosines) noexcept nogil
    cdef double slope_along(self, Py_ssize_t i) noexcept nogil
    cdef void write_line(self, Py_ssize_t i, double slope) noexcept nogil
    cdef double descend(self, bint has_cosines, double best) noexcept nogil

cdef class Sampler(Search):
    cdef readonly CostModels models
    cdef unsigned long long seed
    cdef double largest_radius
    cdef object shares, drawn
    cdef cython.p_double random, masses
    cdef cython.p_longlong words
    cdef double uniform(self, Py_ssize_t block, long long t) noexcept nogil
    cdef void propose(self, double* z, long long t, bint is_best, bint has_unit) noexcept nogil
    cdef void apply_context(self, double* z, double* coefficients) noexcept nogil
    cdef void play_early(self, long long t, bint is_best) noexcept nogil
    cdef Py_ssize_t pick(self, double by_window, double by_model) noexcept nogil
    cdef void expect(self, double* x, double* z, double* out) noexcept nogil
