cimport cython
from libc.math cimport INFINITY, fabs, sqrt, sqrtf

from belated.core.component cimport Component
from belated.core.label_losses cimport EXPERTS, LabelLoss, LabelStatistics
from belated.core.numerics cimport floats_at, grown, ints_at, ints_from, part

cdef extern from *:
    """
    #if defined(__GNUC__)
    #define BELATED_PREFETCH(address) __builtin_prefetch(address, 1, 3)
    #else
    #define BELATED_PREFETCH(address) ((void)(address))
    #endif
    """
    void BELATED_PREFETCH(const void* address) noexcept nogil

# A coordinate fills one line of the cache.
ctypedef struct Coordinate:
    float weight[4]
    float average
    float root[3]
    float fraction
    float wealth
    float turnover
    float stake
    float mean
    float deviation
    unsigned int seen
    unsigned int open

ctypedef struct Entry:
    int index
    float x

# What a ticket keeps of its row: floats only, so that it can be the first part of its record.
ctypedef struct Row:
    double start
    double count
    double issued[6]
    double mixture

cdef inline Row* row_at(double* record) noexcept nogil:
    return <Row*> record

cdef inline Coordinate* cell_at(Coordinate* table, long long index) noexcept nogil:
    return table + index

cdef inline Entry* entry_at(Entry* entries, long long place) noexcept nogil:
    return entries + place

cdef inline void prefetch(Coordinate* table, long long index) noexcept nogil:
    BELATED_PREFETCH(table + index)

# Known when C is compiled, so that loops over scales have no counter.
cdef enum:
    SCALES = 4
    RATES = 3
    COIN = 4
    AVERAGE = 5
    ROW_FLOATS = 9
    AHEAD = 128
    WEIGHTS = 3
    PLACES = 128
    NUMBERS = 8128
    PRODUCTS = 48
    BIN_PAIRS = 16

cdef double HUGE_VALUE, LARGEST

cdef Coordinate* cells_of(object array) noexcept
cdef Entry* entries_of(object array) noexcept
cdef double update_moments(Coordinate* cell, double value, double* moments) noexcept nogil
cdef double as_single(double x) noexcept nogil
cdef void update_coin(Coordinate* cell, double z, double l1, double l2, double unit) noexcept nogil
cdef double standardise(Coordinate* cell, double value) noexcept nogil
cdef void change_open(Coordinate* cell, long long sign, double x) noexcept nogil
cdef void shrink(Coordinate* cell, double* rates, double* slopes, double l1, double l2) noexcept nogil
cdef double shrunk(double w, double l1, double l2) noexcept nogil
cdef void average(Coordinate* cell) noexcept nogil
cdef void reset(Coordinate* cell) noexcept nogil

@cython.final
cdef class Mixture(Component):
    cdef public object shares, regrets, squares
    cdef object first_array
    cdef cython.p_double share, regret, square, first
    cdef public double largest
    cdef public long long charged_from
    cdef void mix(self, Row* row, double floor, double ceiling) noexcept nogil
    cdef void charge(self, Row* row, long long ticket, double g) noexcept nogil
    cdef void restart(self, long long ticket) noexcept nogil

@cython.final
cdef class Experts(Component):
    cdef readonly LabelLoss loss
    cdef readonly LabelStatistics labels
    cdef readonly Mixture mixture
    cdef readonly long long coordinates, size, tail, live
    cdef readonly bint has_intercept
    cdef readonly double l1, l2
    cdef readonly object table, record
    cdef object entry_array, rate_array, saved_table, saved_places
    cdef Py_ssize_t pool_room, row_room, saved_room, saved_count
    cdef long long saved_live
    cdef Coordinate* cells
    cdef Coordinate* saved_cells
    cdef Entry* entries
    cdef cython.p_longlong saved_at
    cdef cython.p_double rates
    cdef Row* peeked

    # Room
    cdef int reserve(self, Py_ssize_t width, Py_ssize_t pool, Py_ssize_t saved) except -1
    cdef bint has_room(self, Py_ssize_t count) noexcept nogil
    cdef int grow(self, Py_ssize_t count) except -1 with gil
    cdef void begin_compaction(self) noexcept nogil
    cdef void move_row(self, Row* row) noexcept nogil

    # Predictions, before the link and before corrections
    cdef long long find_bad(self, long long* indices, double* values, Py_ssize_t count) noexcept nogil
    cdef double predict(self, Row* row, long long* indices, double* values, Py_ssize_t count) noexcept nogil
    cdef double peek(self, long long* indices, double* values, Py_ssize_t count) noexcept nogil
    cdef double blend(self, Row* row) noexcept nogil
    cdef void write_row(self, Row* row, long long* indices, double* values, Py_ssize_t count) noexcept nogil
    cdef void score(self, Row* row, int opens, double* out) noexcept nogil

    # Rows that have most coordinates in common
    cdef void add_entry(self, long long index, double* values, Py_ssize_t count, double* x, double* sums) noexcept nogil
    cdef double blend_sums(self, double* sums) noexcept nogil

    # Labels
    cdef bint check_first_labels(self, double y, long long ticket) noexcept nogil
    cdef void learn(self, Row* row, double y, double weight, double old, bint replaces) noexcept nogil
    cdef double step_at(self, double p, double y, double g, double old, bint replaces, double scale, double q) noexcept nogil
    cdef double slope_after(self, double p, double y, double g, double q) noexcept nogil
    cdef void add_energies(self, Row* row, double* pulls, double weight, double* q) noexcept nogil
    cdef void bet(self, Row* row, double pull, double l1, double l2) noexcept nogil
    cdef void step(self, Row* row, double* steps, double* slopes, double l1, double l2, bint averages) noexcept nogil
    cdef void release(self, Row* row) noexcept nogil
    cdef void remove_from_open_sums(self, Row* row) noexcept nogil

    # Provisional answers
    cdef int save(self, Row* row) except -1
    cdef int begin_saving(self, bint everything) except -1
    cdef void save_cell(self, long long index) noexcept nogil
    cdef void restore_cells(self, Py_ssize_t mark) noexcept nogil
    cdef void roll_back(self) noexcept nogil
    cdef void drop_saved(self) noexcept nogil

cdef void average_pair(Coordinate* cell, bint is_narrow) noexcept nogil
cdef long long combine_coordinates(unsigned long long first, unsigned long long second, unsigned long long salt, unsigned long long mask) noexcept nogil
cdef long long bin_of(double x) noexcept nogil

@cython.final
cdef class PairExperts(Component):
    cdef Experts experts
    cdef LabelLoss loss
    cdef LabelStatistics labels
    cdef readonly Mixture mixture
    cdef long long offset, count, length, narrow, places
    cdef public long long heard, epoch
    cdef public double energy
    cdef unsigned long long mask
    cdef readonly object sums, scores, chosen
    cdef object pairs, row_floats, row_ints
    cdef Py_ssize_t room
    cdef cython.p_double sum, score_of, signed, value, rate
    cdef cython.p_longlong pair, every, first, second, index, source
    cdef Row* peeked

    cdef int reserve(self, Py_ssize_t count) except -1 with gil
    cdef void write(self, Row* row) noexcept nogil
    cdef void write_pairs(self, long long* numbers, Py_ssize_t size, long long low, long long high) noexcept nogil
    cdef void record_slope(self, double g) noexcept nogil
    cdef void review(self, long long count) noexcept nogil

    # ``row`` is that of ``Experts``, ``own`` has what was issued here
    cdef double predict(self, Row* own, double p, Row* row) noexcept nogil
    cdef void score(self, double* out) noexcept nogil
    cdef void learn(self, Row* own, Row* row, double y, double weight, double old, bint replaces) noexcept nogil
    cdef void add_energies(self, double pull, double weight, double* q) noexcept nogil
    cdef void shrink(self, double scale) noexcept nogil
    cdef void restart(self, long long ticket) noexcept nogil
    cdef int save(self, Row* row) except -1
