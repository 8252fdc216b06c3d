"""Whether what a snapshot holds can be the memory of a linear model; see
``kernels.snapshot_checks``."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from belated.arrays import Floats, Ints
from belated.kernels.linear import layout as lm
from belated.kernels.memory import Memory
from belated.kernels.slots import ints as N
from belated.kernels.snapshot_checks import (
    COUNTS,
    check_normal,
    check_parameters,
    check_shapes,
    check_table,
    demand,
)
from belated.linear.coordinates import Coordinates
from belated.linear.losses import LOSSES, Loss
from belated.linear.moments import AWARE
from belated.linear.settings import Settings

_LARGE_SUM = 1e250  # sums of squares stay below
_LARGE = 1e140  # whose square is no overflow; Poisson slopes are up to e^300, about 2e130
_SLACK = 1e-6
_ROUNDED_UP = 1.01  # stakes are, to 7 bits after the point
_LEAST_STAKE = 1e-76  # what is below is rounded up to about this
_MOST_LOG = 120.0  # of a label, and 1
_MOST_OFTEN = 10.0  # that a label counts; see ``kernels.linear.ipcw``

_UNBOUNDED = [lm.FLOOR, lm.CEILING, lm.DEADLINE, lm.CLOCK, lm.SINCE, lm.NEXT_UPDATE]
# Labels that came too late count among their kind, and nowhere else.
_OF_LABELS = slice(0, lm.KINDS)

_PARAMETERS = [lm.TAU, lm.DELTA, lm.L1, lm.L2, lm.SILENCE, lm.DEADLINE]
_COUNTED = (N.LIMIT, N.SETTLED, N.CORRECTED, N.HAS_TIMES, N.HEARD)
_MOVING = (*COUNTS, *_COUNTED, N.PATIENCE, N.POOL_TAIL, N.POOL_LIVE)
# What is never negative.
_SUMS = [lm.COUNT, lm.SPREAD, lm.SIZE, lm.LARGEST, lm.AGED, lm.SCORED]
_SUMS += [*range(lm.SQUARES, lm.SQUARES + lm.EXPERTS), *range(lm.FIRST + 1, lm.KINDS, 2)]


def checked(settings: Settings, parts: Mapping[str, NDArray[Any]]) -> Memory:
    """Return the memory of tickets that parts are of, or refuse all of them."""
    parts = dict(parts) | {"f": _lengthened(parts["f"])}
    check_shapes(parts)
    demand(np.isfinite(parts["pairs"]).all(), "pairs is not finite")
    fresh, n = settings.fresh(), parts["n"].copy()
    demand((n[N.KEPT_AT], n[N.KEEP]) == (lm.HEADER, lm.KEEP), "not of these settings")
    n[N.KEPT_AT] = fresh.n[N.KEPT_AT]
    check_parameters(n, fresh.n, _MOVING)
    check_normal(parts["n"], parts["tickets"])
    memory = Memory.joined(parts)
    check_table(memory, learns_late=bool(n[N.LEARNS_LATE]))
    _check_patience(settings, memory, fresh)
    demand(memory.n[N.HOLDING] == 0 and memory.n[N.EXCESS] == 0, "tickets that are held")
    _check_sums(settings, parts["f"], memory)
    _check_coordinates(settings, parts["seen"], parts["rows"])
    _check_pairs(memory, parts["pairs"], parts["seen"])
    return memory


def shortened(f: Floats) -> Floats:
    """Leave out zeros at the end: ages beyond the last one that a label had, and other kinds.

    PENDING_POSITIVES stands behind the ages: where it is not 0, all is kept.
    """
    return f[: lm.OF_KINDS + len(np.trim_zeros(f[lm.OF_KINDS :], "b"))]


def _lengthened(f: Floats) -> Floats:
    """Undo ``shortened``."""
    demand(f.ndim == 1 and lm.OF_KINDS <= f.size <= lm.HEADER, "sums")
    demand(shortened(f).size == f.size, "ages that no label had")
    return np.append(f, np.zeros(lm.HEADER - f.size))


def _check_patience(settings: Settings, memory: Memory, fresh: Memory) -> None:
    """Demand that no open ticket should have been given up on."""
    n = memory.n
    demand(all(n[slot] >= 0 for slot in _COUNTED) and n[N.HAS_TIMES] <= AWARE, "counts of labels")
    demand(not (settings.counts_predictions and n[N.HAS_TIMES]), "times")
    demand(n[N.HEARD] <= min(n[N.SETTLED], n[N.SKIPPED]), "counts of labels")
    demand(n[N.SETTLED] <= n[N.ROUNDS], "counts of labels")
    demand(settings.max_open is None or memory.open <= settings.max_open, "too many open")
    if settings.wait == "adaptive":
        demand(n[N.LIMIT] <= 1 << 40 and n[N.PATIENCE] == n[N.LIMIT] ** 2, "patience")
        return
    demand(n[N.LIMIT] == 0, "patience")
    demand(memory.n[N.PATIENCE] == fresh.n[N.PATIENCE], "patience")
    longest = settings.longest_wait
    demand(longest is None or memory.oldest_age <= longest, "overdue tickets")


def _check_sums(settings: Settings, f: Floats, memory: Memory) -> None:
    """Demand that parameters are those of the settings, and sums what they can be."""
    fresh, labels = settings.header(), memory.rounds - memory.unanswered
    demand((f[_PARAMETERS] == fresh[_PARAMETERS]).all(), "not of these settings")
    clock, by_age = f[lm.CLOCK], f[lm.AGES : lm.PENDING_POSITIVES].reshape(-1, lm.BY_AGE)
    # Without deadlines nobody looks at the clock, and it stands still whatever times are told.
    is_set = clock > -math.inf or not memory.n[N.HAS_TIMES] or settings.deadline is None
    demand(clock < math.inf and is_set, "the clock")
    came, labelled, residuals = by_age.T
    demand(((came >= 0.0) & (came < _LARGE)).all(), "ages of labels")
    if settings.expects_positives:
        _check_pending_positives(f, labelled, residuals, memory)
    else:
        _check_censoring(settings.loss, f, labelled, residuals, memory.rounds)
        demand(f[lm.PENDING_POSITIVES] == 0.0, "positives that are still to come")
    _check_kinds(f, memory.rounds)
    sums = np.delete(f[_OF_LABELS], _UNBOUNDED)
    if labels == 0 and (settings.silence is None or memory.rounds == 0):
        same = sums == np.delete(fresh[_OF_LABELS], _UNBOUNDED)
        demand(f[lm.COUNT] > 0.0 or same.all(), "sums of no labels")
        if f[lm.COUNT] == 0.0:
            return
    demand((np.abs(sums) <= _LARGE_SUM).all() and (f[_SUMS] >= 0.0).all(), "sums of labels")
    demand(0.0 < f[lm.SCORED] <= memory.rounds * lm.HUGE_WEIGHT, "the number of labels")
    most = _MOST_OFTEN * f[lm.SCORED]
    demand(0.0 < f[lm.COUNT] <= most * (1.0 + _SLACK), "the number of labels")
    told, tamed = f[[lm.LABELS, lm.TAMED]].tolist()
    demand(1.0 <= told <= memory.rounds and told == math.floor(told), "the number of labels")
    demand(0.0 <= tamed <= told + memory.n[N.CORRECTED], "labels that are far from others")
    demand(tamed == math.floor(tamed), "labels that are far from others")
    _check_range(settings.loss, f)
    first = f[lm.FIRST : lm.KINDS : 2]
    is_one = (first >= f[lm.LOW]) & (first <= f[lm.HIGH])
    demand(((first == 0.0) | is_one).all(), "the first labels")
    shares = f[lm.SHARE : lm.SHARE + lm.EXPERTS]
    demand((shares >= 0.0).all() and abs(shares.sum() - 1.0) <= _SLACK, "shares of experts")


def _check_censoring(
    loss: Loss, f: Floats, labelled: Floats, residuals: Floats, rounds: int
) -> None:
    """Demand that the correction for censored labels can be, and is computed now and then."""
    demand(((labelled >= 0.0) & (labelled < _LARGE)).all(), "ages of labels")
    demand((np.abs(residuals) <= _LARGE * labelled).all(), "ages of labels")
    slots = [lm.SINCE, lm.NEXT_UPDATE, lm.OFFSET, lm.SHRINKAGE, lm.EARLIER]
    since, update, offset, shrinkage, earlier = f[slots].tolist()
    if since == math.inf:
        demand(update == math.inf, "censored labels")
        demand((offset, shrinkage, earlier) == (0.0, 1.0, 0.0), "censored labels")
        demand((labelled == 0.0).all() and (residuals == 0.0).all(), "censored labels")
        return
    demand(0.0 < since <= rounds and since == math.floor(since), "censored labels")
    demand(since < update < math.inf and update == math.floor(update), "censored labels")
    demand(labelled.sum() <= f[lm.LABELS] and abs(offset) <= _LARGE, "censored labels")
    if LOSSES[loss].labels.classes:
        demand(0.0 <= shrinkage <= 1.0 and abs(offset) <= _MOST_LOG, "censored labels")
        demand(((residuals >= 0.0) & (residuals <= labelled)).all(), "censored labels")
        demand(0.0 <= earlier <= f[lm.LABELS] - labelled.sum(), "censored labels")
    else:
        demand(shrinkage == 1.0 and abs(earlier) <= _LARGE * f[lm.LABELS], "censored labels")


def _check_pending_positives(
    f: Floats, labelled: Floats, residuals: Floats, memory: Memory
) -> None:
    """Demand that corrections are counted as they can be, and that none is foreseen without one."""
    slots = [lm.SINCE, lm.OFFSET, lm.SHRINKAGE, lm.EARLIER]
    demand(f[slots].tolist() == [math.inf, 0.0, 1.0, 0.0], "censored labels")
    update, pending = f[[lm.NEXT_UPDATE, lm.PENDING_POSITIVES]].tolist()
    corrected = int(memory.n[N.CORRECTED])
    demand((residuals == 0.0).all() and (labelled == np.floor(labelled)).all(), "corrections")
    demand((np.abs(labelled) <= corrected).all(), "corrections")
    if corrected == 0:
        demand((update, pending) == (math.inf, 0.0), "positives that are still to come")
        return
    demand(0.0 < update < math.inf and update == math.floor(update), "corrections")
    demand(abs(pending) <= memory.rounds, "positives that are still to come")


def _check_kinds(f: Floats, rounds: int) -> None:
    """Demand that labels are counted by kind, and experts weighed by tickets that there are."""
    kinds, charged = f[lm.KINDS], f[lm.CHARGED]
    demand(kinds in range(lm.MOST_KINDS + 2), "kinds of labels")
    demand(0.0 <= charged <= rounds and charged == math.floor(charged), "the weighing of experts")
    table = f[lm.OF_KINDS : lm.AGES].reshape(-1, lm.OF_KIND)
    known = min(int(kinds), lm.MOST_KINDS)
    demand((table[known:] == 0.0).all(), "kinds of labels")
    label, count, total, largest = table[:known].T
    demand(np.unique(label).size == known and (np.abs(label) <= lm.HUGE_LABEL).all(), "kinds")
    demand(((count >= 1.0) & (count < _LARGE) & (largest >= 0.0)).all(), "kinds of labels")
    demand(((largest <= total) & (total <= count * largest)).all(), "kinds of labels")


def _check_range(loss: Loss, f: Floats) -> None:
    """Demand that labels, and what is made of them, are in a range."""
    low, mean, high = f[[lm.LOW, lm.MEAN, lm.HIGH]].tolist()
    room = _SLACK * max(abs(low), abs(high))
    demand(max(-low, high) <= lm.HUGE_LABEL, "labels too large to compute with")
    demand(low - room <= mean <= high + room, "the mean of labels")
    base, size, floor, ceiling, total = f[[lm.BASE, lm.SIZE, lm.FLOOR, lm.CEILING, lm.SUM]].tolist()
    demand(abs(base) <= lm.HUGE_LABEL and size <= 2.0 * lm.HUGE_LABEL, "the base of predictions")
    kind = LOSSES[loss]
    least, most = kind.labels.classes or (kind.labels.least, lm.HUGE_LABEL)
    demand(least <= low <= high <= most, "labels")
    if kind.link is None:
        demand((floor, ceiling) == (low, high), "the range of predictions")
        return
    top = math.inf if kind.labels.classes is None else f[lm.COUNT]
    demand(0.0 <= total <= top, "labels")
    widest = (math.inf, math.inf) if kind.link == "probability" else (1.0, _MOST_LOG)
    demand(floor == -math.inf and widest[0] <= ceiling <= widest[1], "the range of predictions")


def _check_coordinates(settings: Settings, seen: NDArray[Any], rows: Ints) -> None:
    """Demand that the coordinates seen are some, and that their numbers are what they can be."""
    demand(seen.ndim == 1 and rows.shape == (seen.size, lm.ROW), "shapes of coordinates")
    demand((seen >= 0).all() and (seen <= 1 << settings.bits).all(), "no such coordinates")
    demand((np.diff(seen) > 0).all(), "coordinates out of order")
    known = Coordinates.of(rows)
    demand((known.seen >= 1.0).all(), "coordinates that were never seen")
    sums = np.column_stack([known.variance, known.energies])
    demand((sums >= 0.0).all(), "coordinates with negative sums")
    demand((sums <= _LARGE_SUM).all(), "coordinates too large to compute with")
    coins = np.column_stack([known.wealth, known.turnover])
    demand((coins >= 0.0).all(), "coins with negative sums")
    vectors = np.column_stack([known.centre, known.weights, known.average, coins])
    demand((np.abs(vectors) <= _LARGE).all(), "weights too large to compute with")
    demand((np.abs(known.fraction) <= 1.0 + _SLACK).all(), "bets beyond what the coin has")
    staked = known.stake <= np.maximum(known.turnover * _ROUNDED_UP, _LEAST_STAKE)
    demand(staked.all(), "stakes beyond the turnover")


def _check_pairs(memory: Memory, pairs: Floats, seen: NDArray[Any]) -> None:
    """Demand that open tickets share the pool among them, without gaps, and others have none."""
    records, is_open = memory.records, memory.entries[:, 1] >= 0
    counts, starts = records[:, lm.PAIRS], records[:, lm.START]
    least = float(memory.n[N.INTERCEPT])
    demand((records[~is_open] == 0.0).all(), "rows of closed tickets")
    demand((counts[is_open] >= least).all() and (counts == np.floor(counts)).all(), "rows")
    total = counts.sum()
    demand(pairs.shape == (int(memory.n[N.POOL_TAIL]), 2) == (total, 2), "shapes of rows")
    demand(memory.n[N.POOL_LIVE] == total, "entries of open tickets")
    demand((starts == np.where(is_open, np.cumsum(counts) - counts, 0.0)).all(), "places of rows")
    issued = records[:, lm.ISSUED : lm.LABEL]
    floor, ceiling = min(memory.f[lm.FLOOR], 0.0), max(memory.f[lm.CEILING], 0.0)
    low, high = max(floor, -_LARGE) * (1.0 + _SLACK), min(ceiling, _LARGE) * (1.0 + _SLACK)
    in_range = ((issued >= low) & (issued <= high)).all(axis=1)
    # What was issued before experts were weighed anew may have been ruined by a slip.
    is_older = memory.entries[:, 0] < memory.f[lm.CHARGED]
    demand((in_range | is_older).all(), "predictions out of range")
    demand((np.abs(issued) <= _LARGE * (1.0 + _SLACK)).all(), "predictions out of range")
    label, due = records[is_open, lm.LABEL], records[is_open, lm.DUE]
    demand((np.isnan(label) | (np.abs(label) <= lm.HUGE_LABEL)).all(), "labels so far")
    learned = records[is_open, lm.LEARNED]
    demand((np.isnan(learned) == np.isnan(label)).all(), "what was learned of labels")
    known = (learned >= memory.f[lm.LOW]) & (learned <= memory.f[lm.HIGH])
    demand((np.isnan(label) | known).all(), "what was learned of labels")
    demand(not np.isnan(due).any(), "deadlines")
    demand(np.isfinite(records[:, : lm.LABEL]).all(), "records are not finite")
    index, value = pairs[:, 0], pairs[:, 1]
    demand(np.isin(index, seen).all(), "entries of coordinates that were never seen")
    demand((np.abs(value) <= _LARGE).all(), "entries too large to compute with")
