"""The memory of knobs, and whether what a snapshot holds can be one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from belated.arrays import Floats
from belated.kernels.knobs import layout as L
from belated.kernels.knobs.initial import set_up
from belated.kernels.knobs.views import Views, python_views
from belated.kernels.memory import Memory, aligned
from belated.kernels.slots import ints as N
from belated.kernels.slots import table as T
from belated.kernels.snapshot_checks import (
    COUNTS,
    check_normal,
    check_parameters,
    check_shapes,
    check_table,
    demand,
)
from belated.knobs.settings import Settings
from belated.linear.moments import AWARE
from belated.linear.timed import TimedMemory

_LARGE = 1e150
_SLACK = 1e-6
# What is the same in all memories of the same settings, and what may be infinite.
_FIXED = [L.HOLD, L.HOLDOUT]
_ENDLESS = [L.SILENCE, *range(L.SINCE, L.SINCE + L.SETS)]
_COUNTED = [
    *(L.COUNT, L.FILLED, L.FED, L.LATEST, L.COMPARED, L.ALARMS, L.SETTLED, L.CORRECTED, L.TAMED),
    *(L.OF_ARM, L.OF_ARM + 2, L.MODE, L.ARM, L.FRESH, L.ALARMED, L.ANEW, L.PROVISIONAL),
]


class KnobsMemory(TimedMemory):
    """``f`` and ``n``; see ``belated.kernels.knobs.layout``."""

    __slots__ = ("sizes",)

    def __init__(self, settings: Settings, memory: Memory) -> None:
        super().__init__(aligned(memory.f), memory.n)
        self.sizes = L.sizes(len(settings.knobs), settings.width)

    @classmethod
    def begun(cls, settings: Settings) -> Self:
        """Return memory that has seen nothing."""
        memory = cls(settings, settings.fresh())
        set_up(memory.f, memory.n)
        return memory

    def twin(self, settings: Settings) -> KnobsMemory:
        """Return the same numbers in arrays of their own."""
        return type(self)(settings, self.copy())

    # --- What reports read -----------------------------------------------------------------------

    def number(self, slot: int) -> float:
        """Return a slot of ``f``."""
        return float(self.f[slot])

    @property
    def views(self) -> Views:
        """The parts of ``f`` by name."""
        return python_views(self.f, self.n)

    @property
    def history(self) -> Floats:
        """A view of the stretches of the history, one row each."""
        rows = self.f[L.HISTORY : L.HISTORY + L.STRETCHES * L.OF_STRETCH]
        return rows.reshape(L.STRETCHES, L.OF_STRETCH)

    def contexts(self) -> tuple[Floats, Floats]:
        """Return means and deviations of the contexts whose costs were learned; 0 of none.

        The sums of the set that forgets nothing and has no levels are those of all costs.
        """
        a, k, most = self.views.a, self.dim, self.sizes.most
        first = 1 + 2 * k + k * (k - 1) // 2
        at = np.arange(first, self.sizes.base, k + 1)
        count = max(float(a[0]), 1.0)
        means = a[at] / count
        squares = a[at * (2 * most - at + 1) // 2] / count
        return means, np.sqrt(np.maximum(squares - means * means, 0.0))

    def cost(self, y: float) -> float:
        """Return a value in the unit that costs are told in; NaN before there is one."""
        unit = self.number(L.UNIT)
        if unit == 0.0:
            return math.nan
        return self.number(L.ANCHOR) + unit * y

    # --- The clock -------------------------------------------------------------------------------

    @property
    def has_clock(self) -> bool:
        """Whether deadlines are lengths of time, and no numbers of rounds."""
        return bool(self.n[N.PATIENCE] == L.BY_CLOCK)

    @property
    def clock(self) -> float:
        """The latest time that was told."""
        return float(self.f[self.n[N.KEPT_AT] - 1]) if self.has_clock else -math.inf

    def knows_times(self, deadline: float | None, kind: int) -> bool:
        """Tell whether to take a time would change nothing but the clock."""
        has_clock = deadline is None or self.has_clock
        return has_clock and self.kind_of_times == self.times_with(kind)

    def take_time(self, deadline: float | None, kind: int) -> None:
        """Remember that times are given, and of what kind; the first starts the clock."""
        if deadline is not None and not self.has_clock:
            self._start_clock(deadline)
        self.n[N.HAS_TIMES] = self.times_with(kind)

    def _start_clock(self, deadline: float) -> None:
        """Make room for the time, and for when tickets are due; there is none yet."""
        n = self.n
        self.f = np.append(self.f[: n[N.KEPT_AT]], [deadline, -math.inf])
        n[N.KEPT_AT] += 2
        n[N.KEEP] += 1
        n[N.PATIENCE], n[N.FORGET] = L.BY_CLOCK, 0
        self.resize(self.capacity)

    # --- Snapshots -------------------------------------------------------------------------------

    def parts(self) -> dict[str, NDArray[Any]]:
        """Return all there is, free of accidents: passing work is left out."""
        parts = super().parts()
        f = self.f[: self.n[N.KEPT_AT]].copy()
        views = python_views(f, self.n)
        f[views.work : views.end] = 0.0
        views.buffer[int(f[L.FILLED]) * (views.buffer.size // self.sizes.waits) :] = 0.0
        is_ghost = parts["tickets"][:, 1] < 0
        parts["records"][is_ghost] = 0.0
        return parts | {"f": f}

    @classmethod
    def restored(cls, settings: Settings, parts: Mapping[str, NDArray[Any]]) -> Self:
        """Undo ``parts``, with room to grow, or refuse what no knobs can have come to."""
        check_shapes(parts)
        fresh = cls.begun(settings)
        n = parts["n"]
        if n[N.PATIENCE] == L.BY_CLOCK and settings.deadline is not None:
            fresh._start_clock(settings.deadline)
        demand(n[N.KEPT_AT] == fresh.n[N.KEPT_AT] and n[N.KEEP] == fresh.n[N.KEEP], "settings")
        check_parameters(n, fresh.n, (*COUNTS, N.HAS_TIMES))
        check_normal(n, parts["tickets"])
        joined = Memory.joined(parts)
        check_table(joined)
        waits = None if fresh.has_clock else settings.patience
        demand(waits is None or joined.oldest_age <= waits, "open tickets past their deadline")
        demand(n[N.HOLDING] == 0 and n[N.EXCESS] == 0, "tickets that are held")
        joined.make_roomy()
        memory = cls(settings, joined)
        memory._check_clock(settings)
        memory._check_numbers(fresh)
        memory._check_history()
        memory._check_parts(fresh)
        memory._check_records()
        return memory

    def _check_clock(self, settings: Settings) -> None:
        """Demand that there is a clock where there must be one, and that nothing is past due."""
        times, deadline = int(self.n[N.HAS_TIMES]), settings.deadline
        demand(0 <= times <= AWARE, "the kind of times")
        demand(not (settings.counts_predictions and times), "the kind of times")
        demand(self.has_clock == (times > 0 and deadline is not None), "the clock")
        demand(not settings.needs_times or self.rounds == 0 or self.has_clock, "the clock")
        if not self.has_clock or deadline is None:
            return
        now, due = self.clock, self.records[self.entries[:, 1] >= 0, -1]
        demand(now < math.inf and self.f[self.n[N.KEPT_AT] - 2] == deadline, "the clock")
        demand(self.rounds == 0 or now > -math.inf, "the clock")
        demand(((due >= now) & (due <= now + deadline)).all(), "when tickets are due")
        demand((np.diff(due) >= 0.0).all(), "tickets that are due out of order")

    def _check_numbers(self, fresh: KnobsMemory) -> None:
        """Demand that the header is what it can be."""
        f, start = self.f[: L.HEADER], fresh.f[: L.HEADER]
        demand((f[_FIXED] == start[_FIXED]).all(), "not of these settings")
        demand(np.array_equal(f[L.SILENCE], start[L.SILENCE], equal_nan=True), "silence")
        demand((np.abs(np.delete(f, _ENDLESS)) <= _LARGE).all(), "numbers too large")
        counts = f[_COUNTED]
        demand((counts >= 0.0).all() and (counts == np.floor(counts)).all(), "counts")
        demand(f[L.COUNT] + f[L.FILLED] <= 2.0 * self.rounds + 1.0, "the number of costs")
        demand(f[L.FILLED] <= self.sizes.waits and f[L.FED] <= f[L.COUNT], "costs that wait")
        demand(f[L.PROVISIONAL] <= f[L.COUNT], "last words")
        demand(f[L.UNIT] == 0.0 or f[L.UNIT] >= L.LEAST_UNIT, "the unit")
        demand(f[L.UNIT] == 0.0 or f[L.FILLED] == 0.0, "costs that wait")
        demand(f[L.LATEST] <= max(self.rounds - 1, 0), "the latest play")
        origins = f[L.ORIGIN : L.ORIGIN + L.WINDOWS]
        demand(((origins >= 0.0) & (origins <= f[L.LATEST])).all(), "origins")
        demand(f[L.SQUARES] >= 0.0, "the variance of costs")
        demand(f[L.GAIN_SQUARES] >= 0.0, "the comparison")
        demand(f[L.MODE] <= L.REVERTED and f[L.ARM] <= L.ASIDE and f[L.FRESH] <= 1.0, "the mode")
        demand(f[L.ALARMED] <= min(1.0, f[L.ALARMS]) and f[L.ANEW] <= self.rounds, "alarms")
        since = f[L.SINCE : L.SINCE + L.SETS]
        demand((since >= 0.0).all(), "when sets are solved")

    def _check_history(self) -> None:
        """Demand that the history is what it can be."""
        length, history = self.number(L.STRETCH), self.history
        demand(length >= 16.0 and math.frexp(length)[0] == 0.5, "stretches of the history")
        demand((np.abs(history) <= _LARGE).all(), "numbers too large")
        answers = history[:, ::2]
        demand((answers >= 0.0).all() and (answers == np.floor(answers)).all(), "the history")
        last = np.flatnonzero(answers.any(axis=1))
        demand(last.size == 0 or last[-1] * length < self.rounds, "the history")

    def _check_parts(self, fresh: KnobsMemory) -> None:
        """Demand that vectors, matrices and models are what they can be."""
        v, first = self.views, fresh.views
        limits = slice(v.end, int(self.n[N.KEPT_AT]) - (2 if self.has_clock else 0))
        demand((np.abs(self.f[L.HEADER : v.end]) <= _LARGE).all(), "numbers too large")
        for name in ("start", "step", "levels", "table", "prior", "prior_weights"):
            demand(np.array_equal(getattr(v, name), getattr(first, name)), "settings")
        demand(np.array_equal(self.f[limits], fresh.f[limits]), "settings")
        if self.n[L.LIMITS]:
            demand(self._is_last_allowed(self.f[limits]), "the last play")
        demand((np.abs(v.last) <= 1.0).all(), "the last play")
        weights = v.weights
        demand((weights >= 0.0).all() and abs(weights.sum() - 1.0) <= _SLACK, "weights")
        demand((v.noise > 0.0).all(), "the noise")
        blocks = v.blocks.reshape(L.RING + 1, -1)
        numbers = blocks[:, L.NUMBER]
        own = (numbers[:-1] - 1.0) % L.RING == np.arange(L.RING)
        demand(((numbers[:-1] == 0.0) | (own & (numbers[:-1] >= 1.0))).all(), "numbers of blocks")
        demand((numbers <= self.rounds // L.BLOCK + 1).all(), "numbers of blocks")
        demand(numbers[-1] == 0.0 and (blocks[:, L.ANSWERS] >= 0.0).all(), "answers of blocks")
        if self.number(L.UNIT) > 0.0:
            rows, most = np.arange(self.sizes.most), self.sizes.most
            diagonals = v.factor.reshape(L.SETS, -1)[:, rows * (2 * most - rows + 1) // 2]
            demand((diagonals > 0.0).all(), "sets that are solved")
        waiting = v.buffer.reshape(self.sizes.waits, -1)[: int(self.number(L.FILLED))]
        tickets = waiting[:, L.ITS_TICKET]
        demand(((tickets >= 0.0) & (tickets < self.rounds)).all(), "costs that wait")
        demand((tickets == np.floor(tickets)).all(), "costs that wait")

    def _is_last_allowed(self, limits: Floats) -> bool:
        """Return whether the last play satisfies the constraints, but for rounding."""
        v, k = self.views, self.dim
        rows = limits.reshape(-1, k + 1)
        is_start = ((rows[:, :k] == 0.0) | (v.last == v.start)).all(axis=1)
        room = np.abs(rows[:, :k]).sum(axis=1) / L.GRID
        return bool((is_start | (rows[:, :k] @ v.last <= rows[:, k] + room)).all())

    def _check_records(self) -> None:
        """Demand that open tickets have places, arms, and costs or none."""
        is_open = self.entries[:, 1] >= 0
        records = self.records
        demand((records[self.entries[:, 1] <= T.GIVEN_UP] == 0.0).all(), "closed tickets")
        rows = records[is_open]
        learned, so_far, arms = rows[:, L.LEARNED], rows[:, L.SO_FAR], rows[:, L.ITS_ARM]
        demand(np.isin(arms, (L.LEARNER, L.START, L.ASIDE)).all(), "arms of tickets")
        demand((np.isnan(so_far) | (np.abs(so_far) <= 2.0 * L.HUGE_COST)).all(), "costs so far")
        demand((np.isnan(learned) | (np.abs(learned) <= _LARGE)).all(), "costs so far")
        demand((np.isnan(so_far) <= np.isnan(learned)).all(), "costs so far")
        packed = rows[:, L.OF_TICKET : L.OF_TICKET + self.sizes.packed]
        most = 2.0 * L.GRID * (L.PAIR + 1.0)
        demand(((packed >= 0.0) & (packed <= most)).all(), "places of tickets")
        demand((packed == np.floor(packed)).all(), "places of tickets")
        demand((packed % L.PAIR <= 2.0 * L.GRID).all(), "places of tickets")
